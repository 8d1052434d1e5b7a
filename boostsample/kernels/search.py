"""Stump search: per-label histograms of the signed weights, and a sweep over the thresholds.

Layouts. `bins` (F, n) uint8 is feature-major; bin 0 holds missing values. Weighted rows as in
`kernels.array_layout`. A stump (feature, threshold b) is phi = +1 where bin >= b, else -1. A
histogram has a plane for each plane of a row, with 8, 16 or the tail's few numbers a bin, so that
none of its vectors crosses a cache line.

Cost: one look is a load, an addition and a store of each vector of a row, for each feature and
row; the sweep adds about 256 steps for each vector and feature.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from boostsample.jit.compile_kernels import inner_kernel_for, kernel_for
from boostsample.jit.prefetch import PREFETCHED_ROWS, prefetch, prefetch_first
from boostsample.jit.vectors import (
    LANES,
    vec_add,
    vec_add_into,
    vec_as_wide,
    vec_at_least,
    vec_count_below,
    vec_eight_edges,
    vec_fill,
    vec_is_zero,
    vec_load,
    vec_store,
    vec_widen,
)
from boostsample.kernels.array_layout import (
    N_BINS,
    Bytes,
    Floats,
    Found,
    Ints,
    Rows,
    plane_layout,
)
from boostsample.kernels.search_room import (
    SEARCH_GROUP,
    SEARCH_MARKS,
    EdgeLimits,
    SearchHistogram,
    SearchRoom,
    SearchStretch,
    SweepWork,
    search_room_sizes,
)

#: An int64 variable: numba would specialise the callee on a literal.
_ZERO: Any = np.int64(0)
#: Up to this many rows, bins are prefetched while histograms are filled; more need no help.
_NEAR = 4000
#: Up to this many rows, bins are prefetched again during the sweeps: processors drop some requests.
_FEW = 1200


def _fill(lanes: int, more: int, width: int, step: int, some: bool, near: bool) -> Any:
    """The kernel that fills histograms for the labels of `_pair`.

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


