"""UCB-V: confidence from the observed variance of each arm, Audibert et al. 2009.

index_j = mean_j + sqrt(2 zeta V_j log t / n_j) + c 3 b zeta log t / n_j, with V_j the mean squared
deviation (divided by n_j, not n_j - 1) and b = 1 the range of the rewards. Cost: O(n_arms) a step;
mean and variance are updated in place.

Choices that the papers leave open: published code differs by a factor of 3 in the last
term, written with the 3 (c = 1) or without it (c = 1/3, MultiBoost), so c is a parameter. A range b
below 1 equals a smaller c. [BK10] names the policy without its constants. Arms never pulled, ties
and t: as in UCB1.
"""

from __future__ import annotations

import math

import numpy as np

from boostsample.bandits.policy import FloatArray, IndexPolicy, IntArray
from boostsample.checks import check_number


class UCBV(IndexPolicy):
    """UCB-V of Audibert, Munos and Szepesvari.

    Parameters
    ----------
    n_arms : int
        Number of arms M.
    c : float
        Factor of the last term, at least 0; 1 with the 3 of the formula, 1/3 is MultiBoost.
    zeta : float
        Factor of log t in both terms, at least 0.

    Attributes
    ----------
    counts_ : int64 (n_arms,)
        Pulls of each arm.
    means_ : float64 (n_arms,)
        Mean reward of each arm.
    squares_ : float64 (n_arms,)
        Sum of squared deviations from the mean (Welford's recursion; exactly 0 for equal rewards).
    """

    def __init__(self, n_arms: int, c: float = 1.0, zeta: float = 1.0) -> None:
        super().__init__(n_arms)
        self.c = check_number("c", c, 0.0)
        self.zeta = check_number("zeta", zeta, 0.0)
        self.counts_ = np.zeros(self.n_arms, dtype=np.int64)
        self.means_ = np.zeros(self.n_arms)
        self.squares_ = np.zeros(self.n_arms)

    def indices(self) -> FloatArray:
        """Index of every arm at the present step, float64 (n_arms,); +inf if never pulled."""
        return ucbv_indices(
            self.counts_, self.means_, self.squares_, self.n_steps_, self.c, self.zeta
        )

    def _learn(self, arms: IntArray, rewards: FloatArray) -> None:
        self.counts_[arms] += 1
        before = rewards - self.means_[arms]
        self.means_[arms] += before / self.counts_[arms]
        self.squares_[arms] += before * (rewards - self.means_[arms])


def ucbv_indices(
    counts: IntArray,
    means: FloatArray,
    squares: FloatArray,
    n_steps: int,
    c: float,
    zeta: float,
) -> FloatArray:
    """UCB-V's indices with b = 1; leading axes are independent runs.

    Parameters
    ----------
    counts, n_steps
        As in `ucb1_indices`.
    means, squares : float64 (..., M)
        Mean rewards, and sums of squared deviations from the mean.
    c, zeta : float
        The constants of the formula.

    Returns
    -------
    float64 (..., M)
        +inf where `counts` is 0.
    """
    pulls = np.maximum(counts, 1.0)
    index = squares / pulls
    # In place: with many arms, new arrays cost more than the arithmetic.
    per_pull = np.divide(zeta * math.log(max(n_steps, 1)), pulls, out=pulls)
    index *= per_pull
    index *= 2.0
    np.sqrt(index, out=index)
    index += means
    per_pull *= 3.0 * c
    index += per_pull
    index[counts == 0] = np.inf
    return index
