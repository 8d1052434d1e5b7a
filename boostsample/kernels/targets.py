"""Targets of products and trees: rows of a node, signs multiplied by stumps, and their update.

Layout of the rows as in `boostsample.kernels.array_layout`. Sums and masses are of parts of the
rows, as in `boostsample.kernels.weight_update`.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

from boostsample.jit.compile_kernels import inner_kernel_for, kernel, kernel_for
from boostsample.jit.prefetch import PREFETCHED_ROWS, prefetch_first
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
    vec_store,
    vec_total,
    vec_widen,
)
from boostsample.kernels.array_layout import Bytes, Doubles, Floats, Ints, Rows, plane_layout


class TargetFactors(NamedTuple):
    """Factors of an update.

    Attributes
    ----------
    votes : ndarray of float32, shape (P,)
        Votes of the rows, 1 in the padding.
    right, wrong : float
        Factors of the weights that are classified correctly, and of the others.
    floor : ndarray of float32, shape (P,)
        Least size of a weight; 0 in the padding.
    """

    votes: Floats
    right: float
    wrong: float
    floor: Floats


class _TargetKernels(NamedTuple):
    """The kernels of this module for rows of one width."""

    gather: Any
    flip: Any
    update: Any


@kernel
def partition(
    column: Bytes,
    threshold: int,
    start: int,
    columns: Ints,
    order: Ints,
    first: int,
    end: int,
    spare: Ints,
) -> int:
    """Move the positions order[first:end] with phi = -1 before the others; keeps their order.

    Position p is bank column columns[p], or start + p if `columns` is empty. Returns where the
    positions with phi = +1 begin. Overwrites spare int32 (end - first,). O(end - first).
    """
    left, right, one = np.uint64(first), np.uint64(0), np.uint64(1)  # signed ones may be negative
    for t in range(first, end):
        p = order[np.uint64(t)]
        i = np.uint64(columns[np.uint64(p)] if columns.size else start + p)
        above = np.uint64(column[i] >= threshold)
        order[left] = p
        spare[right] = p
        right += above
        left += one - above
    for t in range(right):
        order[left + np.uint64(t)] = spare[np.uint64(t)]
    return int(left)


@functools.cache
def target_kernels(blocks: int, tail: int) -> _TargetKernels:
    """Kernels for rows of `blocks` full vectors and a tail of 1, 2, 4 or 0 labels."""
    width = LANES * blocks + tail
    last_at, plane, last = plane_layout(blocks, tail)
    gather_plane, flip_plane, update_plane = _pair(*plane, width)
    gather_last, flip_last, update_last = _pair(*last, width)
    kernel = kernel_for(blocks, tail)

    @kernel
    def gather(
        source: Floats,
        positions: Ints,
        values: Floats,
        part_size: int,
        first: int,
        end: int,
        sums: Doubles,
        masses: Doubles,
    ) -> None:
        """values[t] = source[positions[t]] for the rows of parts first, ..., end - 1.

        Writes values float32 (n * P,), sums[p] float64 (P,), the sum of part p of the rows, and
        masses[p], the sum of their magnitudes. O(n P / 8).
        """
        n = positions.size
        for part in range(first, end):
            low, high = part * part_size, min(n, (part + 1) * part_size)
            mass = 0.0
            for at in range(0, last_at, 2 * LANES):
                mass += gather_plane(source, positions, values, low, high, sums[part], at)
            mass += gather_last(source, positions, values, low, high, sums[part], last_at)
            masses[part] = mass

    @kernel
    def flip(
        column: Bytes,
        threshold: int,
        rows: Rows,
        sides: Floats,
        part_size: int,
        first: int,
        end: int,
        sums: Doubles,
    ) -> None:
        """Multiply rows.values by the outputs of a stump.

        Reads sides float32 (2 P,): -v for phi = -1, then v; 1 in the padding. Writes sums[p]
        float64 (P,), the new sum of part p, p = first, ..., end - 1. O(n P / 8).
        """
        n = rows.values.size // width
        for part in range(first, end):
            low, high = part * part_size, min(n, (part + 1) * part_size)
            for at in range(0, last_at, 2 * LANES):
                flip_plane(column, threshold, rows, sides, low, high, sums[part], at)
            flip_last(column, threshold, rows, sides, low, high, sums[part], last_at)

    @kernel
    def update(
        values: Floats,
        positions: Ints,
        targets: Floats,
        factors: TargetFactors,
        part_size: int,
        first: int,
        end: int,
        sums: Doubles,
        masses: Doubles,
    ) -> None:
        """Multiply values[positions[t]] by `right` where targets[t] * votes > 0, else by `wrong`.

        Without positions, they are 0, 1, ...; without targets, these are the values themselves.
        Sums and masses as in `gather`, of the new values. O(n P / 8).
        """
        n = positions.size if positions.size else targets.size // width
        for part in range(first, end):
            low, high = part * part_size, min(n, (part + 1) * part_size)
            mass = 0.0
            for at in range(0, last_at, 2 * LANES):
                mass += update_plane(values, positions, targets, factors, low, high, sums[part], at)
            mass += update_last(values, positions, targets, factors, low, high, sums[part], last_at)
            masses[part] = mass

    return _TargetKernels(gather, flip, update)


@functools.cache
def _pair(lanes: int, more: int, width: int) -> tuple[Any, Any, Any]:
    """The kernels for labels at, ..., at + lanes - 1 of rows of `width`, and the next `more`."""
    second, rest, size = more > 0, max(more, 1), lanes + more
    inner = inner_kernel_for(lanes, more, width)

    @inner
    def gather_pair(
        source: Floats,
        positions: Ints,
        values: Floats,
        low: int,
        high: int,
        sums: Doubles,
        at: int,
    ) -> float:
        row, to = at * (source.size // width), at * positions.size
        partial = vec_widen(vec_fill(vec_load(source, row, lanes), np.float32(0.0)))
        partial2 = vec_widen(vec_fill(vec_load(source, row, rest), np.float32(0.0)))
        sizes, sizes2 = partial, partial2
        for t in range(low, high):
            soon = row + np.int64(positions[min(t + PREFETCHED_ROWS, high - 1)]) * size
            prefetch_first(source, soon)
            here = row + np.int64(positions[t]) * size
            value = vec_load(source, here, lanes)
            vec_store(values, to + t * size, value)
            partial = vec_add(partial, vec_widen(value))
            sizes = vec_add(sizes, vec_magnitude(vec_widen(value)))
            if second:
                value2 = vec_load(source, here + lanes, rest)
                vec_store(values, to + t * size + lanes, value2)
                partial2 = vec_add(partial2, vec_widen(value2))
                sizes2 = vec_add(sizes2, vec_magnitude(vec_widen(value2)))
        vec_store(sums, at, partial)
        mass: float = vec_total(sizes)
        if second:
            vec_store(sums, at + lanes, partial2)
            mass += vec_total(sizes2)
        return mass

    @inner
    def flip_pair(
        column: Bytes,
        threshold: int,
        rows: Rows,
        sides: Floats,
        low: int,
        high: int,
        sums: Doubles,
        at: int,
    ) -> None:
        values, start, examples = rows.values, rows.start, rows.examples
        row = at * (values.size // width)
        partial = vec_widen(vec_fill(vec_load(values, row, lanes), np.float32(0.0)))
        partial2 = vec_widen(vec_fill(vec_load(values, row, rest), np.float32(0.0)))
        for t in range(low, high):
            i = np.uint64(examples[np.uint64(t)] if examples.size else start + t)
            side, here = np.int64(column[i] >= threshold) * width + at, row + t * size
            value = vec_multiply(vec_load(values, here, lanes), vec_load(sides, side, lanes))
            vec_store(values, here, value)
            partial = vec_add(partial, vec_widen(value))
            if second:
                sides2 = vec_load(sides, side + lanes, rest)
                value2 = vec_multiply(vec_load(values, here + lanes, rest), sides2)
                vec_store(values, here + lanes, value2)
                partial2 = vec_add(partial2, vec_widen(value2))
        vec_store(sums, at, partial)
        if second:
            vec_store(sums, at + lanes, partial2)

    @inner
    def update_pair(
        values: Floats,
        positions: Ints,
        targets: Floats,
        factors: TargetFactors,
        low: int,
        high: int,
        sums: Doubles,
        at: int,
    ) -> float:
        votes, right, wrong, floor = factors
        row, other = at * (values.size // width), at * (targets.size // width)
        other_rows = targets.size > 0
        then = at + lanes if second else at
        right_low = right - np.float64(np.float32(right))
        wrong_low = wrong - np.float64(np.float32(wrong))
        vote, vote2 = vec_load(votes, at, lanes), vec_load(votes, then, rest)
        least, least2 = vec_load(floor, at, lanes), vec_load(floor, then, rest)
        gain, gain_low = vec_fill(least, right), vec_fill(least, right_low)
        loss, loss_low = vec_fill(least, wrong), vec_fill(least, wrong_low)
        gain2, gain2_low = vec_fill(least2, right), vec_fill(least2, right_low)
        loss2, loss2_low = vec_fill(least2, wrong), vec_fill(least2, wrong_low)
        partial = vec_widen(vec_fill(least, np.float32(0.0)))
        partial2 = vec_widen(vec_fill(least2, np.float32(0.0)))
        sizes, sizes2 = partial, partial2
        for t in range(low, high):
            place = np.int64(positions[np.uint64(t)]) if positions.size else np.int64(t)
            here, there = row + place * size, other + t * size
            if positions.size:
                soon = np.int64(positions[min(t + PREFETCHED_ROWS, high - 1)])
                prefetch_first(values, row + soon * size)
            value = vec_load(values, here, lanes)
            agree = vec_multiply(vec_load(targets, there, lanes) if other_rows else value, vote)
            low_part = vec_multiply(value, vec_choose(agree, gain_low, loss_low))
            value = vec_fused(value, vec_choose(agree, gain, loss), low_part)
            value = vec_at_least(value, least)
            vec_store(values, here, value)
            partial = vec_add(partial, vec_widen(value))
            sizes = vec_add(sizes, vec_magnitude(vec_widen(value)))
            if second:
                value2 = vec_load(values, here + lanes, rest)
                target2 = vec_load(targets, there + lanes, rest) if other_rows else value2
                agree2 = vec_multiply(target2, vote2)
                low_part2 = vec_multiply(value2, vec_choose(agree2, gain2_low, loss2_low))
                value2 = vec_fused(value2, vec_choose(agree2, gain2, loss2), low_part2)
                value2 = vec_at_least(value2, least2)
                vec_store(values, here + lanes, value2)
                partial2 = vec_add(partial2, vec_widen(value2))
                sizes2 = vec_add(sizes2, vec_magnitude(vec_widen(value2)))
        vec_store(sums, at, partial)
        mass: float = vec_total(sizes)
        if second:
            vec_store(sums, then, partial2)
            mass += vec_total(sizes2)
        return mass

    return gather_pair, flip_pair, update_pair