@functools.cache
def _pair(lanes: int, more: int, width: int, step: int) -> tuple[Any, ...]:
    """Kernels of one or two vectors of a row: fill_in, flush, top_bin, sweep, add_below.

    They work on labels at, ..., at + lanes - 1 of rows of `width`, and on the next `more` or 0.
    """
    second, rest, stride = more > 0, max(more, 1), lanes + (lanes if more else 0)
    inner = inner_kernel_for(lanes, more, width)

    @inner
    def sweep(
        histogram: SearchHistogram,
        highest: int,
        base: Any,
        at: int,
        work: SweepWork,
        ahead: Bytes,
        examples: Ints,
    ) -> None:
        """Add these labels' part to edges[b] of thresholds 1, ..., highest; at = 0 starts them.

        Writes edges of up to seven more thresholds; keeps every eighth running sum in `marks`.
        Meanwhile prefetches the bins of `ahead` at `examples`: each is a cache miss, and the sweep
        leaves the memory idle.
        """
        hist, sums, fresh = histogram
        marks, edges = work.marks, work.edges
        whole = vec_load(base, at, lanes)
        whole2 = vec_load(base, at + lanes if second else at, rest)
        below, below2 = vec_fill(whole, 0.0), vec_fill(whole2, 0.0)
        share = 0 if at else LANES * (-(-examples.size // highest))
        soon = 0
        for b in range(0, highest, LANES):
            h, mark = at * N_BINS + b * stride, at * SEARCH_MARKS + b // LANES * stride
            vec_store(marks, mark, below)
            edge, below = vec_eight_edges(hist, sums, fresh, h, stride, whole, below)
            if second:
                vec_store(marks, mark + lanes, below2)
                h += lanes
                edge2, below2 = vec_eight_edges(hist, sums, fresh, h, stride, whole2, below2)
                edge = vec_add(edge, edge2)
            vec_store(edges, b + 1, vec_add(edge, vec_load(edges, b + 1, LANES)) if at else edge)
            for t in range(soon, min(soon + share, examples.size)):
                prefetch(ahead, examples[t])
            soon += share

    @inner
    def add_below(histogram: SearchHistogram, threshold: int, at: int, work: SweepWork) -> None:
        """work.below = the labels' sums over the bins below `threshold`, bits as in `sweep`."""
        hist, sums, fresh = histogram
        first = (threshold - 1) // LANES
        below = vec_load(work.marks, at * SEARCH_MARKS + first * stride, stride)
        for b in range(first * LANES, threshold):
            h = at * N_BINS + b * stride
            below = vec_add(below, vec_as_wide(vec_load(hist, h, stride), below))
            if not fresh:
                below = vec_add(below, vec_as_wide(vec_load(sums, h, stride), below))
        vec_store(work.below, at, below)

    @inner
    def flush(histogram: SearchHistogram, most: int, at: int) -> None:
        """Move the first `most` bins of a float32 histogram to its float64 sums."""
        for h in range(at * N_BINS, at * N_BINS + most * stride, stride):
            value = vec_load(histogram.hist, h, stride)
            vec_add_into(histogram.sums, h, vec_widen(value))
            vec_store(histogram.hist, h, vec_fill(value, np.float32(0.0)))

    @inner
    def top_bin(histogram: SearchHistogram, b: int, at: int, least: int) -> int:
        """The highest bin down from b whose sums are not all 0, or `least`."""
        hist, sums, fresh = histogram
        while b > least:
            h = at * N_BINS + b * stride
            if not vec_is_zero(vec_load(hist, h, stride)):
                return b
            if not fresh and not vec_is_zero(vec_load(sums, h, stride)):
                return b
            b -= 1
        return least

    fill_all = _fill(lanes, more, width, step, False, False)
    fill_some = _fill(lanes, more, width, step, True, False)
    fill_few = _fill(lanes, more, width, step, True, True)

    @inner
    def fill_in(
        bins: Bytes, features: Ints, rows: Rows, stretch: SearchStretch, near: bool, hist: Floats
    ) -> None:
        if near and stretch.group == SEARCH_GROUP:
            fill_few(bins, features, rows, stretch, hist)
        elif rows.examples.size:
            fill_some(bins, features, rows, stretch, hist)
        else:
            fill_all(bins, features, rows, stretch, hist)

    return fill_in, flush, top_bin, sweep, add_below


@functools.cache
def search_kernel(blocks: int, tail: int) -> Any:
    """`search` for rows of `blocks` full vectors and a tail of 1, 2, 4 or 0 labels."""
    width = LANES * blocks + tail
    sizes = search_room_sizes(blocks, tail)
    size, n_marks, edges_at = sizes.hist // SEARCH_GROUP, sizes.marks, sizes.marks + sizes.below
    base_at = sizes.work
    last_at, plane, last = plane_layout(blocks, tail)
    fill_in, flush, top_bin, sweep, add_below = _pair(*plane, width, size)
    fill_last, flush_last, top_last_bin, sweep_last, add_last_below = _pair(*last, width, size)
    inner = inner_kernel_for(blocks, tail)

    @inner
    def top(histogram: SearchHistogram, b: int, least: int) -> int:
        """The highest bin down from b whose sums are not all 0, or `least`."""
        for at in range(0, last_at, 2 * LANES):
            least = top_bin(histogram, b, at, least)
        highest: int = top_last_bin(histogram, b, last_at, least)
        return highest

    @inner
    def last_bin(column: Bytes, rows: Rows, n: int, histogram: SearchHistogram, most: int) -> int:
        """The last bin that holds a row, at least 1.

        The histogram shows it, but for bins whose weights cancel to 0. These matter with missing
        values only; without them such a bin has the edge of the constant stump, b = 1.
        """
        if top(histogram, _ZERO, _ZERO - 1) < 0:
            return top(histogram, most - 1, _ZERO + 1)
        examples, highest = rows.examples, 1
        for t in range(n):
            b: Any = np.int64(column[examples[t] if examples.size else rows.start + t])
            highest = b if b > highest else highest
        return highest

    @inner
    def first_near(edges: Any, highest: int, tie: float) -> int:
        """The first of edges[1], ..., edges[highest] within `tie` of the largest."""
        end = (highest + LANES - 1) // LANES * LANES + 1
        for b in range(highest + 1, end):
            edges[b] = 0.0
        largest = vec_load(edges, 1, LANES)
        for b in range(1 + LANES, end, LANES):
            largest = vec_at_least(vec_load(edges, b, LANES), largest)
        vec_store(edges, end, largest)
        least = 0.0
        for b in range(end, end + LANES):
            least = max(least, np.float64(edges[b]))
        least -= tie
        b = 1
        while vec_count_below(vec_load(edges, b, LANES), least) == LANES:
            b += LANES
        while edges[b] < least:
            b += 1
        return b

    @inner
    def best_stump(
        histogram: SearchHistogram,
        highest: int,
        base: Any,
        work: SweepWork,
        ahead: Bytes,
        soon: Ints,
        limits: EdgeLimits,
        q: int,
        found: Found,
    ) -> None:
        """Write the best stump of feature number q, from its histogram."""
        for at in range(0, last_at, 2 * LANES):
            sweep(histogram, highest, base, at, work, ahead, soon)
        sweep_last(histogram, highest, base, last_at, work, ahead, soon)
        best = first_near(work.edges, highest, limits.tie)
        for at in range(0, last_at, 2 * LANES):
            add_below(histogram, best, at, work)
        add_last_below(histogram, best, last_at, work)
        found.thresholds[q] = best
        found.edges[q] = min(work.edges[best] * limits.scale, 1.0)
        for label in range(found.votes.shape[1]):
            side = base[label] - 2.0 * work.below[label]
            found.votes[q, label] = 1 if side >= 0.0 else -1

    @kernel_for(blocks, tail)
    def search(
        bins: Bytes,
        features: Ints,
        n_bins: Ints,
        rows: Rows,
        tie: float,
        rows_a_bin: int,
        rough: bool,
        room: SearchRoom,
        found: Found,
    ) -> None:
        """Best threshold, votes and edge of each feature on the given rows.

        Reads bins uint8 (any, n), features int64 (Q,), the row of `bins` of each, n_bins int16
        (Q,). Edges within `tie` of the best are as good: the lowest threshold wins. Thresholds
        above the last bin in use are no candidates: they repeat the constant stump. room.hist, zero
        before and after, takes `rows_a_bin` rows a bin, which then move to room.sums; the rest of
        the room is overwritten. If `rough`, which needs no more than `rows_a_bin` rows, sweeps are
        in float32. Writes `found`; edges are multiplied by rows.scale and at most 1. O(Q T P / 8).
        """
        work = SweepWork(room.work[:n_marks], room.work[n_marks:edges_at], room.work[edges_at:])
        rough_work = SweepWork(
            room.rough[:n_marks], room.rough[n_marks:edges_at], room.rough[edges_at:base_at]
        )
        examples, base, rough_base = rows.examples, rows.base, room.rough[base_at:]
        for label in range(width):
            rough_base[label] = base[label]
        limits = EdgeLimits(tie, rows.scale)
        n_features, n = features.size, rows.values.size // width
        near, soon = 0 < examples.size <= _NEAR, examples[: examples.size if n <= _FEW else 0]
        q = _ZERO
        while q < n_features:
            left = n_features - q
            group = SEARCH_GROUP if left >= SEARCH_GROUP else (2 if left >= 2 else 1)
            most = _ZERO + 2
            for g in range(group):
                most = max(most, np.int64(n_bins[q + g]))
            chunk = rows_a_bin * most
            fresh = bool(n <= chunk)
            for h in range(0 if fresh else group * size):
                room.sums[h] = 0.0
            for first in range(0, n, chunk):
                end = min(n, first + chunk)
                for at in range(0, last_at, 2 * LANES):
                    stretch = SearchStretch(first, end, at, q, group)
                    fill_in(bins, features, rows, stretch, near and at == 0, room.hist)
                stretch = SearchStretch(first, end, last_at, q, group)
                fill_last(bins, features, rows, stretch, near and last_at == 0, room.hist)
                for g in range(group if end < n else 0):
                    own = slice(g * size, (g + 1) * size)
                    histogram = SearchHistogram(room.hist[own], room.sums[own], fresh)
                    for at in range(0, last_at, 2 * LANES):
                        flush(histogram, most, at)
                    flush_last(histogram, most, last_at)
            for g in range(group):
                own = slice(g * size, (g + 1) * size)
                hist = room.hist[own]
                histogram = SearchHistogram(hist, room.sums[own], fresh)
                highest = last_bin(bins[features[q + g]], rows, n, histogram, most)
                ahead = bins[features[min(q + group + g, n_features - 1)]]
                if rough and fresh:
                    plain = SearchHistogram(hist, hist, fresh)
                    best_stump(
                        plain, highest, rough_base, rough_work, ahead, soon, limits, q + g, found
                    )
                else:
                    best_stump(histogram, highest, base, work, ahead, soon, limits, q + g, found)
                for h in range(size):
                    hist[h] = 0.0
            q += group

    return search
