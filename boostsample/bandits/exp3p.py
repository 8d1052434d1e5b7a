"""Exp3.P: exponential weights for rewards that may depend on the past, [BK10] Figure 2.

Line 2:  log w_j = (eta lambda / 3) sqrt(T / M)
Line 5:  p_j = (1 - lambda) w_j / sum(w) + lambda / M
Line 9:  r^_j = r_j / p_j for the arm drawn, 0 for the others
Line 10: log w_j += lambda / (3 M) (r^_j + eta / (p_j sqrt(M T))), for every arm

Here lambda is `mixing` and eta is `bonus`; the algorithm is Auer et al. 2002b, section 6. Weights
are kept as logarithms, so that nothing overflows. T is the planned number of steps: more or fewer
steps are another algorithm, so T is a setting. Cost: O(n_arms) a step.

Left open, and chosen here: several arms a step are drawn with inclusion probabilities min(1, c p)
that take the place of p in lines 9 and 10, which keeps the estimates unbiased and for one arm is
the paper's algorithm (its bounds are for one arm). An arm that is not available sleeps: the others
share its probability, its weight stays. Steps after T go on by the same rule, without a bound.
"""

from __future__ import annotations

import math

import numpy as np

from boostsample.bandits.policy import (
    FloatArray,
    IntArray,
    Policy,
    draw_arms,
    inclusion,
)
from boostsample.checks import check_integer, check_number
from boostsample.errors import SettingError

__all__ = [
    "Exp3P",
    "exp3p_iteration_bound",
    "exp3p_iteration_terms",
    "exp3p_probabilities",
    "exp3p_regret_bound",
    "exp3p_theory",
    "exp3p_update",
]


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
        eta, at least 0: how much arms that are seldom drawn are favoured. About 0.3 in [BK10]'s
        experiments; "theory" is eq. 13.
    delta : float
        Probability, above 0 and below 1, with which the bounds may fail; enters the "theory"
        values.

    Attributes
    ----------
    mixing, bonus : float
        lambda and eta in use, numbers also where "theory" was asked for.
    log_weights_ : float64 (n_arms,)
        log w_j.
    expected_ : float64 (n_arms,)
        Probability with which the last `select` took each arm; 0 for arms that were not available.
    pending_ : bool
        Whether `expected_` is still to be used by an `update`.

    Notes
    -----
    An `update` belongs to the latest `select`. Without one (a log being replayed, say) all arms
    count as available and as drawn from the present probabilities.
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
        # With a single arm eq. 13 gives lambda = 0; with more, nothing would ever be learned.
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
        """Probability of every arm at the present step, float64 (n_arms,).

        They sum to 1, and none is below mixing / n_arms.
        """
        return exp3p_probabilities(self.log_weights_, self.mixing)

    def regret_bound(self) -> float:
        """Bound on the weak regret after `horizon` steps, which holds with probability 1 - delta.

        That of `exp3p_regret_bound` with the lambda and eta of [BK10] eq. 13; inf with others, or
        when more steps than the horizon were made, as nothing is proven then. For one arm a step,
        and rewards between 0 and 1.
        """
        proven = exp3p_theory(self.n_arms, self.horizon, self.delta) == (self.mixing, self.bonus)
        if not proven or self.n_steps_ > self.horizon:
            return math.inf
        return exp3p_regret_bound(self.n_arms, self.horizon, self.delta)

    def _pick(self, rng: np.random.Generator, k: int, candidates: IntArray | None) -> IntArray:
        p = self.probabilities()
        if candidates is None:
            self.expected_ = inclusion(p, k)
            picks = draw_arms(self.expected_, rng.random(), k)
        else:
            awake = p[candidates]
            among = inclusion(awake / awake.sum(), k)
            self.expected_ = np.zeros(self.n_arms)
            self.expected_[candidates] = among
            picks = candidates[draw_arms(among, rng.random(), k)]
        self.pending_ = True
        return picks

    def _learn(self, arms: IntArray, rewards: FloatArray) -> None:
        expected = self.expected_ if self.pending_ else inclusion(self.probabilities(), arms.size)
        if not expected[arms].min() > 0.0:
            asleep = arms[expected[arms] == 0.0].tolist()
            raise SettingError(
                f"arms {asleep} were not available in the last select; reward only arms that were"
            )
        self.log_weights_ = exp3p_update(
            self.log_weights_, expected, arms, rewards, self.mixing, self.bonus, self.horizon
        )
        self.pending_ = False


