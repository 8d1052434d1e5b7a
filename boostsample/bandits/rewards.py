"""Rewards of a bandit: functions of the edge, between 0 and 1, in three published forms.

One round with edge gamma multiplies the exponential loss by sqrt(1 - gamma^2) ([BK10] eq. 8).

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
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import overload

import numpy as np
from numpy.typing import NDArray

from boostsample.errors import SettingError, unknown

FloatArray = NDArray[np.float64]

# -log sqrt(1 - gamma^2) reaches 1 at gamma^2 = 1 - exp(-2), that is gamma = 0.9299.
_CAP = -math.expm1(-2.0)
# Edges are sums of many products and may exceed 1 by rounding.
_ROUNDING = 1e-9


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
