"""The second copy of a bank, in tiles, which makes searches of few examples fast.

It holds the same bins as the bank, 64 bytes for each example and tile of features (see
`boostsample.records.feature_tiles`). Results do not depend on it.
"""

from __future__ import annotations

import os
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from boostsample.kernels.array_layout import Bytes, aligned
from boostsample.kernels.tiles import fill_tile, find_octets, gather_octets
from boostsample.records.feature_tiles import TILE, FeatureTiles

__all__ = ["TileCopy", "fill_one_tile", "fits_tiles", "tile_copy_bytes"]

#: With fewer examples, a search of few of them reads most cache lines of a column anyway.
_FEWEST_EXAMPLES = 16_384
_OCTET = 8
#: A cache line that is read alone costs as much as so many in the order of memory.
_ALONE = 3
#: Bins of a search, in bytes, that are gathered at most.
_MOST_GATHERED = 2**21


def tile_copy_bytes(tiles: FeatureTiles | None, n_examples: int) -> int:
    """Size of the copy; 0 if the features have no tiles or the examples are too few."""
    if tiles is None or n_examples < _FEWEST_EXAMPLES:
        return 0
    return (tiles.ends.size - 1) * n_examples * TILE


def fits_tiles(n_bytes: int, most: int | None) -> bool:
    """Whether a copy of this size is made: at most `most` bytes, or half of the free memory."""
    return 0 < n_bytes <= (_free_memory() // 2 if most is None else most)


def _free_memory() -> int:
    """Bytes of memory that programs can still take; 0 if the system does not say."""
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return 1024 * int(line.split()[1])
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError):
        return 0


def fill_one_tile(
    bins: NDArray[np.uint8], tiles: FeatureTiles, number: int, tile: NDArray[np.uint8]
) -> None:
    """Write a tile, uint8 (N * 64,), of bins uint8 (F, N)."""
    features = tiles.order[tiles.ends[number] : tiles.ends[number + 1]]
    fill_tile(bins.reshape(-1), bins.shape[1], features, tile)


class TileCopy:
    """The copy, and room for the bins that it gathers: for one user in one thread.

    Parameters
    ----------
    bins : ndarray of uint8, shape (tiles * N * 64,)
        Of `fill_one_tile`, one after another.
    tiles : FeatureTiles
    """

    def __init__(self, bins: Bytes, tiles: FeatureTiles) -> None:
        self.bins = bins
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
            deque(pool.map(fill, range(n_tiles)), 0)
        return cls(copy, tiles)

    def user(self) -> TileCopy:
        """The copy for another user."""
        other = object.__new__(TileCopy)
        other.__dict__ = {**self.__dict__, "_room": np.empty(0, np.uint8)}
        other._slots = self._slots.copy()
        return other

    def compile(self) -> None:
        """Compile the kernels of `gather`, by the bins of one feature of one example."""
        place, octets, at = np.zeros(1, np.int64), np.empty(1, np.int64), np.empty(1, np.int64)
        find_octets(place, place, self._slots, octets, at)
        gather_octets(self.bins, self._n, octets, np.zeros(1, np.int32), np.empty(64, np.uint8))

    def gather(
        self, features: NDArray[np.int64], rows: NDArray[np.int32]
    ) -> tuple[NDArray[np.uint8], NDArray[np.int64]] | None:
        """Bins uint8 (any, T or more) of some features at some rows, and the row of each feature.

        Valid until the next call. None if it is cheaper to read the columns.
        """
        n_rows = rows.size
        lines = self._n / TILE
        read = features.size * lines * -np.expm1(-n_rows / lines)
        if _ALONE * n_rows >= read:
            return None
        places = self._places[features]
        octets, at = np.empty(places.size, np.int64), np.empty(places.size, np.int64)
        n_octets, n_tiles = find_octets(places, np.sort(places), self._slots, octets, at)
        stride = -(-n_rows // _OCTET) * _OCTET
        size = _OCTET * n_octets * stride
        if _ALONE * n_tiles * n_rows >= read or size > _MOST_GATHERED:
            return None
        if self._room.size < size:
            self._room = np.empty(max(size, 2 * self._room.size), np.uint8)
        bins = self._room[:size]
        gather_octets(self.bins, self._n, octets[:n_octets], rows, bins)
        return bins.reshape(-1, stride), at
