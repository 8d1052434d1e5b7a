"""One Gaussian: the bits of `fit_segments`, whose twin is in `test_mixture`."""

from __future__ import annotations

import os
import re

import numpy as np
import pytest

from boostsample.errors import DataError
from boostsample.kernels.mixtures.mixture_em import (
    MAX_MIXTURE_GROUPS,
    fit_mixture_segments,
)
from boostsample.kernels.searches import single
from boostsample.planning.mixture import fit_gaussians, fit_mixtures

COMPILED = os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0")


@pytest.mark.parametrize("seed", range(60 if COMPILED else 10))
def test_rows_are_fitted_as_sets_by_the_mixture(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n_sets = int(rng.integers(1, 6))
    size = int(rng.integers(1, (2, 17, MAX_MIXTURE_GROUPS)[seed % 3] + 1))
    edges = rng.normal(rng.normal(), 10 ** rng.uniform(-6, 0), (n_sets, size))
    if seed % 4 == 0:
        edges = np.round(edges, 2)
    want, got = fit_mixtures(list(edges), 1), fit_gaussians(edges)
    for one, other in zip(want, got, strict=True):
        np.testing.assert_array_equal(other.parameters, one.parameters)
        assert other.n_iterations == one.n_iterations
        assert other.log_likelihood == one.log_likelihood


@pytest.mark.parametrize("seed", range(60 if COMPILED else 10))
def test_settings_of_the_iteration_are_those_of_the_mixture(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n_sets, size = int(rng.integers(1, 5)), int(rng.integers(1, 17))
    edges = rng.normal(rng.normal(), 10 ** rng.uniform(-6, 0), (n_sets, size))
    data = np.zeros((4, edges.size))
    data[0], data[2] = np.sort(edges, axis=1).ravel(), 1.0
    how = 10 ** rng.uniform(-8, -2), (0.0, 1e-9, 1e-5)[seed % 3], int(rng.integers(1, 200))
    models, fits = np.empty((2, n_sets, 3, 1)), np.empty((2, n_sets, 2))
    first = np.arange(0, edges.size + 1, size)
    fit_mixture_segments(data, False, first, *how, models[0], fits[0])
    assert single.fit_single_rows(edges, *how, np.empty(size), models[1], fits[1])
    np.testing.assert_array_equal(models[1], models[0])
    np.testing.assert_array_equal(fits[1], fits[0])


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
