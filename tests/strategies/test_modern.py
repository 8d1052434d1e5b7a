"""Samplers of later papers, search by search against their rules in plain loops."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from boostsample.bandits import reward
from boostsample.errors import SettingError
from boostsample.loop.booster import Booster
from boostsample.rows.sampling_schemes import UNPROMISED
from boostsample.strategies import (
    EMAFS,
    BoxThirding,
    FilterBoost,
    Hedge,
    MABSplit,
    MASNaive,
    MedianElimination,
    MPBoost,
    Sparrow,
    UniformNaive,
    WeightTrimming,
)
from boostsample.strategies.modern.box_thirding import box_levels
from boostsample.strategies.modern.sparrow import sparrow_accepts
from boostsample.strategy import Strategy
from tests import naive
from tests.problems import bank_of, booster_of, local_rows, noisy_labels, rows_of, table
from tests.strategies.watch import Watched

N, F = 300, 40


def booster(strategy: Strategy, groups: int = 4, n_labels: int = 3, **settings: Any) -> Booster:
    """On 300 examples of 40 features, some of which tell the classes apart."""
    Y = noisy_labels(N, n_labels)
    X = table(N, F, seed=3)
    X[:, ::3] += 3 * (Y[:, :1] > 0) + (Y[:, -1:] > 0)
    settings = {"n_rounds": 30, "rng": 0, **settings}
    return Booster(bank_of(X, groups=groups), None, Y, strategy, **settings)


def order_of(edges: list[float]) -> list[int]:
    return sorted(range(len(edges)), key=lambda k: -edges[k])


@pytest.mark.parametrize("z", [0.5, 1.0, 2.0])
def test_mabsplit_searches_what_its_bounds_leave(z: float, watched: Watched) -> None:
    seen = []
    run = booster(MABSplit(n_features=30, batch=20, z=z), budget=20 * N)
    for _ in range(30):
        watched.clear()
        row = run.next_round().rows[0]
        ((sizes, scheme),) = watched.nested
        assert scheme == "distinct"
        assert sizes == [20, 40, 80, 160, 300]
        first = watched.searches[0]
        assert len(set(first.features)) == 30
        budget = 20 * N
        for search, then in itertools.zip_longest(watched.searches, watched.searches[1:]):
            budget -= len(search.features) * search.size
            survivors = naive.mabsplit(search.edges, search.size, N, z)
            left = [search.features[k] for k in order_of(search.edges) if k in survivors]
            if then is None:
                seen.append(search.size)
                done = len(left) == 1 or search.size == N or budget < 2 * search.size
                assert done
                assert row["feature"] == search.features[int(np.argmax(search.edges))]
            else:
                assert then.size == min(2 * search.size, N)
                assert then.features == left[: budget // then.size]
    assert z == 2.0 or len(set(seen)) > 1


def test_sparrow_stops_at_the_first_batch_that_passes(watched: Watched) -> None:
    target, delta = 0.4, 0.05
    run = booster(Sparrow(8, target, delta), n_labels=1, budget=8000)
    passes = []
    for _ in range(30):
        watched.clear()
        row = run.next_round().rows[0]
        ((sizes, scheme),) = watched.nested
        assert scheme == "iid"
        assert all(b in (2 * a, 2 * a + 1) for a, b in itertools.pairwise(sizes))
        assert 8000 / 2 - 8 < 8 * sizes[-1] <= 8000 / 2
        search, best, passed = watched.searches[0], -1, False
        for size, search in zip(sizes, watched.searches, strict=False):
            assert not passed
            assert search.size == min(size, N)
            best = int(np.argmax(search.edges))
            wrong = round((1 - search.edges[best]) / 2 * search.size)
            passed = naive.sparrow([-1] * wrong + [1] * (search.size - wrong), target, delta)
        assert passed or search.size == N
        assert row["feature"] == search.features[best]
        passes.append(passed)
        target *= 1.0 if passed else 0.5
        assert vars(run.strategy)["target_"] == target
    assert set(passes) == {True, False}


def test_the_rule_of_sparrow() -> None:
    for n in (5, 40, 300, 3000):
        for wrong in range(0, n + 1, max(1, n // 40)):
            agreements = [-1] * wrong + [1] * (n - wrong)
            for target in (0.0, 0.1, 0.5):
                for delta in (1e-6, 0.05, 1.0):
                    result = sparrow_accepts(1 - 2 * wrong / n, n, target, delta)
                    assert result == naive.sparrow(agreements, target, delta), (n, wrong, target)


def test_mp_boost_draws_and_learns_its_probabilities(watched: Watched) -> None:
    run = booster(MPBoost(n_features=6, momentum=0.3), budget=600)
    q = [1 / F] * F
    for _ in range(30):
        watched.clear()
        row = run.next_round().rows[0]
        assert watched.draws == [(100, "distinct")]
        (search,) = watched.searches
        assert len(set(search.features)) == 6
        q = naive.mp_boost(q, search.features, row["feature"], 0.3)
        result = vars(run.strategy)["probabilities_"]
        np.testing.assert_allclose(result, q, rtol=1e-9)
        assert result.sum() == pytest.approx(1.0)
    assert max(q) > 5 / F


def test_mp_boost_draws_by_its_probabilities(watched: Watched) -> None:
    run = booster(MPBoost(n_features=1, momentum=0.0), n_rounds=3000, budget=10)
    run.strategy.probabilities_[:] = np.arange(F) / (F * (F - 1) / 2)
    for _ in range(3000):
        run.next_round()
    counts = np.bincount([search.features[0] for search in watched.searches], minlength=F)
    expected = 3000 * np.arange(F) / (F * (F - 1) / 2)
    assert (np.abs(counts - expected) <= 4.5 * np.sqrt(expected)).all()


@pytest.mark.parametrize("n", [1, 2, 3, 7, 32])
def test_median_elimination_drops_the_worse_half(n: int, watched: Watched) -> None:
    run = booster(MedianElimination(n, delta=0.2), budget=3000)
    for _ in range(5):
        watched.clear()
        row = run.next_round().rows[0]
        expected = naive.median_elimination(n, 3000, 0.2)
        sizes = [min(N, int(t)) for _, t in expected]
        assert watched.nested == [([size], "order") for size in sizes]
        assert [len(search.features) for search in watched.searches] == [q for q, _ in expected]
        for search, then in itertools.pairwise(watched.searches):
            left = [search.features[k] for k in order_of(search.edges)]
            assert then.features == left[: len(then.features)]
        last = watched.searches[-1]
        assert row["feature"] == last.features[int(np.argmax(last.edges))]


def test_box_thirding_compares_by_threes(watched: Watched) -> None:
    """One feature after another, with boxes of all levels open at once."""
    run = booster(BoxThirding(n_features=31), budget=3000)
    for _ in range(5):
        watched.clear()
        row = run.next_round().rows[0]
        edges = [dict(zip(s.features, s.edges, strict=True)) for s in watched.searches]
        boxes: list[list[int]] = [[] for _ in edges]
        reached: list[list[int]] = [[] for _ in edges]
        for feature in watched.searches[0].features:
            level, arm = 0, feature
            while True:
                reached[level].append(arm)
                boxes[level].append(arm)
                if len(boxes[level]) < 3:
                    break
                of_level = edges[level]
                best, middle, _ = (
                    boxes[level][k] for k in order_of([of_level[j] for j in boxes[level]])
                )
                boxes[level] = [middle]
                level, arm = level + 1, best
        assert [s.features for s in watched.searches] == reached
        assert [len(arms) for arms in reached] == [31, 15, 7, 3, 1]
        sizes = [s.size for s in watched.searches]
        assert sizes == [min(N, sizes[0] << level) for level in range(5)]
        spent = sum(len(arms) * size for arms, size in zip(reached, sizes, strict=True))
        assert 0.9 * 3000 <= spent == row["looks_search"] <= 3000
        assert row["feature"] == reached[-1][0]


@pytest.mark.parametrize("budget", [1, 2, 7, 50, 333, 5000])
def test_levels_spend_what_they_may(budget: int) -> None:
    for n, f in itertools.product((5, 29, 300), (1, 3, 12, 200)):
        spent = sum(q * t for q, t in box_levels(None, n, f, budget))
        assert 0.9 * min(budget, n * f) <= spent <= budget or spent <= budget < 10


@pytest.mark.parametrize("beta", [0.5, math.inf])
def test_ema_fs_averages_gains(beta: float, watched: Watched) -> None:
    run = booster(EMAFS(n_features=6, beta=beta, decay=0.7, warm_up=3), budget=600)
    gains: dict[int, float] = {}
    seen = set()
    for number in range(30):
        watched.clear()
        run.next_round()
        (search,) = watched.searches
        assert len(set(search.features)) == 6
        if number >= 3 and beta == math.inf:
            mean = sum(gains.values()) / len(gains)
            least = min(gains.get(j, mean) for j in search.features)
            assert all(gains.get(j, mean) <= least for j in range(F) if j not in search.features)
        for j, H in zip(search.features, search.edges, strict=True):
            gain = -0.5 * math.log(1 - H * H)
            gains[j] = 0.7 * gains[j] + 0.3 * gain if j in gains else gain
        result = vars(run.strategy)["gains_"]
        np.testing.assert_allclose(result[list(gains)], list(gains.values()), rtol=1e-9)
        assert np.isnan(result).sum() == F - len(gains)
        seen |= set(search.features)
    assert beta == math.inf or len(seen) > 30


def test_ema_fs_draws_in_proportion(watched: Watched) -> None:
    run = booster(EMAFS(n_features=1, beta=2.0, warm_up=1), n_rounds=3000, budget=10)
    strategy: Any = run.strategy
    strategy.n_searches_ = 1
    p = np.arange(1, F + 1.0) ** 2
    for _ in range(3000):
        strategy.gains_[:] = np.arange(1, F + 1)
        run.next_round()
    counts = np.bincount([search.features[0] for search in watched.searches], minlength=F)
    expected = 3000 * p / p.sum()
    assert (np.abs(counts - expected) <= 4.5 * np.sqrt(expected + 1)).all()


@pytest.mark.parametrize("left_out", ["edge", 0.3, 0.0])
def test_weight_trimming_keeps_the_heaviest(left_out: Any, watched: Watched) -> None:
    run = booster(WeightTrimming(left_out), budget=10 * N)
    edge = 0.0
    for _ in range(30):
        watched.clear()
        signed = local_rows(run).weights.values.reshape(N, -1)
        weight = np.abs(signed).sum(axis=1).astype(np.float64)
        row = run.next_round().rows[0]
        mass = 1 - (edge / 10 if left_out == "edge" else left_out)
        ((size, scheme),) = watched.draws
        assert scheme == "heaviest"
        assert abs(size - naive.n_heaviest(weight.tolist(), mass)) <= 1  # sums of float32
        (search,) = watched.searches
        assert len(set(search.features)) == min(F, 10 * N // size)
        edge = row["edge"]


def test_hedge_sees_the_rewards_of_all_families(watched: Watched) -> None:
    run = booster(Hedge(eta=2.0, reward_scale=3.0), budget=20 * N)
    gains = np.zeros(4)
    for _ in range(30):
        watched.clear()
        row = run.next_round().rows[0]
        probe, search = watched.searches
        assert (probe.purpose, search.purpose) == ("modelling", "search")
        families = np.array(probe.features) // 10
        assert families.tolist() == np.repeat(range(4), 10).tolist()
        assert probe.size == 15  # 6000 / 10 / 4 / 10
        assert {j // 10 for j in search.features} == {row["arm"]}
        assert search.size == min(N, (20 * N - 600) // 10)
        best = [
            max(e for e, k in zip(probe.edges, families, strict=True) if k == f) for f in range(4)
        ]
        gains += reward(np.array(best), scale=3.0)
        strategy: Any = run.strategy
        weights = np.exp(2.0 * gains)
        np.testing.assert_allclose(strategy.probabilities(), weights / weights.sum())


@pytest.mark.parametrize("kind", [MASNaive, MABSplit, Sparrow])
@pytest.mark.parametrize("scheme", sorted(UNPROMISED.keys() - {"order"}))
def test_bounds_of_the_noise_need_unbiased_schemes(kind: Any, scheme: str) -> None:
    if "scheme" not in kind().get_params():
        assert kind is MABSplit  # it has its own
        return
    with pytest.raises(SettingError, match=f"unbiased edges here, got '{scheme}', which"):
        booster_of(kind(scheme=scheme))


@pytest.mark.parametrize(
    ("strategy", "message"),
    [
        (UniformNaive(scheme="msv"), "unknown scheme 'msv'"),
        (MABSplit(n_features=0), "n_features must be"),
        (MedianElimination(n_features=9), "n_features must be"),
        (MPBoost(n_features=-2), "n_features must be"),
        (Sparrow(n_features=-1), "n_features must be"),
        (MABSplit(batch=0), "batch must be"),
        (MABSplit(z=-1.0), "z must be"),
        (Sparrow(target=0.0), "target must be"),
        (Sparrow(delta=0.0), "delta must be"),
        (MedianElimination(delta=2.0), "delta must be"),
        (MPBoost(momentum=1.5), "momentum must be"),
        (BoxThirding(n_features=9), "n_features must be"),
        (EMAFS(beta=-1.0), "beta must be"),
        (EMAFS(decay=1.0), "decay must be"),
        (EMAFS(warm_up=0), "warm_up must be"),
        (WeightTrimming(1.0), "left_out must be below 1"),
        (WeightTrimming("half"), "left_out must be a number"),
        (Hedge(eta=0.0), "eta must be"),
        (Hedge(arms="feature"), "arms of hedge must be 'family', got 'feature'"),
    ],
)
def test_bad_settings(strategy: Strategy, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        booster_of(strategy)


def sizes(strategy: FilterBoost, n_features: int, **settings: Any) -> list[tuple[int, int]]:
    """Q and T of five rounds on 80 examples."""
    bank, Y = bank_of(table(80, n_features)), noisy_labels(80)
    booster = Booster(bank, None, Y, strategy, n_rounds=5, rng=0, **settings)
    return [(row["n_features"], row["n_examples"]) for row in rows_of(booster, 5)]


def test_examples_grow_with_the_log_of_the_round() -> None:
    grown = [math.ceil(20 * math.log(t + 3)) for t in range(1, 6)]
    assert grown == [28, 33, 36, 39, 42]
    assert sizes(FilterBoost(20), 8) == [(8, T) for T in grown]


def test_the_budget_limits_features_first_and_then_examples() -> None:
    assert sizes(FilterBoost(20), 40) == [(28, 28), (24, 33), (22, 36), (20, 39), (19, 42)]
    assert sizes(FilterBoost(20), 40, budget=350) == [(12, 28), (10, 33)] + [(10, 35)] * 3
    assert sizes(FilterBoost(), 40) == [(10, 80)] * 5
    assert sizes(FilterBoost(), 40, budget=3) == [(3, 1)] * 5


@pytest.mark.parametrize("value", [0, -1, math.inf, "many"])
def test_bad_factors(value: Any) -> None:
    with pytest.raises(SettingError, match="examples_factor must be"):
        booster_of(FilterBoost(value))
