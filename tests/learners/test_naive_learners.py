"""The naive products and trees, held to cases computed by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from boostsample.learner import EDGE_GAP
from tests.learners.naive_learners import NaiveBooster, NaiveRound

#: XOR of two features at (0, 0), (0, 1), (1, 0), (1, 1), with bins 1 and 2.
XOR = np.array([[1, 1, 2, 2], [1, 2, 1, 2]], np.uint8)
XOR_Y = np.array([[1], [-1], [-1], [1]])
#: Signed: .4, -.3, -.2, .1. The constant has edge 0, feature 0 .2, feature 1 .4, all negative.
XOR_WEIGHTS = np.array([[0.4], [0.3], [0.2], [0.1]])


def xor(learner: str, size: int) -> NaiveBooster:
    return NaiveBooster(XOR, np.array([3, 3]), XOR_Y, learner, size, XOR_WEIGHTS)


def stumps(done: NaiveRound) -> list[Any]:
    return [(s.feature, s.threshold, int(s.votes[0]), s.edge) for s in done.searches]


def random_problem(seed: int) -> tuple[NDArray[np.uint8], NDArray[Any], NDArray[Any]]:
    """Bins (3, 40), of which some are missing, their number, and targets (40, 4)."""
    rng = np.random.default_rng(seed)
    n_bins = np.array([7, 2, 4])
    bins = (rng.random((3, 40)) * n_bins[:, None]).astype(np.uint8)
    bins[np.arange(3), :3] = n_bins[:, None] - 1  # the last bin is in use
    return bins, n_bins, rng.normal(size=(40, 4))


def test_xor_as_a_stump() -> None:
    done = xor("stump", 1).next_round()
    assert stumps(done) == [(1, 2, -1, pytest.approx(0.4))]
    assert done.gamma == pytest.approx(0.4)
    assert done.alpha == pytest.approx(0.5 * math.log(1.4 / 0.6))


def test_xor_as_a_product_of_two_terms_has_edge_1() -> None:
    booster = xor("product", 2)
    done = booster.next_round()
    # The targets of search 1 are s times -phi of feature 1: .4, .3, -.2, -.1.
    assert stumps(done) == [
        (1, 2, -1, pytest.approx(0.4)),
        (0, 2, -1, pytest.approx(1.0)),
        (1, 2, -1, pytest.approx(1.0)),  # the first term again: no gain
    ]
    assert [s.in_model for s in done.searches] == [True, True, False]
    assert done.gamma == pytest.approx(1.0)
    assert done.alpha == pytest.approx(0.5 * math.log((2 - EDGE_GAP) / EDGE_GAP))
    assert done.o[:, 0].tolist() == [1, -1, -1, 1]
    assert booster.ended
    with pytest.raises(ValueError, match="edge of 1"):
        booster.next_round()


@pytest.mark.parametrize(
    ("n_leaves", "gamma", "o", "searched"),
    [
        # Leaves of feature 1: {.4, -.2} votes +1, {-.3, .1} votes -1.
        (2, 0.4, [1, -1, 1, -1], [(-1, 0)]),
        # Splits by feature 0 gain .4 and .2; the first one is taken.
        (3, 0.8, [1, -1, -1, -1], [(-1, 0), (0, -1), (0, 1)]),
        # The new leaves have one example each: they are not searched.
        (4, 1.0, [1, -1, -1, 1], [(-1, 0), (0, -1), (0, 1)]),
        (9, 1.0, [1, -1, -1, 1], [(-1, 0), (0, -1), (0, 1)]),
    ],
)
def test_xor_as_a_tree(
    n_leaves: int, gamma: float, o: list[int], searched: list[tuple[int, int]]
) -> None:
    done = xor("tree", n_leaves).next_round()
    assert done.gamma == pytest.approx(gamma)
    assert done.o[:, 0].tolist() == o
    assert [(s.parent, s.side) for s in done.searches] == searched
    if n_leaves > 2:
        # -.4 - .2 of a weight of .6; -.3 - .1 of .4.
        assert stumps(done)[1:] == [(0, 2, -1, pytest.approx(1)), (0, 2, 1, pytest.approx(1))]
        assert [s.gain for s in done.searches[1:]] == pytest.approx([0.4, 0.2])
        assert [s.n_examples for s in done.searches] == [4, 2, 2]
        assert [s.in_model for s in done.searches] == [True, True, n_leaves > 3]


@pytest.mark.parametrize(("learner", "size"), [("stump", 1), ("product", 3), ("tree", 5)])
def test_edges_weights_and_outputs_of_some_rounds(learner: str, size: int) -> None:
    bins, n_bins, targets = random_problem(9)
    Y = np.where(targets > 0, 1, -1)
    booster = NaiveBooster(bins, n_bins, Y, learner, size, np.ones(Y.shape))
    loss = 1.0
    for _ in range(10):
        w = booster.w
        done = booster.next_round()
        assert (done.outputs(bins) == done.o).all()
        assert done.gamma == pytest.approx((w * Y * done.o).sum())
        loss *= math.sqrt(1 - done.gamma**2)
        in_model = [s for s in done.searches if s.in_model]
        if done.tree is None:
            assert done.gamma == pytest.approx(max(s.edge for s in done.searches))
            assert len(in_model) <= size
        else:
            gains = sum(s.gain for s in in_model) + np.abs((w * Y).sum(axis=0)).sum()
            assert done.gamma == pytest.approx(gains)
            assert len(in_model) <= size - 1
    assert loss == pytest.approx(np.exp(-Y * booster.scores).mean())
    assert booster.log10_loss == pytest.approx(math.log10(loss))
