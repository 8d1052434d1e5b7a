"""Epsilon-greedy: pull the arm with the best mean reward, and with probability epsilon any arm.

Cost per iteration: one search of Q features on T = budget / Q examples; O(arms) for the means.
Source: named in [DF11] section 5.2; Auer et al. 2002a, Figure 3, for the decreasing schedule.
[DF11] leaves open: the schedule (constant by default; "decreasing" has t = 1 in the first step) and
the mean of an arm never pulled. Random pulls are uniform over all arms, the best one included. Each
of k pulls in a step explores independently; random arms are drawn first, all different, and the
best of the remaining arms complete the step.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from boostsample.bandits import best_arms
from boostsample.checks import check_known, check_number
from boostsample.strategies.bandits._bandit import BANDIT_SCALES, FloatArray, IntArray, MeanBandit

_SCHEDULES = ("constant", "decreasing")


@dataclass(eq=False, repr=False)
class EpsilonGreedy(MeanBandit):
    """Epsilon-greedy over families or features.

    Parameters
    ----------
    epsilon : float
        Share of random pulls under the constant schedule, from 0 to 1.
    schedule : {"constant", "decreasing"}
        "decreasing" is epsilon_t = min(1, c M / (d^2 t)) and ignores `epsilon`.
    c : float
        Factor of the decreasing schedule, above 0; the paper's bound needs c > 5.
    d : float
        Gap assumed between the two best arms, above 0 and at most 1.
    initial : float
        Mean assumed for an arm never pulled: inf pulls each arm once first, 0 leaves unknown arms
        to the random pulls, which suits more arms than steps. inf, or at least 0.
    arms, pulls, n_features, reward, reward_scale
        See `BanditStrategy`.
    """

    epsilon: float = 0.1
    schedule: str = "constant"
    c: float = 5.0
    d: float = 0.5
    initial: float = math.inf

    def tuning_grid(self) -> Mapping[str, Sequence[float]]:
        """Settings of the schedule; the reward scale matters only through its cap."""
        if self.schedule == "decreasing":
            return {"c": (0.01, 0.1, 1, 10), "reward_scale": BANDIT_SCALES}
        return {"epsilon": (0.01, 0.05, 0.2, 0.6), "reward_scale": BANDIT_SCALES}

    def start_arms(self, n_arms: int, n_rounds: int) -> None:
        """Check the settings; no pulls yet."""
        check_known("schedule", self.schedule, _SCHEDULES)
        check_number("epsilon", self.epsilon, 0.0, 1.0)
        check_number("c", self.c, 0.0, above=True)
        check_number("d", self.d, 0.0, 1.0, above=True)
        if self.initial != math.inf:
            check_number("initial", self.initial, 0.0)
        super().start_arms(n_arms, n_rounds)

    def indices(self) -> FloatArray:
        """Mean reward of each arm, float64 (n_arms,); `initial` for an arm never pulled."""
        pulls = np.maximum(self.counts_, 1)
        return np.where(self.counts_ == 0, self.initial, self.sums_ / pulls)

    def present_epsilon(self) -> float:
        """Probability that a pull of the present step explores."""
        if self.schedule == "constant":
            return self.epsilon
        return min(1.0, self.c * self.n_arms_ / (self.d**2 * (self.n_steps_ + 1)))

    def select(self, rng: np.random.Generator, k: int) -> IntArray:
        """Pull some arms at random, then the best of the others."""
        index = self.indices()
        n_random = int(np.count_nonzero(rng.random(k) < self.present_epsilon()))
        drawn = np.empty(0, dtype=np.int64)
        if n_random:
            drawn = rng.choice(index.size, size=n_random, replace=False)
            index[drawn] = -np.inf
        if n_random == k:
            return drawn
        return np.concatenate([best_arms(index, k - n_random), drawn])
