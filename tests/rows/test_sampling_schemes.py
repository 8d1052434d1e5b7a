"""Draws by weight: unbiased, and no more variable than [DF11] eq. 7 says, in any order of rows.

Those of UNPROMISED promise neither; see `test_logistic_draws` and `test_other_draws`.

The statistical tests are about *fixed* stumps, whose edges `Step.edges` estimates on a sample. A
mean is refused beyond 4.5 of its standard errors (7e-6 for each comparison, about 5e-3 for all of
them together), a mean squared deviation from G where it exceeds (1 - G^2) / T by 4.5 of its own.
Seeds are fixed: a pass stays a pass.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pytest
from numpy.typing import NDArray

from boostsample.banks.bank import FeatureBank
from boostsample.errors import SettingError
from boostsample.jit import vectors as vec
from boostsample.kernels.draw import DRAW_BLOCK, cumulate_for_draw, draw_by_order, order_room
from boostsample.planning.costs import Ledger
from boostsample.rows import sampling_schemes
from boostsample.rows.sampling_schemes import (
    SCHEMES,
    UNPROMISED,
    DrawnSample,
    known_scheme,
    nested_scheme,
    register_scheme,
    unbiased_scheme,
)
from boostsample.rows.searcher import Searcher
from boostsample.rows.weights import SignedWeights
from boostsample.step import Step
from boostsample.strategy import Stumps
from tests import naive
from tests.compiled import COMPILED, slow_without_jit
from tests.problems import bank_of

REPETITIONS = 3000
Z = 4.5
N = 240
NAMES = ("iid", "stratified", "distinct")
UNBIASED = (*NAMES, "order")


@dataclass
class Case:
    """Weights, labels and features in one order of the rows, and stumps to estimate."""

    X: NDArray[np.float32]
    Y: NDArray[np.int8]
    u: NDArray[np.float64]

    def stumps(self) -> Stumps:
        """Every feature at bins 1 and 2, votes of the true signs and some against them."""
        feature = np.repeat(np.arange(self.X.shape[1]), 2)
        threshold = np.tile([1, 2], self.X.shape[1])
        votes = np.sign(self.sums(feature, threshold)).astype(np.int8)
        votes[votes == 0] = 1
        votes[1::2, 0] *= -1
        return Stumps(feature, threshold, votes, np.zeros(feature.size))

    def sums(self, feature: NDArray[np.int64], threshold: NDArray[np.int64]) -> NDArray[np.float64]:
        """The label sums of stumps in float64: (Q, K). Features are 0 or 1, bins 1 or 2."""
        signed = self.u / self.u.sum() * self.Y
        bins = self.X[:, feature] + 1
        phi = np.where(bins >= threshold, 1.0, -1.0)
        return np.asarray(phi.T @ signed)

    def edges(self) -> NDArray[np.float64]:
        """G of the stumps."""
        stumps = self.stumps()
        sums = self.sums(stumps.feature, stumps.threshold)
        return np.asarray((sums * stumps.votes).sum(axis=1))


class TwoSided(Case):
    """Stumps with votes of both sides."""

    def stumps(self) -> Stumps:
        """As of `Case`; votes below have the true signs, but for some."""
        stumps = super().stumps()
        below = np.where(self.sides(stumps)[1] >= 0, 1, -1).astype(np.int8)
        below[2::3, -1] *= -1
        return replace(stumps, below=below)

    def sides(self, stumps: Stumps) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The label sums above and below the thresholds: (Q, K) each."""
        total = (self.u / self.u.sum() * self.Y).sum(axis=0)
        sums = self.sums(stumps.feature, stumps.threshold)
        return (total + sums) / 2, (total - sums) / 2

    def edges(self) -> NDArray[np.float64]:
        """G of the stumps."""
        stumps = self.stumps()
        above, below = self.sides(stumps)
        votes = np.hstack([stumps.votes, np.asarray(stumps.below)])
        return np.asarray((np.hstack([above, below]) * votes).sum(axis=1))


