"""Multi-armed bandits as pure functions of arrays: rewards, indices, exponential weights, draws.

The bandit strategies of `boostsample.strategies` are made of these; a step costs O(n_arms).

>>> import numpy as np
>>> from boostsample.bandits import best_arms, ucb1_indices
>>> rng = np.random.default_rng(0)
>>> counts, sums = np.zeros(3, dtype=np.int64), np.zeros(3)
>>> for step in range(500):
...     arms = best_arms(ucb1_indices(counts, sums, step, exploration=2.0))
...     counts[arms] += 1
...     sums[arms] += rng.random(arms.size) < np.array([0.2, 0.5, 0.8])[arms]
>>> int(counts.argmax())
2

Rewards are functions of the edge, between 0 and 1, in three published forms. One round with edge
gamma multiplies the exponential loss by sqrt(1 - gamma^2) ([BK10] eq. 8).

============== ================================== =======================================
name           formula                            source
============== ================================== =======================================
`log-edge`     min(1, -log sqrt(1 - gamma^2))     [BK10] eq. 11; capped from 0.93 on
`root`         1 - sqrt(1 - gamma^2)              [BK09]
`squared-edge` gamma^2                            twice the others for small edges
============== ================================== =======================================

All are even in gamma: a stump with a negative edge is as good as its negation. [DF11] tunes "the
scale of the reward" without defining it; here it is kappa in min(1, kappa r). An edge of 0.08 gives
0.003, which is negligible beside a confidence term of 0.1 to 1.

References: Auer, Cesa-Bianchi, Fischer, Finite-time analysis of the multiarmed bandit problem, 2002
("2002a"); Auer, Cesa-Bianchi, Freund, Schapire, The nonstochastic multiarmed bandit problem, 2002
("2002b"); Audibert, Munos, Szepesvari, Exploration-exploitation tradeoff using variance estimates
in multi-armed bandits, 2009; [BK09], [BK10] Busa-Fekete and Kegl, 2009 and 2010; [DF11] Dubout and
Fleuret, 2011; [LS20] Lattimore and Szepesvari, Bandit algorithms, 2020.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import overload

import numpy as np
from numpy.typing import NDArray

from boostsample.checks import check_integer, check_number
from boostsample.errors import SettingError, unknown

__all__ = [
    "REWARDS",
    "best_arms",
    "draw_arms",
    "exp3p_probabilities",
    "exp3p_theory",
    "exp3p_update",
    "inclusion",
    "log_edge",
    "reward",
    "root",
    "squared_edge",
    "ucb1_indices",
    "ucbv_indices",
]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

# -log sqrt(1 - gamma^2) reaches 1 at gamma^2 = 1 - exp(-2), that is gamma = 0.9299.
_CAP = -math.expm1(-2.0)
# Edges are sums of float32 weights and may exceed 1 by their rounding.
_ROUNDING = 1e-6


def log_edge(edge: FloatArray) -> FloatArray:
    """min(1, -log sqrt(1 - edge^2)), [BK10] eq. 11; `edge` float64 of any shape, within [-1, 1]."""
    squared = np.square(edge)
    inside = -0.5 * np.log1p(-np.minimum(squared, _CAP))
    return np.where(squared >= _CAP, 1.0, inside)


def root(edge: FloatArray) -> FloatArray:
    """1 - sqrt(1 - edge^2), [BK09]; `edge` float64 of any shape, within [-1, 1]."""
    squared = np.square(edge)
    # This form keeps its digits when the edge is small.
    result: FloatArray = squared / (1.0 + np.sqrt(1.0 - squared))
    return result


def squared_edge(edge: FloatArray) -> FloatArray:
    """edge^2; `edge` float64 of any shape, within [-1, 1]."""
    return np.square(edge)


REWARDS: dict[str, Callable[[FloatArray], FloatArray]] = {
    "log-edge": log_edge,
    "root": root,
    "squared-edge": squared_edge,
}


@overload
def reward(edge: float, kind: str = ..., scale: float = ...) -> float: ...
@overload
def reward(edge: FloatArray, kind: str = ..., scale: float = ...) -> FloatArray: ...


def reward(
    edge: float | FloatArray, kind: str = "log-edge", scale: float = 1.0
) -> float | FloatArray:
    """Reward of each edge: min(1, scale * formula(edge)).

    Parameters
    ----------
    edge : float or float64 array of any shape
        Edges between -1 and 1 (up to rounding).
    kind : str
        A name in `REWARDS`: "log-edge", "root" or "squared-edge".
    scale : float
        kappa > 0; 1 is the papers' reward.

    Returns
    -------
    float or float64 array
        Between 0 and 1, of the shape of `edge`.

    Raises
    ------
    SettingError
        If the kind is unknown, the scale not positive and finite, or an edge not in [-1, 1].

    >>> round(reward(0.08), 6)
    0.00321
    >>> reward(0.95)
    1.0
    """
    formula = REWARDS.get(kind)
    if formula is None:
        raise unknown("reward", kind, REWARDS)
    if not 0.0 < scale < math.inf:
        raise SettingError(
            f"reward_scale must be positive and finite, got {scale!r}; 1 leaves the reward as it is"
        )
    edges = np.abs(np.asarray(edge, dtype=np.float64))
    if edges.size and not edges.max() <= 1.0 + _ROUNDING:
        worst = edges.max()
        raise SettingError(f"an edge must be between -1 and 1, got one of absolute value {worst}")
    result = np.minimum(1.0, scale * formula(np.minimum(edges, 1.0)))
    return float(result) if edges.ndim == 0 else result


def best_arms(index: FloatArray, k: int = 1) -> IntArray:
    """Positions of the k largest of `index` (M,), largest first; the first of equal ones.

    `index` may hold infinities but no NaN; k is from 1 to M. Returns int64 (k,). Cost: O(M) plus
    sorting a few candidates.

    >>> best_arms(np.array([1.0, np.inf, 3.0, np.inf, 3.0]), 3).tolist()
    [1, 3, 2]
    """
    if k == 1:
        return np.array([index.argmax()], dtype=np.int64)
    # The k-th largest of some blocks' maxima is at most the k-th largest of all and leaves little
    # to sort. np.partition needs 20 ms for 100,000 arms that are mostly equal.
    n_blocks = min(8 * k, index.size)
    maxima = np.maximum.reduceat(index, np.arange(n_blocks) * index.size // n_blocks)
    least = np.sort(maxima)[n_blocks - k]
    above = np.flatnonzero(index > least)
    best = above[np.argsort(-index[above], kind="stable")[:k]]
    if best.size < k:
        best = np.concatenate([best, np.flatnonzero(index == least)[: k - best.size]])
    return best


def ucb1_indices(
    counts: IntArray, sums: FloatArray, n_steps: int, exploration: float
) -> FloatArray:
    """UCB1's indices, Auer et al. 2002a, Figure 1: float64 (M,), +inf where `counts` is 0.

    From pulls and sums of rewards of each arm (M,), after t = `n_steps` steps; `exploration` is 2
    in the paper.
    """
    pulls = np.maximum(counts, 1.0)
    index = sums / pulls
    # In place: with many arms, new arrays cost more than the arithmetic.
    width = np.divide(exploration * math.log(max(n_steps, 1)), pulls, out=pulls)
    index += np.sqrt(width, out=width)
    index[counts == 0] = np.inf
    return index


def ucbv_indices(
    counts: IntArray,
    means: FloatArray,
    squares: FloatArray,
    n_steps: int,
    c: float,
    zeta: float,
) -> FloatArray:
    """UCB-V's indices with b = 1: float64 (M,), +inf where `counts` is 0.

    `means` and `squares` (M,) are mean rewards and sums of squared deviations from them, `c` and
    `zeta` the constants of the formula, the rest as in `ucb1_indices`.
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


