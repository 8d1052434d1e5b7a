"""Feature banks in memory-mapped files: they may be larger than memory and open at once.

A bank is a folder of NumPy files and a header:

- ``bins.npy`` uint8 (F, N), feature-major;
- ``cuts.npy`` float32 (F, 254), padded with +inf;
- ``n_bins.npy`` int16 (F,);
- ``checksums.npy`` uint32 (F, 2): the CRC-32 of each row of the bins and of the cuts;
- ``tiles.npy`` uint8 (tiles, 64 N), if there is a second copy of the bins: see
  `boostsample.banks.tile_layout`;
- ``tile_checksums.npy`` uint32 (tiles,): the CRC-32 of each row of that;
- ``header.json``: what the bank holds, the sizes of the files, SHA-256 of the small ones and of the
  header itself, and the version of this format.

Opening a bank checks the header, the sizes of all files and the content of the small ones. Tiles,
and the bins and cuts of features, are checked before their first use, so that opening does not read
the whole bank. The checksums detect accidents, not forgery. Damage after that check goes unnoticed;
a file that is truncated while it is mapped ends the process.

Cost: a CRC of N bytes at the first use of a feature, 15 us for N = 60,000 (measured), and of 64 N
bytes at the first use of a tile; then at most one comparison per feature. Mapped pages belong to
the system's file cache, not to the memory of the process, and are dropped when memory is short.
"""

from __future__ import annotations

import io
import logging
import os
import shutil
import zlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from boostsample.banks.bank import FeatureBank, check_bank_families
from boostsample.banks.bank_checksums import (
    DamagedBank,
    feature_checksums,
    read_bank_header,
    write_bank_header,
)
from boostsample.banks.binning import bin_bank_block, block_order, run_bank_blocks
from boostsample.banks.tile_layout import TileCopy, fill_one_tile, tile_copy_bytes, tiles_within
from boostsample.errors import DataError
from boostsample.family import Family
from boostsample.hashing import sha256_of_arrays, sha256_of_bytes
from boostsample.kernels.cuts import MAX_CUTS
from boostsample.records.feature_tiles import TILE
from boostsample.threads.threads import n_threads

FORMAT = 1
"""Version of the files' format; versions of the package without tiles ignore these files."""

_LOG = logging.getLogger(__name__)
BINS_FILE, CUTS_FILE, _N_BINS, _SUMS = "bins.npy", "cuts.npy", "n_bins.npy", "checksums.npy"
_TILES, _TILE_SUMS = "tiles.npy", "tile_checksums.npy"
_MOST_BLOCK = 2**26
"""Largest block of float32 values, in bytes."""
_MOST_TURNED = 2**28
"""Largest X, in bytes, that is copied into the order that families read fastest."""


class _TileFiles(NamedTuple):
    """The second copy of the bins, a mapped file, and the checksum of the order of its features."""

    bins: NDArray[np.uint8]
    sums: NDArray[np.uint32]
    order: str

    def damage(self, tile: int) -> str:
        """Whether a tile is damaged, as a phrase; empty if it is not."""
        intact = zlib.crc32(self.bins[tile].data) == self.sums[tile]
        return "" if intact else f"{_TILES} is damaged at tile {tile}"


class _BankFiles(NamedTuple):
    """The arrays of a bank; the first two are mapped files."""

    bins: NDArray[np.uint8]
    cuts: NDArray[np.float32]
    n_bins: NDArray[np.int16]
    sums: NDArray[np.uint32]
    tiles: _TileFiles | None

    def damage(self, feature: int) -> str:
        """Which file is damaged at a feature, as a phrase; empty if none is."""
        found = feature_checksums(self.bins[feature], self.cuts[feature])
        for name, a, b in zip((BINS_FILE, CUTS_FILE), found, self.sums[feature], strict=True):
            if a != b:
                return f"{name} is damaged at feature {feature}"
        return ""