def cases() -> dict[str, Case]:
    rng = np.random.default_rng(7)
    X = rng.integers(0, 2, (N, 3)).astype(np.float32)
    X[:, 2] = 0
    Y = np.where(rng.random((N, 3)) < 0.4, 1, -1).astype(np.int8)
    row = np.arange(N)
    named = {"random": Case(X, Y, rng.random((N, 3)))}
    # Everything in step with strata of 10 rows: half of each stratum agrees with the first stump.
    high = (row % 10 < 5).astype(np.float32)
    waves = np.stack([high, (row % 10 == 3), (row // 10 % 2)], axis=1).astype(np.float32)
    ones = np.ones((N, 1))
    named["periodic features"] = Case(waves, np.ones((N, 1), np.int8), ones)
    named["periodic labels"] = Case(
        waves, np.where(row % 5 < 2, 1, -1).astype(np.int8)[:, None], ones
    )
    named["periodic weights"] = Case(
        waves, Y, np.where(row % 10 < 2, 9.0, 1.0)[:, None] * np.ones(3)
    )
    # One example in a hundred disagrees.
    near = np.where(high > 0, 1, -1).astype(np.int8)[:, None]
    near[[17, 130]] *= -1
    named["edge near 1"] = Case(waves, near, rng.random((N, 1)) + 0.5)
    named["edge of 1"] = Case(waves, np.where(high > 0, 1, -1).astype(np.int8)[:, None], ones)
    named["skewed"] = Case(X, Y, 10.0 ** rng.uniform(-6, 0, (N, 3)))
    heavy = np.ones((N, 3))
    heavy[100], heavy[101] = 500.0, 40.0  # the first has more than half of all weight
    named["heavy examples"] = Case(X, Y, heavy)
    one_label = rng.random((N, 3))
    one_label[:, 1:] = 1e-6
    named["one label"] = Case(X, Y, one_label)
    return named


CASES = cases()


def steps(case: Case, bank: FeatureBank, seed: int) -> Iterator[Step]:
    """Fresh steps on the same weights, each of which releases the samples of the one before."""
    weights = SignedWeights(case.Y, case.u, np.arange(N))
    searcher, rng = Searcher(bank, weights), np.random.default_rng(seed)
    while True:
        weights.release()
        yield Step(searcher, Ledger("test", 10**12), rng, bank.family_infos(), (1, 1))


#: Ascending, two of them equal; each mean and variance is held to its own size.
NESTED = (1, 24, 48, 48, 120, N - 1)
FEWER = 700


def nested_estimates(case: Case, scheme: str, repetitions: int, seed: int) -> NDArray[np.float64]:
    """Edges of the stumps on nested samples: (sizes, repetitions, Q)."""
    stumps = case.stumps()
    source = steps(case, bank_of(case.X), seed)
    edges = np.empty((len(NESTED), repetitions, len(stumps)))
    for r in range(repetitions):
        step = next(source)
        for s, sample in enumerate(step.draw_nested(NESTED, scheme)):
            edges[s, r] = step.edges(stumps, sample)
    return edges


def estimates(case: Case, scheme: str, T: int, repetitions: int, seed: int) -> NDArray[np.float64]:
    """Edges of the stumps on many samples: (repetitions, Q)."""
    stumps = case.stumps()
    source = steps(case, bank_of(case.X), seed)
    edges = np.empty((repetitions, len(stumps)))
    for r in range(repetitions):
        step = next(source)
        edges[r] = step.edges(stumps, step.draw(T, scheme))
    return edges


def is_unbiased(edges: NDArray[np.float64], G: NDArray[np.float64]) -> NDArray[np.bool_]:
    error = edges.std(axis=0, ddof=1) / np.sqrt(len(edges))
    return np.asarray(np.abs(edges.mean(axis=0) - G) <= Z * error + 3e-6)


def bound(G: NDArray[np.float64], T: int, scheme: str = "") -> NDArray[np.float64]:
    """Variances that schemes promise: [DF11] eq. 7; priority sampling: 1 / (T - 1)."""
    if scheme == "order":
        return np.full(G.shape, 1 / (T - 1) if T > 1 else np.inf)
    return np.asarray((1 - G**2) / T)


def excess(
    edges: NDArray[np.float64], G: NDArray[np.float64], most: NDArray[np.float64]
) -> NDArray[np.float64]:
    """How many standard errors the mean squared deviations from G lie above a bound."""
    squares = (edges - G) ** 2
    error = squares.std(axis=0, ddof=1) / np.sqrt(len(edges))
    return np.asarray((squares.mean(axis=0) - most) / (error + 1e-6))


@slow_without_jit
@pytest.mark.parametrize("scheme", UNBIASED)
@pytest.mark.parametrize("name", CASES)
def test_edges_are_unbiased_and_their_variance_is_bounded(name: str, scheme: str) -> None:
    case = CASES[name]
    G = case.edges()
    for T in (1, 24, 48, 120, N - 1):
        edges = estimates(case, scheme, T, REPETITIONS, seed=T)
        assert is_unbiased(edges, G).all(), (T, edges.mean(axis=0), G)
        most = bound(G, T, scheme)
        assert (excess(edges, G, most) <= Z).all(), (T, edges.var(axis=0), most)


@slow_without_jit
@pytest.mark.parametrize("scheme", UNBIASED)
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("sides", [Case, TwoSided])
def test_edges_on_nested_samples_are_unbiased_and_their_variance_is_bounded(
    sides: type[Case], name: str, scheme: str
) -> None:
    case = sides(**vars(CASES[name]))
    G = case.edges()
    for T, edges in zip(NESTED, nested_estimates(case, scheme, 400, seed=5), strict=True):
        assert is_unbiased(edges, G).all(), (T, edges.mean(axis=0), G)
        most = bound(G, T, scheme)
        assert (excess(edges, G, most) <= Z).all(), (T, edges.var(axis=0), most)


@slow_without_jit
@pytest.mark.parametrize("name", ["periodic features", "periodic labels", "edge near 1"])
def test_iid_draws_have_exactly_the_variance_of_the_paper(name: str) -> None:
    """[DF11] eq. 7 is an equality for K = 1: it would show draws that are not independent."""
    case = CASES[name]
    samples = [(T, estimates(case, "iid", T, REPETITIONS, seed=1)) for T in (1, 24, 120)]
    samples += zip(NESTED, nested_estimates(case, "iid", 1000, seed=6), strict=True)
    for T, edges in samples:
        G = case.edges()
        assert (np.abs(excess(edges, G, bound(G, T))) <= Z).all()


@pytest.mark.parametrize("scheme", UNBIASED)
@pytest.mark.parametrize("name", CASES)
def test_as_many_as_there_are_is_exact(name: str, scheme: str) -> None:
    case = CASES[name]
    step = next(steps(case, bank_of(case.X), 0))
    for T in (N, N + 1, 10**9):
        sample = step.draw(T, scheme)
        assert (sample.size, sample.exact) == (N, True)
        np.testing.assert_allclose(step.edges(case.stumps(), sample), case.edges(), atol=3e-6)


def one_offset(
    weight: NDArray[np.float32], ends: NDArray[np.float64], size: int, rng: np.random.Generator
) -> DrawnSample:
    """Systematic sampling, one uniform number for all strata: periodic rows kill it."""
    targets = (np.arange(size) + rng.random()) * (ends[-1] / size)
    rows = np.searchsorted(np.cumsum(weight.astype(np.float64)), targets, side="right")
    examples, hits = np.unique(np.minimum(rows, weight.size - 1), return_counts=True)
    return DrawnSample(
        examples.astype(np.int32), hits / (size * weight[examples].astype(np.float64))
    )


def weights_twice(
    weight: NDArray[np.float32], ends: NDArray[np.float64], size: int, rng: np.random.Generator
) -> DrawnSample:
    """Draws by weight and sums weighted edges once more: the defect of an earlier program."""
    drawn = SCHEMES["iid"](weight, ends, size, rng)
    factors = drawn.factors * weight[drawn.examples] / weight.mean()
    return DrawnSample(drawn.examples, factors)


@slow_without_jit
def test_the_tests_above_notice_bad_schemes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sampling_schemes._SCHEMES, "one offset", one_offset)
    monkeypatch.setitem(sampling_schemes._SCHEMES, "weights twice", weights_twice)
    case = CASES["periodic features"]
    G = case.edges()
    edges = estimates(case, "one offset", 24, REPETITIONS, seed=0)
    assert (excess(edges, G, bound(G, 24)) > Z).any()
    case = CASES["skewed"]
    edges = estimates(case, "weights twice", 24, REPETITIONS, seed=0)
    assert not is_unbiased(edges, case.edges()).all()


def drawn_by(scheme: str, weight: NDArray[np.float32], T: int, seed: int) -> DrawnSample:
    ends = np.empty(-(-weight.size // DRAW_BLOCK))
    cumulate_for_draw(weight, ends)
    return SCHEMES[scheme](weight, ends, T, np.random.default_rng(seed))


def test_schemes_by_name() -> None:
    assert {*NAMES, *UNPROMISED} == set(SCHEMES)
    for name in UNBIASED:
        assert known_scheme(name) is unbiased_scheme(name) is SCHEMES[name]
    for name in UNPROMISED.keys() - {"order"}:
        with pytest.raises(SettingError, match=f"unbiased edges here, got '{name}'.*use distinct"):
            unbiased_scheme(name)
    with pytest.raises(
        SettingError, match=r"'stratify' \(did you mean 'stratified'\?\); known: iid"
    ):
        known_scheme("stratify")
    with pytest.raises(TypeError):
        SCHEMES["mine"] = one_offset  # type: ignore[index] # read-only


def test_another_scheme(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling_schemes, "_SCHEMES", dict(sampling_schemes._SCHEMES))
    register_scheme("mine", one_offset)
    assert known_scheme("mine") is one_offset
    with pytest.raises(SettingError, match="'iid'"):
        register_scheme("iid", one_offset)
    case = CASES["random"]
    step = next(steps(case, bank_of(case.X), 0))
    assert step.draw(5, "mine").scheme == "mine"
    samples = step.draw_nested([2, 5, N], "mine")
    assert [(sample.scheme, sample.size, sample.exact) for sample in samples] == [
        ("mine", 2, False),
        ("mine", 5, False),
        ("mine", N, True),
    ]
    with pytest.raises(SettingError, match="unknown scheme 'mime'"):
        step.draw_nested([2, 5], "mime")


@slow_without_jit
def test_another_scheme_is_unbiased_in_nested_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of different examples and of repeated ones: both kinds of factors can be joined."""
    monkeypatch.setattr(sampling_schemes, "_SCHEMES", dict(sampling_schemes._SCHEMES))
    register_scheme("different", SCHEMES["distinct"])
    register_scheme("offset", one_offset)
    for name in ("skewed", "heavy examples"):
        case = CASES[name]
        G = case.edges()
        for scheme in ("different", "offset"):
            for T, edges in zip(NESTED, nested_estimates(case, scheme, 300, seed=8), strict=True):
                assert is_unbiased(edges, G).all(), (T, edges.mean(axis=0), G)
                assert scheme == "offset" or (excess(edges, G, bound(G, T)) <= Z).all()


def nested_by(
    scheme: str, weight: NDArray[np.float32], sizes: tuple[int, ...], seed: int
) -> list[DrawnSample]:
    """Examples and whole factors of nested samples, copied from the arrays that they share."""
    ends = np.empty(-(-weight.size // DRAW_BLOCK))
    cumulate_for_draw(weight, ends)
    samples, before = [], np.empty(0, np.int32)
    nested = nested_scheme(scheme)(weight, ends, sizes, np.random.default_rng(seed))
    for (examples, factors), scale, known in nested:
        assert known <= before.size
        np.testing.assert_array_equal(examples[:known], before[:known])
        assert set(before.tolist()) <= set(examples.tolist())
        samples.append(DrawnSample(examples.copy(), factors * scale))
        before = examples.copy()
    assert len(samples) == len(sizes)
    return samples


WEIGHTS = {
    "random": np.random.default_rng(3).random(40),
    "wide": 10.0 ** np.random.default_rng(4).uniform(-3, 0, 40),
    "equal": np.ones(40),
    "one heavy": np.append(np.ones(39), 1000.0),
}


@slow_without_jit
@pytest.mark.parametrize("name", WEIGHTS)
def test_nested_distinct_samples_and_their_inclusion_probabilities(name: str) -> None:
    weight, sizes = WEIGHTS[name].astype(np.float32), (1, 3, 7, 7, 20, 39)
    total = weight.astype(np.float64).sum()
    pi = np.array([naive.inclusion_probabilities(weight.tolist(), T) for T in sizes])
    counts = np.zeros(pi.shape)
    for seed in range(FEWER):
        for s, drawn in enumerate(nested_by("distinct", weight, sizes, seed)):
            assert drawn.examples.size == sizes[s]
            assert (np.diff(drawn.examples) > 0).all()
            counts[s, drawn.examples] += 1
            probability = pi[s, drawn.examples]
            np.testing.assert_allclose(drawn.factors * probability * total, 1.0, rtol=2e-6)
    spread = np.sqrt(FEWER * pi * (1 - pi))
    assert (np.abs(counts - FEWER * pi) <= Z * spread + 1e-3).all()


@slow_without_jit
@pytest.mark.parametrize("scheme", ["iid", "stratified", "filter"])
@pytest.mark.parametrize("name", WEIGHTS)
def test_hits_of_nested_samples_are_proportional_to_the_weights(name: str, scheme: str) -> None:
    """Multinomial with i.i.d. draws, no more variable with strata; draws added are new ones."""
    weight, sizes = WEIGHTS[name].astype(np.float32), (3, 10, 10, 23)
    share = weight.astype(np.float64) / weight.astype(np.float64).sum()
    hits = np.zeros((len(sizes), FEWER, 40))
    for seed in range(FEWER):
        for s, drawn in enumerate(nested_by(scheme, weight, sizes, seed)):
            hits_of_rows = drawn.factors * sizes[s] * weight[drawn.examples]
            np.testing.assert_allclose(hits_of_rows, np.rint(hits_of_rows), rtol=1e-6)
            np.add.at(hits[s, seed], drawn.examples, np.rint(hits_of_rows))
    np.testing.assert_array_equal(hits[1], hits[2])
    assert (np.diff(hits, axis=0) >= 0).all()
    for s, T in enumerate(sizes):
        assert (hits[s].sum(axis=1) == T).all()
        variance = T * share * (1 - share)
        error = np.sqrt(variance / FEWER)
        assert (np.abs(hits[s].mean(axis=0) - T * share) <= Z * error + 1e-3).all()
        squares = (hits[s] - T * share) ** 2
        beyond = squares.mean(axis=0) - variance
        slack = Z * squares.std(axis=0) / np.sqrt(FEWER) + 1e-3
        assert (beyond <= slack).all()
        if scheme != "stratified":
            enough = FEWER * T * share > 50  # fewer hits do not show their variance
            assert (beyond >= -slack)[enough].all()
    if scheme != "stratified":
        added = hits[3] - hits[0]  # 20 draws, independent of the first 3
        together = ((added - 20 * share) * (hits[0] - 3 * share)).mean(axis=0)
        slack = np.sqrt(20 * 3) * share * (1 - share) / np.sqrt(FEWER)
        assert (np.abs(together) <= Z * slack + 4 / FEWER).all()  # of rare ones


@slow_without_jit
@pytest.mark.parametrize("name", WEIGHTS)
def test_draws_by_order_are_those_of_the_smallest_keys(name: str) -> None:
    """Duffield, Lund and Thorup (2007), with the uniform numbers of the kernel."""
    weight = WEIGHTS[name].astype(np.float32)
    wide, total = weight.astype(np.float64), float(weight.astype(np.float64).sum())
    for seed in range(20):
        u = vec._uniforms_twin(0, np.random.default_rng(seed).bit_generator.random_raw() >> 1, 40)
        keys = u.astype(np.float64) / wide
        order = np.argsort(keys, kind="stable")
        drawn = nested_by("order", weight, (1, 3, 7, 7, 20, 39), seed)
        for (examples, factors), T in zip(drawn, (1, 3, 7, 7, 20, 39), strict=True):
            assert examples.tolist() == sorted(order[:T].tolist())
            want = np.maximum(wide[examples], 1 / keys[order[T]]) / wide[examples] / total
            np.testing.assert_allclose(factors, want, rtol=1e-6)


@pytest.mark.parametrize("scheme", UNBIASED)
@pytest.mark.parametrize("n", [17, 40, 203])
def test_nested_samples_of_extreme_weights(scheme: str, n: int) -> None:
    """One example with nearly all weight, weights down to 1e-30, and few examples with any."""
    rng = np.random.default_rng(n)
    heavy, few = np.full(n, 1e-30), np.zeros(n)
    heavy[n // 2] = 1.0
    few[[0, n // 2, n - 1]] = 1.0, 1e-20, 3.0
    for weights in (heavy, few, 10.0 ** rng.uniform(-30, 0, n)):
        weight = weights.astype(np.float32)
        for seed in range(20 if COMPILED else 2):
            sizes = (1, 2, 5, n - 2, n - 1)
            for T, drawn in zip(sizes, nested_by(scheme, weight, sizes, seed), strict=True):
                assert drawn.examples.size <= T
                assert (weight[drawn.examples] > 0).all()
                assert np.isfinite(drawn.factors).all()
                if scheme not in ("distinct", "order"):  # exactly T hits
                    mass = (drawn.factors * weight[drawn.examples]).sum()
                    assert mass == pytest.approx(1.0, rel=1e-6)
                elif T > 3:  # heavy ones are always in
                    assert weight.argmax() in drawn.examples.tolist()


@pytest.mark.parametrize("light", [1e-3, 1e-30])
def test_order_finds_the_next_key_among_heavy_and_light_examples(light: float) -> None:
    """Keys of heavy examples are all near 0 of the range; those below the next one are taken."""
    n, size = 4000, 1990
    weight = np.where(np.arange(n) % 2, 1.0, light).astype(np.float32)
    room, drawn = order_room(n, size), (np.empty(size, np.int32), np.empty(size))
    assert draw_by_order(weight, size, 5, room, *drawn) == size
    with np.errstate(over="ignore"):
        keys = vec._uniforms_twin(0, 5, n).astype(np.float64) / weight.astype(np.float64)
    order = np.argsort(keys, kind="stable")
    np.testing.assert_array_equal(drawn[0], np.sort(order[:size]))
    assert room.keys[size] == keys[order[size]]
