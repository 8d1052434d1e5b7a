"""Policies against plain transcriptions of their papers, and the known defects of others."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from boostsample.bandits import (
    UCB1,
    UCBV,
    EpsilonGreedy,
    Exp3P,
    ExploreThenCommit,
    IndexPolicy,
    draw_arms,
    exp3p_probabilities,
    exp3p_update,
    inclusion,
    ucb1_indices,
    ucbv_indices,
)
from boostsample.errors import SettingError

N_STEPS = 1_000
MEANS = np.array([0.3, 0.5, 0.45, 0.2, 0.5, 0.1, 0.35])


def pay(arms: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.float64]:
    """Rewards in [0, 1] with the means MEANS, some of them 0 and some 1."""
    noise = rng.uniform(-0.5, 0.5, arms.size)
    return np.clip(MEANS[arms] + noise, 0.0, 1.0)


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
    ("policy", "twin"),
    [
        (UCB1(7), twin_ucb1),
        (UCBV(7), lambda h, t: twin_ucbv(h, t, 1.0, 1.0)),
        (UCBV(7, c=1 / 3, zeta=1.2), lambda h, t: twin_ucbv(h, t, 1 / 3, 1.2)),
    ],
    ids=["ucb", "ucbv", "ucbv-multiboost"],
)
def test_index_policies_are_their_recursions(
    policy: IndexPolicy, twin: Callable[[list[list[float]], int], list[float]], k: int
) -> None:
    policy = pickle.loads(pickle.dumps(policy))
    rng = np.random.default_rng(5)
    history: list[list[float]] = [[] for _ in range(7)]
    for t in range(N_STEPS // (1 if k == 1 else 4)):
        expected = np.array(twin(history, max(t, 1)))
        np.testing.assert_allclose(policy.indices(), expected, rtol=1e-11, atol=0)
        arms = policy.select(rng, k)
        # The k largest: none left out is above one taken (but for the last bits).
        left = np.delete(expected, arms)
        assert left.size == 0 or expected[arms].min() >= left.max() - 1e-11
        rewards = pay(arms, rng)
        policy.update(arms, rewards)
        for arm, paid in zip(arms.tolist(), rewards.tolist(), strict=True):
            history[arm].append(paid)


@pytest.mark.parametrize(("mixing", "bonus"), [(0.15, 0.3), (0.3, 0.3), (1.0, 0.0), (None, None)])
def test_exp3p_is_figure_2(mixing: float | None, bonus: float | None) -> None:
    m, horizon = 7, N_STEPS
    policy = (
        Exp3P(m, horizon, "theory", "theory")
        if mixing is None or bonus is None
        else Exp3P(m, horizon, mixing, bonus)
    )
    lam, eta = policy.mixing, policy.bonus
    rng = np.random.default_rng(3)
    w = [math.exp(eta * lam / 3 * math.sqrt(horizon / m)) for _ in range(m)]
    for _ in range(horizon):
        total = math.fsum(w)
        p = [(1 - lam) * w[j] / total + lam / m for j in range(m)]
        np.testing.assert_allclose(policy.probabilities(), p, rtol=1e-10)
        arms = policy.select(rng)
        rewards = pay(arms, rng)
        policy.update(arms, rewards)
        for j in range(m):
            estimate = rewards[0] / p[j] if j == arms[0] else 0.0
            w[j] *= math.exp(lam / (3 * m) * (estimate + eta / (p[j] * math.sqrt(m * horizon))))
    np.testing.assert_allclose(policy.log_weights_, np.log(w), rtol=1e-10)


@pytest.mark.parametrize("schedule", ["constant", "decreasing"])
def test_epsilon_greedy_is_its_recursion(schedule: Any) -> None:
    m, c, d = 7, 0.5, 0.4
    policy = EpsilonGreedy(m, epsilon=0.2, schedule=schedule, c=c, d=d, initial=0.0)
    rng = np.random.default_rng(8)
    history: list[list[float]] = [[] for _ in range(m)]
    for t in range(1, N_STEPS + 1):
        epsilon = 0.2 if schedule == "constant" else min(1.0, c * m / (d * d * t))
        means = [math.fsum(r) / len(r) if r else 0.0 for r in history]
        p = [epsilon / m] * m
        p[int(policy.indices().argmax())] += 1 - epsilon
        assert means[int(policy.indices().argmax())] >= max(means) - 1e-12
        np.testing.assert_allclose(policy.indices(), means, rtol=1e-12)
        np.testing.assert_allclose(policy.probabilities(), p, rtol=1e-12)
        assert policy.present_epsilon() == pytest.approx(epsilon, rel=1e-12)
        arms = policy.select(rng)
        rewards = pay(arms, rng)
        policy.update(arms, rewards)
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

    policy = ExploreThenCommit(n_arms, n_pulls=m)
    rng = np.random.default_rng(0)
    for t, arm in enumerate(wanted):
        assert policy.committed == (t >= n_arms * m)
        assert policy.select(rng).tolist() == [arm]
        policy.update(arm, table[t, arm])
    np.testing.assert_allclose(policy.indices(), mean, rtol=1e-12)
    assert policy.counts_.sum() == N_STEPS


def test_explore_then_commit_takes_turns_on_request() -> None:
    policy = ExploreThenCommit(3, n_pulls=2, order="round-robin")
    rng = np.random.default_rng(0)
    pulled = []
    for _ in range(8):
        arm = int(policy.select(rng)[0])
        pulled.append(arm)
        policy.update(arm, 1.0 if arm == 1 else 0.0)
    assert pulled == [0, 1, 2, 0, 1, 2, 1, 1]


@pytest.mark.parametrize("k", [1, 2, 3])
def test_functions_for_many_runs_equal_the_classes(k: int) -> None:
    """One row of a batch is one policy, to the bit: what the regret tests simulate is the class."""
    m, n_runs = 5, 3
    rng = np.random.default_rng(1)
    ucb = [UCB1(m) for _ in range(n_runs)]
    ucbv = [UCBV(m) for _ in range(n_runs)]
    exp3p = [Exp3P(m, 300) for _ in range(n_runs)]
    log_weights = np.stack([policy.log_weights_ for policy in exp3p])
    for t in range(300):
        arms = np.stack([rng.permutation(m)[:k] for _ in range(n_runs)])
        paid = rng.random((n_runs, k))
        expected = np.stack([inclusion(policy.probabilities(), k) for policy in exp3p])
        log_weights = exp3p_update(log_weights, expected, arms, paid, 0.15, 0.3, 300)
        for run in range(n_runs):
            for policy in (ucb[run], ucbv[run], exp3p[run]):
                policy.update(arms[run], paid[run])
        batch = ucb1_indices(
            np.stack([p.counts_ for p in ucb]), np.stack([p.sums_ for p in ucb]), t + 1, 2.0
        )
        np.testing.assert_array_equal(batch, [p.indices() for p in ucb])
        parts = [np.stack([getattr(p, n) for p in ucbv]) for n in ("counts_", "means_", "squares_")]
        batch = ucbv_indices(parts[0].astype(np.int64), parts[1], parts[2], t + 1, 1.0, 1.0)
        np.testing.assert_array_equal(batch, [p.indices() for p in ucbv])
        np.testing.assert_array_equal(log_weights, [p.log_weights_ for p in exp3p])
        batch = exp3p_probabilities(log_weights, 0.15)
        np.testing.assert_array_equal(batch, [p.probabilities() for p in exp3p])
        uniform = rng.random(n_runs)
        drawn = [draw_arms(row, u) for row, u in zip(batch, uniform.tolist(), strict=True)]
        np.testing.assert_array_equal(draw_arms(batch, uniform), drawn)


def test_exp3p_update_by_hand_moves_every_arm() -> None:
    """M = 2, T = 2, lambda = 0.6, eta = 0.5; arm 0 is drawn and pays 0.4.

    log w = 0.5 * 0.6 / 3 = 0.1, p = 1/2. The estimate is 0.8 and 0, the bonus 0.5 / (0.5 * 2) = 0.5
    for both, the factor 0.6 / 6 = 0.1: log w becomes 0.1 + 0.13 and 0.1 + 0.05.
    """
    policy = Exp3P(2, horizon=2, mixing=0.6, bonus=0.5)
    np.testing.assert_allclose(policy.log_weights_, [0.1, 0.1], rtol=1e-15)
    policy.update(0, 0.4)
    np.testing.assert_allclose(policy.log_weights_, [0.23, 0.15], rtol=1e-14)
    share = 1 / (1 + math.exp(-0.08))
    np.testing.assert_allclose(
        policy.probabilities(), [0.4 * share + 0.3, 0.4 * (1 - share) + 0.3], rtol=1e-14
    )


@pytest.mark.parametrize("k", [1, 2])
def test_exp3p_probabilities_are_proper_at_every_step(k: int) -> None:
    """The uniform share is lambda / M at all times, not lambda / t, and p sums to 1 undoctored."""
    policy = Exp3P(7, horizon=N_STEPS, mixing=0.3)
    rng = np.random.default_rng(0)
    for _ in range(N_STEPS):
        p = policy.probabilities()
        assert p.sum() == pytest.approx(1.0, abs=1e-13)
        assert p.min() >= 0.3 / 7
        arms = policy.select(rng, k)
        policy.update(arms, np.where(arms == 2, 1.0, 0.0))
    assert policy.probabilities().argmax() == 2


def test_exp3p_depends_on_the_horizon_it_was_given() -> None:
    short, long = Exp3P(3, horizon=100), Exp3P(3, horizon=10_000)
    for policy in (short, long):
        policy.update(0, 0.5)
        policy.update(1, 0.1)
    assert not np.array_equal(short.probabilities(), long.probabilities())
    with pytest.raises(SettingError, match=r"horizon.*10000.*same settings"):
        short.restore(long.state())


def test_exp3p_survives_a_million_updates() -> None:
    """One update adds at most 1/3 (1 + eta / sqrt(M T)), so start where a million may have led."""
    policy = Exp3P(4, horizon=1_000_000, mixing=0.6, bonus=3.0)
    most = (1.0 + 3.0 / math.sqrt(4e6)) / 3.0
    policy.log_weights_ += np.array([0.0, most, most / 2, most - 1e-5]) * 1_000_000
    before = policy.log_weights_.copy()
    rng = np.random.default_rng(0)
    for _ in range(2_000):
        arms = policy.select(rng)
        policy.update(arms, [1.0])
    p = policy.probabilities()
    growth = policy.log_weights_ - before
    assert np.isfinite(policy.log_weights_).all()
    assert 0.0 < growth.min() <= growth.max() <= most * 2_000
    assert p.sum() == pytest.approx(1.0, abs=1e-13)
    assert p.min() >= 0.6 / 4


@pytest.mark.parametrize("build", [UCB1, UCBV])
def test_indices_of_unpulled_arms_follow_the_clock(build: type[UCB1] | type[UCBV]) -> None:
    """log t is of the present step for every arm, also for those pulled long ago."""
    policy = build(3)
    for arm in (0, 1, 2):
        policy.update(arm, 0.5)
    before = policy.indices()
    for _ in range(50):
        policy.update(0, 0.5)
    after = policy.indices()
    assert after[1] > before[1]
    widths = (after - 0.5)[1:] / (before - 0.5)[1:]
    rate = math.log(53) / math.log(3)
    np.testing.assert_allclose(widths, math.sqrt(rate) if build is UCB1 else rate, rtol=1e-12)


def test_ucbv_variance_is_exact_for_equal_rewards_and_stable_for_small_ones() -> None:
    policy = UCBV(2)
    rewards = 0.9 + 1e-7 * np.arange(300)
    for paid in rewards:
        policy.update([0, 1], [paid, 0.1])
    assert policy.squares_[1] == 0.0
    assert policy.squares_[0] / 300 == pytest.approx(np.var(rewards), rel=1e-6)
