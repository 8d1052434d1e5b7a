"""Exp3.P: exponential weights for rewards that may depend on the past, [BK10] Figure 2.

Line 2:  log w_j = (eta lambda / 3) sqrt(T / M)
Line 5:  p_j = (1 - lambda) w_j / sum(w) + lambda / M
Line 9:  r^_j = r_j / p_j for the arm drawn, 0 for the others
Line 10: log w_j += lambda / (3 M) (r^_j + eta / (p_j sqrt(M T))), for every arm

Here lambda is `mixing` and eta is `bonus`; the algorithm is Auer et al. 2002b, section 6. Weights
are kept as logarithms, so that nothing overflows. T, the planned number of steps, is a setting:
another T is another algorithm. Cost: O(n_arms) a step.

Choices that the paper leaves open: several arms a step are drawn with inclusion
probabilities min(1, c p), which replace p in lines 9 and 10; this keeps the estimates unbiased and
is the paper's algorithm for one arm. Steps after T follow the same rule.
"""

from __future__ import annotations

import functools
import math

import numpy as np

from boostsample.bandits.policy import FloatArray, IntArray, Policy
from boostsample.checks import check_integer, check_number
from boostsample.errors import SettingError


class Exp3P(Policy):
    """Exp3.P of Auer et al. 2002b in the form of [BK10] Figure 2.

    Parameters
    ----------
    n_arms : int
        Number of arms M.
    horizon : int
        Planned number of steps T.
    mixing : float or "theory"
        lambda, above 0 and at most 1: the share of uniform exploration. About 0.15 in [BK10]'s
        experiments; "theory" is eq. 13.
    bonus : float or "theory"
        eta, at least 0: how much rarely drawn arms are favoured. About 0.3 in [BK10]'s
        experiments; "theory" is eq. 13.
    delta : float
        Probability, above 0 and below 1, with which the bounds of the theory may fail; used by
        "theory" only.

    Attributes
    ----------
    mixing, bonus : float
        lambda and eta in use; numbers even if "theory" was given.
    log_weights_ : float64 (n_arms,)
        log w_j.
    expected_ : float64 (n_arms,)
        Probability with which the last `select` took each arm.
    pending_ : bool
        Whether the next `update` uses `expected_`.

    Notes
    -----
    An `update` belongs to the latest `select`. Without one (when a log is replayed) arms count as
    drawn from the present probabilities.
    """

    def __init__(
        self,
        n_arms: int,
        horizon: int,
        mixing: float | str = 0.15,
        bonus: float | str = 0.3,
        delta: float = 0.05,
    ) -> None:
        super().__init__(n_arms)
        self.horizon = check_integer("horizon", horizon, 1)
        self.delta = check_number("delta", delta, 0.0, 1.0, above=True)
        best_mixing, best_bonus = exp3p_theory(self.n_arms, self.horizon, self.delta)
        for name, value in (("mixing", mixing), ("bonus", bonus)):
            if isinstance(value, str) and value != "theory":
                raise SettingError(f'{name} must be a number or "theory", got {value!r}')
        # With a single arm eq. 13 gives lambda = 0; with more, 0 would learn nothing.
        several = self.n_arms > 1
        self.mixing = (
            best_mixing
            if mixing == "theory"
            else check_number("mixing", mixing, 0.0, 1.0, above=several)
        )
        self.bonus = best_bonus if bonus == "theory" else check_number("bonus", bonus, 0.0)
        start = self.bonus * self.mixing / 3.0 * math.sqrt(self.horizon / self.n_arms)
        self.log_weights_ = np.full(self.n_arms, start)
        self.expected_ = np.zeros(self.n_arms)
        self.pending_ = False

    def probabilities(self) -> FloatArray:
        """Probability of every arm at the present step, float64 (n_arms,), >= mixing / n_arms."""
        return exp3p_probabilities(self.log_weights_, self.mixing)

    def _pick(self, rng: np.random.Generator, k: int) -> IntArray:
        self.expected_ = inclusion(self.probabilities(), k)
        self.pending_ = True
        return draw_arms(self.expected_, rng.random(), k)

    def _learn(self, arms: IntArray, rewards: FloatArray) -> None:
        expected = self.expected_ if self.pending_ else inclusion(self.probabilities(), arms.size)
        self.log_weights_ = exp3p_update(
            self.log_weights_, expected, arms, rewards, self.mixing, self.bonus, self.horizon
        )
        self.pending_ = False


def exp3p_probabilities(log_weights: FloatArray, mixing: float) -> FloatArray:
    """[BK10] Figure 2, line 5: p (..., M) from log-weights (..., M); leading axes are runs."""
    shifted = np.exp(log_weights - np.maximum.reduce(log_weights, axis=-1, keepdims=True))
    share = shifted * ((1.0 - mixing) / np.add.reduce(shifted, axis=-1, keepdims=True))
    result: FloatArray = share + mixing / log_weights.shape[-1]
    return result


