"""Stump search: per-label histograms of the signed weights, and a sweep over the thresholds.

Layouts. `bins` (F, n) uint8 is feature-major; bin 0 holds missing values. Weighted rows as in
`kernels.array_layout`. A stump (feature, threshold b) is phi = +1 where bin >= b, else -1. A
histogram has a plane for each plane of a row, with 8, 16 or the tail's few numbers a bin, so that
none of its vectors crosses a cache line. Its numbers begin as -0.0, which only a bin without rows
keeps: -0.0 + x is x, and x - x is 0.0.

Edges. Let a label have the sum L below a threshold and R from it on. With opposite votes on the two
sides it adds |R - L| to the edge, with votes of their own |L| + |R| = max(|R - L|, |L + R|). Where
a side votes for one class, the edge is the largest L plus the largest R: the accuracy.

A sweep takes eight bins, a block, at a time. With few rows most blocks hold none and are skipped:
thresholds above an empty bin only repeat the one below it.

Cost: one look is a load, an addition and a store of each vector of a row, for each feature and
row; the sweep adds about 256 steps for each vector and feature, and fewer with few rows.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from boostsample.jit import vectors as vec
from boostsample.jit.compile_kernels import inner_kernel_for, kernel_for
from boostsample.jit.vectors import LANES, PREFETCHED_ROWS, prefetch, prefetch_first
from boostsample.kernels.array_layout import (
    N_BINS,
    PLANE,
    Bytes,
    Doubles,
    Floats,
    Ints,
    Rows,
    SearchOutput,
    aligned,
    plane_layout,
    row_layout,
)

#: What a histogram holds where no row was added.
NO_ROWS = np.float32(-0.0)
#: Features whose histograms are filled in one pass over the rows. Successive rows often add to the
#: same bin, and each addition waits for the one before; five features at a time hide that.
SEARCH_GROUP = 5
#: Blocks of eight bins: `vec.eight_edges` gives the edges of a block as one vector.
_N_BLOCKS = N_BINS // LANES
#: Edges of a sweep, by threshold: up to seven more are written, and eight more to find the largest.
_N_EDGES = N_BINS + 1 + LANES
#: An int64 variable: numba would specialise the callee on a literal.
_ZERO: Any = np.int64(0)
#: Up to this many rows, bins are prefetched while histograms are filled: those of a small sample
#: lie on a cache line each. More rows need no help.
_NEAR = 4000
#: Up to this many rows, bins are prefetched again during the sweeps: processors drop some requests.
_FEW = 1200
#: Up to this many rows, sweeps skip the blocks of bins that hold no row.
_SPARSE = 64


class SearchRoom(NamedTuple):
    """Work space of a search: `hist` float32, NO_ROWS between searches; `sums`, `work` float64.

    `rough` float32 has the parts of `work`, then the sum of the rows, for sweeps in float32;
    `blocks` int64 (33,) lists blocks of eight bins.
    """

    hist: Floats
    sums: Doubles
    work: Doubles
    rough: Floats
    blocks: Ints


class _Stretch(NamedTuple):
    """Rows first, ..., end - 1; labels from `at`; `group` features from number `q`."""

    first: int
    end: int
    at: int
    q: int
    group: int


class _Histogram(NamedTuple):
    """Histogram of a feature: `hist` float32 plus, unless `fresh`, `sums` float64."""

    hist: Floats
    sums: Any
    fresh: bool


class _Limits(NamedTuple):
    """Edges this close are equal; the factor of edges."""

    tie: float
    scale: float


class _SweepWork(NamedTuple):
    """Work space of a sweep: running sums, sums below a threshold, edges by threshold.

    All float64, or all float32 in a rough sweep.
    """

    marks: Any
    below: Any
    edges: Any


class _RoomSizes(NamedTuple):
    """Sizes of the arrays of a `SearchRoom`.

    Attributes
    ----------
    hist : int
        Histograms of a group: 256 bins each, of whole planes unless one vector holds a row, and a
        cache line. At a distance of whole pages histograms would wait for each other, up to 19 % of
        a search: processors compare the last twelve bits of addresses to order loads after stores.
    marks, below : int
        Running sums of a sweep, and sums below a threshold.
    work : int
        Marks, sums below a threshold, and edges.
    """

    hist: int
    marks: int
    below: int
    work: int


def _room_sizes(blocks: int, tail: int) -> _RoomSizes:
    width = LANES * blocks + tail
    bins = N_BINS * (width if width <= LANES else PLANE * -(-width // PLANE))
    marks, below = _N_BLOCKS * PLANE * (blocks // 2 + 1), width + PLANE
    return _RoomSizes(SEARCH_GROUP * (bins + PLANE), marks, below, marks + below + _N_EDGES)


def search_room(n_labels: int) -> SearchRoom:
    """Work space for one thread's searches with K labels."""
    blocks, tail = row_layout(n_labels)
    sizes = _room_sizes(blocks, tail)
    hist, sums = aligned(sizes.hist, np.float32), aligned(sizes.hist, np.float64)
    hist.fill(NO_ROWS)
    rough = aligned(sizes.work + LANES * blocks + tail, np.float32)
    listed = np.empty(_N_BLOCKS + 1, np.int64)
    return SearchRoom(hist, sums, aligned(sizes.work, np.float64), rough, listed)


