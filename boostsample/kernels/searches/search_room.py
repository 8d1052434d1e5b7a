"""Parts of the search kernel: its work space, records, and the kernel that fills histograms."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from boostsample.jit.compile_kernels import inner_kernel_for
from boostsample.jit.prefetch import PREFETCHED_ROWS, prefetch, prefetch_first
from boostsample.jit.vectors import LANES, vec_add_into, vec_load
from boostsample.kernels.array_layout import (
    N_BINS,
    Bytes,
    Doubles,
    Floats,
    Ints,
    Rows,
    aligned,
    row_layout,
)

#: What a histogram holds where no row was added.
NO_ROWS = np.float32(-0.0)
#: Blocks of eight bins; the running sum before each is kept.
SEARCH_MARKS = N_BINS // LANES
#: Edges of a sweep, by threshold: up to seven more are written, and eight more to find the largest.
_N_EDGES = N_BINS + 1 + LANES
#: Features whose histograms are filled in one pass over the rows. Successive rows often add to the
#: same bin, and each addition waits for the one before; five features at a time hide that.
SEARCH_GROUP = 5


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


class SearchStretch(NamedTuple):
    """Rows first, ..., end - 1; labels from `at`; `group` features from number `q`."""

    first: int
    end: int
    at: int
    q: int
    group: int


class SearchHistogram(NamedTuple):
    """Histogram of a feature: `hist` float32 plus, unless `fresh`, `sums` float64."""

    hist: Floats
    sums: Any
    fresh: bool


class EdgeLimits(NamedTuple):
    """Edges this close are equal; the factor of edges."""

    tie: float
    scale: float


class SweepWork(NamedTuple):
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
        Histograms of a group: 256 bins each, of whole pairs of vectors unless one vector holds a
        row, and a cache line. At a distance of whole pages histograms would wait for each other:
        processors compare the last twelve bits of addresses to order loads after stores.
    marks, below : int
        Running sums of a sweep, and sums below a threshold.
    """

    hist: int
    marks: int
    below: int

    @property
    def work(self) -> int:
        """Marks, sums below a threshold, and edges."""
        return self.marks + self.below + _N_EDGES


def search_room_sizes(blocks: int, tail: int) -> _RoomSizes:
    """Sizes for rows of `blocks` full vectors and a tail of 1, 2, 4 or 0 labels."""
    width, pair = LANES * blocks + tail, 2 * LANES
    bins = N_BINS * (width if blocks + (tail > 0) == 1 else pair * -(-width // pair))
    marks = SEARCH_MARKS * pair * (blocks // 2 + 1)
    return _RoomSizes(SEARCH_GROUP * (bins + pair), marks, width + pair)


def is_empty(sums: NDArray[Any]) -> NDArray[np.bool_]:
    """Which bins of a histogram (bins, K) hold no row: bool (bins,)."""
    return np.asarray(np.all((sums == 0) & np.signbit(sums), axis=1))


def search_room(n_labels: int) -> SearchRoom:
    """Work space for one thread's searches with K labels."""
    blocks, tail = row_layout(n_labels)
    sizes = search_room_sizes(blocks, tail)
    hist, sums = aligned(sizes.hist, np.float32), aligned(sizes.hist, np.float64)
    hist.fill(NO_ROWS)
    rough = aligned(sizes.work + LANES * blocks + tail, np.float32)
    listed = np.empty(SEARCH_MARKS + 1, np.int64)
    return SearchRoom(hist, sums, aligned(sizes.work, np.float64), rough, listed)


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
