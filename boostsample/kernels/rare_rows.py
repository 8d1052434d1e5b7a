"""Stump search on columns with most rows in one bin, from lists of the other rows.

Most rows of such a column are in its bin `rest`; a list holds the others, the rare rows. As the sum
of all rows is known, that of the rest is the total less the rare rows, and a search reads only the
lists. Stumps are those of `boostsample.kernels.search`, with sums in float64.

Cost of a feature: a look-up of each listed row; a load and an addition of each vector of those that
are searched; and a step of the sweep for each bin in use.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from boostsample.jit import vectors as vec
from boostsample.jit.compile_kernels import inner_kernel, inner_kernel_for, kernel, kernel_for
from boostsample.jit.vectors import LANES, on_stack
from boostsample.kernels.array_layout import (
    N_BINS,
    PLANE,
    Bytes,
    Doubles,
    Ints,
    Rows,
    SearchOutput,
    aligned,
    plane_layout,
    row_layout,
)

#: Edges of a sweep: above each bin, and that of no cut.
_N_EDGES = N_BINS + 1
#: Rows of a column from which its bin `rest` is guessed.
_N_PROBES = 64
#: An int64 variable: numba would specialise the callee on a literal.
_ZERO: Any = np.int64(0)
#: Sizes of lists that do not exist: more than M rows would be in them, or nobody has made one.
NO_LIST, NOT_LISTED = -1, -2


class RareRows(NamedTuple):
    """Lists of the rows of columns that are not in the bin of most rows.

    Attributes
    ----------
    rows : ndarray of int32, shape (C, M)
        Bank rows of each list, ascending.
    bins : ndarray of uint8, shape (C, M)
        Their bins.
    sizes : ndarray of int32, shape (C,)
        Number of rows listed; NO_LIST without a list, NOT_LISTED before one is made.
    rest : ndarray of uint8, shape (C,)
        Bin of all other rows.
    """

    rows: NDArray[np.int32]
    bins: Bytes
    sizes: NDArray[np.int32]
    rest: Bytes


class RareRoom(NamedTuple):
    """Work space of a search: `hist` float64 is 0 between searches.

    `at` int64 and `bins` uint8 have number and bin of the listed rows that are searched.
    """

    hist: Doubles
    at: Ints
    bins: Bytes


def empty_lists(n: int, most: int) -> RareRows:
    """Room for n lists of up to `most` rows."""
    rows, bins = np.empty((n, most), np.int32), np.empty((n, most), np.uint8)
    return RareRows(rows, bins, np.full(n, NOT_LISTED, np.int32), np.zeros(n, np.uint8))


def rare_room(n_labels: int, most: int) -> RareRoom:
    """Work space for one thread's searches with K labels and lists of up to M rows."""
    blocks, tail = row_layout(n_labels)
    hist = aligned(N_BINS * (LANES * blocks + tail), np.float64)
    # One more: places are written before it is known whether they are needed.
    return RareRoom(hist, np.empty(most + 1, np.int64), np.empty(most + 1, np.uint8))