def exp3p_probabilities(log_weights: FloatArray, mixing: float) -> FloatArray:
    """[BK10] Figure 2, line 5: p from log-weights, float64 (M,) both."""
    shifted = np.exp(log_weights - log_weights.max())
    share = shifted * ((1.0 - mixing) / shifted.sum())
    result: FloatArray = share + mixing / log_weights.size
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
    """[BK10] Figure 2, lines 8 to 10, for every arm: the new log-weights, float64 (M,).

    Each arm was drawn with a probability `expected` (M,) above 0; `arms` (k,) are the different
    ones drawn, `rewards` (k,) between 0 and 1. `mixing`, `bonus`, `horizon`: lambda, eta, T.
    """
    n_arms = log_weights.size
    # At most bonus * sqrt(M / T) / mixing, because no probability is below mixing / M.
    gain = bonus / math.sqrt(n_arms * horizon) / expected
    gain[arms] += rewards / expected[arms]
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


def draw_arms(inclusion_probabilities: FloatArray, uniform: float, k: int = 1) -> IntArray:
    """Draw k different arms, each with its given probability, from a uniform number in [0, 1).

    Systematic sampling: reads the cumulated probabilities at u, u + 1, ..., u + k - 1. That is
    exact for each arm by itself, and a bandit's estimates need no more. Cost: O(M + k log M).

    The probabilities (M,) are positive, at most 1, and sum to k. Returns int64 (k,), ascending,
    always below M in spite of rounding.
    """
    cumulated = inclusion_probabilities.cumsum()
    n_arms = cumulated.size
    if k == 1:
        position = int(cumulated.searchsorted(uniform * cumulated[-1], side="right"))
        return np.array([min(position, n_arms - 1)], dtype=np.int64)
    offset = np.arange(k)
    read = (uniform + offset) * (cumulated[-1] / k)
    picks = cumulated.searchsorted(read, side="right")
    # Rounding can put two readings on one arm of probability 1, or pass the end.
    picks = np.maximum.accumulate(picks - offset) + offset
    return np.asarray(np.minimum(picks, n_arms - k + offset), dtype=np.int64)
