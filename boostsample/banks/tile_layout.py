"""The second copy of a bank, in tiles, which makes searches of few examples fast.

It holds the same bins as the bank, 64 bytes for each example and tile of features (see
`boostsample.records.feature_tiles`). Results do not depend on it.
"""

from __future__ import annotations

import copy
import os
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostsample.checks import check_integer
from boostsample.family import Family
from boostsample.jit.compile_kernels import COMPILED
from boostsample.kernels.array_layout import Bytes, aligned
from boostsample.kernels.tiles import (
    TILE_LINE,
    RaceTiles,
    fill_tile,
    find_octets,
    gather_octets,
    gathered_stride,
)
from boostsample.records.feature_tiles import TILE, FeatureTiles, feature_tiles

#: With fewer examples, a search of few of them reads most cache lines of a column anyway.
_FEWEST_EXAMPLES = 16_384
_OCTET = 8
#: Bins of a search, in bytes, that are gathered at most.
_MOST_GATHERED = 2**21
_PROC, _GROUPS = Path("/proc"), Path("/sys/fs/cgroup")
#: Files with the limit of memory of a container, and the entry of what is not cache (cgroup 2, 1).
_LIMITS = (
    ("memory.max", "memory.stat", "anon"),
    ("memory/memory.limit_in_bytes", "memory/memory.stat", "total_rss"),
)


def check_tile_bytes(value: int | None) -> None:
    """Raise SettingError unless `value` is None or a whole number of 0 or more."""
    if value is not None:
        check_integer("tile_bytes", value, 0, hint="0 is for no second copy of the bins")


def tile_copy_bytes(tiles: FeatureTiles, n_examples: int) -> int:
    """Size of the copy: that of the bins, rounded up to whole tiles."""
    return (tiles.ends.size - 1) * n_examples * TILE


def tiles_within(
    families: Sequence[Family], n_examples: int, most: int | None
) -> FeatureTiles | None:
    """The tiles of some families, if their copy takes at most `most` bytes.

    None stands for half of the free memory. Returns None if the copy is larger, or if there are too
    few features or examples.
    """
    tiles = feature_tiles(tuple(family.n_features for family in families))
    if tiles is None or n_examples < _FEWEST_EXAMPLES:
        return None
    most = free_memory() // 2 if most is None else most
    return tiles if tile_copy_bytes(tiles, n_examples) <= most else None


def free_memory() -> int:
    """Bytes of memory that this program can still take; 0 if the system does not say."""
    try:
        free = 1024 * _entry(_PROC / "meminfo", "MemAvailable:")
    except (OSError, ValueError):
        try:
            free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        except (OSError, ValueError, AttributeError):
            return 0
    for limit, used, name in _LIMITS:
        with suppress(OSError, ValueError):  # no such file, or no limit
            free = min(free, int((_GROUPS / limit).read_text()) - _entry(_GROUPS / used, name))
    return max(free, 0)


def _entry(path: Path, name: str) -> int:
    """The number after a name in a file of the system; ValueError if it is missing."""
    for line in path.read_text().splitlines():
        if line.split()[0] == name:
            return int(line.split()[1])
    raise ValueError(f"{path} has no entry {name}")


def fill_one_tile(
    bins: NDArray[np.uint8], tiles: FeatureTiles, number: int, tile: NDArray[np.uint8]
) -> None:
    """Write a tile, uint8 (N * 64,), of bins uint8 (F, N)."""
    # A writable copy: numba would compile the kernel again for a read-only array.
    features = tiles.order[tiles.ends[number] : tiles.ends[number + 1]].copy()
    fill_tile(bins.reshape(-1), bins.shape[1], features, tile)


@cache
def _compile() -> None:
    """Compile what `TileCopy.gather` calls, on one example of one feature."""
    place, octet, at = np.zeros((3, 1), np.int64)
    find_octets(place, place, np.empty(_OCTET, np.int32), octet, at)
    tile, example = np.zeros(TILE, np.uint8), np.zeros(1, np.int32)
    gather_octets(tile, 1, octet, example, _OCTET, np.empty(TILE, np.uint8))


