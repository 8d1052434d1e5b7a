"""Stump search: per-label histograms of the signed weights, and the sweep over their thresholds.

Layouts. `bins` (F, n) uint8, feature-major; bin 0 holds missing values. `rows` float32, flat (T *
P): for each example the signed label weights w_il * y_il, padded with zeros from K to the P = 8
blocks + tail labels of whole vectors. They stand in planes of two vectors, 16 labels: the plane of
labels at, ..., at + 15 begins at number T * at, the last one may be narrower. `examples` int32
gives the bank column of each row; empty means columns start, start + 1, ... A stump (feature,
threshold b) is phi = +1 where bin >= b, else -1. A histogram has a plane for each plane of a row,
with 8, 16 or the tail's few numbers a bin, so that no vector of it crosses a cache line.

Cost: one look, that is a load, an addition and a store of each vector of a row, for each feature
and row, and about 256 more steps a vector and feature for the sweep.
"""

from __future__ import annotations

import functools
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from boostsample.jit.compiling import inner_for, kernel_for
from boostsample.jit.stack import on_stack
from boostsample.jit.vectors import (
    LANES,
    add,
    add_into,
    at_least,
    count_below,
    eight_edges,
    fill,
    is_zero,
    load,
    prefetch,
    prefetch_first,
    store,
    widen,
)
from boostsample.kernels.layout import GROUP, N_BINS, N_MARKS, ROWS_AHEAD, room_sizes

Bytes: TypeAlias = NDArray[np.uint8]
Ints: TypeAlias = NDArray[np.integer[Any]]
Floats: TypeAlias = NDArray[np.float32]
Doubles: TypeAlias = NDArray[np.float64]

#: A number like others: for a constant in a call numba compiles once more what is called.
ZERO: Any = np.int64(0)
#: Rows whose bins are fetched one by one while histograms are filled; more need no help.
NEAR = 4000
#: Rows whose bins are asked for again during the sweeps: of too many requests some are dropped.
FEW = 1200


