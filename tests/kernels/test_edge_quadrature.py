"""The kernels of e(Q,T) against quadrature and greedy search written from the definitions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import erfc

from boostsample.kernels import edge_quadrature as kernels
from tests.compiled import COMPILED

Array = NDArray[np.float64]


#: Nodes and weights of a rule that is exact for polynomials of degree 79.
NODES, SHARES = np.polynomial.legendre.leggauss(40)


def naive_edge(models: Array, unit_noise: Array, counts: list[int], inverse: float) -> float:
    """The integral of ALL families' products from the definition, piece by piece."""
    scales = np.sqrt(models[:, 2] + unit_noise * inverse)
    used = models[:, 0] > 0
    steps = np.linspace(-10, 10, 41)[:, None]
    cuts = np.unique(models[:, 1][used] + steps * scales[used])
    halves = 0.5 * np.diff(cuts)[:, None]
    h = (cuts[:-1, None] + halves * (1 + NODES))[..., None]
    below, moments = [], []
    for (p, mean, variance), scale in zip(models, scales, strict=True):
        z = (h - mean) / scale
        below.append(1 - (p * 0.5 * erfc(z / math.sqrt(2))).sum(axis=-1))
        density = np.exp(-0.5 * z * z) / math.sqrt(2 * math.pi) / scale
        moments.append((p * density * (mean + variance / scale * z)).sum(axis=-1))
    total = 0.0
    for k, count in enumerate(counts):
        if count > 0:
            product = count * moments[k]
            for other, share in enumerate(below):
                product *= np.maximum(share, 0.0) ** (counts[other] - (other == k))
            total += float((halves * SHARES * product).sum())
    return total


def random_problem(
    rng: np.random.Generator, n_families: int, n_components: int
) -> tuple[Array, Array]:
    """(K, 3, J) mixtures of scales from 1e-5 to 0.3, and 1 - mu^2."""
    models = np.empty((n_families, 3, n_components))
    for model in models:
        model[0] = rng.dirichlet(np.ones(n_components))
        model[1] = rng.uniform(-0.1, 0.3, n_components)
        model[2] = 10 ** rng.uniform(-10, -1, n_components)
    return models, 1 - models[:, 1] ** 2


def edge_of(models: Array, unit_noise: Array, counts: NDArray[np.int64], inverse: float) -> float:
    """The kernel's e, in work space that is long enough or has to be made longer."""
    shapes = np.empty((4, len(models), models.shape[2]))
    table = np.empty((2 * len(models) + 5, kernels.EXPECTED_EDGE_ROOM))
    e = kernels.expected_edge(models, unit_noise, counts, inverse, shapes, table)
    short = np.empty((len(table), 16))
    assert kernels.expected_edge(models, unit_noise, counts, inverse, shapes, short) == e
    return e


@pytest.mark.parametrize("seed", range(12 if COMPILED else 2))
def test_one_mixture(seed: int) -> None:
    rng = np.random.default_rng(seed)
    models, noise = random_problem(rng, 1, 1 + seed % 4)
    for count in (1, 2, 7, 60, 1000, 100_000) if COMPILED else (1, 2, 1000):
        for inverse in (0.0, 1e-5, 1e-3, 0.1):
            e = edge_of(models, noise, np.array([count]), inverse)
            assert e == pytest.approx(naive_edge(models, noise, [count], inverse), abs=1e-6)


@pytest.mark.parametrize("seed", range(8 if COMPILED else 2))
def test_families(seed: int) -> None:
    rng = np.random.default_rng(100 + seed)
    n_families = 2 + seed % 3
    models, noise = random_problem(rng, n_families, 2)
    for inverse in (0.0, 1e-4, 1e-2):
        counts = rng.integers(0, 3, n_families) * 10 ** rng.integers(0, 5, n_families)
        counts[seed % n_families] += 1
        e = edge_of(models, noise, counts, inverse)
        assert e == pytest.approx(naive_edge(models, noise, counts.tolist(), inverse), abs=1e-6)


def test_noise_that_is_not_given_is_that_of_the_means(rng: np.random.Generator) -> None:
    models, noise = random_problem(rng, 3, 2)
    models[0, 1, 0], noise[0, 0] = 1.2, 0.0  # no edge is above 1, but a mean can be
    counts = np.array([3, 1, 2])
    assert edge_of(models, np.empty((0, 0)), counts, 0.1) == edge_of(models, noise, counts, 0.1)


def naive_best(
    models: Array, noise: Array, n_features: list[int], inverse: list[float]
) -> tuple[int, float]:
    edges = [
        edge_of(models, noise, np.array([q]), t) for q, t in zip(n_features, inverse, strict=True)
    ]
    return int(np.argmax(edges)), max(edges)


@pytest.mark.parametrize("seed", range(40 if COMPILED else 2))
def test_best_pair(seed: int) -> None:
    """The coarse search finds the best pair of the whole grid."""
    rng = np.random.default_rng(seed)
    models, noise = random_problem(rng, 1, 1 + seed % 3)
    n_examples = int(rng.choice([500, 60_000]))
    budget = int(n_examples * rng.choice([0.05, 1, 10]))
    n_features = int(rng.choice([3, 40, 17_000]))
    most = min(n_features, budget)
    grid = np.unique(np.geomspace(1, most, 60 if COMPILED else 15).astype(np.int64))
    inverse = np.where(budget // grid >= n_examples, 0.0, 1.0 / (budget // grid))
    best = np.empty(1, np.int64)
    edges = np.empty(1)
    sizes = np.array([grid.size])
    kernels.best_pair(models, noise, grid[None], inverse[None], sizes, best, edges)
    at, edge = naive_best(models, noise, grid.tolist(), inverse.tolist())
    assert edges[0] == pytest.approx(edge, abs=1e-6)
    if abs(edges[0] - edge) > 1e-9:
        assert best[0] == at


def test_best_pair_reads_only_its_own_part_of_the_grid() -> None:
    models = np.array([[[1.0], [0.0], [0.01]]] * 2)
    grid = np.array([[1, 2, 4, 4], [1, 2, 4, 8]])
    inverse = np.zeros((2, 4))
    best = np.empty(2, np.int64)
    edges = np.empty(2)
    kernels.best_pair(models, np.ones((2, 1)), grid, inverse, np.array([3, 1]), best, edges)
    assert best.tolist() == [2, 0]
    assert edges[1] == pytest.approx(0, abs=1e-8)


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
    edge, n = kernels.allocate(models, noise, np.array(sizes), budget, n_examples, counts)
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
    edge, n = kernels.allocate(models, np.ones((2, 1)), np.array([9, 9]), 1, 100, counts)
    assert counts.tolist() == [0, 1]
    assert n == 1
    assert edge == pytest.approx(0.1, abs=1e-6)
    kernels.allocate(models, np.ones((2, 1)), np.array([1, 1]), 1000, 10, counts)
    assert counts.tolist() == [1, 1]
