"""Edges on samples drawn over shards are unbiased, and vary no more than [DF11] eq. 7 says.

As tests/rows/test_sampling_schemes.py for one process: fixed stumps, fixed seeds, means within
4.5 of their standard errors. Here the shards have unlike sizes and weights.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from boostsample.planning.costs import Ledger
from boostsample.records import Term
from boostsample.rows.weights import FULL_STEP
from boostsample.shards.exchange import Exchange, LocalShards
from boostsample.shards.server import ArraySource
from boostsample.shards.shard_rows import ShardRows, allocate, expected_sizes, pivotal_sizes
from boostsample.step import Step
from boostsample.threads import Threads
from tests.compiled import slow_without_jit
from tests.problems import bank_of
from tests.rows.test_sampling_schemes import Case, bound, excess, is_unbiased

N, CUTS = 240, (0, 20, 101, 240)
SIZES = (1, 24, 48, 120, N - 1)
REPETITIONS = 500
Z = 4.5


def cases() -> dict[str, Case]:
    rng = np.random.default_rng(7)
    X = rng.integers(0, 2, (N, 3)).astype(np.float32)
    Y = np.where(rng.random((N, 3)) < 0.4, 1, -1).astype(np.int8)
    weights = {
        "random": rng.random(N) + 0.01,
        "skewed": 10.0 ** rng.uniform(-6, 0, N),
        "heavy examples": np.where(
            np.arange(N) == 100, 500.0, np.where(np.arange(N) == 7, 40.0, 1)
        ),
        "light shard": np.where(np.arange(N) < 101, 1e-4, 1.0) * (1 + rng.random(N)),
    }
    named = {name: Case(X, Y, np.repeat(w[:, None], 3, axis=1)) for name, w in weights.items()}
    by_shard = np.where(np.arange(N) < 101, 1, -1).astype(np.int8)[:, None]
    w = rng.random(N) + 0.5
    differing = Case(X, np.repeat(by_shard, 3, axis=1), np.repeat(w[:, None], 3, axis=1))
    named["edges differ between shards"] = differing
    return named


def shard_rows(case: Case) -> Any:
    bank = bank_of(case.X)
    sources = [
        ArraySource(
            bank.families,
            np.ascontiguousarray(bank.bins[:, low:high]),
            np.array(bank.cuts),
            np.array(bank.n_bins),
            case.Y[low:high],
            case.u[low:high, 0],
        )
        for low, high in itertools.pairwise(CUTS)
    ]
    rows = ShardRows(Exchange(LocalShards(sources), "uniform", True), Threads(1))
    rows.begin(0.0)
    return bank, rows


def estimates(case: Case, scheme: str, stumps: Any) -> NDArray[np.float64]:
    """Edges on nested samples: (sizes, repetitions, Q)."""
    bank, rows = shard_rows(case)
    target, rng = rows.target((0, N), ()), np.random.default_rng(3)
    edges = np.empty((len(SIZES), REPETITIONS, len(stumps)))
    for r in range(REPETITIONS):
        step = Step(target, Ledger("test", 10**12), rng, bank.family_infos(), (1, 1))
        for s, sample in enumerate(step.draw_nested(SIZES, scheme)):
            edges[s, r] = step.edges(stumps, sample)
        target.release()
    return edges


@slow_without_jit
@pytest.mark.parametrize("scheme", ["iid", "stratified", "distinct"])
@pytest.mark.parametrize("name", cases())
def test_edges_are_unbiased_and_their_variance_is_bounded(name: str, scheme: str) -> None:
    case = cases()[name]
    G, stumps = case.edges(), case.stumps()
    for T, edges in zip(SIZES, estimates(case, scheme, stumps), strict=True):
        assert is_unbiased(edges, G).all(), (T, edges.mean(axis=0), G)
        assert (excess(edges, G, bound(G, T)) <= Z).all(), (T, edges.var(axis=0), (1 - G**2) / T)


@slow_without_jit
def test_filter_estimates_the_edges_of_logistic_weights() -> None:
    """After an update, so that they are not the weights: q_il = u_il / (1 + exp(y_il f_l))."""
    case = cases()["random"]
    bank, rows = shard_rows(case)
    target, stumps = rows.target((0, N), ()), case.stumps()
    best = stumps[int(case.edges().argmax())]
    feature, threshold = int(best.feature[0]), int(best.threshold[0])
    sums = target.label_sums(feature, threshold)
    votes = np.where(sums >= 0, 1, -1).astype(np.int8)
    edge = float(np.abs(sums).sum())
    cut = Term(feature, threshold, 0.0, votes, 0.0)
    rows.update(cut, FULL_STEP.factors(edge, rows.mass))
    rows.begin(0.5 * (math.log1p(edge) + math.log1p(-edge)))
    target = rows.target((0, N), ())
    alpha = 0.5 * math.log((1 + edge) / (1 - edge))
    phi = np.where(case.X[:, feature] + 1 >= threshold, 1.0, -1.0)
    q = case.u / case.u.sum() / (1.0 + np.exp(case.Y * votes * phi[:, None] * alpha))
    want = Case(case.X, case.Y, q)
    signed = np.where(case.X[:, stumps.feature] + 1 >= stumps.threshold, 1.0, -1.0)
    G = ((signed.T @ (want.u / want.u.sum() * case.Y)) * stumps.votes).sum(axis=1)
    rng, edges = np.random.default_rng(4), np.empty((1500, len(stumps)))
    for r in range(len(edges)):
        step = Step(target, Ledger("test", 10**12), rng, bank.family_infos(), (1, 1))
        edges[r] = step.edges(stumps, step.draw(48, "filter"))
        target.release()
    assert is_unbiased(edges, G).all(), (edges.mean(axis=0), G)
    assert np.abs(edges.mean(axis=0) - case.edges()).max() > 0.01, "not those of the weights"


@pytest.mark.parametrize("two_sided", [False, True])
def test_a_search_finds_the_edges_that_step_edges_estimates(two_sided: bool) -> None:
    """Rows and histograms of one sample have the same best stumps: on small and large samples."""
    case = cases()["random"]
    bank, rows = shard_rows(case)
    target = rows.target((0, N), (), two_sided)
    for T in (5, 40, 239):
        for scheme in ("iid", "stratified", "distinct"):
            rng = np.random.default_rng(T)
            step = Step(target, Ledger("test", 10**12), rng, bank.family_infos(), (1, 1))
            sample = step.draw(T, scheme)
            stumps = step.search(np.arange(3), sample)
            assert (stumps.below is not None) == two_sided
            np.testing.assert_allclose(step.edges(stumps, sample), stumps.edge, atol=2e-6)
            target.release()


SHARES = np.array([0.05, 0.4, 0.001, 0.3, 0.249])
COUNTS = (30, 500, 40, 12, 60)
SCHEMES = ("iid", "stratified", "distinct", "filter", "a registered one")
NESTED = (1, 7, 7, 50, 400)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_sizes_ascend_and_sum_up(scheme: str) -> None:
    for seed in range(50):
        sizes, _ = allocate(NESTED, SHARES, COUNTS, scheme, np.random.default_rng(seed))
        assert sizes.sum(axis=1).tolist() == list(NESTED)
        assert np.all(np.diff(sizes, axis=0, prepend=0) >= 0)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_units_make_every_shard_count_in_proportion_to_its_weight(scheme: str) -> None:
    """E[T_m unit_m] is T of joined samples, and 1 of the others: exactly or within the noise."""
    n, rng = 4000, np.random.default_rng(1)
    drawn = [allocate(NESTED, SHARES, COUNTS, scheme, rng) for _ in range(n)]
    if scheme == "distinct":
        counted = np.array([units for _, units in drawn])
        want = np.ones((len(NESTED), SHARES.size))
    else:
        counted = np.array([sizes * units for sizes, units in drawn])
        want = np.repeat(np.array(NESTED, float)[:, None], SHARES.size, axis=1)
    error = counted.std(axis=0) / np.sqrt(n)
    assert np.all(np.abs(counted.mean(axis=0) - want) <= 4.5 * error + 1e-9)


def test_expected_sizes_fill_small_shards() -> None:
    sizes = expected_sizes(400, SHARES, COUNTS)
    assert sizes.sum() == pytest.approx(400)
    full = sizes >= np.array(COUNTS) - 1e-9
    assert full.tolist() == [True, False, False, True, True]
    ratio = sizes[~full] / SHARES[~full]
    np.testing.assert_allclose(ratio, ratio[0])
    np.testing.assert_allclose(expected_sizes(10, SHARES, COUNTS), 10 * SHARES)
    np.testing.assert_allclose(expected_sizes(sum(COUNTS), SHARES, COUNTS), COUNTS)


def _pivotal(expected: NDArray[np.float64], n: int) -> NDArray[np.int64]:
    rng = np.random.default_rng(5)
    return np.array([pivotal_sizes(expected, rng) for _ in range(n)])


def test_pivotal_sizes_round_down_or_up() -> None:
    expected = np.array([0.0, 2.3, 0.4, 5.0, 0.9, 1.4])
    sizes = _pivotal(expected, 5000)
    assert np.all((sizes == np.floor(expected)) | (sizes == np.ceil(expected)))
    assert set(sizes.sum(axis=1)) == {10}
    error = sizes.std(axis=0) / np.sqrt(len(sizes))
    assert np.all(np.abs(sizes.mean(axis=0) - expected) <= 4.5 * error + 1e-12)


@pytest.mark.parametrize("values", [(1, -1, 1, -1, 1), (1, 1, -1, -1, 0), (3, 0, 0, -2, 1)])
@pytest.mark.parametrize("size", [1, 2, 3, 17])
def test_pivotal_sizes_vary_no_more_than_multinomial_ones(
    size: int, values: tuple[int, ...]
) -> None:
    """The sum over draws of a number that each shard has, in an unlucky order, too."""
    shares = np.full(5, 0.2)
    totals = _pivotal(size * shares, 4000) @ np.array(values, float)
    mean = shares @ np.array(values, float)
    most = size * (shares @ np.array(values, float) ** 2 - mean**2)
    squares = (totals - size * mean) ** 2
    assert squares.mean() <= most + 4.5 * squares.std() / np.sqrt(len(totals)) + 1e-9


def test_a_shard_without_weight_draws_nothing() -> None:
    shares = np.array([0.0, 1.0])
    for scheme in SCHEMES:
        sizes, units = allocate([5], shares, [3, 9], scheme, np.random.default_rng(0))
        assert sizes.tolist() == [[0, 5]]
        assert np.isfinite(units).all()
