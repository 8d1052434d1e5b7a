"""UCB1: pull the arm with the largest mean plus confidence term, Auer et al. 2002a, Figure 1.

index_j = mean_j + sqrt(exploration * log t / n_j), n_j pulls of arm j, t steps finished. With k > 1
this is UCB(k) of [BK09]: each step pulls the k arms with the largest indices and rewards each of
them. Cost: O(n_arms) a step.

Choices that the papers leave open: an arm never pulled has the index +inf, and the first
arm wins a tie, so each arm is first pulled once, in order. t counts steps, not single pulls (for
k = 1 Auer's number of plays, for k > 1 the boosting iteration of [BK09]). With more arms than k
times the number of steps, the policy never completes the first pulls.
"""

from __future__ import annotations

import math

import numpy as np

from boostsample.bandits.policy import FloatArray, IntArray, MeanPolicy
from boostsample.checks import check_number


class UCB1(MeanPolicy):
    """UCB1 of Auer et al. 2002a; UCB(k) of [BK09] when k arms are selected in a step.

    Parameters
    ----------
    n_arms : int
        Number of arms M.
    exploration : float
        Factor of log t under the root, at least 0; 2 in both papers. Boosting rewards are small, so
        tuned values lie far below 2 unless the reward is scaled up.
    """

    def __init__(self, n_arms: int, exploration: float = 2.0) -> None:
        super().__init__(n_arms)
        self.exploration = check_number("exploration", exploration, 0.0)

    def indices(self) -> FloatArray:
        """Index of every arm at the present step, float64 (n_arms,); +inf if never pulled."""
        return ucb1_indices(self.counts_, self.sums_, self.n_steps_, self.exploration)


def ucb1_indices(
    counts: IntArray, sums: FloatArray, n_steps: int, exploration: float
) -> FloatArray:
    """UCB1's indices, Auer et al. 2002a, Figure 1; leading axes are independent runs.

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
    # In place: with many arms, new arrays cost more than the arithmetic.
    width = np.divide(exploration * math.log(max(n_steps, 1)), pulls, out=pulls)
    index += np.sqrt(width, out=width)
    index[counts == 0] = np.inf
    return index
