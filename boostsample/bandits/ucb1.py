"""UCB1: the arm with the largest mean plus confidence term, Auer et al. 2002a, Figure 1.

index_j = mean_j + sqrt(exploration * log t / n_j), n_j pulls of arm j, t steps finished. With k > 1
this is UCB(k) of [BK09], which pulls the k arms with the largest indices in each step and gives
every one its own reward. Cost: O(n_arms) a step, all indices computed anew.

Left open, and chosen here: an arm never pulled has the index +inf, and the first arm wins a tie, so
arms are first pulled once each in their order. t is Auer's number of plays so far for k = 1; for
k > 1 [BK09] writes the boosting iteration, so t counts steps and not single pulls. With more arms
than k times the number of steps the policy never gets past the first pulls.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from boostsample.bandits.policy import (
    FloatArray,
    IndexPolicy,
    IntArray,
)
from boostsample.checks import check_integer, check_number

__all__ = ["UCB1", "ucb1_indices", "ucb1_regret_bound"]


class UCB1(IndexPolicy):
    """UCB1 of Auer et al. 2002a; UCB(k) of [BK09] when k arms are selected in a step.

    Parameters
    ----------
    n_arms : int
        Number of arms M.
    exploration : float
        Factor of log t under the root, at least 0; 2 in both papers. Boosting rewards are small, so
        that tuned values lie far below 2 (or the reward is scaled up instead).

    Attributes
    ----------
    counts_ : int64 (n_arms,)
        Pulls of each arm.
    sums_ : float64 (n_arms,)
        Sum of the rewards of each arm.
    """

    def __init__(self, n_arms: int, exploration: float = 2.0) -> None:
        super().__init__(n_arms)
        self.exploration = check_number("exploration", exploration, 0.0)
        self.counts_ = np.zeros(self.n_arms, dtype=np.int64)
        self.sums_ = np.zeros(self.n_arms)

    def indices(self) -> FloatArray:
        """Index of every arm at the present step, float64 (n_arms,); +inf if never pulled."""
        return ucb1_indices(self.counts_, self.sums_, self.n_steps_, self.exploration)

    def _learn(self, arms: IntArray, rewards: FloatArray) -> None:
        self.counts_[arms] += 1
        self.sums_[arms] += rewards


def ucb1_indices(
    counts: NDArray[np.int64], sums: FloatArray, n_steps: int, exploration: float
) -> FloatArray:
    """UCB1's indices, Auer et al. 2002a Figure 1; any number of runs side by side.

    Parameters
    ----------
    counts : int64 (..., M)
        Pulls of each arm.
    sums : float64 (..., M)
        Sums of their rewards.
    n_steps : int
        Steps finished, t.
    exploration : float
        2 in the paper.

    Returns
    -------
    float64 (..., M)
        +inf where `counts` is 0.
    """
    pulls = np.maximum(counts, 1.0)
    index = sums / pulls
    # In place: with many arms, fresh arrays cost more than the arithmetic.
    width = np.divide(exploration * math.log(max(n_steps, 1)), pulls, out=pulls)
    index += np.sqrt(width, out=width)
    index[counts == 0] = np.inf
    return index


def ucb1_regret_bound(means: ArrayLike, n_steps: int) -> float:
    """Auer et al. 2002a, Theorem 1: bound on the expected regret of UCB1.

    For exploration = 2 and one pull a step: 8 sum over worse arms of log(n) / gap + (1 + pi^2 / 3)
    sum of the gaps, for independent rewards in [0, 1] with the given stationary `means` (M,).

    >>> round(ucb1_regret_bound([0.9, 0.6], 10_000), 1)
    246.9
    """
    values = np.asarray(means, dtype=np.float64)
    gaps = values.max() - values
    gaps = gaps[gaps > 0.0]
    steps = check_integer("n_steps", n_steps, 1)
    return float(8.0 * math.log(steps) * (1.0 / gaps).sum() + (1.0 + math.pi**2 / 3.0) * gaps.sum())
