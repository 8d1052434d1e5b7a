"""How arms are taken and drawn: ties, several pulls in a step, rounding."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from boostsample.bandits import best_arms, draw_arms, inclusion
from boostsample.strategies import EpsilonGreedy, Exp3P
from tests.bandits.rules import reward_arms, started


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
    row = draw_arms(np.stack([tenths, tenths, tenths]), np.array([largest, 0.0, 1.0]))
    assert row.tolist() == [[9], [0], [9]]


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
