"""Work space of the search kernel, and records of its parts."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from boostsample.jit.vectors import LANES
from boostsample.kernels.array_layout import (
    N_BINS,
    Doubles,
    Floats,
    Ints,
    aligned,
    row_layout,
)

#: Blocks of eight bins; the running sum before each is kept.
SEARCH_MARKS = N_BINS // LANES
#: Edges of a sweep, by threshold: up to seven more are written, and eight more to find the largest.
_N_EDGES = N_BINS + 1 + LANES
#: Features whose histograms are filled in one pass over the rows. Successive rows often add to the
#: same bin, and each addition waits for the one before; five features at a time hide that.
SEARCH_GROUP = 5


class SearchRoom(NamedTuple):
    """Work space of a search: `hist` float32, all 0 between searches, `sums` and `work` float64.

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


def search_room(n_labels: int) -> SearchRoom:
    """Work space for one thread's searches with K labels."""
    blocks, tail = row_layout(n_labels)
    sizes = search_room_sizes(blocks, tail)
    hist, sums = aligned(sizes.hist, np.float32), aligned(sizes.hist, np.float64)
    rough = aligned(sizes.work + LANES * blocks + tail, np.float32)
    listed = np.empty(SEARCH_MARKS + 1, np.int64)
    return SearchRoom(hist, sums, aligned(sizes.work, np.float64), rough, listed)