def is_empty(sums: NDArray[Any]) -> NDArray[np.bool_]:
    """Which bins of a histogram (bins, K) hold no row: bool (bins,)."""
    return np.asarray(np.all((sums == 0) & np.signbit(sums), axis=1))


def _fill(size: int, width: int, step: int, some: bool, near: bool) -> Any:
    """The kernel that fills histograms for labels at, ..., at + size - 1.

    With `some`, rows are named by `examples`, else they are successive columns of the bank. With
    `near`, which needs GROUP features, it prefetches bins of the next GROUP features; else it
    prefetches the next rows, unless they are narrow and memory keeps pace.
    """
    stride = _stride(size)

    @inner_kernel_for(size, width, some, near)
    def fill_in(bins: Bytes, features: Ints, rows: Rows, stretch: _Stretch, hist: Floats) -> None:
        """Add rows to the histograms, `step` apart, of 1, 2 or GROUP features.

        Indices are unsigned: numba checks signed ones for negative values.
        """
        first, end, at, q, group = stretch
        values, start, examples, last = rows.values, rows.start, rows.examples, features.size - 1
        h, row = at * N_BINS, at * (values.size // width)
        # Of fewer than two features, the second column is a valid one that nobody reads.
        column0, column1 = bins[features[q]], bins[features[min(q + 1, last)]]
        if group == 1 and not near:
            for t in range(first, end):
                i = np.uint64(examples[np.uint64(t)] if some else start + t)
                if size >= LANES:
                    prefetch_first(values, row + (t + PREFETCHED_ROWS) * size)
                value = vec.load(values, row + t * size, size)
                vec.add_into(hist, h + np.int64(column0[i]) * stride, value)
            return
        if group == 2 and not near:
            for t in range(first, end):
                i = np.uint64(examples[np.uint64(t)] if some else start + t)
                h0 = h + np.int64(column0[i]) * stride
                h1 = h + np.int64(column1[i]) * stride + step
                if size >= LANES:
                    prefetch_first(values, row + (t + PREFETCHED_ROWS) * size)
                value = vec.load(values, row + t * size, size)
                vec.add_into(hist, h0, value)
                vec.add_into(hist, h1, value)
            return
        # Spelled out: a loop over an array of columns would load their addresses again in each row.
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
            value = vec.load(values, row + t * size, size)
            vec.add_into(hist, h0, value)
            vec.add_into(hist, h1, value)
            vec.add_into(hist, h2, value)
            vec.add_into(hist, h3, value)
            vec.add_into(hist, h4, value)

    return fill_in


def _stride(size: int) -> int:
    """Numbers from one bin to the next, of `size` labels."""
    return size if size <= LANES else PLANE


@functools.cache
def _sweep(size: int, two_sided: bool) -> Any:
    """The sweep of labels at, ..., at + size - 1 of rows."""
    stride = _stride(size)

    @inner_kernel_for(size, two_sided)
    def sweep(
        histogram: _Histogram,
        blocks: Ints,
        base: Any,
        at: int,
        work: _SweepWork,
        ahead: Bytes,
        examples: Ints,
    ) -> None:
        """Add these labels' part to the edges of eight thresholds a block; at = 0 starts them.

        Thresholds are numbered from 1 through `blocks`, the first bins of the blocks in ascending
        order: number 8 j + i is threshold blocks[j] + i. Keeps the running sums before the blocks
        in `marks`. Meanwhile prefetches the bins of `ahead` at `examples`: each is a cache miss,
        and the sweep leaves the memory idle.
        """
        hist, sums, fresh = histogram
        marks, edges = work.marks, work.edges
        whole = vec.load(base, at, size)
        below = vec.fill(whole, 0.0)
        # Spread over the blocks of the first plane: a processor drops prefetches beyond its few at
        # a time.
        share = 0 if at else -(-examples.size // blocks.size)
        soon = 0
        for j in range(blocks.size):
            b, h = LANES * j, at * N_BINS + blocks[j] * stride
            # `add_below` begins from these sums, so that votes need no second sweep.
            vec.store(marks, at * _N_BLOCKS + j * stride, below)
            edge, below = vec.eight_edges(hist, sums, fresh, h, stride, whole, below, two_sided)
            vec.store(edges, b + 1, vec.add(edge, vec.load(edges, b + 1, LANES)) if at else edge)
            for t in range(soon, min(soon + share, examples.size)):
                prefetch(ahead, examples[t])
            soon += share

    return sweep


@functools.cache
def _class_sweep(width: int) -> Any:
    """The sweep of whole rows whose weight is in the column of their class."""
    plane = _stride(min(width, PLANE))
    last = _stride(width - (width - 1) // PLANE * PLANE)

    @inner_kernel_for(width)
    def class_sweep(histogram: _Histogram, blocks: Ints, base: Any, work: _SweepWork) -> None:
        """As `sweep` of all labels: edges are the weights of the heaviest class of each side."""
        hist, sums, fresh = histogram
        marks, below, edges = work.marks, work.below, work.edges
        for label in range(width):
            below[label] = 0.0
        for j in range(blocks.size):
            for at in range(0, width, PLANE):
                stride = plane if at + PLANE < width else last
                for label in range(at, min(at + PLANE, width)):
                    marks[at * _N_BLOCKS + j * stride + label - at] = below[label]
            for b in range(LANES):
                top_below = top_above = 0.0
                for at in range(0, width, PLANE):
                    stride = plane if at + PLANE < width else last
                    h = at * N_BINS + (blocks[j] + b) * stride - at
                    for label in range(at, min(at + PLANE, width)):
                        below[label] += hist[h + label]
                        if not fresh:
                            below[label] += sums[h + label]
                        top_below = max(top_below, np.float64(below[label]))
                        top_above = max(top_above, np.float64(base[label] - below[label]))
                edges[LANES * j + b + 1] = top_below + top_above

    return class_sweep


@functools.cache
def _plane(size: int, width: int, step: int) -> tuple[Any, ...]:
    """Kernels of labels at, ..., at + size - 1: fill_in, flush, holds_row, add_below, clear."""
    stride = _stride(size)
    inner = inner_kernel_for(size, width)

    @inner
    def add_below(
        histogram: _Histogram, blocks: Ints, number: int, at: int, work: _SweepWork
    ) -> None:
        """work.below = the labels' sums below threshold `number` of `sweep`, bits as there."""
        hist, sums, fresh = histogram
        j = (number - 1) // LANES
        below = vec.load(work.marks, at * _N_BLOCKS + j * stride, stride)
        for b in range(blocks[j], blocks[j] + number - LANES * j):
            h = at * N_BINS + b * stride
            below = vec.add(below, vec.as_wide(vec.load(hist, h, stride), below))
            if not fresh:
                below = vec.add(below, vec.as_wide(vec.load(sums, h, stride), below))
        vec.store(work.below, at, below)

    @inner
    def flush(histogram: _Histogram, most: int, at: int) -> None:
        """Move the first `most` bins of a float32 histogram to its float64 sums."""
        for h in range(at * N_BINS, at * N_BINS + most * stride, stride):
            value = vec.load(histogram.hist, h, stride)
            vec.add_into(histogram.sums, h, vec.widen(value))
            vec.store(histogram.hist, h, vec.fill(value, NO_ROWS))

    @inner
    def holds_row(histogram: _Histogram, b: int) -> bool:
        """Whether bin b holds a row, of which these are the first labels."""
        hist, sums, fresh = histogram
        if not vec.is_minus_zero(vec.load(hist, b * stride, stride)):
            return True
        return not (fresh or vec.is_minus_zero(vec.load(sums, b * stride, stride)))

    @inner
    def clear(hist: Floats, blocks: Ints, at: int) -> None:
        """Empty the blocks of a histogram."""
        nothing = vec.fill(vec.load(hist, 0, stride), NO_ROWS)
        for j in range(blocks.size):
            h = at * N_BINS + blocks[j] * stride
            for place in range(h, h + LANES * stride, stride):
                vec.store(hist, place, nothing)

    fill_all = _fill(size, width, step, False, False)
    fill_some = _fill(size, width, step, True, False)
    fill_few = _fill(size, width, step, True, True)

    @inner
    def fill_in(
        bins: Bytes, features: Ints, rows: Rows, stretch: _Stretch, near: bool, hist: Floats
    ) -> None:
        if near and stretch.group == SEARCH_GROUP:
            fill_few(bins, features, rows, stretch, hist)
        elif rows.examples.size:
            fill_some(bins, features, rows, stretch, hist)
        else:
            fill_all(bins, features, rows, stretch, hist)

    return fill_in, flush, holds_row, add_below, clear


@functools.cache
def search_kernel(blocks: int, tail: int, classes: bool = False) -> Any:
    """`search` for rows of `blocks` full vectors and a tail of 1, 2, 4 or 0 labels.

    With `classes`, rows have their weight in the column of their class, and a cut is worth the
    weights of the heaviest class of each side, for which the side votes.
    """
    width = LANES * blocks + tail
    sizes = _room_sizes(blocks, tail)
    size, n_marks, edges_at = sizes.hist // SEARCH_GROUP, sizes.marks, sizes.marks + sizes.below
    base_at = sizes.work
    last_at, plane, last = plane_layout(blocks, tail)
    fill_in, flush, holds_row, add_below, clear = _plane(plane, width, size)
    fill_last, flush_last, _, add_last_below, clear_last = _plane(last, width, size)
    sweep, sweep_last = _sweep(plane, False), _sweep(last, False)
    sweep_sides, sweep_last_sides = _sweep(plane, True), _sweep(last, True)
    class_sweep = _class_sweep(width)
    inner = inner_kernel_for(blocks, tail, classes)

    @inner
    def list_blocks(column: Bytes, rows: Rows, n: int, blocks: Ints) -> Any:
        """Write the first bins of the blocks that hold a row, and of the first one; their number.

        Without the first one, the threshold below all rows would be lost.
        """
        used = np.uint64(1)  # bit j stands for block j: the 32 blocks fit into a word
        for t in range(n):
            b = np.uint64(column[rows.examples[t] if rows.examples.size else rows.start + t])
            used |= np.uint64(1) << (b // np.uint64(LANES))
        n_blocks = np.uint64(0)
        for j in range(_N_BLOCKS):
            blocks[n_blocks] = LANES * j  # the next one overwrites an empty one
            n_blocks += used >> np.uint64(j) & np.uint64(1)
        return np.int64(n_blocks)

    @inner
    def first_near(edges: Any, first: int, highest: int, tie: float) -> int:
        """The first of edges[first], ... within `tie` of the largest of edges[1 .. highest], or 1.

        Thresholds below `first` do not divide the rows: all have the edge of threshold 1.
        """
        # Whole vectors are compared: edges above the last threshold become 0, the least there is.
        end = (highest + LANES - 1) // LANES * LANES + 1
        for b in range(highest + 1, end):
            edges[b] = 0.0
        largest = vec.load(edges, 1, LANES)
        for b in range(1 + LANES, end, LANES):
            # The larger one of both, since edges are not negative.
            largest = vec.at_least(vec.load(edges, b, LANES), largest)
        vec.store(edges, end, largest)
        least = 0.0
        for b in range(end, end + LANES):
            least = max(least, np.float64(edges[b]))
        least -= tie
        b = first
        while b <= highest - LANES and vec.count_below(vec.load(edges, b, LANES), least) == LANES:
            b += LANES
        while b <= highest and edges[b] < least:
            b += 1
        return b if b <= highest else 1

    @inner
    def best_stump(
        histogram: _Histogram,
        blocks: Ints,
        highest: int,
        base: Any,
        work: _SweepWork,
        ahead: Bytes,
        soon: Ints,
        limits: _Limits,
        q: int,
        stumps: SearchOutput,
    ) -> None:
        """Write the best stump of feature number q, from its histogram; `highest` is its last."""
        two_sided = bool(stumps.below.shape[0] > 0)
        if classes:
            class_sweep(histogram, blocks, base, work)
        elif two_sided:
            for at in range(0, last_at, PLANE):
                sweep_sides(histogram, blocks, base, at, work, ahead, soon)
            sweep_last_sides(histogram, blocks, base, last_at, work, ahead, soon)
        else:
            for at in range(0, last_at, PLANE):
                sweep(histogram, blocks, base, at, work, ahead, soon)
            sweep_last(histogram, blocks, base, last_at, work, ahead, soon)
        before = LANES * (blocks.size - 1)
        n_thresholds = before + min(LANES, highest - blocks[blocks.size - 1])
        first = _ZERO + 1
        best = first_near(work.edges, first, n_thresholds, limits.tie)
        divides = best > 1
        # A cut that divides the rows wins a tie with the constant stump: look for one as good, from
        # the lowest threshold above a row.
        if not divides and holds_row(histogram, highest):
            while first <= n_thresholds:  # to the first threshold above a row
                j = (first - 1) // LANES
                if holds_row(histogram, blocks[j] + first - 1 - LANES * j):
                    break
                first += 1
            best = first_near(work.edges, first, n_thresholds, limits.tie)
            divides = best >= first
        j = (best - 1) // LANES
        stumps.thresholds[q] = blocks[j] + best - LANES * j
        # Rounding can leave 1, beyond which alpha is not defined.
        stumps.edges[q] = min(work.edges[best] * limits.scale, 1.0)
        stumps.divides[q] = divides
        if stumps.votes.shape[1] == 0:
            return
        for at in range(0, last_at, PLANE):
            add_below(histogram, blocks, best, at, work)
        add_last_below(histogram, blocks, best, last_at, work)
        if classes:
            heaviest = heaviest_below = 0
            for label in range(stumps.votes.shape[1]):
                stumps.votes[q, label] = stumps.below[q, label] = -1
                below = work.below[label]
                if base[label] - below > base[heaviest] - work.below[heaviest]:
                    heaviest = label
                if below > work.below[heaviest_below]:
                    heaviest_below = label
            stumps.votes[q, heaviest] = stumps.below[q, heaviest_below] = 1
            return
        # The sign of R - L = whole - 2 L for opposite votes, of R = whole - L for votes of a side.
        twice = 1.0 if two_sided else 2.0
        for label in range(stumps.votes.shape[1]):
            above = base[label] - twice * work.below[label]
            stumps.votes[q, label] = 1 if above >= 0.0 else -1
        for label in range(stumps.votes.shape[1] if two_sided else 0):
            stumps.below[q, label] = 1 if work.below[label] >= 0.0 else -1

    @kernel_for(blocks, tail, classes)
    def search(
        bins: Bytes,
        features: Ints,
        n_bins: Ints,
        rows: Rows,
        tie: float,
        rows_a_bin: int,
        rough: bool,
        room: SearchRoom,
        stumps: SearchOutput,
    ) -> None:
        """Best threshold, votes and edge of each feature on the given rows.

        Reads bins uint8 (any, n), features int64 (Q,), the row of `bins` of each, n_bins int16
        (Q,). Edges within `tie` of the best are as good: the lowest threshold with rows on both
        sides wins, or else the lowest. Thresholds above the last bin in use are no candidates: they
        repeat the constant stump. room.hist, empty before and after, takes `rows_a_bin` rows a bin,
        which then move to room.sums; the rest of the room is overwritten. If `rough`, which needs
        no more than `rows_a_bin` rows, sweeps are in float32. Writes `stumps`, without votes if it
        has no room for them; edges are multiplied by rows.scale and at most 1. They are those of
        opposite votes, or of votes of both sides if `stumps` has rows for these. O(Q T P / 8).
        """
        work = _SweepWork(room.work[:n_marks], room.work[n_marks:edges_at], room.work[edges_at:])
        rough_work = _SweepWork(
            room.rough[:n_marks], room.rough[n_marks:edges_at], room.rough[edges_at:base_at]
        )
        examples, base, rough_base = rows.examples, rows.base, room.rough[base_at:]
        for label in range(width):
            rough_base[label] = base[label]
        limits = _Limits(tie, rows.scale)
        n_features, n = features.size, rows.values.size // width
        near, soon = 0 < examples.size <= _NEAR, examples[: examples.size if n <= _FEW else 0]
        n_blocks = _N_BLOCKS
        for j in range(n_blocks):
            room.blocks[j] = LANES * j
        q = _ZERO
        while q < n_features:
            left = n_features - q
            group = SEARCH_GROUP if left >= SEARCH_GROUP else (2 if left >= 2 else 1)
            most = _ZERO + 2
            for g in range(group):
                most = max(most, np.int64(n_bins[q + g]))
            if n > _SPARSE:
                n_blocks = (most + LANES - 1) // LANES
            # On average a bin gets `rows_a_bin` rows of a chunk: more would lose digits in float32.
            chunk = rows_a_bin * most
            fresh = bool(n <= chunk)
            for h in range(0 if fresh else group * size):
                room.sums[h] = NO_ROWS
            for first in range(0, n, chunk):
                end = min(n, first + chunk)
                for at in range(0, last_at, PLANE):
                    stretch = _Stretch(first, end, at, q, group)
                    fill_in(bins, features, rows, stretch, near and at == 0, room.hist)
                stretch = _Stretch(first, end, last_at, q, group)
                fill_last(bins, features, rows, stretch, near and last_at == 0, room.hist)
                for g in range(group if end < n else 0):
                    place = slice(g * size, (g + 1) * size)
                    histogram = _Histogram(room.hist[place], room.sums[place], fresh)
                    for at in range(0, last_at, PLANE):
                        flush(histogram, most, at)
                    flush_last(histogram, most, last_at)
            for g in range(group):
                place = slice(g * size, (g + 1) * size)
                hist = room.hist[place]
                histogram = _Histogram(hist, room.sums[place], fresh)
                highest = most - 1
                if n <= _SPARSE:
                    n_blocks = list_blocks(bins[features[q + g]], rows, n, room.blocks)
                    highest = min(highest, room.blocks[n_blocks - 1] + LANES - 1)
                while highest > 1 and not holds_row(histogram, highest):
                    highest -= 1
                filled, n_swept = room.blocks[:n_blocks], n_blocks
                # Thresholds of these blocks lie above the last row: they repeat the constant stump.
                while n_swept > 1 and filled[n_swept - 1] >= highest:
                    n_swept -= 1
                swept = filled[:n_swept]
                ahead = bins[features[min(q + group + g, n_features - 1)]]
                if rough and fresh:
                    # `sums` is not read, and float32 for the types: LLVM's vectors do not mix them.
                    plain = _Histogram(hist, hist, fresh)
                    best_stump(
                        plain,
                        swept,
                        highest,
                        rough_base,
                        rough_work,
                        ahead,
                        soon,
                        limits,
                        q + g,
                        stumps,
                    )
                else:
                    best_stump(
                        histogram, swept, highest, base, work, ahead, soon, limits, q + g, stumps
                    )
                for at in range(0, last_at, PLANE):
                    clear(hist, filled, at)
                clear_last(hist, filled, last_at)
            q += group

    return search
