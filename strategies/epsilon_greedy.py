"""Epsilon-greedy: the arm with the best mean reward, and now and then a random one.

Cost per iteration: one search of Q features on T = budget / Q examples; O(arms) for the means.
Source: named in [DF11] section 5.2; Auer et al. 2002a, Figure 3, for the decreasing schedule. Left
open by [DF11]: the schedule (constant here by default) and the mean of an arm never pulled.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from boostsample.bandits import EpsilonGreedy as EpsilonGreedyPolicy
from boostsample.strategies._bandit import SCALES, BanditStrategy

__all__ = ["EpsilonGreedy"]


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
        Gap that it assumes between the two best arms, above 0 and at most 1.
    initial : float
        Mean of an arm never pulled; inf pulls each arm once first.
    arms : {"family", "feature"}
        What an arm is.
    pulls : {"1.Q", "Q.1"} or int
        Arms pulled in a round: one, Q, or so many; they share the Q features.
    n_features : int or None
        Q; None is max(10, budget // N).
    reward : {"log-edge", "root", "squared-edge"}
        What an edge pays, see `boostsample.bandits.rewards`.
    reward_scale : float
        kappa in min(1, kappa * reward), above 0.
    """

    def __init__(
        self,
        epsilon: float = 0.1,
        schedule: str = "constant",
        c: float = 5.0,
        d: float = 0.5,
        initial: float = math.inf,
        arms: str = "family",
        pulls: str | int = "1.Q",
        n_features: int | None = None,
        reward: str = "log-edge",
        reward_scale: float = 1.0,
    ) -> None:
        self.epsilon = epsilon
        self.schedule = schedule
        self.c = c
        self.d = d
        self.initial = initial
        self.arms = arms
        self.pulls = pulls
        self.n_features = n_features
        self.reward = reward
        self.reward_scale = reward_scale

    def tuning_grid(self) -> Mapping[str, Sequence[float]]:
        """The schedule's own trade-off; means are compared, so a scale matters by its cap alone."""
        if self.schedule == "decreasing":
            return {"c": (0.01, 0.1, 1, 10), "reward_scale": SCALES}
        return {"epsilon": (0.01, 0.05, 0.2, 0.6), "reward_scale": SCALES}

    def make_policy(self, n_arms: int, n_rounds: int) -> EpsilonGreedyPolicy:
        """Epsilon-greedy with this schedule."""
        return EpsilonGreedyPolicy(
            n_arms,
            self.epsilon,
            schedule=self.schedule,
            c=self.c,
            d=self.d,
            initial=self.initial,
        )
