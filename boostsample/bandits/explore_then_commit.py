"""Explore, then commit: m pulls of each arm, and from then on the one with the best mean.

The "explore-exploit" algorithm of the lecture notes (Algorithm 4): arm after arm is pulled m times,
its mean taken over these m rewards, and the best is pulled for ever, whatever it pays later.
Cost: O(n_arms) a step.

Left open, and chosen here: the first arm wins a tie; k > 1 arms in a step are the first k that
still lack pulls, filled up with the best of the others. order="round-robin" pulls the arm with the
fewest pulls first instead of arm after arm: boosting rewards fall from round to round, and blocks
confuse an arm's worth with the time at which it was tried.
"""

from __future__ import annotations

import numpy as np

from boostsample.bandits.policy import FloatArray, IndexPolicy, IntArray
from boostsample.checks import check_integer
from boostsample.errors import unknown

__all__ = ["ExploreThenCommit"]

ORDERS = ("blocks", "round-robin")


class ExploreThenCommit(IndexPolicy):
    """m pulls of each arm, then the best for the rest of the run.

    Parameters
    ----------
    n_arms : int
        Number of arms M.
    n_pulls : int
        m, pulls of each arm before the policy commits, at least 1.
    order : {"blocks", "round-robin"}
        "blocks" tries arm after arm as in the lecture notes; "round-robin" takes turns.

    Attributes
    ----------
    counts_ : int64 (n_arms,)
        Pulls of each arm, those after the exploration included.
    sums_ : float64 (n_arms,)
        Sum of the first m rewards of each arm.
    """

    def __init__(
        self,
        n_arms: int,
        n_pulls: int = 10,
        order: str = "blocks",
    ) -> None:
        super().__init__(n_arms)
        if order not in ORDERS:
            raise unknown("order", order, ORDERS)
        self.n_pulls = check_integer("n_pulls", n_pulls, 1)
        self.order = order
        self.counts_ = np.zeros(self.n_arms, dtype=np.int64)
        self.sums_ = np.zeros(self.n_arms)

    @property
    def committed(self) -> bool:
        """Whether every arm has had its m pulls."""
        return bool(self.counts_.min() >= self.n_pulls)

    def indices(self) -> FloatArray:
        """Index of every arm at the present step, float64 (n_arms,).

        The mean of its first m rewards for an arm that has had them. For the others +inf, or in
        turns 1 plus the number of pulls that the arm lacks, which is above any mean too.
        """
        lacking = self.n_pulls - self.counts_
        exploring = np.inf if self.order == "blocks" else 1.0 + lacking
        return np.where(lacking > 0, exploring, self.sums_ / self.n_pulls)

    def _learn(self, arms: IntArray, rewards: FloatArray) -> None:
        self.sums_[arms] += np.where(self.counts_[arms] < self.n_pulls, rewards, 0.0)
        self.counts_[arms] += 1
