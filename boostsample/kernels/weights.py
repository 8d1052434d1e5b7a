"""The O(N) finish of a round, the update of all signed weights; and the rows of a sample.

Layout of the rows as in `boostsample.kernels.search`: float32, flat (N * P), zeros in the padding.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from boostsample._jit import kernel_for
from boostsample.kernels.vectors import (
    add,
    at_least,
    choose,
    fill,
    load,
    magnitude,
    multiply,
    narrow,
    store,
    total,
    widen,
)

Bytes: TypeAlias = NDArray[np.uint8]
Ints: TypeAlias = NDArray[np.integer[Any]]
Floats: TypeAlias = NDArray[np.float32]
Doubles: TypeAlias = NDArray[np.float64]


class WeightKernels(NamedTuple):
    """The kernels of this module, compiled for one number of lanes and blocks."""

    update: Any
    weigh: Any


@functools.cache
def weight_kernels(lanes: int, blocks: int) -> WeightKernels:
    """Kernels for rows of `lanes * blocks` labels, lanes one of 1, 2, 4, 8, 16."""
    width = lanes * blocks
    kernel = kernel_for(lanes, blocks)

    @kernel
    def update(
        column: Bytes,
        threshold: int,
        start: int,
        examples: Ints,
        votes: Floats,
        right: float,
        wrong: float,
        floor: Floats,
        rows: Floats,
        weight: Floats,
        sums: Doubles,
    ) -> float:
        """w_il *= right where v_l phi_i y_il = +1, wrong elsewhere ([BK10] Figure 1, line 4).

        Reads column uint8 (n,), votes float32 (P,), +1 or -1; floor float32 (P,), the least size
        of a weight, 0 in the padding. The products are rounded once, from float64. Writes rows;
        weight float32 (N,), the new example weights; sums float64 (P,), the new sum over i of
        w_il * y_il. Returns the new sum of all weights. O(N P / lanes).
        """
        n = weight.size
        mass = 0.0
        for k in range(blocks):
            vote = load(votes, k * lanes, lanes)
            against = multiply(vote, fill(vote, np.float32(-1.0)))
            least = load(floor, k * lanes, lanes)
            partial = widen(fill(vote, np.float32(0.0)))
            gain = fill(partial, right)
            loss = fill(partial, wrong)
            sizes = partial
            for t in range(n):
                i = examples[t] if examples.size else start + t
                at = t * width + k * lanes
                value = load(rows, at, lanes)
                stand = vote if column[i] >= threshold else against
                factor = choose(multiply(value, stand), gain, loss)
                value = at_least(narrow(multiply(widen(value), factor)), least)
                store(rows, at, value)
                partial = add(partial, widen(value))
                size = magnitude(value)
                sizes = add(sizes, widen(size))
                weight[t] = total(size) if k == 0 else weight[t] + total(size)
            store(sums, k * lanes, partial)
            mass += total(sizes)
        return mass

    @kernel
    def weigh(
        rows: Floats, examples: Ints, factors: Doubles, sampled: Floats, base: Doubles
    ) -> None:
        """sampled[t] = rows[examples[t]] * factors[t]; base[l] = their sum.

        Reads rows, examples int32 (T,), factors float64 (T,). Writes sampled float32, flat (T *
        P), and base float64 (P,). O(T P / lanes).
        """
        for k in range(blocks):
            partial = widen(fill(load(rows, 0, lanes), np.float32(0.0)))
            for t in range(examples.size):
                value = load(rows, np.int64(examples[t]) * width + k * lanes, lanes)
                value = multiply(value, fill(value, np.float32(factors[t])))
                store(sampled, t * width + k * lanes, value)
                partial = add(partial, widen(value))
            store(base, k * lanes, partial)

    return WeightKernels(update, weigh)
