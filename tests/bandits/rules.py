"""Rules of bandit strategies without boosting: arms by number, rewards by coins."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

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
