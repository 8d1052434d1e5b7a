"""Tiles of a bank: the bins of up to 64 features, the bytes of an example together.

A tile is uint8 (N, 64), flat; tiles follow each other. Its features lie in octets of eight.
"""

from __future__ import annotations

import numpy as np

from boostsample.jit.compile_kernels import inner_kernel, kernel
from boostsample.jit.vectors import on_stack, prefetch_first, transpose_bytes
from boostsample.kernels.array_layout import Bytes, Ints

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
