"""Hedge equals its formula, and its regret keeps the bound of its source."""

from __future__ import annotations

import math

import numpy as np
import pytest

from boostsample.bandits import Hedge
from boostsample.errors import SettingError


def test_probabilities_are_exponential_in_the_gains() -> None:
    policy, rng = Hedge(5, eta=0.7), np.random.default_rng(0)
    gains = [0.0] * 5
    for _ in range(50):
        weights = [math.exp(0.7 * g) for g in gains]
        expected = [w / sum(weights) for w in weights]
        np.testing.assert_allclose(policy.probabilities(), expected, rtol=1e-12)
        rewards = rng.random(5)
        policy.update(np.arange(5), rewards)
        gains = [g + r for g, r in zip(gains, rewards.tolist(), strict=True)]


def test_arms_are_drawn_by_their_probabilities() -> None:
    policy, rng = Hedge(3), np.random.default_rng(1)
    policy.update([0, 1, 2], [0.0, 0.5, 1.0])
    for k in (1, 2):
        counts = np.zeros(3)
        for _ in range(4000):
            counts[policy.select(rng, k)] += 1
        pi = np.minimum(1.0, k * policy.probabilities())
        if k == 2:  # the best one is certain, the others share what is left
            rest = policy.probabilities()[:2]
            pi = np.append(rest / rest.sum(), 1.0) if pi[2] == 1.0 else pi
        spread = np.sqrt(4000 * pi * (1 - pi)) + 1e-9
        assert (np.abs(counts - 4000 * pi) <= 4.5 * spread).all()


@pytest.mark.parametrize("seed", range(5))
def test_the_regret_keeps_its_bound(seed: int) -> None:
    """sqrt(T log M / 2), for rewards that an adversary could choose."""
    n_arms, n_steps = 6, 2000
    rng = np.random.default_rng(seed)
    policy = Hedge(n_arms, eta=math.sqrt(8 * math.log(n_arms) / n_steps))
    gained, gains = 0.0, np.zeros(n_arms)
    for _ in range(n_steps):
        p = policy.probabilities()
        rewards = (rng.random(n_arms) < 0.3 + 0.4 * (gains < gains.mean())).astype(float)
        rewards[p.argmax()] *= rng.random() < 0.5  # pays the favourite less
        gained += float(p @ rewards)
        gains += rewards
        policy.update(np.arange(n_arms), rewards)
    assert gains.max() - gained <= math.sqrt(n_steps * math.log(n_arms) / 2)


def test_a_hopeless_arm_can_still_be_drawn_beside_others() -> None:
    policy = Hedge(3, eta=1000.0)
    for _ in range(5):
        policy.update([0, 1, 2], [1.0, 0.0, 0.0])
    assert (policy.probabilities() > 0).all()
    assert policy.select(np.random.default_rng(0), 2)[0] == 0


@pytest.mark.parametrize("eta", [0.0, -1.0, math.inf, "fast"])
def test_bad_rates(eta: float) -> None:
    with pytest.raises(SettingError, match="eta must be"):
        Hedge(3, eta)
