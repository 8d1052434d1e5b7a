"""Sampling schemes: draw T examples in proportion to their weights.

For *fixed* stumps every scheme but `filter` gives unbiased edges with variance at most
(1 - G^2) / T ([DF11] eq. 6, 7), in any order of the examples. A draw costs no looks: it reads no
feature.

`filter` draws by the logistic weights of FilterBoost (Bradley and Schapire 2007), u_il / (1 +
exp(y_il f_l)), with the initial weights u_il: its edges estimate those under logistic weights and
are biased for G. FilterBoost accepts uniformly drawn examples with probability q_i: these are
i.i.d. draws by q_i.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from boostsample.errors import SettingError, unknown
from boostsample.kernels import draw as kernels
from boostsample.kernels.array_layout import Doubles, Floats

__all__ = [
    "LOGISTIC_SCHEMES",
    "SCHEMES",
    "DrawnSample",
    "Scheme",
    "known_scheme",
    "register_scheme",
    "unbiased_scheme",
]


class DrawnSample(NamedTuple):
    """Different examples, ascending, int32 (n,), and factors of their signed weights, float64 (n,).

    The sum over the drawn i of factor_i * sum_l w_il v_l phi(x_i) y_il estimates the edge of a
    stump. n <= T: i.i.d. draws repeat.
    """

    examples: NDArray[np.int32]
    factors: Doubles


#: (weight float32 (N,), ends float64 of `cumulate_for_draw`, T, rng) -> DrawnSample, for 0 < T < N.
Scheme = Callable[[Floats, Doubles, int, np.random.Generator], DrawnSample]


def _pick(weight: Floats, ends: Doubles, size: int, gaps: Doubles, scale: float) -> DrawnSample:
    examples, factors = np.empty(size, np.int32), np.empty(size)
    used = kernels.pick_by_weight(weight, ends, gaps, scale, examples, factors)
    return DrawnSample(examples[:used], factors[:used])


def _iid(weight: Floats, ends: Doubles, size: int, rng: np.random.Generator) -> DrawnSample:
    """Independent draws with probability w_i ([DF11] eq. 4-6): O(T log N).

    Normalised sums of T + 1 exponential numbers are the order statistics of T uniform ones (Devroye
    1986, section V.2), so that nothing is sorted.
    """
    gaps = rng.standard_exponential(size + 1)
    return _pick(weight, ends, size, gaps, ends[-1] / np.add.reduce(gaps))


def _stratified(weight: Floats, ends: Doubles, size: int, rng: np.random.Generator) -> DrawnSample:
    """One independent draw in each of T strata of equal mass along the rows: O(T log N).

    r_t = (t + u_t) W / T through the cumulated weights, as in the code of [DF11]'s authors; an
    example heavier than W / T repeats. Each stratum has its own uniform u_t, so that the variance
    is at most that of independent draws in any order of the rows (proportional allocation).
    """
    gaps = 1.0 + np.diff(rng.random(size), prepend=1.0)
    return _pick(weight, ends, size, gaps, ends[-1] / size)


def _distinct(weight: Floats, ends: Doubles, size: int, rng: np.random.Generator) -> DrawnSample:
    """Exactly T different examples, pi_i = min(1, w_i / c), by ordered pivotal sampling: O(N)."""
    examples = np.empty(size, np.int32)
    inclusion = np.empty(size, np.float64)
    used = kernels.draw_pivotal(weight, size, rng.random(weight.size), examples, inclusion)
    return DrawnSample(examples[:used], 1.0 / (inclusion[:used] * ends[-1]))


#: Schemes that get logistic weights as `weight` and `ends`: their edges are biased for G.
LOGISTIC_SCHEMES = frozenset({"filter"})

_SCHEMES: dict[str, Scheme] = {
    "iid": _iid,
    "stratified": _stratified,
    "distinct": _distinct,
    "filter": _iid,
}

#: Schemes by name, read-only.
SCHEMES: Mapping[str, Scheme] = MappingProxyType(_SCHEMES)


def register_scheme(name: str, scheme: Scheme) -> None:
    """Add a scheme for `Step.draw`; SettingError if the name is taken.

    A scheme belongs to the loop: it gets the example weights, which strategies never see, and must
    be unbiased. Its factors are 1 / (T w_i) for each hit, or 1 / (pi_i W).
    """
    if name in _SCHEMES:
        raise SettingError(f"scheme must be a new name, got {name!r}; choose another one")
    _SCHEMES[name] = scheme


def known_scheme(name: str) -> Scheme:
    """The scheme of the given name; SettingError if it is unknown."""
    if name not in _SCHEMES:
        raise unknown("scheme", name, _SCHEMES)
    return _SCHEMES[name]


def unbiased_scheme(name: str) -> Scheme:
    """The scheme of the given name; SettingError if its edges are biased for G, or unknown."""
    if name in LOGISTIC_SCHEMES:
        raise SettingError(
            f"scheme must give unbiased edges here, got {name!r}, which draws by logistic weights; "
            f"use {', '.join(sorted(_SCHEMES.keys() - LOGISTIC_SCHEMES))}"
        )
    return known_scheme(name)
