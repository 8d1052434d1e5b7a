"""One Gaussian: the bits of `fit_segments`, whose twin is in `test_mixture`."""

from __future__ import annotations

import os
import re
from itertools import pairwise

import numpy as np
import pytest

from boostsample.errors import DataError
from boostsample.kernels import single
from boostsample.kernels.mixture import CHECK_EVERY, FIRST_TRIAL, LANES, MAX_GROUPS, fit_segments
from boostsample.planning.mixture import fit_gaussians, fit_mixtures

COMPILED = os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0")


@pytest.mark.parametrize("seed", range(200 if COMPILED else 10))
def test_one_component_is_fitted_as_by_many(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n_sets = int(rng.integers(1, 5))
    sizes = rng.integers(1, (2, 17, MAX_GROUPS)[seed % 3], n_sets, endpoint=True)
    first = np.cumsum([0, *sizes])
    data = np.zeros((4, first[-1]))
    data[0] = rng.normal(rng.normal(), 10 ** rng.uniform(-6, 0), first[-1])
    if seed % 5 == 0:
        data[0] = np.round(data[0], 2)
    for begin, end in pairwise(first):
        data[0, begin:end].sort()
    data[2] = 1.0 if seed % 2 else rng.exponential(size=first[-1])
    differ = seed % 7 == 1
    if seed % 7 < 2:
        data[3] = 10 ** rng.uniform(-8, -2, first[-1] if differ else None)
    how = differ, first, 1e-6, (0.0, 1e-9, 1e-5)[seed % 3], int(rng.integers(1, 200))
    models, fits = np.empty((2, n_sets, 3, 1)), np.empty((2, n_sets, 2))
    fit_segments(data, *how, np.zeros(n_sets, np.bool_), models[0], fits[0])
    single.fit_single(data, *how, models[1], fits[1])
    np.testing.assert_array_equal(models[1], models[0])
    np.testing.assert_array_equal(fits[1], fits[0])


@pytest.mark.parametrize("seed", range(100 if COMPILED else 10))
def test_rows_are_fitted_as_sets_that_were_sorted(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n_sets, size = int(rng.integers(1, 6)), int(rng.integers(1, (2, 17, MAX_GROUPS)[seed % 3] + 1))
    edges = rng.normal(rng.normal(), 10 ** rng.uniform(-6, 0), (n_sets, size))
    if seed % 4 == 0:
        edges = np.round(edges, 2)
    want, got = fit_mixtures(list(edges), 1), fit_gaussians(edges)
    for one, other in zip(want, got, strict=True):
        np.testing.assert_array_equal(other.parameters, one.parameters)
        assert other.n_iterations == one.n_iterations
        assert other.log_likelihood == one.log_likelihood


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_rows_that_are_not_finite_are_refused(wrong: float) -> None:
    edges = np.full((3, 4), 0.1)
    edges[1, 2] = wrong
    with pytest.raises(DataError, match="edges must be finite"):
        fit_gaussians(edges)


@pytest.mark.parametrize("shape", [(5,), (5, 0), (5, 129), (1, 5, 2)])
def test_rows_of_other_lengths_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(DataError, match=re.escape(f"got {shape}")):
        fit_gaussians(np.zeros(shape))


def test_constants_are_those_of_the_mixture() -> None:
    assert (single.LANES, single.FIRST_TRIAL, single.CHECK_EVERY) == (
        LANES,
        FIRST_TRIAL,
        CHECK_EVERY,
    )