def exp3p_probabilities(log_weights: FloatArray, mixing: float) -> FloatArray:
    """[BK10] Figure 2, line 5: p (..., M) from log-weights (..., M), for runs side by side."""
    shifted = np.exp(log_weights - log_weights.max(axis=-1, keepdims=True))
    share = shifted * ((1.0 - mixing) / shifted.sum(axis=-1, keepdims=True))
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
    """[BK10] Figure 2, lines 8 to 10, for every arm; any number of runs side by side.

    Parameters
    ----------
    log_weights : float64 (..., M)
        Logarithms of the weights; not changed.
    expected : float64 (..., M)
        Probability with which each arm was drawn, positive for arms that were; 0 for a sleeping
        arm, whose weight stays.
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
    optimism = bonus / math.sqrt(n_arms * horizon)
    # At most horizon * optimism * n_arms / mixing: p is never below mixing / n_arms.
    gain = np.divide(optimism, expected, out=np.zeros_like(expected), where=expected > 0.0)
    if gain.ndim == 1:
        gain[arms] += rewards / expected[arms]
    else:
        paid = np.take_along_axis(gain, arms, -1) + rewards / np.take_along_axis(expected, arms, -1)
        np.put_along_axis(gain, arms, paid, -1)
    result: FloatArray = log_weights + (mixing / (3.0 * n_arms)) * gain
    return result


def exp3p_theory(n_arms: int, horizon: int, delta: float) -> tuple[float, float]:
    """[BK10] eq. 13: lambda = min(3/5, 2 sqrt(3/5 M log M / T)), eta = 2 sqrt(log(M T / delta)).

    lambda is 0 for a single arm, where there is nothing to explore.

    >>> tuple(round(x, 4) for x in exp3p_theory(10, 10_000, 0.05))
    (0.0743, 7.618)
    """
    m, t, delta = _checked_theorem(n_arms, horizon, delta)
    mixing = min(3.0 / 5.0, 2.0 * math.sqrt(3.0 / 5.0 * m * math.log(m) / t))
    return mixing, 2.0 * math.sqrt(math.log(m * t / delta))


def exp3p_regret_bound(n_arms: int, horizon: int, delta: float) -> float:
    """Auer et al. 2002b, Theorem 6.3, as quoted in [BK10]: bound on the weak regret (eq. 10).

    4 sqrt(M T log(M T / delta)) + 4 sqrt(5/3 M T log M) + 8 log(M T / delta), with probability
    1 - delta against any assignment of rewards in [0, 1], for the parameters of `exp3p_theory`.
    Below T, and so of any use, only for T well above M log T.

    >>> round(exp3p_regret_bound(10, 100_000, 0.05))
    24371
    """
    m, t, delta = _checked_theorem(n_arms, horizon, delta)
    confidence = math.log(m * t / delta)
    first = 4.0 * math.sqrt(m * t * confidence)
    return first + 4.0 * math.sqrt(5.0 / 3.0 * m * t * math.log(m)) + 8.0 * confidence


def exp3p_iteration_bound(
    n_arms: int, delta: float, edge: float, n_examples: int, n_labels: int
) -> float:
    """[BK10] eq. 12: rounds after which the training error is 0, with probability 1 - delta.

    The largest of `exp3p_iteration_terms`, which see. It is very loose: 3e17 for M = 10 and an edge
    of 0.1.

    >>> f"{exp3p_iteration_bound(10, 0.05, edge=0.1, n_examples=60_000, n_labels=10):.0e}"
    '3e+17'
    """
    return max(exp3p_iteration_terms(n_arms, delta, edge, n_examples, n_labels))


def exp3p_iteration_terms(
    n_arms: int, delta: float, edge: float, n_examples: int, n_labels: int
) -> tuple[float, float, float]:
    """The three terms of [BK10] eq. 12 (Theorem 1), in rounds; the bound is their maximum.

    log^2(M / delta), (4 C / rho^2)^4 and 4 log(n sqrt(K - 1)) / rho^2, with
    C = sqrt(32 M) + sqrt(27 M log M) + 16. The printed third term can be read as
    log(n sqrt(K) - 1); it is n times the root of K - 1, from the bound sqrt(K - 1) on the error per
    unit of loss. The theorem is for balanced initial weights, the unscaled `log-edge` reward, one
    arm a round, and the parameters of `exp3p_theory`.

    Parameters
    ----------
    n_arms : int
        M, the number of subsets of the weak learners.
    delta : float
        Above 0 and below 1.
    edge : float
        rho, above 0 and at most 0.93: what the best subset reaches under any weights.
    n_examples, n_labels : int
        n and K. One label means two classes, for which the theorem has K = 2.

    Returns
    -------
    tuple of three floats
        For the confidence, for the learning of the bandit, and for boosting itself, which alone
        depends on the examples.
    """
    m, _, delta = _checked_theorem(n_arms, 1, delta)
    largest = math.sqrt(-math.expm1(-2.0))
    rho = check_number("edge", edge, 0.0, largest, above=True)
    n = check_integer("n_examples", n_examples, 1)
    columns = max(check_integer("n_labels", n_labels, 1), 2)
    c = math.sqrt(32.0 * m) + math.sqrt(27.0 * m * math.log(m)) + 16.0
    third = 4.0 * (math.log(n) + 0.5 * math.log(columns - 1)) / rho**2
    return math.log(m / delta) ** 2, (4.0 * c / rho**2) ** 4, third


def _checked_theorem(n_arms: int, horizon: int, delta: float) -> tuple[int, int, float]:
    risk = check_number("delta", delta, 0.0, 1.0, above=True)
    if risk == 1.0:
        raise SettingError("delta must be below 1, got 1; it is the probability of failing")
    return check_integer("n_arms", n_arms, 1), check_integer("horizon", horizon, 1), risk