class TileCopy:
    """The copy, and room for the bins that it gathers: for one user in one thread.

    `bins` is uint8 (tiles * N * 64,), tile by tile. `check` is called with the numbers of tiles
    before they are read; repeats are possible.
    """

    def __init__(
        self,
        bins: Bytes,
        tiles: FeatureTiles,
        check: Callable[[NDArray[np.int64]], None] | None = None,
    ) -> None:
        self.bins = bins
        self._check = check
        n_tiles = tiles.ends.size - 1
        self._n = bins.size // (n_tiles * TILE)
        sizes = np.diff(tiles.ends)
        self._places = np.empty(tiles.order.size, np.int64)
        lanes = np.arange(tiles.order.size) - np.repeat(tiles.ends[:-1], sizes)
        self._places[tiles.order] = TILE * np.repeat(np.arange(n_tiles), sizes) + lanes
        self._slots = np.empty(_OCTET * n_tiles, np.int32)
        self._room = np.empty(0, np.uint8)

    @classmethod
    def make(cls, bins: NDArray[np.uint8], tiles: FeatureTiles, threads: int) -> TileCopy | None:
        """The copy of bins uint8 (F, N); None if there is not enough memory after all."""
        n_tiles, size = tiles.ends.size - 1, bins.shape[1] * TILE
        try:
            copy = aligned(n_tiles * size, np.uint8)
        except MemoryError:
            return None

        def fill(k: int) -> None:
            fill_one_tile(bins, tiles, k, copy[k * size : (k + 1) * size])

        with ThreadPoolExecutor(threads) as pool:
            # Takes the results, so that errors of threads are raised.
            deque(pool.map(fill, range(n_tiles)), 0)
        return cls(copy, tiles)

    def user(self) -> TileCopy:
        """The copy for another user."""
        other = copy.copy(self)
        other._slots, other._room = self._slots.copy(), np.empty(0, np.uint8)
        return other

    @property
    def room_bytes(self) -> int:
        """Bytes of memory besides the bins."""
        return self._places.nbytes + self._slots.nbytes + self._room.nbytes

    def for_race(self, n_bins: NDArray[np.int16], columns: Bytes) -> RaceTiles | None:
        """The arrays of a copy in memory; None of a mapped one, which each search checks."""
        if self._check is not None:
            return None
        return RaceTiles(self.bins, self._n, self._places, self._slots, n_bins, columns)

    def compile(self) -> None:
        """Compile the kernels of `gather`."""
        if COMPILED:
            _compile()

    def gather(
        self, features: NDArray[np.int64], rows: NDArray[np.integer[Any]]
    ) -> tuple[NDArray[np.uint8], NDArray[np.int64]] | None:
        """Bins uint8 (any, T or more) of some features at some rows, and the row of each feature.

        Valid until the next call. None if it is cheaper to read the columns.
        """
        n_rows = rows.size
        # Cache lines that rows at random touch in the columns: each is missed by all of them with
        # the probability exp(-n_rows / lines). The race kernel decides by the same numbers.
        lines = self._n / TILE
        read = features.size * lines * -np.expm1(-n_rows / lines)
        if TILE_LINE * n_rows >= read:
            return None
        places = self._places[features]
        octets, at = np.empty(places.size, np.int64), np.empty(places.size, np.int64)
        n_octets, n_tiles = find_octets(places, np.sort(places), self._slots, octets, at)
        stride = gathered_stride(n_rows)
        size = _OCTET * n_octets * stride
        if TILE_LINE * n_tiles * n_rows >= read or size > _MOST_GATHERED:
            return None
        if self._room.size < size:
            # Doubled, so that growing searches allocate a few times only.
            self._room = aligned(max(size, 2 * self._room.size), np.uint8)
        bins = self._room[:size]
        octets = octets[:n_octets]
        if self._check is not None:
            self._check(octets // _OCTET)
        few = np.ascontiguousarray(rows, np.int32)
        gather_octets(self.bins, self._n, octets, few, stride, bins)
        return bins.reshape(-1, stride), at