class _FirstUse:
    """Compares parts of a file with their checksums before their first use."""

    def __init__(self, folder: Path, n_parts: int, damage: Callable[[int], str]) -> None:
        self._name = folder.name[:12]
        self._damage = damage
        self._checked = np.zeros(n_parts, np.bool_)

    def check(self, parts: NDArray[np.int64]) -> None:
        """Raise DataError if one of these parts is damaged, unless it was checked before."""
        fresh = parts[~self._checked[parts]]
        for part in np.unique(fresh).tolist() if fresh.size else ():
            damage = self._damage(part)
            if damage:
                raise DataError(
                    f"feature bank {self._name}: {damage}; remove it by 'boostsample cache clear "
                    f"{self._name}' and run again to rebuild it"
                )
        self._checked[fresh] = True


class DiskBank(FeatureBank):
    """A feature bank in the files of `write_bank`: the same bits as the bank in memory.

    Several threads and processes may read one bank. Takes the folder, the families that the bank
    was built from, and N. A second copy of the bins is used if it exists, unless it takes more than
    `tile_bytes`, by default half of the free memory.

    Raises
    ------
    DamagedBank
        On opening: a file is missing, damaged, or of another size, format or shape.
    DataError
        On reading a tile, or a feature whose bins or cuts are damaged.
    """

    def __init__(
        self,
        folder: Path,
        families: Sequence[Family],
        n_examples: int,
        tile_bytes: int | None = None,
    ) -> None:
        files = _open(folder)
        shape = int(check_bank_families(families)[-1]), n_examples
        if files.bins.shape != shape:
            raise DamagedBank(f"it holds {files.bins.shape} bins, not {shape}")
        super().__init__(families, files.bins, files.cuts, files.n_bins)
        self.folder = folder
        self._sums = files.sums
        self._features = _FirstUse(folder, self.n_features, files.damage)
        tiles = tiles_within(families, n_examples, tile_bytes)
        copy = files.tiles
        if copy and tiles and copy.order == sha256_of_arrays(*tiles):
            check = _FirstUse(folder, copy.sums.size, copy.damage).check
            self._tiles = TileCopy(copy.bins.reshape(-1), tiles, check)

    @property
    def nbytes(self) -> int:
        """Bytes of memory in use, without the pages of mapped files."""
        second = 0 if self._tiles is None else self._tiles.room_bytes
        return self.n_bins.nbytes + self.first.nbytes + self._sums.nbytes + self.n_features + second

    def _checksums(self) -> NDArray[np.uint32]:
        return self._sums

    def _check_once(self, features: NDArray[np.int64]) -> None:
        self._features.check(features)


def _open(folder: Path) -> _BankFiles:
    """Check header and small files, map the large ones; errors as in `check_bank_files`."""
    header = read_bank_header(folder)
    if header["format"] != FORMAT:
        raise DamagedBank(f"the disk bank has format {header['format']}, not {FORMAT}")
    n_features, n = header["n_features"], header["n_examples"]
    small = {}
    for name, facts in header["files"].items():
        try:
            size = (folder / name).stat().st_size
            content = (folder / name).read_bytes() if "sha256" in facts else b""
        except OSError as error:
            raise DamagedBank(
                f"the disk bank's {name} cannot be read: {error.strerror or error}"
            ) from error
        if size != facts["bytes"]:
            raise DamagedBank(f"{name} has {size:,} bytes, not the disk bank's {facts['bytes']:,}")
        if "sha256" in facts:
            if sha256_of_bytes(content) != facts["sha256"]:
                raise DamagedBank(f"{name} is damaged")
            small[name] = np.load(io.BytesIO(content))
    tiles = None
    if _TILES in header["files"]:
        sums, order = small[_TILE_SUMS], header["files"][_TILES]["order"]
        shape = sums.size, TILE * n
        tiles = _TileFiles(np.asarray(_Mapped(folder / _TILES, shape, np.uint8)), sums, order)
    return _BankFiles(
        np.asarray(_Mapped(folder / BINS_FILE, (n_features, n), np.uint8)),
        np.asarray(_Mapped(folder / CUTS_FILE, (n_features, MAX_CUTS), np.float32)),
        small[_N_BINS],
        small[_SUMS],
        tiles,
    )


