"""Tiles of a bank, and races of features on nested samples drawn by order, each in one call.

The bins of up to 64 features, the bytes of an example together, are a tile: uint8 (N, 64), flat;
tiles follow each other. Its features lie in octets of eight.

A call from Python takes longer than a search of few features on few examples, the more so after
passes over all weights have emptied the caches. In a race, draws, bins and searches of all stages
follow each other. The results are those of `draw_by_order`, `weigh`, `gather_octets` and `search`,
bit for bit. The cache of compiled kernels covers the files of all of them.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from boostsample.jit.compile_kernels import inner_kernel, kernel, kernel_for
from boostsample.jit.vectors import LANES, on_stack, prefetch_first, transpose_bytes
from boostsample.kernels.array_layout import (
    Bytes,
    Doubles,
    Floats,
    Ints,
    Rows,
    SearchOutput,
    aligned,
)
from boostsample.kernels.draw import OrderRoom, draw_by_order, nth_key, order_room
from boostsample.kernels.row_kernels import row_kernels
from boostsample.kernels.search import SearchRoom, search_kernel

TILE, _OCTET = 64, 8
#: A cache line that is read alone costs as much as so many in the order of memory: from about 2,500
#: of 60,000 examples on, columns are as fast as tiles.
TILE_LINE = 3
#: Examples ahead that are prefetched, in whole octets.
_AHEAD = 32


@kernel
def fill_tile(bins: Bytes, n: int, features: Ints, tile: Bytes) -> None:
    """The tile of some features, O(64 n).

    Reads bins uint8 (F * n,), features int64 (at most 64,). Writes tile uint8 (n * 64,), 0 in the
    lanes without a feature.
    """
    starts = on_stack(TILE, np.int64)
    for lane in range(TILE):
        # Lanes without a feature copy the last one, and are set to 0 below: octets stay whole.
        starts[lane] = np.int64(features[min(lane, features.size - 1)]) * n
    for first in range(0, n, TILE):  # whole cache lines of the bins
        end = min(n, first + TILE)
        whole = end - (end - first) % _OCTET
        for lane in range(0, TILE, _OCTET):
            octet = starts[lane : lane + _OCTET]
            for i in range(first, whole, _OCTET):
                transpose_bytes(bins, octet, i, tile, i * TILE + lane, TILE)
            for i in range(whole, end):
                for t in range(_OCTET):
                    tile[i * TILE + lane + t] = bins[octet[t] + i]
        for i in range(first, end if features.size < TILE else first):
            for lane in range(features.size, TILE):
                tile[i * TILE + lane] = 0


@kernel
def find_octets(
    places: Ints, ordered: Ints, slots: Ints, octets: Ints, at: Ints
) -> tuple[int, int]:
    """The octets that hold some features, in the order of their tiles, and the rows of these.

    Reads places int64 (Q,): 64 times the tile plus the lane of each feature; ordered, the same in
    ascending order. Overwrites slots int32 (8 * tiles,). Writes octets int64 (Q,), 8 times the tile
    plus the octet in it, and at int64 (Q,): row 8 s + lane of the octet in slot s. Returns how many
    octets and tiles are in use; O(Q).
    """
    n, n_tiles, last = 0, 0, np.int64(-1)
    for q in range(ordered.size):
        octet = ordered[q] // _OCTET
        if n == 0 or octet != octets[n - 1]:
            octets[n], slots[octet] = octet, n
            n += 1
            n_tiles += octet // _OCTET != last
            last = octet // _OCTET
    for q in range(places.size):
        at[q] = _OCTET * np.int64(slots[places[q] // _OCTET]) + places[q] % _OCTET
    return n, n_tiles


def gathered_stride(n_rows: int) -> int:
    """Bytes from a feature to the next one in gathered bins: an odd number of cache lines.

    At a distance of a power of two, the features of an octet would share few sets of a cache.
    """
    lines = (n_rows + TILE - 1) // TILE
    return TILE * (lines + 1 - lines % 2)


#: `gathered_stride`, for kernels.
stride_of = inner_kernel(gathered_stride)


@kernel
def gather_octets(
    tiles: Bytes, n: int, octets: Ints, examples: Ints, stride: int, out: Bytes
) -> None:
    """The bins of octets at some examples, feature-major; O(octets T).

    Reads tiles uint8 (tiles * n * 64,), octets int64 (O,) as of `find_octets`, examples int32
    (T,). Writes out uint8 (8 * O * stride,), with a stride of T or more, a multiple of 8: row 8 s +
    k is feature k of octet s; numbers from T on are arbitrary.
    """
    size, starts = examples.size, on_stack(_OCTET, np.int64)
    first, end = 0, 0
    while first < octets.size:  # the octets of one tile at a time: fewer pages at once
        tile = octets[first] // _OCTET
        while end < octets.size and octets[end] // _OCTET == tile:
            end += 1
        base = tile * n * TILE
        # Each example of a tile is one cache line, which all octets of the tile share.
        for t in range(min(_AHEAD, size)):
            prefetch_first(tiles, base + np.int64(examples[t]) * TILE)
        for at in range(0, size, _OCTET):
            for t in range(at + _AHEAD, min(at + _AHEAD + _OCTET, size)):
                prefetch_first(tiles, base + np.int64(examples[t]) * TILE)
            for t in range(_OCTET):
                starts[t] = np.int64(examples[min(at + t, size - 1)]) * TILE
            for s in range(first, end):
                lane = base + octets[s] % _OCTET * _OCTET
                transpose_bytes(tiles, starts, lane, out, _OCTET * s * stride + at, stride)
        first = end


_OCTET = 8
#: An int64 variable.
_NONE: Any = np.int64(0)


class RaceTiles(NamedTuple):
    """The tiles of a bank, as of `TileCopy`, and the bins of its features.

    Attributes
    ----------
    bins : ndarray of uint8, shape (tiles * n * 64,)
    n : int
        Examples of the bank.
    places : ndarray of int64, shape (F,)
        64 times the tile plus the lane of each feature.
    slots : ndarray of int32, shape (8 * tiles,)
        Overwritten.
    n_bins : ndarray of int16, shape (F,)
    columns : ndarray of uint8, shape (F, n)
        The bins, feature after feature.
    """

    bins: Bytes
    n: int
    places: Ints
    slots: Ints
    n_bins: Ints
    columns: Bytes


class RaceRows(NamedTuple):
    """The rows of a run: signed weights, bank columns, and the weights of the examples.

    `weight` float32 (N,) is current, or else is written; `mass` is the sum of all weights.
    """

    values: Floats
    start: int
    columns: Ints
    weight: Floats
    is_current: bool
    mass: float


class RaceLimits(NamedTuple):
    """Precision of a stage: edges this close are equal, rows a bin in float32, float32 sweeps."""

    ties: Doubles
    rows_a_bin: int
    rough: NDArray[np.bool_]


class RaceRoom(NamedTuple):
    """Work space of a race: of its draw, its largest sample, and its first features."""

    order: OrderRoom
    drawn: Ints
    whole: Doubles
    keys: Doubles
    lasts: Doubles
    stages: Ints
    examples: Ints
    factors: Doubles
    columns: NDArray[np.int32]
    values: Floats
    base: Doubles
    octets: Ints
    at: Ints
    ordered: Ints
    places: Ints
    n_bins: Ints
    bins: Bytes


def race_room(n_examples: int, stages: Sequence[tuple[int, int]], width: int) -> RaceRoom:
    """Work space for stages of Q features on T of N examples."""
    n_features, size = stages[0][0], stages[-1][1]
    return RaceRoom(
        order_room(n_examples, size),
        np.empty(size, np.int32),
        np.empty(size),
        np.empty(size),
        np.empty(len(stages)),
        np.empty(size, np.int32),
        np.empty(size, np.int32),
        np.empty(size),
        np.empty(size, np.int32),
        aligned(size * width, np.float32),
        np.empty(width),
        np.empty(n_features, np.int64),
        np.empty(n_features, np.int64),
        np.empty(n_features, np.int64),
        np.empty(n_features, np.int64),
        np.empty(n_features, np.int16),
        aligned(max(_OCTET * q * gathered_stride(t) for q, t in stages), np.uint8),
    )


@inner_kernel
def _sort(numbers: Ints) -> None:
    """Ascending, by insertion: features of one tile come in order, so that few numbers move."""
    for k in range(1, numbers.size):
        number, at = numbers[k], k
        while at > 0 and numbers[at - 1] > number:
            numbers[at] = numbers[at - 1]
            at -= 1
        numbers[at] = number


@inner_kernel
def _rank(edges: Doubles, features: Ints, best: Ints) -> None:
    """The features of largest edges, the first of equal ones first; as many as `best` takes."""
    n = 0
    for q in range(features.size):
        at = n
        while at > 0 and edges[best[at - 1]] < edges[q]:
            at -= 1
        if at < best.size:
            for k in range(min(n, best.size - 1), at, -1):
                best[k] = best[k - 1]
            best[at] = q
            n = min(n + 1, best.size)
    for k in range(n):
        best[k] = features[best[k]]


@inner_kernel
def _nest(most: int, sizes: Ints, room: RaceRoom) -> None:
    """Write the first stage of each example drawn, and the key after those of each stage.

    From the last stage on: each one is looked for in the examples of the next one.
    """
    keys, drawn, n = room.keys, room.columns, _NONE + most
    for t in range(most):
        keys[t], drawn[t] = room.order.keys[t], t
    # `draw_by_order` leaves the next key after those of the sample: tau of the largest stage.
    last = room.order.keys[most]
    for s in range(sizes.size - 1, -1, -1):
        size = sizes[s]
        if size < n:
            last = nth_key(keys, room.order.held, n, size, last)
            ties, before = _NONE + size, n
            for k in range(before):
                ties -= keys[k] < last
            n = _NONE
            for k in range(before):
                key, tied = keys[k], np.int64(keys[k] == last) * np.int64(ties > 0)
                keys[n], drawn[n] = key, drawn[k]
                ties -= tied
                n += np.int64(key < last) + tied
        room.lasts[s] = last
        for k in range(n):
            room.stages[np.int64(drawn[k])] = s


@inner_kernel
def _join(again: Ints, best: Ints, room: Ints) -> None:
    """Put those of `again` that are not among the best in the last places, up to half of all."""
    n = _NONE
    for feature in again:
        known: Any = n == best.size // 2
        for q in range(best.size):
            known |= best[q] == feature
        if not known:
            room[n] = feature
            n += 1
    for k in range(n):
        best[best.size - n + k] = room[k]


@functools.cache
def race_kernel(blocks: int, tail: int, classes: bool = False) -> Any:
    """`race` for rows of `blocks` full vectors and a tail; `classes` as of `search_kernel`."""
    width = LANES * blocks + tail
    rows_of = row_kernels(blocks, tail)
    totals, weigh, search = rows_of.totals, rows_of.weigh, search_kernel(blocks, tail, classes)

    @kernel_for(blocks, tail, classes)
    def race(
        rows: RaceRows,
        sizes: Ints,
        counts: Ints,
        again: Ints,
        join: int,
        seed: int,
        tiles: RaceTiles,
        limits: RaceLimits,
        room: RaceRoom,
        search_room: SearchRoom,
        features: Ints,
        stumps: SearchOutput,
    ) -> None:
        """Search counts[s] features on sizes[s] examples; the best go on to the next stage.

        Reads sizes and counts int64 (S,): ascending, the largest size that of the room, below N;
        descending. Reads and writes features int64 (sum of the counts,): those of the first stage
        are given, those of the others follow, of largest edges first. Features of `again` take up
        to half of the places of stage `join`, the last ones. Writes `stumps` likewise.
        O(N P / 8 + N) for the draw, and what the searches take.
        """
        if not rows.is_current:
            totals(rows.values, rows.weight)
        most = draw_by_order(rows.weight, room.drawn.size, seed, room.order, room.drawn, room.whole)
        _nest(most, sizes, room)
        first = 0
        for s in range(sizes.size):
            size, end = sizes[s], first + counts[s]
            searched = features[first:end]
            used: Any = most
            if size < most:
                used = _NONE
                for t in range(most):
                    # Written for each example, and again for one that a later stage adds: no
                    # branch.
                    room.examples[used] = room.drawn[t]
                    used += room.stages[t] <= s
                for t in range(used):
                    weight = np.float64(rows.weight[np.int64(room.examples[t])])
                    room.factors[t] = max(1.0, 1.0 / (room.lasts[s] * weight)) / rows.mass
            else:
                for t in range(most):
                    room.examples[t] = room.drawn[t]
                    room.factors[t] = room.whole[t] / rows.mass
            examples, factors = room.examples[:used], room.factors[:used]
            values, columns = room.values[: used * width], room.columns[:used]
            weigh(rows.values, examples, factors, values, room.base)
            for t in range(used):
                i = np.int64(examples[t])
                columns[t] = rows.columns[i] if rows.columns.size else rows.start + i
            places, ordered = room.places[: searched.size], room.ordered[: searched.size]
            at, n_bins = room.at[: searched.size], room.n_bins[: searched.size]
            for q in range(searched.size):
                places[q] = ordered[q] = tiles.places[searched[q]]
                n_bins[q] = tiles.n_bins[searched[q]]
            _sort(ordered)
            n_octets, n_tiles = find_octets(places, ordered, tiles.slots, room.octets, at)
            # Cache lines of the columns that `used` rows at random touch, against those of tiles.
            lines = tiles.n / TILE
            read = searched.size * lines * (1.0 - math.exp(-used / lines))
            bins, at_columns = tiles.columns, columns
            if TILE_LINE * n_tiles * used < read:
                octets, stride = room.octets[:n_octets], stride_of(used)
                gather_octets(tiles.bins, tiles.n, octets, columns, stride, room.bins)
                n_rows = _OCTET * n_octets
                bins = room.bins[: n_rows * stride].reshape((n_rows, stride))
                at_columns = columns[:0]
            else:
                for q in range(searched.size):
                    at[q] = searched[q]
            of_stage = SearchOutput(
                stumps.thresholds[first:end],
                stumps.votes[first:end],
                stumps.edges[first:end],
                stumps.divides[first:end],
                stumps.below[first:end],
            )
            sampled = Rows(_NONE, at_columns, values, room.base, 1.0)
            search(
                bins,
                at,
                n_bins,
                sampled,
                limits.ties[s],
                limits.rows_a_bin,
                limits.rough[s],
                search_room,
                of_stage,
            )
            if s + 1 < sizes.size:
                following = features[end : end + counts[s + 1]]
                _rank(of_stage.edges, searched, following)
                if s + 1 == join and again.size:
                    _join(again, following, room.places)
            first = end

    return race
