"""Rules of bandits against plain transcriptions of their papers, and known defects of others."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray

from boostsample.bandits import (
    REWARDS,
    best_arms,
    draw_arms,
    exp3p_theory,
    inclusion,
    reward,
)
from boostsample.errors import SettingError
from boostsample.strategies import UCB, UCBV, EpsilonGreedy, Exp3P, ExploreThenCommit, Hedge
from boostsample.strategies.bandits._bandit import BanditStrategy

MEANS = np.array([0.3, 0.5, 0.45, 0.2, 0.5, 0.1, 0.35])
Rule = TypeVar("Rule", bound=BanditStrategy)


def started(rule: Rule, n_arms: int, n_rounds: int = 1_000) -> Rule:
    """The rule before its first step."""
    rule.start_arms(n_arms, n_rounds)
    return rule


def pay(arms: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.float64]:
    """Rewards in [0, 1] with the means MEANS, some of them 0 and some 1."""
    noise = rng.uniform(-0.5, 0.5, arms.size)
    return np.clip(MEANS[arms] + noise, 0.0, 1.0)


def reward_arms(rule: BanditStrategy, arms: ArrayLike, rewards: ArrayLike) -> None:
    """Rewards from numbers or lists."""
    rule.reward_arms(np.atleast_1d(arms), np.atleast_1d(np.asarray(rewards, dtype=np.float64)))


N_STEPS = 1_000


def twin_ucb1(history: list[list[float]], t: int) -> list[float]:
    """Auer et al. 2002a, Figure 1: each machine once, then the largest index."""
    return [
        math.fsum(r) / len(r) + math.sqrt(2 * math.log(t) / len(r)) if r else math.inf
        for r in history
    ]


def twin_ucbv(history: list[list[float]], t: int, c: float, zeta: float) -> list[float]:
    """Audibert et al. 2009: mean + sqrt(2 V E / s) + c 3 b E / s with E = zeta log t, b = 1."""
    index = []
    for r in history:
        if not r:
            index.append(math.inf)
            continue
        s, e = len(r), zeta * math.log(t)
        mean = math.fsum(r) / s
        variance = math.fsum((x - mean) ** 2 for x in r) / s
        index.append(mean + math.sqrt(2 * variance * e / s) + c * 3 * e / s)
    return index


@pytest.mark.parametrize("k", [1, 3, 7])
@pytest.mark.parametrize(
    ("rule", "twin"),
    [
        (UCB(), twin_ucb1),
        (UCBV(), lambda h, t: twin_ucbv(h, t, 1.0, 1.0)),
        (UCBV(c=1 / 3, zeta=1.2), lambda h, t: twin_ucbv(h, t, 1 / 3, 1.2)),
    ],
    ids=["ucb", "ucbv", "ucbv-multiboost"],
)
def test_index_rules_are_their_recursions(
    rule: UCB | UCBV, twin: Callable[[list[list[float]], int], list[float]], k: int
) -> None:
    rule = started(rule, 7)
    rng = np.random.default_rng(5)
    history: list[list[float]] = [[] for _ in range(7)]
    for t in range(N_STEPS // (1 if k == 1 else 4)):
        expected = np.array(twin(history, max(t, 1)))
        np.testing.assert_allclose(rule.indices(), expected, rtol=1e-11, atol=0)
        arms = rule.select(rng, k)
        # The k largest: none left out is above one taken (but for the last bits).
        left = np.delete(expected, arms)
        assert left.size == 0 or expected[arms].min() >= left.max() - 1e-11
        rewards = pay(arms, rng)
        rule.reward_arms(arms, rewards)
        for arm, paid in zip(arms.tolist(), rewards.tolist(), strict=True):
            history[arm].append(paid)


@pytest.mark.parametrize(
    ("mixing", "bonus"), [(0.15, 0.3), (0.3, 0.3), (1.0, 0.0), ("theory", "theory")]
)
def test_exp3p_is_figure_2(mixing: float | str, bonus: float | str) -> None:
    m, horizon = 7, N_STEPS
    rule = started(Exp3P(mixing, bonus), m, horizon)
    lam, eta = rule.mixing_, rule.bonus_
    rng = np.random.default_rng(3)
    w = [math.exp(eta * lam / 3 * math.sqrt(horizon / m)) for _ in range(m)]
    for _ in range(horizon):
        total = math.fsum(w)
        p = [(1 - lam) * w[j] / total + lam / m for j in range(m)]
        np.testing.assert_allclose(rule.probabilities(), p, rtol=1e-10)
        arms = rule.select(rng, 1)
        rewards = pay(arms, rng)
        reward_arms(rule, arms, rewards)
        for j in range(m):
            estimate = rewards[0] / p[j] if j == arms[0] else 0.0
            w[j] *= math.exp(lam / (3 * m) * (estimate + eta / (p[j] * math.sqrt(m * horizon))))
    np.testing.assert_allclose(rule.log_weights_, np.log(w), rtol=1e-10)


@pytest.mark.parametrize("schedule", ["constant", "decreasing"])
def test_epsilon_greedy_is_its_recursion(schedule: Any) -> None:
    m, c, d = 7, 0.5, 0.4
    rule = started(EpsilonGreedy(0.2, schedule, c, d, initial=0.0), m)
    rng = np.random.default_rng(8)
    history: list[list[float]] = [[] for _ in range(m)]
    for t in range(1, N_STEPS + 1):
        epsilon = 0.2 if schedule == "constant" else min(1.0, c * m / (d * d * t))
        means = [math.fsum(r) / len(r) if r else 0.0 for r in history]
        assert means[int(rule.indices().argmax())] >= max(means) - 1e-12
        np.testing.assert_allclose(rule.indices(), means, rtol=1e-12)
        assert rule.present_epsilon() == pytest.approx(epsilon, rel=1e-12)
        arms = rule.select(rng, 1)
        rewards = pay(arms, rng)
        reward_arms(rule, arms, rewards)
        history[int(arms[0])].append(float(rewards[0]))


def test_explore_then_commit_is_algorithm_4() -> None:
    n_arms, m = 7, 9
    table = np.random.default_rng(2).uniform(0, MEANS * 2, (N_STEPS, n_arms)).clip(0, 1)
    # The lecture notes' loops.
    wanted, mean, t = [], [0.0] * n_arms, 0
    for k in range(n_arms):
        for _ in range(m):
            wanted.append(k)
            mean[k] += table[t, k] / m
            t += 1
    wanted += [mean.index(max(mean))] * (N_STEPS - t)

    rule = started(ExploreThenCommit(m, order="blocks"), n_arms)
    rng = np.random.default_rng(0)
    for t, arm in enumerate(wanted):
        assert rule.select(rng, 1).tolist() == [arm]
        reward_arms(rule, arm, table[t, arm])
    np.testing.assert_allclose(rule.indices(), mean, rtol=1e-12)
    assert rule.counts_.sum() == N_STEPS


def test_explore_then_commit_takes_turns_on_request() -> None:
    rule = started(ExploreThenCommit(2, order="round-robin"), 3)
    rng = np.random.default_rng(0)
    pulled = []
    for _ in range(8):
        arm = int(rule.select(rng, 1)[0])
        pulled.append(arm)
        reward_arms(rule, arm, 1.0 if arm == 1 else 0.0)
    assert pulled == [0, 1, 2, 0, 1, 2, 1, 1]


def test_exp3p_survives_a_million_updates() -> None:
    """One update adds at most 1/3 (1 + eta / sqrt(M T)), so start where a million may have led."""
    rule = started(Exp3P(mixing=0.6, bonus=3.0), 4, 1_000_000)
    most = (1.0 + 3.0 / math.sqrt(4e6)) / 3.0
    rule.log_weights_ += np.array([0.0, most, most / 2, most - 1e-5]) * 1_000_000
    before = rule.log_weights_.copy()
    rng = np.random.default_rng(0)
    for _ in range(2_000):
        arms = rule.select(rng, 1)
        reward_arms(rule, arms, [1.0])
    p = rule.probabilities()
    growth = rule.log_weights_ - before
    assert np.isfinite(rule.log_weights_).all()
    assert 0.0 < growth.min() <= growth.max() <= most * 2_000
    assert p.sum() == pytest.approx(1.0, abs=1e-13)
    assert p.min() >= 0.6 / 4


def test_ucbv_variance_is_exact_for_equal_rewards_and_stable_for_small_ones() -> None:
    rule = started(UCBV(), 2)
    rewards = 0.9 + 1e-7 * np.arange(300)
    for paid in rewards:
        reward_arms(rule, [0, 1], [paid, 0.1])
    assert rule.squares_[1] == 0.0
    assert rule.squares_[0] / 300 == pytest.approx(np.var(rewards), rel=1e-6)


def test_the_probabilities_of_hedge_are_exponential_in_the_gains() -> None:
    rule, rng = started(Hedge(eta=0.7), 5), np.random.default_rng(0)
    gains = [0.0] * 5
    for _ in range(50):
        weights = [math.exp(0.7 * g) for g in gains]
        expected = [w / sum(weights) for w in weights]
        np.testing.assert_allclose(rule.probabilities(), expected, rtol=1e-12)
        rewards = rng.random(5)
        rule.reward_arms(np.arange(5), rewards)
        gains = [g + r for g, r in zip(gains, rewards.tolist(), strict=True)]


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (UCB(-0.1), "exploration must be at least 0 and finite, got -0.1"),
        (UCB(cast(Any, "wide")), "exploration must be a number, got 'wide'"),
        (UCBV(c=-1), "c must be at least 0"),
        (UCBV(zeta=-1), "zeta must be at least 0"),
        (Exp3P(mixing=0.0), "mixing must be above 0 and at most 1, got 0"),
        (Exp3P(mixing="best"), "mixing must be a number or \"theory\", got 'best'"),
        (Exp3P(bonus=-1.0), "bonus must be at least 0"),
        (Exp3P(delta=0.0), "delta must be above 0"),
        (EpsilonGreedy(epsilon=1.1), "epsilon must be at least 0 and at most 1, got 1.1"),
        (EpsilonGreedy(schedule="linear"), "unknown schedule 'linear'; known: con"),
        (EpsilonGreedy(c=0.0), "c must be above 0"),
        (EpsilonGreedy(d=0.0), "d must be above 0 and at most 1"),
        (EpsilonGreedy(initial=-1.0), "initial must be at least 0"),
        (ExploreThenCommit(0), "n_pulls must be an integer at least 1, got 0"),
        (ExploreThenCommit(order="any"), "unknown order 'any'; known: blocks, round"),
        (Hedge(0.0), "eta must be above 0"),
    ],
)
def test_settings_are_checked(rule: BanditStrategy, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        rule.start_arms(2, 10)


def test_best_arms_equals_a_stable_sort() -> None:
    rng = np.random.default_rng(0)
    makers: list[Callable[[int], NDArray[np.float64]]] = [
        rng.random,
        lambda m: rng.integers(0, 3, m).astype(float),
        lambda m: np.zeros(m),
        lambda m: np.where(rng.random(m) < 0.5, np.inf, rng.random(m)),
        lambda m: np.where(rng.random(m) < 0.5, -np.inf, 1.0),
        lambda m: np.arange(m, dtype=np.float64),
        lambda m: np.arange(m, 0, -1, dtype=np.float64),
    ]
    for make in makers:
        for m in (1, 2, 7, 50, 1_000):
            index = make(m)
            for k in {1, 2, min(5, m), m // 2, m - 1, m} - {0}:
                if k <= m:
                    before = index.copy()
                    wanted = np.argsort(-index, kind="stable")[:k]
                    assert best_arms(index, k).tolist() == wanted.tolist()
                    assert np.array_equal(index, before)


def test_draws_never_pass_the_last_arm() -> None:
    largest = float(np.nextafter(1.0, 0.0))
    tenths = np.full(10, 0.1)
    assert tenths.cumsum()[-1] < 1.0
    for k in range(1, 11):
        picks = draw_arms(inclusion(tenths, k), largest, k)
        assert picks.max() == 9
        assert np.unique(picks).size == k
    rng = np.random.default_rng(0)
    for _ in range(500):
        m = int(rng.integers(1, 40))
        p = rng.dirichlet(np.full(m, 0.3)) * 0.9 + 0.1 / m
        p /= p.sum()
        k = int(rng.integers(1, m + 1))
        for u in (0.0, float(rng.random()), largest):
            picks = draw_arms(inclusion(p, k), u, k)
            assert picks.dtype == np.int64
            assert np.unique(picks).size == k
            assert picks.min() >= 0
            assert picks.max() < m
    # A generator of lower precision may round up to 1.
    assert draw_arms(tenths, 1.0).tolist() == [9]


def test_inclusion_and_draws_agree_with_the_probabilities() -> None:
    """Read at a fine grid of u, systematic draws take each arm with its inclusion probability."""
    p = np.array([0.5, 0.02, 0.2, 0.08, 0.2])
    for k in range(1, 6):
        wanted = inclusion(p, k)
        assert wanted.sum() == pytest.approx(k)
        assert wanted.max() <= 1.0
        free = wanted < 1.0
        if free.any():
            ratio = wanted[free] / p[free]
            assert ratio == pytest.approx(ratio[0])
            assert (wanted >= p).all()
        counts = np.zeros(5)
        for u in (np.arange(4_000) + 0.5) / 4_000:
            counts[draw_arms(wanted, float(u), k)] += 1
        np.testing.assert_allclose(counts / 4_000, wanted, atol=1e-3)


@pytest.mark.parametrize("k", [2, 3])
def test_exp3p_estimates_stay_unbiased_with_several_pulls(k: int) -> None:
    """Mean gain over all draws = true reward, for every arm; without the correction it is above."""
    rule = started(Exp3P(mixing=0.2, bonus=0.0), 4, 100)
    rule.log_weights_ = np.log(np.array([8.0, 4.0, 1.0, 1.0]))
    start, true = rule.log_weights_.copy(), np.array([0.9, 0.2, 0.5, 0.7])
    rng, total, n = np.random.default_rng(1), np.zeros(4), 8_000
    for _ in range(n):
        rule.log_weights_ = start
        arms = rule.select(rng, k)
        reward_arms(rule, arms, true[arms])
        total += (rule.log_weights_ - start) * (3 * 4 / 0.2)
    np.testing.assert_allclose(total / n, true, atol=0.06)


@pytest.mark.parametrize("k", [1, 3])
def test_epsilon_greedy_explores_as_often_as_it_says(k: int) -> None:
    epsilon, order = 0.3, [1, 2, 3, 5, 4, 0]
    rule, rng = started(EpsilonGreedy(epsilon), 6), np.random.default_rng(3)
    reward_arms(rule, order, [0.9, 0.8, 0.7, 0.3, 0.2, 0.1])
    n, counts, wanted = 10_000, np.zeros(6), np.zeros(6)
    for _ in range(n):
        counts[rule.select(rng, k)] += 1
    # All ways to explore r of k times, each set of r arms as likely as the other.
    for r in range(k + 1):
        chance = math.comb(k, r) * epsilon**r * (1 - epsilon) ** (k - r) / math.comb(6, r)
        for drawn in itertools.combinations(range(6), r):
            left = [arm for arm in order if arm not in drawn]
            wanted[[*drawn, *left[: k - r]]] += chance
    np.testing.assert_allclose(counts / n, wanted, atol=0.015)


@pytest.mark.parametrize(("initial", "pulls"), [(math.inf, [0, 1, 2, 0, 0]), (0.0, [0] * 5)])
def test_epsilon_greedy_settles_unknown_arms_as_told(initial: float, pulls: list[int]) -> None:
    rule = started(EpsilonGreedy(epsilon=0.0, initial=initial), 3)
    rng = np.random.default_rng(0)
    for arm in pulls:
        assert rule.select(rng, 1).tolist() == [arm]
        reward_arms(rule, arm, 0.5 - 0.1 * arm)


@pytest.mark.parametrize(
    ("kind", "formula"),
    [
        ("log-edge", lambda g: min(1.0, -math.log(math.sqrt(1 - g * g)))),
        ("root", lambda g: 1 - math.sqrt(1 - g * g)),
        ("squared-edge", lambda g: g * g),
    ],
)
def test_rewards_are_their_formulas(kind: str, formula: Callable[[float], float]) -> None:
    edges = np.concatenate([np.linspace(-0.999, 0.999, 401), [0.9298, 0.9299, 0.93]])
    wanted = np.array([formula(g) for g in edges])
    np.testing.assert_allclose(reward(edges, kind), wanted, rtol=1e-11, atol=1e-16)
    scaled = np.minimum(1.0, 7.0 * wanted)
    np.testing.assert_allclose(reward(edges, kind, 7.0), scaled, rtol=1e-11, atol=1e-15)
    for edge in (0.0, 1.0, -1.0, 1.0 + 1e-12):
        paid = reward(edge, kind)
        assert isinstance(paid, float)
        assert paid == (0.0 if edge == 0.0 else 1.0)
    # Small edges keep their digits: the leading term is gamma^2 / 2, or gamma^2.
    small = reward(1e-9, kind)
    assert small == pytest.approx(1e-18 if kind == "squared-edge" else 0.5e-18, rel=1e-8, abs=0)
    assert reward(np.empty((0, 2)), kind).shape == (0, 2)
    assert reward(np.full((2, 3), 0.5), kind).shape == (2, 3)


def test_reward_names_are_known() -> None:
    assert list(REWARDS) == ["log-edge", "root", "squared-edge"]
    with pytest.raises(
        SettingError, match=r"unknown reward 'logedge'.*known: log-edge, root, squared"
    ):
        reward(0.1, "logedge")


@pytest.mark.parametrize("scale", [0.0, -1.0, math.inf, math.nan])
def test_reward_scale_is_checked(scale: float) -> None:
    with pytest.raises(SettingError, match="reward_scale must be positive and finite"):
        reward(0.1, scale=scale)


@pytest.mark.parametrize("edge", [1.1, -1.001, math.nan, math.inf])
def test_edges_are_checked(edge: float) -> None:
    with pytest.raises(SettingError, match="an edge must be between -1 and 1"):
        reward(np.array([0.1, edge]))


def test_theory_values_are_equation_13() -> None:
    lam, eta = exp3p_theory(100, 10_000, 0.1)
    assert lam == pytest.approx(2 * math.sqrt(0.6 * 100 * math.log(100) / 10_000))
    assert eta == pytest.approx(2 * math.sqrt(math.log(100 * 10_000 / 0.1)))
    assert exp3p_theory(100, 10, 0.1)[0] == 0.6
    rule = started(Exp3P("theory", "theory", delta=0.1), 100, 10_000)
    assert (rule.mixing_, rule.bonus_) == (lam, eta)
