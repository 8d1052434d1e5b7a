"""Explore then commit: pull every arm m times, then the best one for the rest of the run.

Cost per iteration: one search of Q features on T = budget / Q examples. Source: [LS20], Lattimore
and Szepesvari 2020, chapter 6. The simplest bandit, a baseline for the others: boosting's rewards
fall from round to round, and it never revises its choice. Left open: the order of the first pulls
(round-robin compares arms at about the same rounds; blocks confuse the worth of an arm with the
time of its pulls), and k > 1 pulls in a step: the first k arms with missing pulls, completed by the
best of the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from boostsample.checks import check_integer, check_known
from boostsample.strategies.bandits._bandit import FloatArray, IntArray, MeanBandit

_ORDERS = ("blocks", "round-robin")


@dataclass(eq=False, repr=False)
class ExploreThenCommit(MeanBandit):
    """Explore then commit over families or features.

    Parameters
    ----------
    n_pulls : int
        m, pulls of each arm before committing, at least 1.
    order : {"round-robin", "blocks"}
        Order of the first pulls: "blocks" pulls arm after arm, "round-robin" takes turns.
    arms, pulls, n_features, reward, reward_scale
        See `BanditStrategy`.

    Attributes
    ----------
    sums_ : float64 (n_arms,)
        Sum of the first m rewards of each arm.
    """

    n_pulls: int = 10
    order: str = "round-robin"

    def tuning_grid(self) -> Mapping[str, Sequence[float]]:
        """Means are compared, so the reward scale matters only through its cap."""
        return {"n_pulls": (1, 3, 10, 30, 100, 300), "reward_scale": (1, 10, 100, 1000)}

    def start_arms(self, n_arms: int, n_rounds: int) -> None:
        """Check the settings; no pulls yet."""
        check_known("order", self.order, _ORDERS)
        check_integer("n_pulls", self.n_pulls, 1)
        super().start_arms(n_arms, n_rounds)

    def indices(self) -> FloatArray:
        """Index of each arm in the present step, float64 (n_arms,).

        The mean of its first m rewards for an arm with m pulls or more. For the others +inf, or
        under "round-robin" 1 plus the number of missing pulls, which is also above any mean.
        """
        lacking = self.n_pulls - self.counts_
        exploring = np.inf if self.order == "blocks" else 1.0 + lacking
        return np.where(lacking > 0, exploring, self.sums_ / self.n_pulls)

    def reward_arms(self, arms: IntArray, rewards: FloatArray) -> None:
        """Count the pulls; rewards count in the first m pulls of an arm."""
        super().reward_arms(arms, np.where(self.counts_[arms] < self.n_pulls, rewards, 0.0))