@kernel
def list_rare_rows(columns: Bytes, chosen: Ints, rare: RareRows) -> None:
    """Write the lists of some columns; NO_LIST where more than M rows are not in `rest`.

    Reads columns uint8 (C, N) and chosen int64 (Q,). `rest` is the bin of most of 64 evenly spaced
    rows. O(Q N), less for a column without a list.
    """
    n, most = columns.shape[1], rare.rows.shape[1]
    for q in range(chosen.size):
        c = chosen[q]
        column, rows, bins = columns[c], rare.rows[c], rare.bins[c]
        # A guess suffices: with a wrong one the list is too long, and the search reads the bins.
        rest, votes = column[0], 0  # Boyer and Moore's majority vote
        for k in range(_N_PROBES):
            b = column[k * n // _N_PROBES]
            if votes == 0:
                rest = b
            votes += 1 if b == rest else -1
        size = _ZERO
        for i in range(n):
            if column[i] != rest:
                if size == most:
                    size = _ZERO + NO_LIST
                    break
                rows[size], bins[size] = i, column[i]
                size += 1
        rare.sizes[c], rare.rest[c] = size, rest


@kernel
def number_rows(examples: Ints, numbers: Ints, clear: bool) -> None:
    """numbers[examples[t]] = t, or -1 to `clear` them; examples int32 (n,), distinct."""
    for t in range(examples.size):
        numbers[examples[t]] = -1 if clear else t


@inner_kernel
def _searched(rare: RareRows, c: int, rows: Rows, numbers: Ints, n: int, room: RareRoom) -> int:
    """Write number and bin of each row of list c that is searched; return how many there are."""
    start, some, listed, bins = rows.start, rows.examples.size > 0, rare.rows[c], rare.bins[c]
    m = np.uint64(0)
    for k in range(np.int64(rare.sizes[c])):  # without branches, which would be mispredicted
        i = np.int64(listed[k])
        t = np.int64(numbers[np.uint64(i)]) if some else i - start
        room.at[m], room.bins[m] = t, bins[k]
        # One comparison for both ends: -1, of a row that is not searched, is a large unsigned
        # number.
        m += np.uint64(np.uint64(t) < np.uint64(n))
    return int(m)


@functools.cache
def _plane(size: int, width: int) -> tuple[Any, ...]:
    """Kernels of labels at, ..., at + size - 1: fill_in, sweep, clear."""
    inner = inner_kernel_for(size, width)

    @inner
    def fill_in(rows: Rows, m: int, rest: int, room: RareRoom, at: int) -> None:
        """Add m rare rows to an empty histogram; with a rest >= 0, the others to that bin."""
        values, hist, h = rows.values, room.hist, at * N_BINS
        row = at * (values.size // width)
        whole = vec.load(rows.base, at, size)
        listed = vec.fill(whole, 0.0)
        for k in range(m):
            value = vec.widen(vec.load(values, row + np.int64(room.at[k]) * size, size))
            vec.add_into(hist, h + np.int64(room.bins[k]) * size, value)
            listed = vec.add(listed, value)
        if rest >= 0:
            # In float64: the rest is a difference of sums, which may cancel.
            others = vec.add(whole, vec.multiply(listed, vec.fill(listed, -1.0)))
            vec.store(hist, h + rest * size, others)

    @inner
    def sweep(
        used: Ints, base: Doubles, two_sided: bool, hist: Doubles, edges: Doubles, at: int
    ) -> None:
        """Sum up the histogram over the bins in use; edges[j] += the edge of a cut above used[j].

        edges[used.size] is that of no cut. at = 0 starts the edges.
        """
        whole = vec.load(base, at, size)
        floor, below = vec.magnitude(whole), vec.fill(whole, 0.0)
        for j in range(used.size):
            h = at * N_BINS + used[j] * size
            below = vec.add(below, vec.load(hist, h, size))
            vec.store(hist, h, below)
            edge = vec.magnitude(vec.add(whole, vec.multiply(below, vec.fill(below, -2.0))))
            edge = vec.at_least(edge, floor) if two_sided else edge
            edges[j] = vec.row_total(edge) + (edges[j] if at else 0.0)
        edges[used.size] = vec.row_total(floor) + (edges[used.size] if at else 0.0)

    @inner
    def clear(used: Ints, hist: Doubles, at: int) -> None:
        nothing = vec.fill(vec.load(hist, 0, size), 0.0)
        for j in range(used.size):
            vec.store(hist, at * N_BINS + used[j] * size, nothing)

    return fill_in, sweep, clear


@functools.cache
def rare_search_kernel(blocks: int, tail: int) -> Any:
    """`search_rare` for rows of `blocks` full vectors and a tail of 1, 2, 4 or 0 labels."""
    width = LANES * blocks + tail
    last_at, plane, last = plane_layout(blocks, tail)
    fill_in, sweep, clear = _plane(plane, width)
    fill_last, sweep_last, clear_last = _plane(last, width)

    @kernel_for(blocks, tail)
    def search_rare(
        rare: RareRows,
        chosen: Ints,
        rows: Rows,
        numbers: Ints,
        tie: float,
        room: RareRoom,
        stumps: SearchOutput,
    ) -> None:
        """Best threshold, votes and edge of columns with lists on the given rows, each there once.

        Reads chosen int64 (Q,), the columns of `rare`, and numbers int32 (bank rows,), the place of
        each bank row in rows.examples, or -1; not read if these are empty. `tie` and `stumps` as in
        `search`.
        """
        n, two_sided = rows.values.size // width, bool(stumps.below.shape[0] > 0)
        counts, used_room = on_stack(N_BINS, np.int64), on_stack(N_BINS, np.int64)
        edges = on_stack(_N_EDGES, np.float64)
        for b in range(N_BINS):
            counts[b] = 0
        base, hist = rows.base, room.hist
        for q in range(chosen.size):
            c = chosen[q]
            m = _searched(rare, c, rows, numbers, n, room)
            rest = np.int64(rare.rest[c]) if m < n else _ZERO - 1
            highest = max(rest, _ZERO)
            for k in range(m):
                filled = np.int64(room.bins[k])
                counts[filled] += 1
                highest = max(highest, filled)
            n_used = _ZERO
            for b in range(highest + 1):
                used_room[n_used] = b
                n_used += counts[b] > 0 or b == rest
                counts[b] = 0
            used = used_room[:n_used]
            for at in range(0, last_at, PLANE):
                fill_in(rows, m, rest, room, at)
                sweep(used, base, two_sided, hist, edges, at)
            fill_last(rows, m, rest, room, last_at)
            sweep_last(used, base, two_sided, hist, edges, last_at)
            # A cut above the last bin in use divides nothing; nor does threshold 1 but above bin 0.
            n_cuts = n_used - 1
            largest = 0.0 if n_cuts > 0 and used[0] == 0 else edges[n_used]
            for j in range(n_cuts):
                largest = max(largest, edges[j])
            best = _ZERO
            while best < n_cuts and edges[best] < largest - tie:
                best += 1
            divides = best < n_cuts
            stumps.divides[q] = divides
            stumps.thresholds[q] = used[best] + 1 if divides else 1
            stumps.edges[q] = min((edges[best] if divides else edges[n_used]) * rows.scale, 1.0)
            twice, under = (1.0 if two_sided else 2.0), stumps.thresholds[q] - 1
            for label in range(stumps.votes.shape[1]):
                first = label // PLANE * PLANE
                below = hist[first * N_BINS + under * min(PLANE, width - first) + label - first]
                stumps.votes[q, label] = 1 if base[label] - twice * below >= 0.0 else -1
                if two_sided:
                    stumps.below[q, label] = 1 if below >= 0.0 else -1
            for at in range(0, last_at, PLANE):
                clear(used, hist, at)
            clear_last(used, hist, last_at)

    return search_rare
