"""Kernels on the cells of base classifiers: sides of stumps, leaves of trees.

Layout of the rows, and parts of them, as in `boostsample.kernels.row_kernels`.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

from boostsample.jit import vectors as vec
from boostsample.jit.compile_kernels import inner_kernel_for, kernel_for
from boostsample.jit.vectors import LANES, PREFETCHED_ROWS, on_stack, prefetch_first
from boostsample.kernels.array_layout import (
    N_BINS,
    PLANE,
    Bytes,
    CellFactors,
    Doubles,
    Floats,
    Ints,
    Rows,
    plane_layout,
    rows_at_once,
)

#: An int64 variable: numba would specialise the callee on a literal.
_ZERO: Any = np.int64(0)


class CellKernels(NamedTuple):
    """The kernels of this module, compiled for rows of one width."""

    update_cells: Any
    side_sums: Any
    label_masses: Any


@functools.cache
def cell_kernels(blocks: int, tail: int) -> CellKernels:
    """Kernels for rows of `blocks` full vectors and a tail of 1, 2, 4 or 0 labels."""
    width = LANES * blocks + tail
    last_at, plane, last = plane_layout(blocks, tail)
    cell_plane, cell_last = _cell_updates(plane, width), _cell_updates(last, width)
    mass_plane, mass_last = _masses(plane, width), _masses(last, width)
    kernel = kernel_for(blocks, tail)

    @kernel
    def update_cells(
        values: Floats,
        order: Ints,
        parts: Ints,
        factors: CellFactors,
        first: int,
        end: int,
        sums: Doubles,
        masses: Doubles,
    ) -> None:
        """Multiply the rows of parts first, ..., end - 1 by the factors of their cells.

        Reads order int32 (N,), parts int64 (M, 3): cell, and first and end position in `order`.
        Writes sums float64 (M, P) and masses (M,) of the new values as `update`. O(N P / 8).
        """
        for part in range(first, end):
            mass = 0.0
            for at in range(0, last_at, PLANE):
                mass += cell_plane(values, order, parts[part], factors, sums[part], at)
            mass += cell_last(values, order, parts[part], factors, sums[part], last_at)
            masses[part] = mass

    @kernel
    def side_sums(
        column: Bytes,
        threshold: int,
        rows: Rows,
        part_size: int,
        first: int,
        end: int,
        sums: Doubles,
    ) -> None:
        """sums[p] = the sums of w_il over part p of the rows, of phi * w_il and phi * w_il * y_il.

        Reads column uint8 (n,); writes sums float64 (parts, 3 P). O(N P / 8).
        """
        n = rows.values.size // width
        for part in range(first, end):
            low, high = part * part_size, min(n, (part + 1) * part_size)
            for at in range(0, last_at, PLANE):
                mass_plane(column, threshold, rows, low, high, sums[part], at)
            mass_last(column, threshold, rows, low, high, sums[part], last_at)

    @kernel
    def label_masses(values: Floats, masses: Doubles) -> None:
        """masses[l] = the sum of the weights of label l, row after row: float64 (K,); O(n P)."""
        n = values.size // width
        for label in range(masses.size):
            at = label // PLANE * PLANE
            lanes = min(PLANE, width - at)
            total = 0.0
            for t in range(n):
                total += abs(np.float64(values[at * n + t * lanes + label - at]))
            masses[label] = total

    return CellKernels(update_cells, side_sums, label_masses)


@functools.cache
def _cell_updates(size: int, width: int) -> Any:
    """The update of labels at, ..., at + size - 1 of the rows of a cell."""

    @inner_kernel_for(size, width)
    def update_cell(
        values: Floats, order: Ints, part: Ints, factors: CellFactors, sums: Doubles, at: int
    ) -> float:
        row, cell = at * (values.size // width), 2 * part[0] * width + at
        minus, minus_low = vec.load(factors.high, cell, size), vec.load(factors.low, cell, size)
        plus = vec.load(factors.high, cell + width, size)
        plus_low = vec.load(factors.low, cell + width, size)
        least = vec.load(factors.floor, at, size)
        partial = vec.widen(vec.fill(least, np.float32(0.0)))
        sizes = partial
        for t in range(part[1], part[2]):
            soon = np.int64(order[min(t + PREFETCHED_ROWS, part[2] - 1)])
            prefetch_first(values, row + soon * size)
            place = row + np.int64(order[np.uint64(t)]) * size
            value = vec.load(values, place, size)
            low = vec.multiply(value, vec.choose(value, plus_low, minus_low))
            value = vec.at_least(vec.fused(value, vec.choose(value, plus, minus), low), least)
            vec.store(values, place, value)
            partial = vec.add(partial, vec.widen(value))
            sizes = vec.add(sizes, vec.magnitude(vec.widen(value)))
        vec.store(sums, at, partial)
        return float(vec.row_total(sizes))

    return update_cell


@functools.cache
def _masses(size: int, width: int) -> Any:
    """Sums of the weights of labels at, ..., at + size - 1, and of phi times them, and signed."""
    # Rows narrower than a vector share one.
    n_rows = rows_at_once(size) if size < LANES else 1
    lanes = n_rows * size

    @inner_kernel_for(size, width)
    def mass_plane(
        column: Bytes, threshold: int, rows: Rows, low: int, high: int, sums: Doubles, at: int
    ) -> None:
        values, start, examples = rows.values, rows.start, rows.examples
        row, totals = at * (values.size // width), on_stack(lanes, np.float64)
        bins = on_stack(n_rows, np.uint8)
        side = on_stack(N_BINS, np.float64)  # phi of each bin: avoids mispredicted branches
        for b in range(N_BINS):
            side[b] = 1.0 if b >= threshold else -1.0
        for lane in range(lanes):
            totals[lane] = 0.0
        partial = vec.load(totals, 0, lanes)
        by_side = signed = partial
        whole = high - (high - low) % n_rows
        for t in range(low, whole, n_rows):
            value = vec.widen(vec.load(values, row + t * size, lanes))
            if n_rows == 1:
                if size >= LANES:
                    prefetch_first(values, row + (t + PREFETCHED_ROWS) * size)
                i = np.uint64(examples[np.uint64(t)] if examples.size else start + t)
                phi = vec.fill(value, side[column[i]])
            elif examples.size:
                for k in range(n_rows):
                    bins[k] = column[np.uint64(examples[np.uint64(t + k)])]
                phi = vec.widen(vec.phi(bins, _ZERO, threshold, n_rows, size))
            else:
                phi = vec.widen(vec.phi(column, start + t, threshold, n_rows, size))
            weight = vec.magnitude(value)
            partial = vec.add(partial, weight)
            by_side = vec.fused(weight, phi, by_side)
            signed = vec.fused(value, phi, signed)
        for label in range(size):
            sums[at + label] = sums[width + at + label] = sums[2 * width + at + label] = 0.0
        vec.store(totals, 0, partial)
        for lane in range(lanes):
            sums[at + lane % size] += totals[lane]
        vec.store(totals, 0, by_side)
        for lane in range(lanes):
            sums[width + at + lane % size] += totals[lane]
        vec.store(totals, 0, signed)
        for lane in range(lanes):
            sums[2 * width + at + lane % size] += totals[lane]
        for t in range(whole, high):
            i = np.uint64(examples[np.uint64(t)] if examples.size else start + t)
            for label in range(size):
                weight_of = np.float64(values[row + t * size + label])
                phi_of = np.float64(side[column[i]])
                sums[at + label] += abs(weight_of)
                sums[width + at + label] += phi_of * abs(weight_of)
                sums[2 * width + at + label] += phi_of * weight_of

    return mass_plane
