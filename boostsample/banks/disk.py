"""Feature banks in memory-mapped files: they may be larger than memory and open at once.

A bank is a folder of NumPy files: ``bins.npy`` uint8 (F, N), feature-major; ``cuts.npy`` float32
(F, 254), padded with +inf; ``n_bins.npy`` int16 (F,); ``checksums.npy`` uint32 (F, 2), the CRC-32
of each row of the bins and of the cuts; maybe ``tiles.npy`` uint8 (tiles, 64 N), a second copy of
the bins (`boostsample.banks.tile_layout`), and ``tile_checksums.npy`` uint32 (tiles,).
``header.json`` has the sizes of the files and SHA-256 of the small ones.

Opening a bank checks the header, all sizes and the small files; tiles, and the bins and cuts of a
feature, are checked before their first use: 15 us for N = 60,000 (measured), later one comparison.
The checksums detect accidents, not forgery. Damage after that check goes unnoticed; a file that is
truncated while it is mapped ends the process.
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

from boostsample.banks.bank import FeatureBank, check_bank_families, feature_checksums
from boostsample.banks.binning import binned_blocks, block_order
from boostsample.banks.cache_folder import DamagedBank, read_bank_header, write_bank_header
from boostsample.banks.tile_layout import TileCopy, fill_one_tile, tile_copy_bytes, tiles_within
from boostsample.errors import DataError
from boostsample.family import Family
from boostsample.hashing import sha256_of_arrays, sha256_of_bytes
from boostsample.kernels.cuts import MAX_CUTS
from boostsample.records.feature_tiles import TILE

FORMAT = 1
"""Version of the files' format; versions of the package without tiles ignore these files."""

_LOG = logging.getLogger(__name__)
BINS_FILE, CUTS_FILE, _N_BINS, _SUMS = "bins.npy", "cuts.npy", "n_bins.npy", "checksums.npy"
_TILES, _TILE_SUMS = "tiles.npy", "tile_checksums.npy"
_MOST_BLOCK = 2**26
"""Largest block of float32 values, in bytes."""
_MOST_TURNED = 2**28
"""Largest X, in bytes, that is copied into the order that families read fastest."""


class _BankFiles(NamedTuple):
    """The arrays of a bank; bins, cuts and tiles are mapped files.

    `order` is the checksum of the order of the features in tiles; a bank may have no tiles.
    """

    bins: NDArray[np.uint8]
    cuts: NDArray[np.float32]
    n_bins: NDArray[np.int16]
    sums: NDArray[np.uint32]
    tiles: NDArray[np.uint8] | None
    tile_sums: NDArray[np.uint32]
    order: str

    def feature_damage(self, feature: int) -> str:
        """Which file is damaged at a feature, as a phrase; empty if none is."""
        part = slice(feature, feature + 1)
        same = feature_checksums(self.bins[part], self.cuts[part])[0] == self.sums[feature]
        if same.all():
            return ""
        return f"{CUTS_FILE if same[0] else BINS_FILE} is damaged at feature {feature}"

    def tile_damage(self, tile: int) -> str:
        """Whether a tile is damaged, as a phrase; empty if it is not."""
        assert self.tiles is not None
        intact = zlib.crc32(self.tiles[tile].data) == self.tile_sums[tile]
        return "" if intact else f"{_TILES} is damaged at tile {tile}"


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

    Several threads and processes may read one bank. Tiles are used unless they take more than
    `tile_bytes`, by default half of the free memory. DamagedBank on opening if a file is missing,
    damaged, or of another size, format or shape; DataError on reading a damaged feature or tile.
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
        self._features = _FirstUse(folder, self.n_features, files.feature_damage)
        tiles = tiles_within(families, n_examples, tile_bytes)
        if tiles and files.tiles is not None and files.order == sha256_of_arrays(*tiles):
            check = _FirstUse(folder, files.tile_sums.size, files.tile_damage).check
            self._tiles = TileCopy(files.tiles.reshape(-1), tiles, check)

    @property
    def nbytes(self) -> int:
        """Bytes of memory in use, without the pages of mapped files."""
        second = 0 if self._tiles is None else self._tiles.room_bytes
        return self.n_bins.nbytes + self.first.nbytes + self._sums.nbytes + self.n_features + second

    def _checksums(self) -> NDArray[np.uint32]:
        return self._sums

    def _check_once(self, features: NDArray[np.int64] | Sequence[int]) -> None:
        self._features.check(np.asarray(features))


def _open(folder: Path) -> _BankFiles:
    """Check header and small files, map the large ones; DamagedBank if something is wrong."""
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
    tile_sums = small.get(_TILE_SUMS, np.empty(0, np.uint32))
    if _TILES in header["files"]:
        tiles = np.asarray(_Mapped(folder / _TILES, (tile_sums.size, TILE * n), np.uint8))
    return _BankFiles(
        np.asarray(_Mapped(folder / BINS_FILE, (n_features, n), np.uint8)),
        np.asarray(_Mapped(folder / CUTS_FILE, (n_features, MAX_CUTS), np.float32)),
        small[_N_BINS],
        small[_SUMS],
        tiles,
        tile_sums,
        header["files"].get(_TILES, {}).get("order", ""),
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
                first_bytes = stream.read(len(header))
            self._map = np.memmap(path, dtype, "r", len(header), shape)
        except (OSError, ValueError) as error:
            raise DamagedBank(f"the disk bank's {path.name} cannot be read: {error}") from error
        if first_bytes != header:
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
    """Build a bank block by block into files of an empty folder, and flush them to disk.

    Memory: up to 64 MiB of values and 48 MiB of finished bins for each thread, and a copy of X if
    that takes at most an eighth of the bank and 256 MiB; then a tile of 64 N bytes. Tiles are
    written if they take at most `tile_bytes`, by default half of the free memory and of the free
    disk. `rows` are the reference rows, `facts` further entries of the header, including `key`.
    """
    n_features, n = int(check_bank_families(families)[-1]), X.shape[0]
    X = block_order(X, min(n_features * n // 8, _MOST_TURNED))
    n_bins = np.empty(n_features, np.int16)
    sums = np.empty((n_features, 2), np.uint32)
    files = {}
    work = binned_blocks(families, X, rows, n_jobs=n_jobs, progress=progress, most=_MOST_BLOCK)
    with (
        (folder / BINS_FILE).open("xb") as bins_file,
        (folder / CUTS_FILE).open("xb") as cuts_file,
        closing(work) as blocks,
    ):
        bins_file.write(npy_header((n_features, n), np.uint8))
        cuts_file.write(npy_header((n_features, MAX_CUTS), np.float32))
        for block in blocks:
            bins_file.write(block.bins.data)
            cuts_file.write(block.cuts.data)
            n_bins[block.features] = block.n_bins
            sums[block.features] = feature_checksums(block.bins, block.cuts)
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
    """Write all of a bank but its bins and cuts, whose entries in the header are `files`."""
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


def check_disk_bank(folder: Path) -> None:
    """Raise DamagedBank as opening a bank does, or for any other byte that is wrong."""
    files = _open(folder)
    damages = [*map(files.feature_damage, range(len(files.bins)))]
    damages += map(files.tile_damage, range(files.tile_sums.size))
    wrong = [damage for damage in damages if damage]
    if wrong:
        more = f" and {len(wrong) - 1:,} more" if len(wrong) > 1 else ""
        raise DamagedBank(wrong[0] + more)
