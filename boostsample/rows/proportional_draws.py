"""Draws of T examples in proportion to their weights, and nested ones.

For *fixed* stumps they give unbiased edges with variance at most (1 - G^2) / T ([DF11] eq. 6, 7),
in any order of the examples.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from boostsample.kernels import draw as kernels
from boostsample.kernels.array_layout import Doubles, Floats


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

#: (weight, ends, ascending sizes below N, rng) -> a sample for each size.
NestedScheme = Callable[
    [Floats, Doubles, Sequence[int], np.random.Generator], Iterable[NestedSample]
]


def _pick(weight: Floats, ends: Doubles, size: int, gaps: Doubles, scale: float) -> DrawnSample:
    examples, factors = np.empty(size, np.int32), np.empty(size)
    used = kernels.pick_by_weight(weight, ends, gaps, scale, examples, factors)
    return DrawnSample(examples[:used], factors[:used])


def draw_iid(weight: Floats, ends: Doubles, size: int, rng: np.random.Generator) -> DrawnSample:
    """Independent draws with probability w_i ([DF11] eq. 4-6): O(T log N).

    Normalised sums of T + 1 exponential numbers are the order statistics of T uniform ones (Devroye
    1986, section V.2), so that nothing is sorted.
    """
    gaps = rng.standard_exponential(size + 1)
    return _pick(weight, ends, size, gaps, ends[-1] / np.add.reduce(gaps))


def draw_stratified(
    weight: Floats, ends: Doubles, size: int, rng: np.random.Generator
) -> DrawnSample:
    """One independent draw in each of T strata of equal mass along the rows: O(T log N).

    r_t = (t + u_t) W / T through the cumulated weights, as in the code of [DF11]'s authors; an
    example heavier than W / T repeats. Each stratum has its own uniform u_t, so that the variance
    is at most that of independent draws in any order of the rows (proportional allocation).
    """
    gaps = 1.0 + np.diff(rng.random(size), prepend=1.0)
    return _pick(weight, ends, size, gaps, ends[-1] / size)


def draw_distinct(
    weight: Floats, ends: Doubles, size: int, rng: np.random.Generator
) -> DrawnSample:
    """Exactly T different examples, pi_i = min(1, w_i / c), by ordered pivotal sampling: O(N)."""
    examples, inclusion, _ = pivotal(weight, size, rng)
    return DrawnSample(examples, 1.0 / (inclusion * ends[-1]))


def pivotal(
    weight: Floats, size: int, rng: np.random.Generator
) -> tuple[NDArray[np.int32], Doubles, float]:
    """Different rows by ordered pivotal sampling, their inclusion probabilities, and c."""
    examples, inclusion = np.empty(size + 1, np.int32), np.empty(size + 1)
    level, seed = kernels.inclusion_level(weight, size), int(rng.integers(1 << 63))
    taken = np.empty(weight.size + 1, np.uint8)
    used = kernels.draw_pivotal(weight, level, seed, taken, examples, inclusion)
    return examples[:used], inclusion[:used], level


def nested_distinct(
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
            examples, inclusion, level = pivotal(weight, size, rng)
            weights = np.maximum(weight.take(examples, mode="clip"), np.float32(level))
        elif size < examples.size:
            rows, share, level = pivotal(weights, size, rng)
            examples, inclusion = examples.take(rows, mode="clip"), inclusion.take(rows) * share
            weights = np.maximum(weights.take(rows, mode="clip"), np.float32(level))
        drawn = DrawnSample(examples, 1.0 / (inclusion * ends[-1]))
        nested.append(NestedSample(drawn, 1.0, 0))
    return reversed(nested)


def nested_joined(scheme: Scheme) -> NestedScheme:
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


def nested_iid(
    weight: Floats, ends: Doubles, sizes: Sequence[int], rng: np.random.Generator
) -> Iterator[NestedSample]:
    """`nested_joined` of independent draws, with one call of the generator and one of a kernel."""
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
