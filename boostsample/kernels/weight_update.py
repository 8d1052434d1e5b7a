"""The O(N) finish of a round, the update of all signed weights; and the rows of a sample.

Layout of the rows as in `boostsample.kernels.array_layout`.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

from boostsample.jit.compile_kernels import inner_kernel, inner_kernel_for, kernel_for
from boostsample.jit.prefetch import PREFETCHED_ROWS, prefetch_first, prefetch_to_write
from boostsample.jit.stack import on_stack
from boostsample.jit.vectors import (
    LANES,
    vec_add,
    vec_at_least,
    vec_choose,
    vec_fill,
    vec_fused,
    vec_load,
    vec_magnitude,
    vec_multiply,
    vec_paired,
    vec_store,
    vec_total,
    vec_widen,
)
from boostsample.kernels.array_layout import Bytes, Doubles, Floats, Ints, Rows, plane_layout

#: Rows of a single label that are updated at a time; eight take a sixth longer.
_ROWS_AT_ONCE = 4


class WeightFactors(NamedTuple):
    """Factors of an update.

    Attributes
    ----------
    sides : ndarray of float32, shape (2 P,)
        -v for phi = -1, then v; 1 in the padding.
    right, wrong : float
        Factors of the weights that the stump classifies correctly, and of the others.
    floor : ndarray of float32, shape (P,)
        Least size of a weight; 0 in the padding.
    """

    sides: Floats
    right: float
    wrong: float
    floor: Floats


class _WeightKernels(NamedTuple):
    """The kernels of this module, compiled for rows of one width."""

    update: Any
    totals: Any
    weigh: Any


@functools.cache
def weight_kernels(blocks: int, tail: int) -> _WeightKernels:
    """Kernels for rows of `blocks` full vectors and a tail of 1, 2, 4 or 0 labels."""
    width = LANES * blocks + tail
    kernel = kernel_for(blocks, tail)
    # Labels are updated two vectors at a time, in one pass over the rows for each two, so that
    # registers hold their sums.
    last_at, plane, last = plane_layout(blocks, tail)
    update_of: Any = _update_pair if width > 1 else lambda *sizes: _update_single
    update_plane, update_last = update_of(*plane, width), update_of(*last, width)
    weigh_plane, weigh_last = _weigh_pair(*plane, width), _weigh_pair(*last, width)
    eight, eight_last = _eight_totals(LANES), _eight_totals(last[0])
    eight_more, last_lanes, has_more = _eight_totals(last[1] or last[0]), last[0], last[1] > 0

    @kernel
    def update(
        column: Bytes,
        threshold: int,
        rows: Rows,
        factors: WeightFactors,
        part_size: int,
        first: int,
        end: int,
        sums: Doubles,
        masses: Doubles,
    ) -> None:
        """w_il *= right where v_l phi_i y_il = +1, wrong elsewhere ([BK10] Figure 1, line 4).

        Updates parts first, ..., end - 1 of rows.values; products are rounded once. Reads column
        uint8 (n,). Writes sums[p] float64 (P,), the new sum over the part's i of w_il * y_il, and
        masses[p], the new sum of its weights. O(N P / 8).
        """
        n = rows.values.size // width
        for part in range(first, end):
            low, high = part * part_size, min(n, (part + 1) * part_size)
            mass = 0.0
            for at in range(0, last_at, 2 * LANES):
                mass += update_plane(column, threshold, rows, factors, low, high, sums[part], at)
            mass += update_last(column, threshold, rows, factors, low, high, sums[part], last_at)
            masses[part] = mass

    @kernel
    def totals(rows: Floats, weight: Floats) -> None:
        """weight[i] = sum over l of w_il, float32 (N,); O(N P / 8)."""
        n, one = weight.size, on_stack(LANES, np.float32)
        t = 0
        while t < n:
            step = int(t + LANES <= n)  # eight rows, or one of the last eight times
            so_far = vec_fill(vec_load(one, 0, LANES), np.float32(0.0))
            for at in range(0, last_at, 2 * LANES):
                row, stride = at * n + t * 2 * LANES, step * 2 * LANES
                so_far = vec_add(so_far, eight(rows, row, stride))
                so_far = vec_add(so_far, eight(rows, row + LANES, stride))
            row, stride = last_at * n + t * (width - last_at), step * (width - last_at)
            so_far = vec_add(so_far, eight_last(rows, row, stride))
            if has_more:
                so_far = vec_add(so_far, eight_more(rows, row + last_lanes, stride))
            if step:
                vec_store(weight, t, so_far)
                t += LANES
            else:
                vec_store(one, 0, so_far)
                weight[t] = one[0]
                t += 1

    @kernel
    def weigh(
        rows: Floats, examples: Ints, factors: Doubles, sampled: Floats, base: Doubles
    ) -> None:
        """sampled[t] = rows[examples[t]] * factors[t]; base[l] = their sum.

        Reads rows, examples int32 (T,), factors float64 (T,). Writes sampled float32, flat (T *
        P), and base float64 (P,). O(T P / 8).
        """
        for at in range(0, last_at, 2 * LANES):
            weigh_plane(rows, examples, factors, sampled, base, at)
        weigh_last(rows, examples, factors, sampled, base, last_at)

    return _WeightKernels(update, totals, weigh)


@functools.cache
def _eight_totals(lanes: int) -> Any:
    """The sums of the magnitudes of eight vectors, `stride` numbers apart, as one vector."""

    @inner_kernel_for(lanes)
    def eight_totals(rows: Floats, first: int, stride: int) -> Any:
        if lanes == LANES:
            for row in range(8):
                prefetch_first(rows, first + (PREFETCHED_ROWS + row) * stride)
        a = vec_magnitude(vec_load(rows, first, lanes))
        b = vec_magnitude(vec_load(rows, first + stride, lanes))
        c = vec_magnitude(vec_load(rows, first + 2 * stride, lanes))
        d = vec_magnitude(vec_load(rows, first + 3 * stride, lanes))
        e = vec_magnitude(vec_load(rows, first + 4 * stride, lanes))
        f = vec_magnitude(vec_load(rows, first + 5 * stride, lanes))
        g = vec_magnitude(vec_load(rows, first + 6 * stride, lanes))
        h = vec_magnitude(vec_load(rows, first + 7 * stride, lanes))
        low = vec_paired(vec_paired(a, b, 8), vec_paired(c, d, 8), 4)
        return vec_paired(low, vec_paired(vec_paired(e, f, 8), vec_paired(g, h, 8), 4), 2)

    return eight_totals


@functools.cache
def _update_pair(lanes: int, more: int, width: int) -> Any:
    """The update of labels at, ..., at + lanes - 1, and of the next `more` or 0."""
    second, rest, size = more > 0, max(more, 1), lanes + more

    @inner_kernel_for(lanes, more, width)
    def update_pair(
        column: Bytes,
        threshold: int,
        rows: Rows,
        factors: WeightFactors,
        first: int,
        end: int,
        sums: Doubles,
        at: int,
    ) -> float:
        values, start, examples = rows.values, rows.start, rows.examples
        sides, right, wrong, floor = factors
        row, then = at * (values.size // width), at + lanes if second else at
        right_low = right - np.float64(np.float32(right))
        wrong_low = wrong - np.float64(np.float32(wrong))
        least, least2 = vec_load(floor, at, lanes), vec_load(floor, then, rest)
        gain, gain_low = vec_fill(least, right), vec_fill(least, right_low)
        loss, loss_low = vec_fill(least, wrong), vec_fill(least, wrong_low)
        gain2, gain2_low = vec_fill(least2, right), vec_fill(least2, right_low)
        loss2, loss2_low = vec_fill(least2, wrong), vec_fill(least2, wrong_low)
        partial = vec_widen(vec_fill(least, np.float32(0.0)))
        partial2 = vec_widen(vec_fill(least2, np.float32(0.0)))
        sizes, sizes2 = partial, partial2
        for t in range(first, end):
            i = np.uint64(examples[np.uint64(t)] if examples.size else start + t)
            side = np.int64(column[i] >= threshold) * width  # avoids mispredicted branches
            if size >= LANES:  # memory keeps pace with narrower rows
                prefetch_to_write(values, row + (t + PREFETCHED_ROWS) * size)
            value = vec_load(values, row + t * size, lanes)
            agree = vec_multiply(value, vec_load(sides, side + at, lanes))
            low = vec_multiply(value, vec_choose(agree, gain_low, loss_low))
            value = vec_at_least(vec_fused(value, vec_choose(agree, gain, loss), low), least)
            vec_store(values, row + t * size, value)
            partial = vec_add(partial, vec_widen(value))
            sizes = vec_add(sizes, vec_magnitude(vec_widen(value)))
            if second:
                value2 = vec_load(values, row + t * size + lanes, rest)
                agree2 = vec_multiply(value2, vec_load(sides, side + then, rest))
                low2 = vec_multiply(value2, vec_choose(agree2, gain2_low, loss2_low))
                value2 = vec_fused(value2, vec_choose(agree2, gain2, loss2), low2)
                value2 = vec_at_least(value2, least2)
                vec_store(values, row + t * size + lanes, value2)
                partial2 = vec_add(partial2, vec_widen(value2))
                sizes2 = vec_add(sizes2, vec_magnitude(vec_widen(value2)))
        vec_store(sums, at, partial)
        mass: float = vec_total(sizes)
        if second:
            vec_store(sums, then, partial2)
            mass += vec_total(sizes2)
        return mass

    return update_pair


@inner_kernel
def _update_single(
    column: Bytes,
    threshold: int,
    rows: Rows,
    factors: WeightFactors,
    first: int,
    end: int,
    sums: Doubles,
    at: int,
) -> float:
    """The update of the only label, _ROWS_AT_ONCE rows at a time, added up one after another."""
    values, start, examples = rows.values, rows.start, rows.examples
    sides, right, wrong, floor = factors
    side, least = on_stack(_ROWS_AT_ONCE, np.float32), on_stack(_ROWS_AT_ONCE, np.float32)
    few, few_sides = on_stack(_ROWS_AT_ONCE, np.float32), on_stack(_ROWS_AT_ONCE, np.float32)
    new = on_stack(_ROWS_AT_ONCE, np.float64)
    for k in range(_ROWS_AT_ONCE):
        least[k] = floor[0]
        few[k] = few_sides[k] = 0.0
    floors = vec_load(least, 0, _ROWS_AT_ONCE)
    gain, loss = vec_fill(floors, right), vec_fill(floors, wrong)
    gain_low = vec_fill(floors, right - np.float64(np.float32(right)))
    loss_low = vec_fill(floors, wrong - np.float64(np.float32(wrong)))
    partial = sizes = 0.0
    whole = end - (end - first) % _ROWS_AT_ONCE
    for t in range(first, whole, _ROWS_AT_ONCE):
        for k in range(_ROWS_AT_ONCE):
            i = np.uint64(examples[np.uint64(t + k)] if examples.size else start + t + k)
            side[np.uint64(k)] = sides[np.uint64(column[i] >= threshold)]
        value = vec_load(values, t, _ROWS_AT_ONCE)
        value = _updated(
            value, vec_load(side, 0, _ROWS_AT_ONCE), gain, gain_low, loss, loss_low, floors
        )
        vec_store(values, t, value)
        vec_store(new, 0, vec_widen(value))
        for k in range(_ROWS_AT_ONCE):
            partial += new[np.uint64(k)]
            sizes += abs(new[np.uint64(k)])
    for t in range(whole, end):  # fewer are left
        i, k = np.uint64(examples[np.uint64(t)] if examples.size else start + t), t - whole
        few[np.uint64(k)] = values[np.uint64(t)]
        few_sides[np.uint64(k)] = sides[np.uint64(column[i] >= threshold)]
    value, last_sides = vec_load(few, 0, _ROWS_AT_ONCE), vec_load(few_sides, 0, _ROWS_AT_ONCE)
    vec_store(few, 0, _updated(value, last_sides, gain, gain_low, loss, loss_low, floors))
    for t in range(whole, end):
        one = few[np.uint64(t - whole)]
        values[np.uint64(t)] = one
        partial += np.float64(one)
        sizes += np.float64(abs(one))
    sums[at] = partial
    return sizes


@inner_kernel
def _updated(
    value: Any, side: Any, gain: Any, gain_low: Any, loss: Any, loss_low: Any, floors: Any
) -> Any:
    """Weights of one label after the update, a row in each lane."""
    agree = vec_multiply(value, side)
    low = vec_multiply(value, vec_choose(agree, gain_low, loss_low))
    return vec_at_least(vec_fused(value, vec_choose(agree, gain, loss), low), floors)


@functools.cache
def _weigh_pair(lanes: int, more: int, width: int) -> Any:
    """The sampled rows of these labels, and their sums."""
    second, rest, size = more > 0, max(more, 1), lanes + more

    @inner_kernel_for(lanes, more, width)
    def weigh_pair(
        rows: Floats, examples: Ints, factors: Doubles, sampled: Floats, base: Doubles, at: int
    ) -> None:
        row, to = at * (rows.size // width), at * examples.size
        partial = vec_widen(vec_fill(vec_load(rows, row, lanes), np.float32(0.0)))
        partial2 = vec_widen(vec_fill(vec_load(rows, row, rest), np.float32(0.0)))
        for t in range(examples.size):
            soon = row + np.int64(examples[min(t + PREFETCHED_ROWS, examples.size - 1)]) * size
            prefetch_first(rows, soon)
            prefetch_first(rows, soon + size - 1)
            here, factor = row + np.int64(examples[t]) * size, np.float32(factors[t])
            value = vec_load(rows, here, lanes)
            value = vec_multiply(value, vec_fill(value, factor))
            vec_store(sampled, to + t * size, value)
            partial = vec_add(partial, vec_widen(value))
            if second:
                value2 = vec_load(rows, here + lanes, rest)
                value2 = vec_multiply(value2, vec_fill(value2, factor))
                vec_store(sampled, to + t * size + lanes, value2)
                partial2 = vec_add(partial2, vec_widen(value2))
        vec_store(base, at, partial)
        if second:
            vec_store(base, at + lanes, partial2)

    return weigh_pair
