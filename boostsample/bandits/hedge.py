"""Hedge: exponential weights for rewards of all arms at once.

p_j = w_j / sum(w), then log w_j += eta r_j for every arm j: full information, where a bandit sees
the rewards of the arms that it pulled. Source: Freund and Schapire 1997, section 2, in gains, not
losses; [LS20] chapter 28. Cost: O(n_arms) a step.

Choices that the source leaves open: several arms a step are drawn with inclusion probabilities
min(1, c p). An arm that is left out of an update gains nothing.
"""

from __future__ import annotations

import numpy as np

from boostsample.bandits.exp3p import draw_arms, exp3p_probabilities, inclusion
from boostsample.bandits.policy import FloatArray, IntArray, Policy
from boostsample.checks import check_number

#: Log of the largest ratio of two probabilities: far from numbers too small to divide by.
_MOST_APART = 500.0


class Hedge(Policy):
    """Exponential weights; give `update` the rewards of all arms.

    Parameters
    ----------
    n_arms : int
        Number of arms M.
    eta : float
        Learning rate, above 0. With T steps, sqrt(8 log M / T) bounds the regret by
        sqrt(T log M / 2).

    Attributes
    ----------
    log_weights_ : float64 (n_arms,)
        log w_j.
    """

    def __init__(self, n_arms: int, eta: float = 1.0) -> None:
        super().__init__(n_arms)
        self.eta = check_number("eta", eta, 0.0, above=True)
        self.log_weights_ = np.zeros(self.n_arms)

    def probabilities(self) -> FloatArray:
        """Probability of every arm at the present step, float64 (n_arms,), at least e^-500 / M."""
        least = self.log_weights_.max() - _MOST_APART
        return exp3p_probabilities(np.maximum(self.log_weights_, least), 0.0)

    def _pick(self, rng: np.random.Generator, k: int) -> IntArray:
        return draw_arms(inclusion(self.probabilities(), k), rng.random(), k)

    def _learn(self, arms: IntArray, rewards: FloatArray) -> None:
        self.log_weights_[arms] += self.eta * rewards