def _fill(lanes: int, more: int, width: int, step: int, some: bool, near: bool) -> Any:
    """The kernel that fills histograms for the labels of `_pair`.

    Of `some` rows, named by `examples`, or of successive ones of the bank. For `near` ones, of
    GROUP features only, it brings near the bytes that the next GROUP features will need. Else it
    brings the next rows into the first cache; narrow ones come as fast as they are used.
    """
    second, rest, stride = more > 0, max(more, 1), lanes + (lanes if more else 0)
    size = lanes + more

    @inner_for(lanes, more, width, some, near)
    def fill_in(
        bins: Bytes, features: Ints, examples: Ints, rows: Floats, place: Ints, hist: Floats
    ) -> None:
        """Add rows to the histograms, `step` apart, of 1, 2 or GROUP features.

        `place` int64 (7,): first row, end, bank column of row 0, `at`, first feature, how many, and
        whether rows are few enough to be brought near. Indices are unsigned: of others numba asks
        each time whether they count from the end.
        """
        start, at, q, group, last = place[2], place[3], place[4], place[5], features.size - 1
        h, row = at * N_BINS, at * (rows.size // width)
        column0, column1 = bins[features[q]], bins[features[min(q + 1, last)]]
        if group == 1 and not near:
            for t in range(place[0], place[1]):
                i = np.uint64(examples[np.uint64(t)] if some else start + t)
                h0 = h + np.int64(column0[i]) * stride
                if size >= LANES:
                    prefetch_first(rows, row + (t + ROWS_AHEAD) * size)
                add_into(hist, h0, load(rows, row + t * size, lanes))
                if second:
                    add_into(hist, h0 + lanes, load(rows, row + t * size + lanes, rest))
            return
        if group == 2 and not near:
            for t in range(place[0], place[1]):
                i = np.uint64(examples[np.uint64(t)] if some else start + t)
                h0 = h + np.int64(column0[i]) * stride
                h1 = h + np.int64(column1[i]) * stride + step
                if size >= LANES:
                    prefetch_first(rows, row + (t + ROWS_AHEAD) * size)
                value = load(rows, row + t * size, lanes)
                add_into(hist, h0, value)
                add_into(hist, h1, value)
                if second:
                    more_values = load(rows, row + t * size + lanes, rest)
                    add_into(hist, h0 + lanes, more_values)
                    add_into(hist, h1 + lanes, more_values)
            return
        column2, column3 = bins[features[q + 2]], bins[features[q + 3]]
        column4 = bins[features[q + 4]]
        next0, next1 = bins[features[min(q + 5, last)]], bins[features[min(q + 6, last)]]
        next2, next3 = bins[features[min(q + 7, last)]], bins[features[min(q + 8, last)]]
        next4 = bins[features[min(q + 9, last)]]
        for t in range(place[0], place[1]):
            i = np.uint64(examples[np.uint64(t)] if some else start + t)
            if near:
                prefetch(next0, i)
                prefetch(next1, i)
                prefetch(next2, i)
                prefetch(next3, i)
                prefetch(next4, i)
            elif size >= LANES:
                prefetch_first(rows, row + (t + ROWS_AHEAD) * size)
            h0 = h + np.int64(column0[i]) * stride
            h1 = h + np.int64(column1[i]) * stride + step
            h2 = h + np.int64(column2[i]) * stride + 2 * step
            h3 = h + np.int64(column3[i]) * stride + 3 * step
            h4 = h + np.int64(column4[i]) * stride + 4 * step
            value = load(rows, row + t * size, lanes)
            add_into(hist, h0, value)
            add_into(hist, h1, value)
            add_into(hist, h2, value)
            add_into(hist, h3, value)
            add_into(hist, h4, value)
            if second:
                more_values = load(rows, row + t * size + lanes, rest)
                add_into(hist, h0 + lanes, more_values)
                add_into(hist, h1 + lanes, more_values)
                add_into(hist, h2 + lanes, more_values)
                add_into(hist, h3 + lanes, more_values)
                add_into(hist, h4 + lanes, more_values)

    return fill_in


@functools.cache
def _pair(lanes: int, more: int, width: int, step: int) -> tuple[Any, ...]:
    """What searches one or two vectors of a row: fill_in, flush, top_bin, sweep, add_below.

    For labels at, ..., at + lanes - 1 of rows of `width`, and the `more` (or 0) ones after them.
    """
    second, rest, stride = more > 0, max(more, 1), lanes + (lanes if more else 0)
    inner = inner_for(lanes, more, width)

    @inner
    def sweep(
        hist: Floats,
        sums: Doubles,
        fresh: bool,
        highest: int,
        base: Doubles,
        at: int,
        edges: Doubles,
        marks: Doubles,
        ahead: Bytes,
        examples: Ints,
    ) -> None:
        """Add these labels' part to edges[b] of thresholds 1, ..., highest; at = 0 starts them.

        A bin's sum is that of `hist`, and of `sums` too unless it is `fresh` and holds nothing.
        Edges of up to seven more thresholds are written; `marks` keeps every eighth running sum.
        Meanwhile the bytes of `ahead` that these `examples` will need are brought near: of a few
        examples each is a cache miss, and the sweep has no use for the memory.
        """
        whole, whole2 = load(base, at, lanes), load(base, at + lanes if second else at, rest)
        below, below2 = fill(whole, 0.0), fill(whole2, 0.0)
        share = 0 if at else LANES * (-(-examples.size // highest))
        soon = 0
        for b in range(0, highest, LANES):
            h, mark = at * N_BINS + b * stride, at * N_MARKS + b // LANES * stride
            store(marks, mark, below)
            edge, below = eight_edges(hist, sums, fresh, h, stride, whole, below)
            if second:
                store(marks, mark + lanes, below2)
                h += lanes
                edge2, below2 = eight_edges(hist, sums, fresh, h, stride, whole2, below2)
                edge = add(edge, edge2)
            store(edges, b + 1, add(edge, load(edges, b + 1, LANES)) if at else edge)
            for t in range(soon, min(soon + share, examples.size)):
                prefetch(ahead, examples[t])
            soon += share

    @inner
    def add_below(
        hist: Floats,
        sums: Doubles,
        fresh: bool,
        threshold: int,
        at: int,
        marks: Doubles,
        found: Doubles,
    ) -> None:
        """Write to `found` the labels' sums over the bins below `threshold`, bits as in `sweep`."""
        first = (threshold - 1) // LANES
        below = load(marks, at * N_MARKS + first * stride, stride)
        for b in range(first * LANES, threshold):
            h = at * N_BINS + b * stride
            below = add(below, widen(load(hist, h, stride)))
            if not fresh:
                below = add(below, load(sums, h, stride))
        store(found, at, below)

    @inner
    def flush(hist: Floats, sums: Doubles, most: int, at: int) -> None:
        """Move the first `most` bins of a float32 histogram to its float64 sums."""
        for h in range(at * N_BINS, at * N_BINS + most * stride, stride):
            value = load(hist, h, stride)
            add_into(sums, h, widen(value))
            store(hist, h, fill(value, np.float32(0.0)))

    @inner
    def top_bin(hist: Floats, sums: Doubles, fresh: bool, b: int, at: int, least: int) -> int:
        """The highest bin down from b whose sums are not all 0, or `least`."""
        while b > least:
            h = at * N_BINS + b * stride
            if not is_zero(load(hist, h, stride)):
                return b
            if not fresh and not is_zero(load(sums, h, stride)):
                return b
            b -= 1
        return least

    fill_all = _fill(lanes, more, width, step, False, False)
    fill_some = _fill(lanes, more, width, step, True, False)
    fill_few = _fill(lanes, more, width, step, True, True)

    @inner
    def fill_in(
        bins: Bytes, features: Ints, examples: Ints, rows: Floats, place: Ints, hist: Floats
    ) -> None:
        if place[6] and place[5] == GROUP:
            fill_few(bins, features, examples, rows, place, hist)
        elif examples.size:
            fill_some(bins, features, examples, rows, place, hist)
        else:
            fill_all(bins, features, examples, rows, place, hist)

    return fill_in, flush, top_bin, sweep, add_below


@functools.cache
def search_kernel(blocks: int, tail: int) -> Any:
    """`search` for rows of `blocks` full vectors and a tail of 1, 2, 4 or 0 labels."""
    width = LANES * blocks + tail
    sizes = room_sizes(blocks, tail)
    size, n_marks, edges_at = sizes.hist // GROUP, sizes.marks, sizes.marks + sizes.below
    n_pairs, single = divmod(blocks, 2)
    rest_at = ZERO + 2 * LANES * n_pairs
    has_rest = width > rest_at
    rest = _pair(LANES, tail, width, size) if single else _pair(max(tail, 1), 0, width, size)
    # A kernel that is not needed is never called, but numba has to know it.
    pair = _pair(LANES, LANES, width, size) if n_pairs else rest
    fill_in, flush, top_bin, sweep, add_below = pair
    fill_rest, flush_rest, top_rest_bin, sweep_rest, add_rest_below = rest if has_rest else pair
    inner = inner_for(blocks, tail)

    @inner
    def top(hist: Floats, sums: Doubles, fresh: bool, b: int, least: int) -> int:
        """The highest bin down from b whose sums are not all 0, or `least`."""
        for at in range(0, rest_at, 2 * LANES):
            least = top_bin(hist, sums, fresh, b, at, least)
        return top_rest_bin(hist, sums, fresh, b, rest_at, least) if has_rest else least

    @inner
    def last_bin(
        column: Bytes,
        start: int,
        examples: Ints,
        n: int,
        hist: Floats,
        sums: Doubles,
        fresh: bool,
        most: int,
    ) -> int:
        """The last bin that holds a row, at least 1.

        Read off the histogram; a bin whose weights cancel to 0 looks empty there, which matters
        with missing values only: without them it has the edge of the constant stump, b = 1.
        """
        if top(hist, sums, fresh, ZERO, ZERO - 1) < 0:
            return top(hist, sums, fresh, most - 1, ZERO + 1)
        highest = 1
        for t in range(n):
            b: Any = np.int64(column[examples[t] if examples.size else start + t])
            highest = b if b > highest else highest
        return highest

    @inner
    def first_near(edges: Doubles, highest: int, tie: float) -> int:
        """The first of edges[1], ..., edges[highest] within `tie` of the largest."""
        end = (highest + LANES - 1) // LANES * LANES + 1
        for b in range(highest + 1, end):
            edges[b] = 0.0
        largest = load(edges, 1, LANES)
        for b in range(1 + LANES, end, LANES):
            largest = at_least(load(edges, b, LANES), largest)
        store(edges, end, largest)
        least = 0.0
        for b in range(end, end + LANES):
            least = max(least, edges[b])
        least -= tie
        b = 1
        while count_below(load(edges, b, LANES), least) == LANES:
            b += LANES
        while edges[b] < least:
            b += 1
        return b

    @kernel_for(blocks, tail)
    def search(
        bins: Bytes,
        features: Ints,
        n_bins: Ints,
        start: int,
        examples: Ints,
        rows: Floats,
        base: Doubles,
        scale: float,
        tie: float,
        rows_a_bin: int,
        hist: Floats,
        sums: Doubles,
        work: Doubles,
        thresholds: Ints,
        votes: Ints,
        edges: Doubles,
    ) -> None:
        """Best threshold, votes and edge of each feature on the given rows.

        Reads bins uint8 (any, n), features int64 (Q,), the row of `bins` of each, n_bins int16
        (Q,), examples int32, rows float32 (T * P), base float64 (P,), their sum. Edges within `tie`
        of the best are as good: the lowest threshold wins, none above the last bin in use: that is
        the constant stump. hist float32, zero before and after, takes `rows_a_bin` rows a bin, then
        they move to sums float64; sums and work float64 are overwritten, sizes as in `room_sizes`.
        Writes thresholds int64 (Q,), votes int8 (Q, K), edges float64 (Q,), times `scale` and at
        most 1. O(Q T P / 8).
        """
        place, scratch = on_stack(7, np.int64), work[edges_at:]
        marks, below = work[:n_marks], work[n_marks:edges_at]
        n_features, n = features.size, rows.size // width
        soon = examples[: examples.size if n <= FEW else 0]
        q = ZERO
        while q < n_features:
            left = n_features - q
            group = GROUP if left >= GROUP else (2 if left >= 2 else 1)
            most = ZERO + 2
            for g in range(group):
                most = max(most, np.int64(n_bins[q + g]))
            chunk = rows_a_bin * most
            fresh = bool(n <= chunk)
            for h in range(0 if fresh else group * size):
                sums[h] = 0.0
            for first in range(0, n, chunk):
                place[0], place[1], place[2] = first, min(n, first + chunk), start
                place[4], place[5], place[6] = q, group, 0 < examples.size <= NEAR
                for at in range(0, rest_at, 2 * LANES):
                    place[3] = at
                    fill_in(bins, features, examples, rows, place, hist)
                    place[6] = 0
                if has_rest:
                    place[3] = rest_at
                    fill_rest(bins, features, examples, rows, place, hist)
                for g in range(group if place[1] < n else 0):
                    now, mine = hist[g * size : (g + 1) * size], sums[g * size : (g + 1) * size]
                    for at in range(0, rest_at, 2 * LANES):
                        flush(now, mine, most, at)
                    if has_rest:
                        flush_rest(now, mine, most, rest_at)
            for g in range(group):
                now, mine = hist[g * size : (g + 1) * size], sums[g * size : (g + 1) * size]
                column = bins[features[q + g]]
                highest = last_bin(column, start, examples, n, now, mine, fresh, most)
                ahead = bins[features[min(q + group + g, n_features - 1)]]
                for at in range(0, rest_at, 2 * LANES):
                    sweep(now, mine, fresh, highest, base, at, scratch, marks, ahead, soon)
                if has_rest:
                    sweep_rest(
                        now, mine, fresh, highest, base, rest_at, scratch, marks, ahead, soon
                    )
                best = first_near(scratch, highest, tie)
                for at in range(0, rest_at, 2 * LANES):
                    add_below(now, mine, fresh, best, at, marks, below)
                if has_rest:
                    add_rest_below(now, mine, fresh, best, rest_at, marks, below)
                thresholds[q + g] = best
                edges[q + g] = min(scratch[best] * scale, 1.0)
                for label in range(votes.shape[1]):
                    votes[q + g, label] = 1 if base[label] - 2.0 * below[label] >= 0.0 else -1
                for h in range(size):
                    now[h] = 0.0
            q += group

    return search
