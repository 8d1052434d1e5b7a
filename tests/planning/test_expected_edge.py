"""e(Q,T) and its maximisers against [DF11]; mixtures of edges against scikit-learn's."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import ndtr
from scipy.stats import norm

from boostsample.errors import DataError, SettingError
from boostsample.planning.expected_edge import (
    allocate,
    best_expected_edge,
    best_expected_edge_family,
    expected_edge,
    expected_edge_curve,
    expected_edge_families,
    expected_maximum,
    gaussian_expected_edge,
)
from boostsample.planning.mixture import (
    Mixture,
    fit_gaussians,
    fit_mixture,
    fit_mixtures,
    sampling_variance,
)
from tests.compiled import COMPILED, slow_without_jit

NARROW = Mixture(1.0, 0.02, 0.02**2)
WIDE = Mixture([0.7, 0.3], [0.02, 0.08], [0.02**2, 0.03**2])


@pytest.mark.parametrize(
    ("n_features", "n_examples", "edge"),
    [
        (1, 100, 0.038000),
        (10, 100, 0.059581),
        (10, 1000, 0.088984),
        (50, 300, 0.093501),
        (100, 50, 0.064963),
        (50, 1000, 0.114060),
    ],
)
def test_reference_values(n_features: int, n_examples: int, edge: float) -> None:
    assert expected_edge(WIDE, n_features, n_examples, unit_noise=1) == pytest.approx(
        edge, abs=6e-7
    )


@pytest.mark.parametrize(
    ("counts", "n_examples", "edge"),
    [
        ((5, 5), 1000, 0.071929),
        ((10, 1), 300, 0.036676),
        ((1, 10), 300, 0.072336),
        ((20, 30), 1000, 0.105979),
    ],
)
def test_reference_values_of_families(
    counts: tuple[int, int], n_examples: int, edge: float
) -> None:
    assert expected_edge_families(
        [NARROW, WIDE], counts, n_examples, unit_noise=1
    ) == pytest.approx(edge, abs=6e-7)


def brute_force(
    mixtures: Sequence[Mixture], counts: Sequence[int], n_examples: float, v: float | None
) -> float:
    """The integral by twelve nodes in each twelfth of a scale, up to twelve scales away."""
    families, cuts = [], []
    for mixture, count in zip(mixtures, counts, strict=True):
        share, mean, variance = mixture.parameters
        noise = (1 - mean**2 if v is None else v) / n_examples
        scale = np.maximum(np.sqrt(variance + noise), 1e-10 * (1 + abs(mean)))
        families.append((count, share, mean, variance, scale))
        cuts.append((mean + scale * np.linspace(-12, 12, 145)[:, None]).ravel())
    ends = np.unique(np.concatenate(cuts))
    nodes, weights = np.polynomial.legendre.leggauss(12)
    half = 0.5 * np.diff(ends)
    h = (ends[:-1, None] + half[:, None] * (1 + nodes)).reshape(-1, 1)
    log_below, parts = 0.0, []
    for count, share, mean, variance, scale in families:
        z = (h - mean) / scale
        below, above = ndtr(z) @ share, ndtr(-z) @ share
        log_f = np.where(above < 0.5, np.log1p(-np.minimum(above, 0.5)), np.log(below + 1e-300))
        moment = (mean + variance / scale * z) * np.exp(-z * z / 2) / scale @ share
        log_below = log_below + count * log_f
        parts.append((count, moment, log_f))
    total = sum(count * moment * np.exp(log_below - log_f) for count, moment, log_f in parts)
    return float((half[:, None] * weights).ravel() @ total / math.sqrt(2 * math.pi))


@pytest.mark.parametrize("first", range(10))
def test_any_shares_and_scales_against_brute_force(first: int) -> None:
    """Shares from 1e-9, points and wide components, Q and T to 1e5."""
    for seed in range(first, 150 if COMPILED else 3, 10):
        rng = np.random.default_rng(seed)
        mixtures, counts = [], []
        for _ in range(1 + seed % 3 % 2 * int(rng.integers(3))):
            n = int(rng.integers(1, 5))
            shares = 10 ** rng.uniform(-9, (0, -5)[seed % 2], n)
            shares[0] = 1
            variances = 10 ** rng.uniform(-12, -1, n) * (rng.random(n) < 0.9)
            mixtures.append(Mixture(shares / shares.sum(), rng.uniform(-0.2, 0.9, n), variances))
            counts.append(int(10 ** rng.uniform((0, 3)[seed % 2], 5)))
        for n_examples in (1, 10 ** rng.uniform(0, 5), math.inf):
            for v in (None, 1.0):
                e = expected_edge_families(mixtures, counts, n_examples, unit_noise=v)
                assert abs(e - brute_force(mixtures, counts, n_examples, v)) < 1e-6, seed


@pytest.mark.parametrize(
    ("n", "mean"),
    [(1, 0.0), (2, 0.56419), (5, 1.16296), (10, 1.53875), (100, 2.50759), (1000, 3.24144)],
)
def test_expected_maximum(n: int, mean: float) -> None:
    assert expected_maximum(n) == pytest.approx(mean, abs=6e-6)
    if n == 2:
        assert expected_maximum(n) == pytest.approx(1 / math.sqrt(math.pi), abs=1e-7)


@pytest.mark.parametrize("variance", [1e-10, 1e-4, 1e-2, 0.1])
def test_one_gaussian_is_equation_17(variance: float) -> None:
    for n_features in (1, 2, 10, 1000, 100_000) if COMPILED else (1, 10):
        for n_examples in (1, 50, 60_000, math.inf):
            closed = gaussian_expected_edge(n_features, n_examples, variance, mean=0.1)
            mixture = Mixture(1.0, 0.1, variance)
            e = expected_edge(mixture, n_features, n_examples, unit_noise=1)
            assert e == pytest.approx(closed, abs=1e-7)


@pytest.mark.parametrize(
    ("variance", "budget", "best"),
    [
        (1e-2, 1_000, 13),
        (1e-2, 10_000, 51),
        (1e-2, 100_000, 290),
        (1e-2, 600_000, 1279),
        (1e-4, 1_000, 5),
        (1e-4, 10_000, 6),
        (1e-4, 100_000, 13),
        (1e-4, 600_000, 37),
    ],
)
def test_optima_of_figure_2(variance: float, budget: int, best: int) -> None:
    """Among all Q, and on the grid of `best_expected_edge`, which gives away next to nothing."""
    plan = best_expected_edge(Mixture(1.0, 0.0, variance), 10**6, 10**9, budget, unit_noise=1)
    assert plan.n_examples == budget // plan.n_features
    assert plan.n_features == pytest.approx(best, rel=0.15)

    def closed(q: int) -> float:
        return gaussian_expected_edge(q, budget / q, variance)

    top = closed(best)
    assert plan.edge >= 0.997 * top
    if COMPILED:
        near = range(max(1, best // 2), 2 * best, max(1, best // 100))
        assert max(closed(q) for q in near) == pytest.approx(top, rel=1e-4)
        assert max(near, key=closed) == pytest.approx(best, rel=0.04)


@pytest.mark.parametrize("budget", [1, 7, 99, 100, 250, 10**5])
@pytest.mark.parametrize("n_features", [1, 3, 40])
def test_plans_keep_to_the_rules(n_features: int, budget: int) -> None:
    n_examples = 100
    plan = best_expected_edge(WIDE, n_features, n_examples, budget)
    assert 1 <= plan.n_features <= n_features
    assert plan.n_features * plan.n_examples <= budget
    assert plan.n_examples == min(n_examples, budget // plan.n_features)
    inverse = math.inf if plan.n_examples == n_examples else plan.n_examples
    assert plan.edge == expected_edge(WIDE, plan.n_features, inverse)
    shared = allocate([WIDE, NARROW], [n_features, 2], n_examples, budget)
    total = int(shared.counts.sum())
    assert 1 <= total <= budget
    assert (shared.counts <= [n_features, 2]).all()
    assert shared.n_examples == min(n_examples, budget // total)


def test_curve(rng: np.random.Generator) -> None:
    size = 16_451 if COMPILED else 50
    curve = expected_edge_curve(WIDE, size, 60_000, 600_000)
    plan = best_expected_edge(WIDE, size, 60_000, 600_000)
    assert (np.diff(curve.n_features) > 0).all()
    assert curve.n_features[0] == 1
    assert curve.n_features[-1] == size
    assert 40 <= curve.n_features.size <= 62 or not COMPILED
    at = int(curve.edges.argmax())
    assert (curve.n_features[at], curve.n_examples[at]) == (plan.n_features, plan.n_examples)
    assert curve.edges[at] == plan.edge
    assert curve.n_examples[curve.n_features == 10] == 60_000


def test_the_best_family_wins() -> None:
    plan = best_expected_edge_family([NARROW, WIDE, NARROW], [500, 400, 300], 1000, 10_000)
    alone = best_expected_edge(WIDE, 400, 1000, 10_000)
    assert plan.family == 1
    assert (plan.n_features, plan.n_examples, plan.edge) == tuple(alone)
    assert plan.edges[0] == plan.edges[2] == best_expected_edge(NARROW, 500, 1000, 10_000).edge
    assert best_expected_edge_family([WIDE, WIDE], [9, 9], 100, 1000).family == 0


def test_a_small_family_is_shared_with_others() -> None:
    """Two features are of the best family, and the search goes on in the next best."""
    shared = allocate([NARROW, WIDE, NARROW], [500, 2, 500], 1000, 10_000)
    assert shared.counts[1] == 2
    assert shared.counts[0] + shared.counts[2] >= 5
    alone = best_expected_edge_family([NARROW, WIDE, NARROW], [500, 2, 500], 1000, 10_000)
    assert shared.edge > alone.edge


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: expected_edge(WIDE, 0, 10), "n_features must be an integer at least 1, got 0"),
        (lambda: expected_edge(WIDE, 1, 0.5), "n_examples must be at least 1 and finite, got 0.5"),
        (lambda: expected_edge(WIDE, 1, 9, unit_noise=-1), "unit_noise must be at least 0"),
        (lambda: expected_edge_families([], [], 9), "mixtures must hold at least 1"),
        (lambda: expected_edge_families([WIDE], [1, 2], 9), "a number for each of 1 mixtures"),
        (lambda: expected_edge_families([WIDE], [0], 9), "not all 0"),
        (lambda: best_expected_edge(WIDE, 0, 10, 10), "sizes must be an integer at least 1, got 0"),
        (
            lambda: best_expected_edge(WIDE, 10, 10, 0),
            "budget must be an integer at least 1, got 0",
        ),
        (
            lambda: expected_edge_curve(WIDE, 10, 10, 0),
            "budget must be an integer at least 1, got 0",
        ),
        (
            lambda: best_expected_edge_family([WIDE], [1, 2], 10, 10),
            "sizes must have 1 entries, got 2",
        ),
        (lambda: allocate([WIDE], [1, 2], 10, 10), "sizes must have 1 entries, got 2"),
        (lambda: allocate([WIDE], [1], 10, 0), "budget must be an integer at least 1, got 0"),
        (lambda: gaussian_expected_edge(1, 10, 0.0), "variance must be above 0"),
    ],
)
def test_bad_settings(call: Callable[[], object], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        call()


@pytest.mark.parametrize("number", [0, -1, 1.5, np.nan, np.inf, True, None, "3", 2**70])
def test_numbers_of_features_examples_and_looks_are_whole(number: Any) -> None:
    """No fraction is cut off, and NaN and infinity are no numbers."""
    calls: list[tuple[str, Callable[[], object]]] = [
        ("n_features", lambda: expected_edge(WIDE, number, 10)),
        ("n_features", lambda: expected_maximum(number)),
        ("n_features", lambda: gaussian_expected_edge(number, 10, 0.01)),
        ("counts", lambda: expected_edge_families([WIDE], [number], 10)),
        ("sizes", lambda: best_expected_edge(WIDE, number, 10, 10)),
        ("n_examples", lambda: best_expected_edge(WIDE, 10, number, 10)),
        ("budget", lambda: best_expected_edge(WIDE, 10, 10, number)),
        ("sizes", lambda: expected_edge_curve(WIDE, number, 10, 10)),
        ("n_examples", lambda: expected_edge_curve(WIDE, 10, number, 10)),
        ("budget", lambda: expected_edge_curve(WIDE, 10, 10, number)),
        ("sizes", lambda: best_expected_edge_family([WIDE], [number], 10, 10)),
        ("sizes", lambda: allocate([WIDE], [number], 10, 10)),
        ("n_examples", lambda: allocate([WIDE], [10], number, 10)),
        ("budget", lambda: allocate([WIDE], [10], 10, number)),
        ("n_components", lambda: fit_mixture([0.1, 0.2], number)),
        ("n_examples", lambda: sampling_variance([0.1, 0.2], number)),
    ]
    expected_edge(WIDE, 1, 1)  # kept candidates of 1 accept neither True nor 1.0
    best_expected_edge(WIDE, 1, 10, 10)
    for name, call in calls:
        with pytest.raises(SettingError, match=f"{name} must be"):
            call()


@pytest.mark.parametrize("number", [np.nan, "many", None])
def test_a_number_that_is_none_is_an_error(number: Any) -> None:
    calls: list[tuple[str, Callable[[], object]]] = [
        ("n_examples", lambda: expected_edge(WIDE, 1, number)),
        ("mean", lambda: gaussian_expected_edge(1, 10, 0.01, mean=number)),
        ("variance", lambda: gaussian_expected_edge(1, 10, number)),
        ("unit_noise", lambda: gaussian_expected_edge(1, 10, 0.01, unit_noise=number)),
    ]
    for name, call in calls:
        with pytest.raises(SettingError, match=f"{name} must be"):
            call()


def test_mixtures_in_one_array_are_planned_for_like_a_list(rng: np.random.Generator) -> None:
    together = fit_gaussians(rng.normal(0.05, 0.02, (3, 16)))
    one_by_one = [Mixture(*each.parameters) for each in together]
    how = [30, 400, 9], 5_000, 50_000
    for unit_noise in (None, 1.0):
        best = best_expected_edge_family(together, *how, unit_noise=unit_noise)
        other = best_expected_edge_family(one_by_one, *how, unit_noise=unit_noise)
        assert best[:4] == other[:4]
        np.testing.assert_array_equal(best.edges, other.edges)
        counts, n_examples, edge = allocate(together, *how, unit_noise=unit_noise)
        want = allocate(one_by_one, *how, unit_noise=unit_noise)
        assert (counts.tolist(), n_examples, edge) == (want[0].tolist(), *want[1:])


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
        (["one"], {}, "edges must be a vector of numbers"),
        ([0.1], {"noise_variance": ["one"]}, "noise_variance must hold numbers"),
        ([0.1, 0.2], {"noise_variance": [1.0, 1.0, 1.0]}, "one number for each of 2 edges"),
        ([0.1, 0.2], {"noise_variance": [1.0]}, r"of 2 edges, got shape \(1,\)"),
    ],
)
def test_bad_data(edges: list[float], settings: dict[str, list[float]], message: str) -> None:
    with pytest.raises(DataError, match=message):
        fit_mixture(edges, **settings)  # type: ignore[arg-type]  # wrong on purpose


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_components": 0}, "n_components must be an integer at least 1, got 0"),
        ({"noise_variance": -1.0}, "noise_variance must be at least 0"),
        ({"noise_variance": np.nan}, "noise_variance must be at least 0"),
    ],
)
def test_bad_settings_of_mixtures(settings: dict[str, object], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        fit_mixture([0.1, 0.2], **settings)  # type: ignore[arg-type]  # wrong on purpose
