"""Explore, then commit: pull each arm m times, then only the one with the best mean.

Source: [LS20] chapter 6. Cost: O(n_arms) a step.

Choices that the source leaves open: the first arm wins a tie; of k > 1 arms in a step,
the first k with missing pulls are taken, completed by the best of the others.
order="round-robin" pulls the arm with the fewest pulls first instead of arm after arm: boosting
rewards fall from round to round, and blocks confuse an arm's worth with the time of its pulls.
"""

from __future__ import annotations

import numpy as np

from boostsample.bandits.policy import FloatArray, IntArray, MeanPolicy
from boostsample.checks import check_integer
from boostsample.errors import unknown

_ORDERS = ("blocks", "round-robin")


class ExploreThenCommit(MeanPolicy):
    """m pulls of each arm, then the best for the rest of the run.

    Parameters
    ----------
    n_arms : int
        Number of arms M.
    n_pulls : int
        m, pulls of each arm before the policy commits, at least 1.
    order : {"blocks", "round-robin"}
        "blocks" pulls arm after arm; "round-robin" takes turns.

    Attributes
    ----------
    sums_ : float64 (n_arms,)
        Sum of the first m rewards of each arm.
    """

    def __init__(self, n_arms: int, n_pulls: int = 10, order: str = "blocks") -> None:
        super().__init__(n_arms)
        if order not in _ORDERS:
            raise unknown("order", order, _ORDERS)
        self.n_pulls = check_integer("n_pulls", n_pulls, 1)
        self.order = order

    @property
    def committed(self) -> bool:
        """Whether every arm has had its m pulls."""
        return bool(self.counts_.min() >= self.n_pulls)

    def indices(self) -> FloatArray:
        """Index of every arm at the present step, float64 (n_arms,).

        The mean of its first m rewards for an arm with m pulls or more. For the others +inf, or
        under "round-robin" 1 plus the number of missing pulls, which is also above any mean.
        """
        lacking = self.n_pulls - self.counts_
        exploring = np.inf if self.order == "blocks" else 1.0 + lacking
        return np.where(lacking > 0, exploring, self.sums_ / self.n_pulls)

    def _learn(self, arms: IntArray, rewards: FloatArray) -> None:
        super()._learn(arms, np.where(self.counts_[arms] < self.n_pulls, rewards, 0.0))
