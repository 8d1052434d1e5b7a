"""Epsilon-greedy: pull the arm with the best mean reward, and with probability epsilon any arm.

Cost per iteration: one search of Q features on T = budget / Q examples; O(arms) for the means.
Source: named in [DF11] section 5.2; Auer et al. 2002a, Figure 3, for the decreasing schedule.
[DF11] leaves open: the schedule (constant by default) and the mean of an arm never pulled.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from boostsample.bandits import EpsilonGreedy as EpsilonGreedyPolicy
from boostsample.strategies.bandits._bandit import BANDIT_SCALES, BanditStrategy


@dataclass(eq=False, repr=False)
class EpsilonGreedy(BanditStrategy):
    """Epsilon-greedy over families or features.

    Parameters
    ----------
    epsilon : float
        Share of random pulls under the constant schedule, from 0 to 1.
    schedule : {"constant", "decreasing"}
        "decreasing" is epsilon_t = min(1, c M / (d^2 t)).
    c : float
        Factor of the decreasing schedule, above 0.
    d : float
        Gap assumed between the two best arms, above 0 and at most 1.
    initial : float
        Mean assumed for an arm never pulled; inf pulls each arm once first.
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

    def make_policy(self, n_arms: int) -> EpsilonGreedyPolicy:
        """Epsilon-greedy with this schedule."""
        return EpsilonGreedyPolicy(
            n_arms, self.epsilon, self.schedule, self.c, self.d, self.initial
        )
