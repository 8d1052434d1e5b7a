"""Schemes that draw T examples in proportion to their weights.

Every scheme gives, for *fixed* stumps, unbiased edges whose variance is at most (1 - G^2) / T
([DF11] eq. 6, 7), in any order of the examples. A draw is free of looks: it reads no feature.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from boostsample.errors import SettingError, unknown
from boostsample.kernels import draw as kernels

__all__ = ["SCHEMES", "Drawn", "Scheme", "known_scheme", "register_scheme"]


class Drawn(NamedTuple):
    """Different examples, ascending, and what their signed weights are multiplied by.

    `examples` is int32 (n,), `factors` float64 (n,); the edge of a fixed stump is estimated by
    the sum over the drawn i of factor_i * sum_l w_il v_l phi(x_i) y_il, n <= T since i.i.d. draws
    repeat themselves.
    """

    examples: NDArray[np.int32]
    factors: NDArray[np.float64]


#: (weight float32 (N,), ends float64 of `cumulate`, T, rng) -> Drawn, for 0 < T < N.
Scheme = Callable[
    [NDArray[np.float32], NDArray[np.float64], int, np.random.Generator],
    Drawn,
]


def _pick(
    weight: NDArray[np.float32],
    ends: NDArray[np.float64],
    size: int,
    gaps: NDArray[np.float64],
    scale: float,
) -> Drawn:
    examples = np.empty(size, np.int32)
    factors = np.empty(size)
    used = kernels.pick(weight, ends, gaps, scale, examples, factors)
    return Drawn(examples[:used], factors[:used])


def iid(
    weight: NDArray[np.float32],
    ends: NDArray[np.float64],
    size: int,
    rng: np.random.Generator,
) -> Drawn:
    """Independent draws with probability w_i ([DF11] eq. 4-6): O(T log N).

    The order statistics of T uniform numbers come as normalised sums of T + 1 exponential ones
    (Devroye 1986, section V.2), so that nothing needs sorting.
    """
    gaps = rng.standard_exponential(size + 1)
    return _pick(weight, ends, size, gaps, ends[-1] / np.add.reduce(gaps))


def stratified(
    weight: NDArray[np.float32],
    ends: NDArray[np.float64],
    size: int,
    rng: np.random.Generator,
) -> Drawn:
    """One independent draw in each of T strata of equal mass along the rows: O(T log N).

    r_t = (t + u_t) W / T through the cumulated weights, as in the code of [DF11]'s authors; an
    example heavier than W / T repeats. The strata's own uniforms make it safe in any order of the
    rows: proportional allocation never has a larger variance than independent draws.
    """
    gaps = 1.0 + np.diff(rng.random(size), prepend=1.0)
    return _pick(weight, ends, size, gaps, ends[-1] / size)


def distinct(
    weight: NDArray[np.float32],
    ends: NDArray[np.float64],
    size: int,
    rng: np.random.Generator,
) -> Drawn:
    """Exactly T different examples, pi_i = min(1, w_i / c), by ordered pivotal sampling: O(N)."""
    examples = np.empty(size, np.int32)
    inclusion = np.empty(size, np.float64)
    used = kernels.pivotal(weight, size, rng.random(weight.size), examples, inclusion)
    return Drawn(examples[:used], 1.0 / (inclusion[:used] * ends[-1]))


_SCHEMES: dict[str, Scheme] = {"iid": iid, "stratified": stratified, "distinct": distinct}

#: Schemes by name, read-only.
SCHEMES: Mapping[str, Scheme] = MappingProxyType(_SCHEMES)


def register_scheme(name: str, scheme: Scheme) -> None:
    """Plug in another scheme for `Step.draw`; a name that is taken is refused.

    A scheme is a part of the loop: it is trusted to be unbiased (its factors are 1 / (T w_i) a
    hit, or 1 / (pi_i W)), and it is given the example weights, which strategies never see.
    """
    if name in _SCHEMES:
        raise SettingError(f"scheme must be a new name, got {name!r}; choose another one")
    _SCHEMES[name] = scheme


def known_scheme(name: str) -> Scheme:
    """The scheme of that name, or SettingError."""
    if name not in _SCHEMES:
        raise unknown("scheme", name, _SCHEMES)
    return _SCHEMES[name]
