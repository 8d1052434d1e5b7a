"""Regret on plain bandits: the rules against the bounds of their papers, and against each other.

Many runs are played side by side through the functions that the strategies use (test_bandits.py
compares the two to the bit). The sequences:

* stationary: independent coins with fixed means, the best ahead by 0.2 or more;
* alternating: with M arms, arm t mod M pays 0 in step t (counted from 0) and every other pays 1.
  UCB1 breaks ties by arm number, so it pulls arm 0, 1, ..., M - 1 in turn, finds all indices equal
  again after each turn, and is never paid;
* switching: arm 0 pays 1 in the first third and 0 after it, arm 1 the opposite, the others 1/2.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from boostsample.bandits import (
    draw_arms,
    exp3p_probabilities,
    exp3p_theory,
    exp3p_update,
    ucb1_indices,
)
from boostsample.strategies import UCB, Hedge
from tests.bandits.rules import reward_arms, started

FloatArray = NDArray[np.float64]
N_RUNS = 100


def alternating(n_arms: int, n_steps: int) -> FloatArray:
    table = np.ones((n_steps, n_arms))
    table[np.arange(n_steps), np.arange(n_steps) % n_arms] = 0.0
    return table


def switching(n_arms: int, n_steps: int) -> FloatArray:
    table = np.full((n_steps, n_arms), 0.5)
    first = np.arange(n_steps) < n_steps // 3
    table[:, 0] = first
    table[:, 1] = ~first
    return table


def coins(means: FloatArray, n_steps: int, seed: int) -> FloatArray:
    return (np.random.default_rng(seed).random((n_steps, means.size)) < means).astype(np.float64)


def ucb1_regret(means: FloatArray, marks: list[int], seed: int) -> FloatArray:
    """Regret T max(means) - sum of the pulled arms' means: one row a mark, one column a run."""
    rng = np.random.default_rng(seed)
    counts = np.zeros((N_RUNS, means.size), dtype=np.int64)
    sums = np.zeros((N_RUNS, means.size))
    rows, gaps, regrets = np.arange(N_RUNS), means.max() - means, []
    uniform = np.empty((0, N_RUNS))
    for t in range(max(marks)):
        if t % 1_000 == 0:
            uniform = rng.random((1_000, N_RUNS))
        arms = ucb1_indices(counts, sums, t, 2.0).argmax(axis=1)
        counts[rows, arms] += 1
        sums[rows, arms] += uniform[t % 1_000] < means[arms]
        if t + 1 in marks:
            regrets.append(counts @ gaps)
    return np.array(regrets)


def exp3p_earned(
    table: FloatArray, mixing: float, bonus: float, n_runs: int, seed: int
) -> FloatArray:
    """What Exp3.P earns on the rewards `table` (T, M) in each of `n_runs` runs."""
    rng = np.random.default_rng(seed)
    n_steps, n_arms = table.shape
    start = bonus * mixing / 3.0 * np.sqrt(n_steps / n_arms)
    log_weights, earned = np.full((n_runs, n_arms), start), np.zeros(n_runs)
    for row in table:
        p = exp3p_probabilities(log_weights, mixing)
        arms = draw_arms(p, rng.random(n_runs))
        paid = row[arms]
        log_weights = exp3p_update(log_weights, p, arms, paid, mixing, bonus, n_steps)
        earned += paid[:, 0]
    return earned


def ucb1_regret_bound(means: FloatArray, n_steps: int) -> float:
    """Auer et al. 2002a, Theorem 1, for exploration = 2 and independent rewards of these means."""
    gaps = means.max() - means
    worse = gaps[gaps > 0.0]
    bound = 8.0 * math.log(n_steps) * (1.0 / worse).sum() + (1.0 + math.pi**2 / 3.0) * gaps.sum()
    return float(bound)


