"""Histograms of the signed weights: the sums of each bin of a feature, in float64.

Layout of the rows as in `boostsample.kernels.array_layout`. A histogram has the same layout, with
256 bins in place of the rows. Shards send them where samples would be larger.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from boostsample.jit.compile_kernels import inner_kernel_for, kernel_for
from boostsample.jit.prefetch import PREFETCHED_ROWS, prefetch_first
from boostsample.jit.vectors import LANES, vec_add_into, vec_load, vec_widen
from boostsample.kernels.array_layout import N_BINS, Bytes, Doubles, Ints, Rows, plane_layout


@functools.cache
def _adder(lanes: int, more: int, width: int) -> Any:
    """Adds labels at, ..., at + lanes - 1 of rows of `width`, and the next `more` or 0."""
    second, rest, size = more > 0, max(more, 1), lanes + more

    @inner_kernel_for(lanes, more, width)
    def add_rows(
        bins: Bytes,
        features: Ints,
        rows: Rows,
        q: int,
        other: int,
        hist: Doubles,
        last: Bytes,
        at: int,
    ) -> None:
        """Add all rows to the histograms of features number q and `other`, once if they are one.

        Two at a time hide that successive rows add to the same bin.
        """
        top: Any = np.int64(1)
        top2: Any = np.int64(1)
        values, start, examples = rows.values, rows.start, rows.examples
        n = values.size // width
        step, row = N_BINS * width, at * n
        column, column2 = bins[features[q]], bins[features[other]]
        h, h2 = q * step + at * N_BINS, other * step + at * N_BINS
        for t in range(n):
            i = np.uint64(examples[np.uint64(t)] if examples.size else start + t)
            b, b2 = np.int64(column[i]), np.int64(column2[i])
            top, top2 = max(top, b), max(top2, b2)
            here, here2 = h + b * size, h2 + b2 * size
            if size >= LANES:
                prefetch_first(values, row + (t + PREFETCHED_ROWS) * size)
            value = vec_widen(vec_load(values, row + t * size, lanes))
            vec_add_into(hist, here, value)
            if other > q:
                vec_add_into(hist, here2, value)
            if second:
                value2 = vec_widen(vec_load(values, row + t * size + lanes, rest))
                vec_add_into(hist, here + lanes, value2)
                if other > q:
                    vec_add_into(hist, here2 + lanes, value2)
        last[q], last[other] = top, top2

    return add_rows


@functools.cache
def histogram_kernel(blocks: int, tail: int) -> Any:
    """`histograms` for rows of `blocks` full vectors and a tail of 1, 2, 4 or 0 labels."""
    width = LANES * blocks + tail
    last_at, plane, last = plane_layout(blocks, tail)
    add_plane, add_last = _adder(*plane, width), _adder(*last, width)

    @kernel_for(blocks, tail)
    def histograms(bins: Bytes, features: Ints, rows: Rows, hist: Doubles, last: Bytes) -> None:
        """hist[q, b] += the rows whose bin of feature number q is b; last[q] is their last bin.

        Reads bins uint8 (any, n), features int64 (Q,), the row of `bins` of each. Adds to hist
        float64 (Q * 256 * P,), each feature's part in the layout of 256 rows. Writes last uint8
        (Q,), at least 1. O(Q n P / 8).
        """
        for q in range(0, features.size, 2):
            other = min(q + 1, features.size - 1)
            for at in range(0, last_at, 2 * LANES):
                add_plane(bins, features, rows, q, other, hist, last, at)
            add_last(bins, features, rows, q, other, hist, last, last_at)

    return histograms
