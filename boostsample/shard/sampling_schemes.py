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

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
    "NestedSample",
    "NestedScheme",
    "Scheme",
    "known_scheme",
    "nested_scheme",
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


class NestedSample(NamedTuple):
    """A sample that contains the one before; its factors are in units of `scale`.

    The first `known` of its examples are those of the sample before, with the same factors.
    """

    drawn: DrawnSample
    scale: float
    known: int


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
    examples, inclusion, _ = _pivotal(weight, size, rng)
    return DrawnSample(examples, 1.0 / (inclusion * ends[-1]))


def _pivotal(
    weight: Floats, size: int, rng: np.random.Generator
) -> tuple[NDArray[np.int32], Doubles, float]:
    """Different rows by ordered pivotal sampling, their inclusion probabilities, and c."""
    examples, inclusion = np.empty(size + 1, np.int32), np.empty(size + 1)
    level, seed = kernels.inclusion_level(weight, size), int(rng.integers(1 << 63))
    taken = np.empty(weight.size + 1, np.uint8)
    used = kernels.draw_pivotal(weight, level, seed, taken, examples, inclusion)
    return examples[:used], inclusion[:used], level


def _nested_distinct(
    weight: Floats, ends: Doubles, sizes: Sequence[int], rng: np.random.Generator
) -> Iterator[NestedSample]:
    """The largest sample, then smaller ones of it, each by pivotal sampling of the one before.

    With min(1, w_i / c) for T and min(1, w_i / d) for fewer examples, an example of the first
    sample stays with probability min(1, max(w_i, c) / d): these sum to the smaller number, since
    all examples with w_i >= c are in the first sample.
    """
    nested: list[NestedSample] = []
    examples, inclusion, weights = np.empty(0, np.int32), np.empty(0), weight
    for size in reversed(sizes):
        if not nested:
            examples, inclusion, level = _pivotal(weight, size, rng)
            weights = np.maximum(weight.take(examples, mode="clip"), np.float32(level))
        elif size < examples.size:
            rows, share, level = _pivotal(weights, size, rng)
            examples, inclusion = examples.take(rows, mode="clip"), inclusion.take(rows) * share
            weights = np.maximum(weights.take(rows, mode="clip"), np.float32(level))
        drawn = DrawnSample(examples, 1.0 / (inclusion * ends[-1]))
        nested.append(NestedSample(drawn, 1.0, 0))
    return reversed(nested)


def _nested(scheme: Scheme) -> NestedScheme:
    """Nested samples of a scheme whose samples can be joined: each adds draws to the one before.

    Of T draws, t were made for a smaller sample: the edge is t / T of its edge and the rest of that
    of the others, so that the variance is at most (1 - G^2) / T, too.
    """

    def draw(
        weight: Floats, ends: Doubles, sizes: Sequence[int], rng: np.random.Generator
    ) -> Iterator[NestedSample]:
        examples, factors = np.empty(sizes[-1], np.int32), np.empty(sizes[-1])
        used, so_far = 0, 0
        for size in sizes:
            known, more = used, size - so_far
            if more:
                drawn = scheme(weight, ends, more, rng)
                used += drawn.examples.size
                examples[known:used] = drawn.examples
                np.multiply(drawn.factors, more, out=factors[known:used])
            yield NestedSample(DrawnSample(examples[:used], factors[:used]), 1.0 / size, known)
            so_far = size

    return draw


def _nested_iid(
    weight: Floats, ends: Doubles, sizes: Sequence[int], rng: np.random.Generator
) -> Iterator[NestedSample]:
    """`_nested` of independent draws, with one call of the generator and one of a kernel."""
    more = np.diff(np.array(sizes), prepend=0)
    gaps = rng.standard_exponential(sizes[-1] + more.size)
    scales = ends[-1] / np.add.reduceat(gaps, np.cumsum(more) - more + np.arange(more.size))
    examples, factors = np.empty(sizes[-1], np.int32), np.empty(sizes[-1])
    used = np.empty(more.size, np.int64)
    kernels.pick_nested(weight, ends, more, gaps, scales, examples, factors, used)
    known = 0
    for size, end in zip(sizes, used.tolist(), strict=True):
        yield NestedSample(DrawnSample(examples[:end], factors[:end]), 1.0 / size, known)
        known = end


#: Schemes that get logistic weights as `weight` and `ends`: their edges are biased for G.
LOGISTIC_SCHEMES = frozenset({"filter"})


#: (weight, ends, ascending sizes below N, rng) -> a sample for each size.
NestedScheme = Callable[
    [Floats, Doubles, Sequence[int], np.random.Generator], Iterable[NestedSample]
]


_SCHEMES: dict[str, Scheme] = {
    "iid": _iid,
    "stratified": _stratified,
    "distinct": _distinct,
    "filter": _iid,
}

#: Schemes whose nested samples are not those of `_nested`, or take less time.
_NESTED: dict[str, NestedScheme] = {
    "iid": _nested_iid,
    "distinct": _nested_distinct,
    "filter": _nested_iid,
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


def nested_scheme(name: str) -> NestedScheme:
    """Nested samples of the scheme of the given name; SettingError if it is unknown."""
    return _NESTED.get(name) or _nested(known_scheme(name))


def unbiased_scheme(name: str) -> Scheme:
    """The scheme of the given name; SettingError if its edges are biased for G, or unknown."""
    if name in LOGISTIC_SCHEMES:
        raise SettingError(
            f"scheme must give unbiased edges here, got {name!r}, which draws by logistic weights; "
            f"use {', '.join(sorted(_SCHEMES.keys() - LOGISTIC_SCHEMES))}"
        )
    return known_scheme(name)