def exp3p_update(
    log_weights: FloatArray,
    expected: FloatArray,
    arms: IntArray,
    rewards: FloatArray,
    mixing: float,
    bonus: float,
    horizon: int,
) -> FloatArray:
    """[BK10] Figure 2, lines 8 to 10, for every arm; leading axes are independent runs.

    Parameters
    ----------
    log_weights : float64 (..., M)
        Logarithms of the weights; not changed.
    expected : float64 (..., M)
        Probability with which each arm was drawn, above 0.
    arms, rewards : int64, float64 (..., k)
        The different arms drawn, and their rewards between 0 and 1.
    mixing, bonus, horizon : float, float, int
        lambda, eta, T.

    Returns
    -------
    float64 (..., M)
        The new log-weights.
    """
    n_arms = log_weights.shape[-1]
    # At most bonus * sqrt(M / T) / mixing, because no probability is below mixing / M.
    gain = bonus / math.sqrt(n_arms * horizon) / expected
    if gain.ndim == 1:
        gain[arms] += rewards / expected[arms]
    else:
        paid = np.take_along_axis(gain, arms, -1) + rewards / np.take_along_axis(expected, arms, -1)
        np.put_along_axis(gain, arms, paid, -1)
    result: FloatArray = log_weights + (mixing / (3.0 * n_arms)) * gain
    return result


@functools.lru_cache(maxsize=64)
def exp3p_theory(n_arms: int, horizon: int, delta: float) -> tuple[float, float]:
    """[BK10] eq. 13: lambda = min(3/5, 2 sqrt(3/5 M log M / T)), eta = 2 sqrt(log(M T / delta)).

    lambda is 0 for a single arm, where there is nothing to explore.

    >>> tuple(round(x, 4) for x in exp3p_theory(10, 10_000, 0.05))
    (0.0743, 7.618)
    """
    m, t = check_integer("n_arms", n_arms, 1), check_integer("horizon", horizon, 1)
    delta = check_number("delta", delta, 0.0, 1.0, above=True)
    if delta == 1.0:
        raise SettingError("delta must be below 1, got 1; it is the probability of failing")
    mixing = min(3.0 / 5.0, 2.0 * math.sqrt(3.0 / 5.0 * m * math.log(m) / t))
    return mixing, 2.0 * math.sqrt(math.log(m * t / delta))


def inclusion(probabilities: FloatArray, k: int) -> FloatArray:
    """Inclusion probabilities of k different arms: min(1, c p), with c such that they sum to k.

    `probabilities` (M,) are positive and sum to 1; k is from 1 to M. Returns float64 (M,), for
    k = 1 `probabilities` itself. Drawing from p until k different arms have come up, the usual way,
    has unknown inclusion probabilities, so that rewards divided by p are biased upwards.

    >>> inclusion(np.array([0.7, 0.2, 0.1]), 2).round(6).tolist()
    [1.0, 0.666667, 0.333333]
    """
    if k == 1:
        return probabilities
    if k == probabilities.size:
        return np.ones(k)
    result = k * probabilities
    certain = np.zeros(probabilities.size, dtype=np.bool_)
    while (over := result > 1.0).any():
        certain |= over
        others = np.where(certain, 0.0, probabilities)
        result = others * ((k - np.count_nonzero(certain)) / others.sum())
        result[certain] = 1.0
    return result


def draw_arms(
    inclusion_probabilities: FloatArray, uniform: float | FloatArray, k: int = 1
) -> IntArray:
    """Draw k different arms, each with its given probability, from one uniform number.

    Systematic sampling: reads the cumulated probabilities at u, u + 1, ..., u + k - 1. That is
    exact for each arm by itself, and a bandit's estimates need no more. Cost: O(M + k log M).

    Parameters
    ----------
    inclusion_probabilities : float64 (M,), or (..., M) if k = 1
        Positive, at most 1, summing to k.
    uniform : float in [0, 1), or float64 (...)
        One uniform number for each row.
    k : int
        Number of arms, from 1 to M.

    Returns
    -------
    int64 (k,), or (..., 1)
        Distinct arms in increasing order, always below M in spite of rounding.
    """
    cumulated = inclusion_probabilities.cumsum(axis=-1)
    n_arms = cumulated.shape[-1]
    if cumulated.ndim > 1:
        level = np.asarray(uniform)[..., None] * cumulated[..., -1:]
        below = (cumulated <= level).sum(axis=-1, keepdims=True, dtype=np.int64)
        return np.asarray(np.minimum(below, n_arms - 1))
    if k == 1:
        position = int(cumulated.searchsorted(uniform * cumulated[-1], side="right"))
        return np.array([min(position, n_arms - 1)], dtype=np.int64)
    offset = np.arange(k)
    read = (uniform + offset) * (cumulated[-1] / k)
    picks = cumulated.searchsorted(read, side="right")
    # Rounding can put two readings on one arm of probability 1, or pass the end.
    picks = np.maximum.accumulate(picks - offset) + offset
    return np.asarray(np.minimum(picks, n_arms - k + offset), dtype=np.int64)
