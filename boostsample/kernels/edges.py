"""Edges of given stumps: float64 sums in the order of the rows.

Layouts as in `boostsample.kernels.array_layout` and `boostsample.kernels.searches.search`.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

from boostsample.jit.compile_kernels import inner_kernel_for, kernel_for
from boostsample.jit.prefetch import PREFETCHED_ROWS, prefetch_first
from boostsample.jit.stack import on_stack
from boostsample.jit.vectors import (
    LANES,
    vec_add,
    vec_fill,
    vec_load,
    vec_multiply,
    vec_store,
    vec_widen,
)
from boostsample.kernels.array_layout import N_BINS, Bytes, Doubles, Ints, Rows, plane_layout


class _EdgeKernels(NamedTuple):
    """The kernels of this module, compiled for rows of one width."""

    label_sums: Any
    signed_edges: Any


@functools.cache
def _pair_sums(lanes: int, more: int, width: int) -> Any:
    """Sums of labels at, ..., at + lanes - 1 of rows of `width`, and of the next `more` or 0."""
    second, rest, size = more > 0, max(more, 1), lanes + more

    @inner_kernel_for(lanes, more, width)
    def pair_sums(
        column: Bytes, threshold: int, rows: Rows, low: int, high: int, sums: Doubles, at: int
    ) -> None:
        values, start, examples = rows.values, rows.start, rows.examples
        row = at * (values.size // width)
        side = on_stack(N_BINS, np.float32)  # phi of each bin: avoids mispredicted branches
        for b in range(N_BINS):
            side[b] = 1.0 if b >= threshold else -1.0
        partial = vec_widen(vec_fill(vec_load(values, row, lanes), np.float32(0.0)))
        partial2 = vec_widen(vec_fill(vec_load(values, row, rest), np.float32(0.0)))
        for t in range(low, high):
            i = np.uint64(examples[np.uint64(t)] if examples.size else start + t)
            phi = side[column[i]]
            if size >= LANES:  # memory keeps pace with narrower rows
                prefetch_first(values, row + (t + PREFETCHED_ROWS) * size)
            value = vec_load(values, row + t * size, lanes)
            partial = vec_add(partial, vec_widen(vec_multiply(value, vec_fill(value, phi))))
            if second:
                few = vec_load(values, row + t * size + lanes, rest)
                partial2 = vec_add(partial2, vec_widen(vec_multiply(few, vec_fill(few, phi))))
        vec_store(sums, at, partial)
        if second:
            vec_store(sums, at + lanes, partial2)

    return pair_sums


@functools.cache
def edge_kernels(blocks: int, tail: int) -> _EdgeKernels:
    """Kernels for rows of `blocks` full vectors and a tail of 1, 2, 4 or 0 labels."""
    width = LANES * blocks + tail
    last_at, plane, last = plane_layout(blocks, tail)
    pair_sums, last_sums = _pair_sums(*plane, width), _pair_sums(*last, width)
    kernel = kernel_for(blocks, tail)

    @inner_kernel_for(blocks, tail)
    def row_sums(
        column: Bytes, threshold: int, rows: Rows, low: int, high: int, sums: Doubles
    ) -> None:
        """sums[l] = sum over rows low, ..., high - 1 of phi * w_il * y_il, in their order."""
        for at in range(0, last_at, 2 * LANES):
            pair_sums(column, threshold, rows, low, high, sums, at)
        last_sums(column, threshold, rows, low, high, sums, last_at)

    @kernel
    def label_sums(
        column: Bytes,
        threshold: int,
        rows: Rows,
        part_size: int,
        first: int,
        end: int,
        sums: Doubles,
    ) -> None:
        """sums[p] = the sums of phi * w_il * y_il over part p of the rows, p = first, ..., end - 1.

        Reads column uint8 (n,); writes sums float64 (parts, P). Stumps that divide the rows alike
        get the same bits. O(N P / 8).
        """
        n = rows.values.size // width
        for part in range(first, end):
            low, high = part * part_size, min(n, (part + 1) * part_size)
            row_sums(column, threshold, rows, low, high, sums[part])

    @kernel
    def signed_edges(
        bins: Bytes,
        features: Ints,
        thresholds: Ints,
        votes: Ints,
        rows: Rows,
        sums: Doubles,
        edges: Doubles,
    ) -> None:
        """edges[q] = sum over rows and labels of votes[q, l] * phi_q * w_il * y_il.

        Reads thresholds int16 (Q,), votes int8 (Q, K); writes edges float64 (Q,). Overwrites sums
        float64 (P,). O(Q T P / 8).
        """
        none: Any = np.int64(0)  # a variable: numba would specialise row_sums on a literal
        n = rows.values.size // width
        for q in range(features.size):
            row_sums(bins[features[q]], thresholds[q], rows, none, n, sums)
            edge = 0.0
            for label in range(votes.shape[1]):
                edge += votes[q, label] * sums[label]
            edges[q] = edge

    return _EdgeKernels(label_sums, signed_edges)
