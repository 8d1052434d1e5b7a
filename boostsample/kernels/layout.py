"""How the histograms of a search lie in memory, what room it needs, and how rows are fetched."""

from __future__ import annotations

from typing import NamedTuple

from boostsample.jit.vectors import LANES

N_BINS = 256
#: Every eighth running sum of a sweep is kept.
N_MARKS = N_BINS // LANES
#: Edges of a sweep, by threshold; it writes up to seven more, and looks for the largest beyond.
N_EDGES = N_BINS + 1 + LANES
#: Features whose histograms are filled in one pass over the rows. Successive rows often fall into
#: the same bin and must wait for each other's sums; five features at a time hide that.
GROUP = 5

#: Rows that are fetched ahead, where they lie anywhere or are used faster than memory brings them.
ROWS_AHEAD = 64


class RoomSizes(NamedTuple):
    """Numbers that a search needs room for.

    Attributes
    ----------
    hist : int
        The histograms of a group: of each 256 bins of whole pairs of vectors, unless one holds a
        row, and a cache line. At a distance of whole pages histograms wait for each other where
        features share a bin: a load is told from earlier stores by the last twelve bits of its
        address.
    marks, below : int
        Running sums of a sweep, and sums below a cut.
    """

    hist: int
    marks: int
    below: int

    @property
    def work(self) -> int:
        """Beside the histograms: marks, sums below a cut, edges."""
        return self.marks + self.below + N_EDGES


def room_sizes(blocks: int, tail: int) -> RoomSizes:
    """Of a search in rows of `blocks` full vectors and a tail of 1, 2, 4 or 0 labels."""
    width, pair = LANES * blocks + tail, 2 * LANES
    bins = N_BINS * (width if blocks + (tail > 0) == 1 else pair * -(-width // pair))
    return RoomSizes(GROUP * (bins + pair), N_MARKS * pair * (blocks // 2 + 1), width + pair)
