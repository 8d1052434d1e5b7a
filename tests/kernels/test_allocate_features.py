"""Greedy allocation of features to families, against single steps."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from boostsample.kernels.mixtures.allocate_features import allocate
from tests.kernels.test_edge_quadrature import COMPILED, Array, edge_of


def naive_greedy(
    models: Array, noise: Array, sizes: list[int], budget: int, n_examples: int
) -> float:
    """One feature at a time, to the very end; the largest e on the way."""
    counts = np.zeros(len(sizes), np.int64)
    best = -math.inf
    for total in range(1, min(budget, sum(sizes)) + 1):
        n = min(n_examples, budget // total)
        inverse = 0.0 if n == n_examples else 1 / n
        edges = []
        for k, size in enumerate(sizes):
            more = counts + (np.arange(len(sizes)) == k)
            allowed = more[k] <= size
            e = edge_of(models, noise, more, inverse) if allowed else -math.inf
            edges.append(e)
        counts[int(np.argmax(edges))] += 1
        best = max(best, *edges)
    return best


def greedy_problem(seed: int) -> tuple[Array, Array, list[int], int, int]:
    """Families of edges like those of boosting, at a budget that bites."""
    rng = np.random.default_rng(seed)
    n_families = int(rng.integers(2, 6))
    n_components = int(rng.integers(1, 4))
    scale = 10 ** rng.uniform(-2.5, -1)
    models = np.empty((n_families, 3, n_components))
    for model in models:
        model[0] = rng.dirichlet(np.ones(n_components))
        model[1] = rng.normal(0.03, scale, n_components)
        model[2] = (scale * 10 ** rng.uniform(-0.7, 0.5, n_components)) ** 2
    n_examples = int(rng.choice([300, 60_000]))
    sizes = rng.choice([4, 30, 150] if COMPILED else [3, 6], n_families).tolist()
    return models, 1 - models[:, 1] ** 2, sizes, int(n_examples * rng.choice([1, 10])), n_examples


def rare_problem(seed: int) -> tuple[Array, Array, list[int], int, int]:
    """Small shares, few examples, budgets of less than one feature on all of them to thirty."""
    rng = np.random.default_rng([seed, 5])
    n_families, n_components = int(rng.integers(1, 7)), int(rng.integers(1, 4))
    scale = 10 ** rng.uniform(-2.5, -1)
    models = np.empty((n_families, 3, n_components))
    for model in models:
        shares = 10 ** rng.uniform(-6, 0, n_components)
        shares[0] = 1
        model[0] = shares / shares.sum()
        model[1] = rng.normal(0.03, scale, n_components)
        model[2] = (scale * 10 ** rng.uniform(-0.7, 0.5, n_components)) ** 2
    n_examples = int(rng.choice([20, 300, 5000, 60_000]))
    sizes = (10 ** rng.uniform(0, 2.2 if COMPILED else 0.8, n_families)).astype(int).tolist()
    budget = max(1, int(n_examples * 10 ** rng.uniform(-1.5, 1.5)))
    return models, 1 - models[:, 1] ** 2, sizes, budget, n_examples


@pytest.mark.parametrize(
    ("problem", "seed"),
    [
        *((greedy_problem, seed) for seed in (28, 154, 531, *range(20 if COMPILED else 0))),
        *((rare_problem, seed) for seed in (147, 320, 502, *range(40 if COMPILED else 0))),
    ],
)
def test_allocation_against_single_steps_to_the_end(problem: Any, seed: int) -> None:
    models, noise, sizes, budget, n_examples = problem(seed)
    counts = np.empty(len(sizes), np.int64)
    edge, n = allocate(models, noise, np.array(sizes), budget, n_examples, counts)
    total = int(counts.sum())
    assert total >= 1
    assert (counts <= sizes).all()
    assert (counts >= 0).all()
    assert n == min(n_examples, budget // total)
    exact = edge_of(models, noise, counts, 0.0 if n == n_examples else 1 / n)
    scale = math.sqrt(models[:, 2].max())
    assert edge == pytest.approx(exact, abs=1e-4 * scale)
    greedy = naive_greedy(models, noise, sizes, budget, n_examples)
    assert exact >= greedy - 0.005 * max(abs(greedy), scale)


def test_allocation_within_the_smallest_budget() -> None:
    models = np.array([[[1.0], [0.0], [1e-4]], [[1.0], [0.1], [1e-4]]])
    counts = np.empty(2, np.int64)
    edge, n = allocate(models, np.ones((2, 1)), np.array([9, 9]), 1, 100, counts)
    assert counts.tolist() == [0, 1]
    assert n == 1
    assert edge == pytest.approx(0.1, abs=1e-6)
    allocate(models, np.ones((2, 1)), np.array([1, 1]), 1000, 10, counts)
    assert counts.tolist() == [1, 1]
