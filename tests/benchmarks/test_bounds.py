"""The micro-kernels that bound a search touch every bin, and only these."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.bounds import N_BINS, read_bound_kernel, store_bound, store_bound_kernel
from benchmarks.problem import BenchProblem, synthetic_problem
from boostsample.kernels.array_layout import aligned, row_layout


@pytest.fixture(scope="module")
def problem() -> BenchProblem:
    return synthetic_problem(500, 23, 3)


def test_synthetic_problems_have_their_sizes_and_labels(problem: BenchProblem) -> None:
    assert problem.sizes() == {"data": "made data", "examples": 500, "features": 23, "classes": 3}
    assert (problem.Y > 0).sum() == 500
    bins = problem.bank.take(np.arange(23), np.arange(500))
    assert bins.min() >= 1
    assert [len(np.unique(row)) > 50 for row in bins] == [True] * 23
    assert problem.relabelled(3) is problem
    assert problem.relabelled(2).Y.shape == (500, 1)
    many = problem.relabelled(26)
    assert many.bank is problem.bank
    assert ((many.Y > 0).sum(axis=1) == 1).all()


@pytest.mark.parametrize("n_labels", [1, 10])
def test_stores_touch_each_bin_once_in_turn(n_labels: int) -> None:
    blocks, tail = row_layout(n_labels)
    row = aligned(8 * (blocks + 1), np.float32)
    row[: 8 * blocks + tail] = np.arange(1, 8 * blocks + tail + 1)
    planes = aligned((blocks + 1) * N_BINS * 8, np.float32)
    store_bound_kernel(blocks, tail)(row, planes, 3 * N_BINS)
    for k in range(blocks):
        plane = planes[k * N_BINS * 8 : (k + 1) * N_BINS * 8].reshape(N_BINS, 8)
        assert (plane == 3 * row[8 * k : 8 * k + 8]).all()
    rest = planes[blocks * N_BINS * 8 :]
    bins, nothing = rest[: N_BINS * tail], rest[N_BINS * tail :]
    assert (bins.reshape(N_BINS, tail) == 3 * row[8 * blocks : 8 * blocks + tail]).all()
    assert not nothing.any()
    store_bound(n_labels)(8)


@pytest.mark.parametrize("n_examples", [4, 60])  # fewer and more than a feature has cache lines
@pytest.mark.parametrize("n_features", [1, 4, 7])
def test_reads_read_every_bin(problem: BenchProblem, n_features: int, n_examples: int) -> None:
    bins = problem.bank.take(np.arange(23), problem.rows)
    features = np.random.default_rng(0).choice(23, n_features, replace=False)
    examples = np.linspace(3, 499, n_examples).astype(np.int32)
    nothing = np.empty(0, np.int32)
    total = bins[features][:, examples].sum(dtype=int)
    assert read_bound_kernel(bins, features, 0, examples, 4) == total
    assert read_bound_kernel(bins, features, 2, nothing, 9) == bins[features, 2:11].sum(dtype=int)