class _Mapped:
    """A memory-mapped `.npy` file, for `np.asarray`.

    The map is shared and read-only, so that it does not count as the memory of the process (a
    private writable one counts for RLIMIT_DATA). The array is nevertheless flagged as writable,
    because numba compiles kernels again for read-only arrays. Writing to it ends the process.
    """

    def __init__(self, path: Path, shape: tuple[int, int], dtype: DTypeLike) -> None:
        header = npy_header(shape, dtype)
        try:
            with path.open("rb") as stream:
                found = stream.read(len(header))
            self._map = np.memmap(path, dtype, "r", len(header), shape)
        except (OSError, ValueError) as error:
            raise DamagedBank(f"the disk bank's {path.name} cannot be read: {error}") from error
        if found != header:
            raise DamagedBank(f"{path.name} does not hold {np.dtype(dtype)} of shape {shape}")
        data = self._map.ctypes.data, False  # the flag means: not read-only
        self.__array_interface__ = {**self._map.__array_interface__, "data": data}


def npy_header(shape: tuple[int, int], dtype: DTypeLike) -> bytes:
    """The header of a `.npy` file of an array in C order."""
    stream = io.BytesIO()
    facts = {"descr": np.dtype(dtype).str, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(stream, facts)
    return stream.getvalue()


def disk_bank_bytes(n_features: int, n: int) -> int:
    """Bytes of a bank on disk, without a copy in tiles and about 10 KiB of headers."""
    return n_features * (n + 4 * MAX_CUTS + 2 + 8)


def write_bank(
    folder: Path,
    families: Sequence[Family],
    X: Any,
    rows: NDArray[np.int64],
    facts: Mapping[str, Any],
    *,
    progress: Callable[[int, int], None] | None = None,
    n_jobs: int = 1,
    tile_bytes: int | None = None,
) -> None:
    """Build a bank block by block into files, and flush them to disk.

    Memory: up to 64 MiB of values and 48 MiB of finished bins for each thread, and a copy of X if
    that takes at most an eighth of the bank and 256 MiB; then a tile of 64 N bytes. A second copy
    of the bins, in tiles, is written if it takes at most `tile_bytes`, by default half of the free
    memory and of the free disk; if the disk is full, a warning is logged and the bank has none.

    `folder` is empty; the caller renames it afterwards, or removes it after an OSError. `rows` are
    the reference rows, `facts` further entries of the header, including `key`; the others are as in
    `FeatureBank.build`.
    """
    first = check_bank_families(families)
    n_features, n = int(first[-1]), X.shape[0]
    threads = n_threads(n_jobs)
    X = block_order(X, min(n_features * n // 8, _MOST_TURNED))
    n_bins = np.empty(n_features, np.int16)
    sums = np.empty((n_features, 2), np.uint32)

    def work(
        number: int, start: int, stop: int
    ) -> tuple[int, NDArray[np.uint8], NDArray[np.float32]]:
        local = np.arange(start, stop, dtype=np.int64)
        block = slice(int(first[number]) + start, int(first[number]) + stop)
        bins = np.empty((stop - start, n), np.uint8)
        cuts, n_bins[block] = bin_bank_block(families[number], X, local, rows, bins)
        sums[block] = [feature_checksums(b, c) for b, c in zip(bins, cuts, strict=True)]
        return block.stop, bins, cuts

    files = {}
    with (
        (folder / BINS_FILE).open("xb") as bins_file,
        (folder / CUTS_FILE).open("xb") as cuts_file,
        closing(run_bank_blocks(work, families, n, threads, _MOST_BLOCK)) as finished,
    ):
        bins_file.write(npy_header((n_features, n), np.uint8))
        cuts_file.write(npy_header((n_features, MAX_CUTS), np.float32))
        for stop, bins, cuts in finished:
            bins_file.write(bins.data)
            cuts_file.write(cuts.data)
            if progress is not None:
                progress(stop, n_features)
        files[BINS_FILE], files[CUTS_FILE] = flushed(bins_file), flushed(cuts_file)
    complete_bank(folder, families, n, files, n_bins, sums, facts, tile_bytes)


def complete_bank(
    folder: Path,
    families: Sequence[Family],
    n: int,
    files: dict[str, Any],
    n_bins: NDArray[np.int16],
    sums: NDArray[np.uint32],
    facts: Mapping[str, Any],
    tile_bytes: int | None,
) -> None:
    """Write all of a bank but its bins and cuts, whose entries in the header are `files`.

    `n_bins` (F,) and `sums` (F, 2) are the arrays of the files of these names, the others as in
    `write_bank`.
    """
    for name, array in ((_N_BINS, n_bins), (_SUMS, sums)):
        files[name] = _write_small(folder / name, array)
    files |= _write_tiles(folder, families, n, tile_bytes)
    shape = {"n_features": n_bins.size, "n_examples": n}
    write_bank_header(folder, {"format": FORMAT, **facts, **shape, "files": files})


def _write_tiles(
    folder: Path, families: Sequence[Family], n: int, tile_bytes: int | None
) -> dict[str, Any]:
    """Write the bins once more in tiles, if there is room; the files' entries in the header."""
    tiles = tiles_within(families, n, tile_bytes)
    if tiles is None:
        return {}
    if tile_bytes is None and tile_copy_bytes(tiles, n) > shutil.disk_usage(folder).free // 2:
        return {}
    bins = np.asarray(_Mapped(folder / BINS_FILE, (tiles.order.size, n), np.uint8))
    sums = np.empty(tiles.ends.size - 1, np.uint32)
    try:
        tile = np.empty(TILE * n, np.uint8)
        with (folder / _TILES).open("xb") as stream:
            stream.write(npy_header((sums.size, tile.size), np.uint8))
            for number in range(sums.size):
                fill_one_tile(bins, tiles, number, tile)
                sums[number] = zlib.crc32(tile.data)
                stream.write(tile.data)
            facts = {**flushed(stream), "order": sha256_of_arrays(*tiles)}
        return {_TILES: facts, _TILE_SUMS: _write_small(folder / _TILE_SUMS, sums)}
    except (OSError, MemoryError) as error:
        _LOG.warning("a feature bank is kept without tiles, so searches are slower: %s", error)
        for name in (_TILES, _TILE_SUMS):
            (folder / name).unlink(missing_ok=True)
        return {}


def _write_small(path: Path, array: NDArray[Any]) -> dict[str, Any]:
    """Write an array and flush it to disk; its entry in the header, with a checksum."""
    content = io.BytesIO()
    np.save(content, array)
    with path.open("xb") as stream:
        stream.write(content.getvalue())
        return {**flushed(stream), "sha256": sha256_of_bytes(content.getvalue())}


def flushed(stream: BinaryIO) -> dict[str, Any]:
    """Flush a file to disk; its entry in the header."""
    stream.flush()
    os.fsync(stream.fileno())
    return {"bytes": stream.tell()}


def check_disk_bank(folder: Path, *, all_features: bool = False) -> None:
    """Raise DamagedBank as opening a bank does; with `all_features`, check every byte."""
    files = _open(folder)
    if all_features:
        wrong = [what for what in map(files.damage, range(len(files.bins))) if what]
        if files.tiles is not None:
            wrong += filter(None, map(files.tiles.damage, range(len(files.tiles.bins))))
        if wrong:
            more = f" and {len(wrong) - 1:,} more" if len(wrong) > 1 else ""
            raise DamagedBank(wrong[0] + more)
