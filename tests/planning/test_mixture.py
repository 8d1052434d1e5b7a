"""Mixtures of edges: as likely as scikit-learn's, and without the noise when it is known."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import norm

from boostsample.errors import DataError, SettingError
from boostsample.planning.mixture import (
    Mixture,
    fit_mixture,
    fit_mixtures,
    sampling_variance,
)
from tests.compiled import slow_without_jit

Array = NDArray[np.float64]
Draw = Callable[[np.random.Generator, int], Array]

DISTRIBUTIONS: dict[str, Draw] = {
    "one Gaussian": lambda rng, n: rng.normal(0.03, 0.02, n),
    "two Gaussians": lambda rng, n: np.where(
        rng.random(n) < 0.7, rng.normal(0.02, 0.02, n), rng.normal(0.08, 0.03, n)
    ),
    "skewed from 0.02 to 0.2": lambda rng, n: np.minimum(0.02 + rng.gamma(1.5, 0.02, n), 0.2),
    "maxima of ten": lambda rng, n: rng.normal(0.03, 0.02, (n, 10)).max(axis=1),
    "beta": lambda rng, n: rng.beta(2, 20, n),
    "uniform": lambda rng, n: rng.uniform(0.02, 0.2, n),
    "tied, from 300 examples": lambda rng, n: np.round(rng.gamma(2, 0.02, n) * 300) / 300,
    "narrow and wide": lambda rng, n: np.where(
        rng.random(n) < 0.5, rng.normal(0.02, 0.002, n), rng.normal(0.1, 0.02, n)
    ),
}


@slow_without_jit
@pytest.mark.parametrize("n_components", [2, 3])
@pytest.mark.parametrize("n", [70, 400, 1300])
@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_as_likely_as_scikit_learn(name: str, n: int, n_components: int) -> None:
    """Mean log-likelihood per edge at most 1e-3 below, with scikit-learn's own floor of 1e-6."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.mixture import GaussianMixture

    rng = np.random.default_rng(7)
    for _ in range(3):
        edges = DISTRIBUTIONS[name](rng, n)
        ours = fit_mixture(edges, n_components)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            theirs = GaussianMixture(n_components, random_state=0).fit(edges[:, None])
        assert ours.log_likelihood >= theirs.score(edges[:, None]) - 1e-3
        densities = norm.pdf(edges[:, None], ours.means, np.sqrt(ours.variances))
        mean = np.log(densities @ ours.proportions).mean()
        assert ours.log_likelihood == pytest.approx(mean, abs=1e-8)


@slow_without_jit
@pytest.mark.parametrize("each", [False, True])
def test_deconvolved(rng: np.random.Generator, each: bool) -> None:
    """The spread of G is found under noise three times as wide; as they are, it is not."""
    true = Mixture([0.8, 0.2], [0.02, 0.06], [1e-4, 1e-4])
    n = 20_000
    g = true.sample(n, rng)
    noise = rng.uniform(5e-4, 1.5e-3, n) if each else np.full(n, 9e-4)
    h = g + rng.normal(0, np.sqrt(noise))
    mixture = fit_mixture(h, 2, noise_variance=noise if each else 9e-4)
    assert mixture.mean == pytest.approx(true.mean, abs=1e-3)
    assert mixture.variance == pytest.approx(true.variance, rel=0.15)
    assert fit_mixture(h, 2).variance == pytest.approx(true.variance + noise.mean(), rel=0.05)


@slow_without_jit
def test_equal_noises_are_one_noise(rng: np.random.Generator) -> None:
    edges = rng.normal(0.1, 0.05, 200)
    single = fit_mixture(edges, noise_variance=1e-3)
    each = fit_mixture(edges, noise_variance=np.full(200, 1e-3))
    np.testing.assert_array_equal(single.parameters, each.parameters)


def test_sampling_variance(rng: np.random.Generator) -> None:
    true_edge, n_examples = 0.3, 50
    h = 2 * rng.binomial(n_examples, (1 + true_edge) / 2, 200_000) / n_examples - 1
    assert sampling_variance(h, n_examples) == pytest.approx(h.var(), rel=0.01)
    assert sampling_variance(h, n_examples) == pytest.approx((1 - 0.09) / 50, rel=0.01)
    assert sampling_variance([1.0, -1.0], 2) == 0


def test_same_bits_and_nothing_written(rng: np.random.Generator) -> None:
    edges = rng.gamma(2, 0.02, 20)
    before = edges.copy()
    first = fit_mixture(edges)
    np.testing.assert_array_equal(edges, before)
    shuffled = fit_mixture(rng.permutation(edges))
    np.testing.assert_array_equal(first.parameters, shuffled.parameters)
    restored = Mixture(*first.parameters)
    np.testing.assert_array_equal(first.parameters, restored.parameters)
    with pytest.raises(ValueError, match="read-only"):
        first.parameters[0, 0] = 1


def test_several_at_once(rng: np.random.Generator) -> None:
    sets = [rng.normal(0.05, 0.02, n) for n in (12, 1, 7)]
    together = fit_mixtures(sets, 2)
    for edges, mixture in zip(sets, together, strict=True):
        np.testing.assert_array_equal(mixture.parameters, fit_mixture(edges, 2).parameters)
    assert fit_mixtures([]) == []


def test_mixture_moments_and_samples(rng: np.random.Generator) -> None:
    mixture = Mixture([0.7, 0.3], [0.02, 0.08], [0.0004, 0.0009])
    drawn = mixture.sample(200_000, rng)
    assert drawn.mean() == pytest.approx(mixture.mean, abs=5e-4)
    assert drawn.var() == pytest.approx(mixture.variance, rel=0.02)
    assert mixture.n_components == 2
    assert repr(mixture) == "Mixture([0.7, 0.3], [0.02, 0.08], [0.0004, 0.0009])"


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (([0.5, 0.6], [0, 0], [1, 1]), "proportions must not be negative and must sum to 1"),
        (([1.5, -0.5], [0, 0], [1, 1]), "proportions must not be negative"),
        (([1.0], [0, 0], [1, 1]), "vectors of one length"),
        (([], [], []), "vectors of one length"),
        (([1.0], [0], [-1]), "variances must not be negative"),
        (([1.0], [np.nan], [1]), "finite"),
    ],
)
def test_bad_mixtures(parts: tuple[list[float], list[float], list[float]], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        Mixture(*parts)


@pytest.mark.parametrize(
    ("edges", "settings", "message"),
    [
        ([], {}, "at least 1 value, got 0"),
        ([0.1, np.nan], {}, "edges must be finite"),
        ([[0.1]], {}, "edges must be a vector"),
        ([0.1, 0.2], {"noise_variance": [1.0, 1.0, 1.0]}, "one number for each of 2 edges"),
    ],
)
def test_bad_data(edges: list[float], settings: dict[str, list[float]], message: str) -> None:
    with pytest.raises(DataError, match=message):
        fit_mixture(edges, **settings)  # type: ignore[arg-type]  # wrong on purpose


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_components": 0}, "n_components must be at least 1, got 0"),
        ({"noise_variance": -1.0}, "noise_variance must be at least 0"),
        ({"noise_variance": np.nan}, "noise_variance must be at least 0"),
    ],
)
def test_bad_settings(settings: dict[str, object], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        fit_mixture([0.1, 0.2], **settings)  # type: ignore[arg-type]  # wrong on purpose
