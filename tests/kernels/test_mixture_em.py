"""The mixture kernels against EM written from the definitions with plain loops."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from boostsample.errors import DataError
from boostsample.kernels import mixture_em as kernels
from boostsample.planning.mixture import fit_gaussians, fit_mixtures
from tests.compiled import COMPILED, called

expect = called(kernels._expect)
mean_log_likelihood = called(kernels._mean_log_likelihood)
maximise = called(kernels._maximise)
group = called(kernels._group)
Array = NDArray[np.float64]
FLOOR = 1e-6


def normal(x: float, mean: float, variance: float) -> float:
    return math.exp(-0.5 * (x - mean) ** 2 / variance) / math.sqrt(2 * math.pi * variance)


def naive_step(x: Array, w: Array, noise: Array, model: Array, extreme: bool) -> Array:
    """One EM step: extreme deconvolution, or for equal noise the closed form of the M step."""
    new = np.zeros_like(model)
    shares = np.array(
        [[p * normal(xi, m, s + v) for p, m, s in model.T] for xi, v in zip(x, noise, strict=True)]
    )
    shares /= shares.sum(axis=1, keepdims=True)
    for j, (_, mean, variance) in enumerate(model.T):
        q = shares[:, j] * w
        if extreme:
            gain = variance / (variance + noise)
            b = mean + gain * (x - mean)
            left = gain * noise
        else:
            b = x
            left = -noise
        new[0, j] = q.sum() / w.sum()
        new[1, j] = (q * b).sum() / q.sum()
        new[2, j] = max((q * ((b - new[1, j]) ** 2 + left)).sum() / q.sum(), FLOOR)
    return new


def naive_log_likelihood(x: Array, w: Array, noise: Array, model: Array) -> float:
    total = 0.0
    for xi, wi, v in zip(x, w, noise, strict=True):
        density = sum(p * normal(xi, m, s + v) for p, m, s in model.T if p > 0)
        total += wi * math.log(density)
    return total / float(w.sum())


def columns(x: Array, weights: Array | float = 1.0, noise: Array | float = 0.0) -> Array:
    data = np.zeros((4, x.size))
    data[0] = x
    data[2] = weights
    data[3] = noise
    return data


def fit(
    x: Array,
    n_components: int,
    *,
    weights: Array | None = None,
    noise: Array | float = 0.0,
    tolerance: float = 1e-5,
    n_iterations: int = 200,
) -> tuple[Array, float, int]:
    data = columns(np.sort(x), np.ones(x.size) if weights is None else weights, noise)
    models = np.empty((1, 3, n_components))
    fits = np.empty((1, 2))
    kernels.fit_mixture_segments(
        data,
        bool(data[3].min() < data[3].max()),
        np.array([0, x.size]),
        FLOOR,
        tolerance,
        n_iterations,
        models,
        fits,
    )
    return models[0], float(fits[0, 0]), int(fits[0, 1])


def some_edges(rng: np.random.Generator, n: int) -> Array:
    return np.where(rng.random(n) < 0.6, rng.normal(0.02, 0.01, n), rng.normal(0.07, 0.02, n))


@pytest.mark.parametrize("noise", ["none", "one", "each"])
@pytest.mark.parametrize("n", [8, 24])
def test_a_step_is_the_naive_one(rng: np.random.Generator, n: int, noise: str) -> None:
    x = np.sort(some_edges(rng, n))
    w = rng.uniform(0.5, 2, n)
    model = np.array([[0.5, 0.3, 0.2], [0.01, 0.05, 0.08], [2e-4, 1e-4, 4e-4]])
    v = {
        "none": np.zeros(n),
        "one": np.full(n, 1e-4),
        "each": rng.uniform(1e-5, 2e-4, n),
    }[noise]
    data = columns(x, w, v)
    each = noise == "each"
    work = np.empty((5, n))
    expect(data, each, model, work)
    assert mean_log_likelihood(data, work) == pytest.approx(
        naive_log_likelihood(x, w, v, model), abs=1e-8
    )
    expected = naive_step(x, w, v, model, extreme=each)
    maximise(data, each, FLOOR, work, model)
    np.testing.assert_allclose(model, expected, rtol=1e-6, atol=1e-12)


def test_groups_never_lower_their_bound_and_keep_the_moments(rng: np.random.Generator) -> None:
    n = 200 if COMPILED else 60
    x = np.sort(some_edges(rng, n))
    w = rng.uniform(0.5, 2, n)
    data = np.empty((4, 40))
    group(columns(x, w, 0.1), data)
    assert (data[3] == 0.1).all()
    assert data[2].sum() == pytest.approx(w.sum())
    assert data[2] @ data[0] == pytest.approx(w @ x)
    assert data[2] @ (data[0] ** 2 + data[1]) == pytest.approx(w @ x**2)
    assert (np.diff(data[0]) > 0).all()
    assert data[1, 0] == data[1, -1] == 0  # the extremes stand alone
    np.testing.assert_allclose([data[0, 0], data[0, -1]], [x[0], x[-1]])


def test_fitted_model_is_a_fixed_point_of_the_naive_step(rng: np.random.Generator) -> None:
    x = np.sort(some_edges(rng, 300 if COMPILED else 24))
    w = np.ones(x.size)
    model, likelihood, _ = fit(x, 2, tolerance=1e-12, n_iterations=2000 if COMPILED else 60)
    assert likelihood == pytest.approx(naive_log_likelihood(x, w, 0 * x, model), abs=1e-7)
    again = naive_step(x, w, 0 * x, model, extreme=False)
    np.testing.assert_allclose(again, model, rtol=1e-3 if COMPILED else 0.1, atol=1e-6)


def test_many_edges_are_fitted_in_groups(rng: np.random.Generator) -> None:
    x = np.sort(some_edges(rng, kernels.MAX_MIXTURE_GROUPS + 3))
    model, likelihood, _ = fit(x, 1)
    np.testing.assert_allclose(model[:, 0], [1, x.mean(), x.var()], rtol=1e-9)
    assert likelihood == pytest.approx(naive_log_likelihood(x, 0 * x + 1, 0 * x, model), abs=1e-7)


@settings(max_examples=60 if COMPILED else 5, deadline=None)
@given(
    st.lists(st.floats(-1, 1, width=32), min_size=1, max_size=200 if COMPILED else 8),
    st.integers(1, 5),
    st.sampled_from([0.0, 1e-5, 1e-2]),
    st.booleans(),
)
def test_never_nan(values: list[float], n_components: int, noise: float, each: bool) -> None:
    x = np.array(values)
    level = np.linspace(noise, 2 * noise, x.size) if each else noise
    model, likelihood, _ = fit(x, n_components, noise=level)
    assert np.isfinite(model).all()
    assert math.isfinite(likelihood)
    assert model[0].min() >= 0
    assert model[0].sum() == pytest.approx(1)
    assert model[2].min() >= FLOOR


@pytest.mark.parametrize("seed", range(60 if COMPILED else 10))
def test_rows_are_fitted_as_sets_by_the_mixture(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n_sets = int(rng.integers(1, 6))
    size = int(rng.integers(1, (2, 17, kernels.MAX_MIXTURE_GROUPS)[seed % 3] + 1))
    edges = rng.normal(rng.normal(), 10 ** rng.uniform(-6, 0), (n_sets, size))
    if seed % 4 == 0:
        edges = np.round(edges, 2)
    want, got = fit_mixtures(list(edges), 1), fit_gaussians(edges)
    for one, other in zip(want, got, strict=True):
        np.testing.assert_array_equal(other.parameters, one.parameters)
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
    kernels.fit_mixture_segments(data, False, first, *how, models[0], fits[0])
    assert kernels.fit_single_rows(edges, *how, np.empty(size), models[1], fits[1])
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
