"""Kernels on the cells of base classifiers: sides of stumps, leaves of trees; masses of labels.

Layout of the rows, and parts of them, as in `boostsample.kernels.row_kernels`.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

from boostsample.jit import vectors as vec
from boostsample.jit.compile_kernels import inner_kernel_for, kernel_for
from boostsample.jit.vectors import LANES, PREFETCHED_ROWS, prefetch_first
from boostsample.kernels.array_layout import (
    PLANE,
    CellFactors,
    Doubles,
    Floats,
    Ints,
    plane_layout,
)


class CellKernels(NamedTuple):
    """The kernels of this module, compiled for rows of one width."""

    update_cells: Any
    label_masses: Any


@functools.cache
def cell_kernels(blocks: int, tail: int) -> CellKernels:
    """Kernels for rows of `blocks` full vectors and a tail of 1, 2, 4 or 0 labels."""
    width = LANES * blocks + tail
    last_at, plane, last = plane_layout(blocks, tail)
    cell_plane, cell_last = _cell_updates(plane, width), _cell_updates(last, width)
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

    return CellKernels(update_cells, label_masses)


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
