"""UCB-V: the confidence term of UCB with each arm's own variance of rewards.

index_j = mean_j + sqrt(2 zeta V_j log t / n_j) + c 3 b zeta log t / n_j, with V_j the mean squared
deviation (divided by n_j, not n_j - 1) and b = 1 the range of the rewards.

Cost per iteration: one search of Q features on T = budget / Q examples; O(arms) for the indices.
Source: Audibert, Munos and Szepesvari 2009, used on boosting by [BK10] section 4.2 without its
constants. Left open: published code differs by a factor of 3 in the last term, written with the 3
(c = 1) or without it (c = 1/3, MultiBoost), so `c` is a setting. A range b below 1 equals a smaller
c. Arms never pulled, ties and t: as in UCB.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from boostsample.bandits import best_arms, ucbv_indices
from boostsample.checks import check_number
from boostsample.strategies.bandits._bandit import (
    BANDIT_SCALES,
    BanditStrategy,
    FloatArray,
    IntArray,
)


@dataclass(eq=False, repr=False)
class UCBV(BanditStrategy):
    """UCB-V over families or features.

    Parameters
    ----------
    c : float
        Factor of the last term 3 zeta log t / pulls, at least 0; 1/3 is MultiBoost's.
    zeta : float
        Exploration, at least 0: factor of log t in both terms.
    arms, pulls, n_features, reward, reward_scale
        See `BanditStrategy`.

    Attributes
    ----------
    counts_ : int64 (n_arms,)
        Pulls of each arm.
    means_ : float64 (n_arms,)
        Mean reward of each arm.
    squares_ : float64 (n_arms,)
        Sum of squared deviations from the mean (Welford's recursion; exactly 0 for equal rewards).
    """

    c: float = 1.0
    zeta: float = 1.0

    def tuning_grid(self) -> Mapping[str, Sequence[float]]:
        """24 settings; zeta is in both terms, and the smallest hardly explores."""
        return {"zeta": (0.0001, 0.001, 0.01, 0.1), "reward_scale": BANDIT_SCALES}

    def start_arms(self, n_arms: int, n_rounds: int) -> None:
        """Check the constants; no pulls yet."""
        check_number("c", self.c, 0.0)
        check_number("zeta", self.zeta, 0.0)
        super().start_arms(n_arms, n_rounds)
        self.counts_ = np.zeros(n_arms, dtype=np.int64)
        self.means_ = np.zeros(n_arms)
        self.squares_ = np.zeros(n_arms)

    def indices(self) -> FloatArray:
        """Index of each arm in the present step, float64 (n_arms,); +inf if never pulled."""
        return ucbv_indices(
            self.counts_, self.means_, self.squares_, self.n_steps_, self.c, self.zeta
        )

    def select(self, rng: np.random.Generator, k: int) -> IntArray:
        """The arms of the k largest indices, best first."""
        return best_arms(self.indices(), k)

    def reward_arms(self, arms: IntArray, rewards: FloatArray) -> None:
        """Update mean and squared deviations in place."""
        super().reward_arms(arms, rewards)
        self.counts_[arms] += 1
        before = rewards - self.means_[arms]
        self.means_[arms] += before / self.counts_[arms]
        self.squares_[arms] += before * (rewards - self.means_[arms])
