"""Scores of a model's rounds from the sides of its stumps."""

from __future__ import annotations

import numpy as np

from boostsample.kernels.scores import add_scores


def test_scores_of_a_tree_and_a_product() -> None:
    """Round 0: a root with a tree below on its side +1. Round 1: a product of two."""
    rng = np.random.default_rng(0)
    n, K = 25, 3
    sides = rng.integers(0, 2, (4, n)).astype(np.uint8)
    votes = rng.choice([-1.0, 1.0], (4, 2, K))
    parents = np.array([0, 0, 2, 2])
    children = np.array([[2, -1, 1], [1, -1, -1], [2, -1, -1], [2, -1, -1]])
    alphas, scores = np.array([0.5, 0.25]), np.zeros((n, K))
    room = np.zeros(4, np.uint8), np.zeros(K)
    add_scores(sides, np.array([2, 4]), parents, children, votes, alphas, *room, scores)
    for i in range(n):
        tree = votes[1, sides[1, i]] if sides[0, i] else votes[0, 0]
        product = votes[2, sides[2, i]] * votes[3, sides[3, i]]
        np.testing.assert_allclose(scores[i], 0.5 * tree + 0.25 * product)
