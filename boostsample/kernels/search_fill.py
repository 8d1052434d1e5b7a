"""Fills the histograms of the search kernel: the weighted rows of some features, by bin."""

from __future__ import annotations

from typing import Any

import numpy as np

from boostsample.jit.compile_kernels import inner_kernel_for
from boostsample.jit.prefetch import PREFETCHED_ROWS, prefetch, prefetch_first
from boostsample.jit.vectors import LANES, vec_add_into, vec_load
from boostsample.kernels.array_layout import N_BINS, Bytes, Floats, Ints, Rows
from boostsample.kernels.search_room import SearchStretch

__all__ = ["fill_kernel"]


def fill_kernel(lanes: int, more: int, width: int, step: int, some: bool, near: bool) -> Any:
    """The kernel that fills histograms for the labels of a pair of vectors.

    With `some`, rows are named by `examples`, else they are successive columns of the bank. With
    `near`, which needs GROUP features, it prefetches bins of the next GROUP features; else it
    prefetches the next rows, unless they are narrow and memory keeps pace.
    """
    second, rest, stride = more > 0, max(more, 1), lanes + (lanes if more else 0)
    size = lanes + more

    @inner_kernel_for(lanes, more, width, some, near)
    def fill_in(
        bins: Bytes, features: Ints, rows: Rows, stretch: SearchStretch, hist: Floats
    ) -> None:
        """Add rows to the histograms, `step` apart, of 1, 2 or GROUP features.

        Indices are unsigned: numba checks signed ones for negative values.
        """
        first, end, at, q, group = stretch
        values, start, examples, last = rows.values, rows.start, rows.examples, features.size - 1
        h, row = at * N_BINS, at * (values.size // width)
        column0, column1 = bins[features[q]], bins[features[min(q + 1, last)]]
        if group == 1 and not near:
            for t in range(first, end):
                i = np.uint64(examples[np.uint64(t)] if some else start + t)
                h0 = h + np.int64(column0[i]) * stride
                if size >= LANES:
                    prefetch_first(values, row + (t + PREFETCHED_ROWS) * size)
                vec_add_into(hist, h0, vec_load(values, row + t * size, lanes))
                if second:
                    vec_add_into(hist, h0 + lanes, vec_load(values, row + t * size + lanes, rest))
            return
        if group == 2 and not near:
            for t in range(first, end):
                i = np.uint64(examples[np.uint64(t)] if some else start + t)
                h0 = h + np.int64(column0[i]) * stride
                h1 = h + np.int64(column1[i]) * stride + step
                if size >= LANES:
                    prefetch_first(values, row + (t + PREFETCHED_ROWS) * size)
                value = vec_load(values, row + t * size, lanes)
                vec_add_into(hist, h0, value)
                vec_add_into(hist, h1, value)
                if second:
                    more_values = vec_load(values, row + t * size + lanes, rest)
                    vec_add_into(hist, h0 + lanes, more_values)
                    vec_add_into(hist, h1 + lanes, more_values)
            return
        column2, column3 = bins[features[q + 2]], bins[features[q + 3]]
        column4 = bins[features[q + 4]]
        next0, next1 = bins[features[min(q + 5, last)]], bins[features[min(q + 6, last)]]
        next2, next3 = bins[features[min(q + 7, last)]], bins[features[min(q + 8, last)]]
        next4 = bins[features[min(q + 9, last)]]
        for t in range(first, end):
            i = np.uint64(examples[np.uint64(t)] if some else start + t)
            if near:
                prefetch(next0, i)
                prefetch(next1, i)
                prefetch(next2, i)
                prefetch(next3, i)
                prefetch(next4, i)
            elif size >= LANES:
                prefetch_first(values, row + (t + PREFETCHED_ROWS) * size)
            h0 = h + np.int64(column0[i]) * stride
            h1 = h + np.int64(column1[i]) * stride + step
            h2 = h + np.int64(column2[i]) * stride + 2 * step
            h3 = h + np.int64(column3[i]) * stride + 3 * step
            h4 = h + np.int64(column4[i]) * stride + 4 * step
            value = vec_load(values, row + t * size, lanes)
            vec_add_into(hist, h0, value)
            vec_add_into(hist, h1, value)
            vec_add_into(hist, h2, value)
            vec_add_into(hist, h3, value)
            vec_add_into(hist, h4, value)
            if second:
                more_values = vec_load(values, row + t * size + lanes, rest)
                vec_add_into(hist, h0 + lanes, more_values)
                vec_add_into(hist, h1 + lanes, more_values)
                vec_add_into(hist, h2 + lanes, more_values)
                vec_add_into(hist, h3 + lanes, more_values)
                vec_add_into(hist, h4 + lanes, more_values)

    return fill_in