def exp3p_regret_bound(n_arms: int, n_steps: int, delta: float) -> float:
    """Auer et al. 2002b, Theorem 6.3: weak regret with the parameters of `exp3p_theory`."""
    log, product = math.log(n_arms * n_steps / delta), n_arms * n_steps
    root = 4.0 * math.sqrt(5.0 / 3.0 * product * math.log(n_arms))
    return 4.0 * math.sqrt(product * log) + root + 8.0 * log


def ucb1_earned(table: FloatArray) -> float:
    rule, rng, earned = started(UCB(), table.shape[1]), np.random.default_rng(0), 0.0
    for row in table:
        arm = int(rule.select(rng, 1)[0])
        reward_arms(rule, arm, row[arm])
        earned += row[arm]
    return earned


def test_ucb1_regret_grows_like_the_logarithm_and_stays_below_auers_bound() -> None:
    # The best arm is ahead by 0.2. With 0.1 the ratio is 1.7 to 2.0: 2 log t / 0.1^2 pulls an arm
    # are a good part of 10,000 then, and the logarithm is not yet what limits them.
    means = np.array([0.9, 0.7, 0.7, 0.6, 0.6, 0.5, 0.5, 0.4, 0.3, 0.2])
    at_10_000, at_100_000 = ucb1_regret(means, [10_000, 100_000], seed=1).mean(axis=1)
    assert at_100_000 / at_10_000 <= 1.6
    assert at_10_000 <= ucb1_regret_bound(means, 10_000)
    assert at_100_000 <= ucb1_regret_bound(means, 100_000)
    # A bound that is met by chance proves little: uniform pulls have a regret of 36,000.
    assert ucb1_regret_bound(means, 100_000) < 0.1 * 100_000 * (means.max() - means.mean())


@pytest.mark.parametrize("name", ["stationary", "alternating", "switching"])
def test_exp3p_weak_regret_stays_below_its_bound(name: str) -> None:
    n_arms, n_steps, delta, n_runs = 3, 4_000, 0.1, 200
    table = {
        "stationary": coins(np.array([0.3, 0.5, 0.3]), n_steps, seed=0),
        "alternating": alternating(n_arms, n_steps),
        "switching": switching(n_arms, n_steps),
    }[name]
    mixing, bonus = exp3p_theory(n_arms, n_steps, delta)
    earned = exp3p_earned(table, mixing, bonus, n_runs, seed=3)
    regret = table.sum(axis=0).max() - earned
    bound = exp3p_regret_bound(n_arms, n_steps, delta)
    assert bound < n_steps
    assert np.mean(regret <= bound) >= 1.0 - delta


@pytest.mark.parametrize("n_arms", [2, 5])
def test_exp3p_is_ahead_of_ucb1_on_the_alternating_sequence(n_arms: int) -> None:
    n_steps = 4_000
    table = alternating(n_arms, n_steps)
    assert ucb1_earned(table) == 0.0
    for mixing, bonus in (exp3p_theory(n_arms, n_steps, 0.1), (0.15, 0.3)):
        earned = exp3p_earned(table, mixing, bonus, n_runs=50, seed=4)
        # Each arm by itself pays (M - 1) / M of the time.
        assert earned.min() > 0.8 * n_steps * (n_arms - 1) / n_arms


@pytest.mark.parametrize("seed", range(3))
def test_the_regret_of_hedge_keeps_its_bound(seed: int) -> None:
    """sqrt(T log M / 2), for rewards that an adversary could choose."""
    n_arms, n_steps = 6, 2000
    rng = np.random.default_rng(seed)
    rule = started(Hedge(eta=math.sqrt(8 * math.log(n_arms) / n_steps)), n_arms, n_steps)
    gained, gains = 0.0, np.zeros(n_arms)
    for _ in range(n_steps):
        p = rule.probabilities()
        rewards = (rng.random(n_arms) < 0.3 + 0.4 * (gains < gains.mean())).astype(float)
        rewards[p.argmax()] *= rng.random() < 0.5  # pays the favourite less
        gained += float(p @ rewards)
        gains += rewards
        rule.reward_arms(np.arange(n_arms), rewards)
    assert gains.max() - gained <= math.sqrt(n_steps * math.log(n_arms) / 2)
