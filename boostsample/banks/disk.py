"""Feature banks in files that are mapped into memory: larger than memory, opened at once.

A bank is a folder of four NumPy files and a header:

- ``bins.npy`` uint8 (F, N), feature-major;
- ``cuts.npy`` float32 (F, 254), filled up with +inf;
- ``n_bins.npy`` int16 (F,);
- ``checksums.npy`` uint32 (F, 2): the CRC-32 of each row of the bins and of the cuts;
- ``header.json``: what the bank holds, the sizes of the files, SHA-256 of the small ones and of the
  header itself, and the version of this format.

What is checked when. Opening a bank checks the header, the sizes of all files and the two small
ones. The bins and cuts of a feature are checked when it is first looked at, before they are used;
one that is damaged is computed anew and written back, with a message. So each byte that is used has
been checked once in the process, and a bank larger than memory is not read as a whole. The
checksums find accidents, not forgery. Damage that happens after the check goes unnoticed; a file
that is truncated while it is mapped ends the process.

Cost: a CRC of N bytes at the first look at a feature, 15 us for N = 60,000 (measured); no more than
one comparison a feature after that. Mapped pages belong to the system's cache of files, not to the
memory of the process, and are dropped when memory is short.
"""

from __future__ import annotations

import hashlib
import io
import logging
import mmap
import os
import threading
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray

from boostsample.banks.bank import FeatureBank, View
from boostsample.banks.binning import MAX_CUTS
from boostsample.banks.build import (
    bin_block,
    block_size,
    blocks,
    check_families,
    run_blocks,
    turned,
)
from boostsample.banks.cache_folder import DamagedBank, read_header, write_header
from boostsample.errors import DataError
from boostsample.family import Family
from boostsample.threads.threads import n_threads

__all__ = ["FORMAT", "DiskBank", "bytes_needed", "check_files", "write_bank"]

FORMAT = 1
"""Version of the files' format."""

_BINS, _CUTS, _N_BINS, _SUMS = "bins.npy", "cuts.npy", "n_bins.npy", "checksums.npy"
_LARGE = (_BINS, _CUTS)
_MOST_BLOCK = 2**26
"""Bytes of a block of values in work."""
_MOST_TURNED = 2**28
"""Bytes of X up to which it is copied into the order that families read fastest."""
_LOG = logging.getLogger(__name__)


class DiskBank(FeatureBank):
    """A feature bank whose bins and cuts are files, as `write_bank` writes them.

    Reads as the bank in memory, to the bit. Several threads and processes may read one bank.

    Parameters
    ----------
    folder : path
    families : sequence of Family
        Those that it was built from.
    X : array, shape (N, ...)
        The data that it was built from: damaged features are computed anew.
    rows : ndarray of int64, shape (T,)
        The reference rows.

    Attributes
    ----------
    folder : Path
    values_computed : int
        Feature values computed to mend damaged features: 0 normally.

    Raises
    ------
    DamagedBank
        A file is missing, damaged, of another size or format, or another bank.
    """

    def __init__(
        self, folder: Path, families: Sequence[Family], X: Any, rows: NDArray[np.int64]
    ) -> None:
        files = _Files.open(folder)
        n_features = int(check_families(families)[-1])
        if files.bins.shape != (n_features, X.shape[0]):
            raise DamagedBank(f"it holds {files.bins.shape} bins, not {(n_features, X.shape[0])}")
        super().__init__(families, files.bins, files.cuts, files.n_bins)
        self.folder = folder
        self._files = files
        self._X = X
        self._rows = rows
        self._checked = np.zeros(n_features, np.bool_)
        self._lock = threading.Lock()

    @property
    def nbytes(self) -> int:
        """Bytes of memory that the bank keeps; pages of files that are mapped do not count."""
        small = (self.n_bins, self.first, self._files.sums, self._checked)
        return sum(array.nbytes for array in small)

    def view(self, features: NDArray[np.int64], rows: NDArray[Any] | None = None) -> View:
        """The mapped file itself; features that are looked at for the first time are checked."""
        self._check_once(features)
        return super().view(features, rows)

    def column(self, feature: int) -> NDArray[np.uint8]:
        """Bins of a feature: uint8 (N,). Only to be read."""
        self._check_once(np.array([feature], np.int64))
        return super().column(feature)

    def cuts_of(self, features: NDArray[np.int64]) -> NDArray[np.float32]:
        """Cuts of some features: float32 (Q, 254)."""
        self._check_once(features)
        return super().cuts_of(features)

    def _check_once(self, features: NDArray[np.int64]) -> None:
        fresh = features[~self._checked[features]]
        for feature in np.unique(fresh).tolist():
            if self._files.damage(feature):
                self._mend(feature)
        self._checked[fresh] = True

    def _mend(self, feature: int) -> None:
        """Compute a damaged feature anew and write it to its place in the files."""
        with self._lock:
            damage = self._files.damage(feature)
            if not damage:  # another thread was faster
                return
            name = self.folder.name[:12]
            _LOG.warning("feature bank %s: %s; it is computed anew", name, damage)
            number = self.family_of(feature)
            local = np.array([feature - self.first[number]])
            block = np.empty((1, self.n_examples), np.uint8)
            rows = self._rows
            found, _ = bin_block(self.families[number], self._X, local, rows, block)
            bins, cuts = block[0], found[0]
            self.values_computed += self.n_examples
            if not self._files.fits(feature, bins, cuts):
                raise DataError(
                    f"feature bank {name}: {damage}, and cannot be mended: its family computes "
                    f"other values now than when it was built; 'boostsample cache clear {name}' "
                    "and run again"
                )
            try:
                self._files.write(feature, bins, cuts)
            except OSError as error:
                raise DataError(
                    f"feature bank {name}: {damage}, and '{self.folder}' cannot be written: "
                    f"{error.strerror or error}; 'boostsample cache clear {name}' and run again"
                ) from error


class _Files:
    """The files of a bank, open for reading."""

    def __init__(
        self,
        folder: Path,
        bins: _Mapped,
        cuts: _Mapped,
        n_bins: NDArray[np.int16],
        sums: NDArray[np.uint32],
    ) -> None:
        self.folder = folder
        self.bins: NDArray[np.uint8] = np.asarray(bins)
        self.cuts: NDArray[np.float32] = np.asarray(cuts)
        self.n_bins = n_bins
        self.sums = sums
        self._offsets = (bins.offset, cuts.offset)

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Map the files; a DamagedBank says what is wrong with them."""
        header = read_header(folder)
        if header["format"] != FORMAT:
            raise DamagedBank(f"it has format {header['format']}, not {FORMAT}")
        n_features, n = header["n_features"], header["n_examples"]
        small = {}
        for name, facts in header["files"].items():
            try:
                size = (folder / name).stat().st_size
                content = (folder / name).read_bytes() if "sha256" in facts else b""
            except OSError as error:
                raise DamagedBank(f"{name} cannot be read: {error.strerror or error}") from error
            if size != facts["bytes"]:
                raise DamagedBank(f"{name} has {size:,} bytes, not {facts['bytes']:,}")
            if "sha256" in facts:
                if hashlib.sha256(content).hexdigest() != facts["sha256"]:
                    raise DamagedBank(f"{name} is damaged")
                small[name] = np.lib.format.read_array(io.BytesIO(content), allow_pickle=False)
        return cls(
            folder,
            _Mapped(folder / _BINS, (n_features, n), np.uint8),
            _Mapped(folder / _CUTS, (n_features, MAX_CUTS), np.float32),
            small[_N_BINS],
            small[_SUMS],
        )

    def damage(self, feature: int) -> str:
        """What is wrong with the bins or cuts of a feature, as a phrase; empty if nothing is."""
        found = _checksums(self.bins[feature], self.cuts[feature])
        wrong = [
            name for name, a, b in zip(_LARGE, found, self.sums[feature], strict=True) if a != b
        ]
        return f"{wrong[0]} is damaged at feature {feature}" if wrong else ""

    def fits(self, feature: int, bins: NDArray[np.uint8], cuts: NDArray[np.float32]) -> bool:
        """Whether these are the bins and cuts that were written for a feature."""
        stored: list[int] = self.sums[feature].tolist()
        return _checksums(bins, cuts) == stored

    def write(self, feature: int, bins: NDArray[np.uint8], cuts: NDArray[np.float32]) -> None:
        """Overwrite the bins and cuts of a feature; whoever has mapped them sees the new ones."""
        rows: list[NDArray[Any]] = [bins, cuts]
        for name, offset, row in zip(_LARGE, self._offsets, rows, strict=True):
            with (self.folder / name).open("r+b") as stream:
                stream.seek(offset + feature * row.nbytes)
                stream.write(row.tobytes())


def _checksums(bins: NDArray[np.uint8], cuts: NDArray[np.float32]) -> list[int]:
    """Those of the rows of one feature."""
    return [zlib.crc32(bins.data), zlib.crc32(cuts.data)]


class _Mapped:
    """A `.npy` file as memory, for `np.asarray`.

    The map is read-only and shared, so that it counts as the system's memory (a private one that
    may be written counts as the process's, RLIMIT_DATA included, though no page is copied). But the
    array says that it may be written, since NumPy's read-only arrays are another type to compiled
    kernels, which would all be compiled twice. To write nevertheless ends the process.
    """

    def __init__(self, path: Path, shape: tuple[int, ...], dtype: DTypeLike) -> None:
        kind = np.dtype(dtype)
        try:
            with path.open("rb") as stream:
                found = _read_npy_header(stream)
                self.offset = stream.tell()
                self._map = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError) as error:
            raise DamagedBank(f"{path.name} cannot be read: {error}") from error
        size = self.offset + int(np.prod(shape)) * kind.itemsize
        if found != (shape, False, kind) or len(self._map) != size:
            raise DamagedBank(f"{path.name} does not hold {kind} of shape {shape}")
        self.__array_interface__ = {
            "version": 3,
            "shape": shape,
            "typestr": kind.str,
            "data": (np.frombuffer(self._map, np.uint8).ctypes.data + self.offset, False),
        }


def _read_npy_header(stream: BinaryIO) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    version = np.lib.format.read_magic(stream)
    if version != (1, 0):
        raise ValueError(f".npy version {version}")
    return np.lib.format.read_array_header_1_0(stream)


def bytes_needed(n_features: int, n: int) -> int:
    """Bytes on disk of a bank, up to some 10 KiB of headers."""
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
) -> None:
    """Build a bank block by block straight into files; memory holds the blocks in work only.

    These are at most 64 MiB of values and 48 MiB of finished bins for each thread; a copy of X on
    top of it, if that takes no more than an eighth of the bank and 256 MiB.

    Parameters
    ----------
    folder : path
        Empty; to be renamed by the caller when this returns. Everything in it is on the disk then.
    families, X, progress, n_jobs
        As in `FeatureBank.build`.
    rows : ndarray of int64, shape (T,)
        The reference rows.
    facts : mapping
        What else the header should tell; `key` is a must.

    Raises
    ------
    OSError
        The files cannot be written. The caller removes what is there.
    """
    first = check_families(families)
    n_features, n = int(first[-1]), X.shape[0]
    threads = n_threads(n_jobs)
    X = turned(X, min(n_features * n // 8, _MOST_TURNED))
    n_bins = np.empty(n_features, np.int16)
    sums = np.empty((n_features, 2), np.uint32)

    def work(number: int, start: int, stop: int) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
        local = np.arange(start, stop, dtype=np.int64)
        block = slice(int(first[number]) + start, int(first[number]) + stop)
        bins = np.empty((stop - start, n), np.uint8)
        cuts, n_bins[block] = bin_block(families[number], X, local, rows, bins)
        sums[block] = [_checksums(b, c) for b, c in zip(bins, cuts, strict=True)]
        return bins, cuts

    with (
        (folder / _BINS).open("xb") as bins_file,
        (folder / _CUTS).open("xb") as cuts_file,
    ):
        _begin(bins_file, (n_features, n), np.uint8)
        _begin(cuts_file, (n_features, MAX_CUTS), np.float32)

        def done(
            number: int,
            start: int,
            stop: int,
            made: tuple[NDArray[np.uint8], NDArray[np.float32]],
        ) -> None:
            bins_file.write(made[0].data)
            cuts_file.write(made[1].data)
            if progress is not None:
                progress(int(first[number]) + stop, n_features)

        size = block_size(n_features, n, threads, _MOST_BLOCK)
        run_blocks(work, done, blocks(families, size), threads)
        files = {name: _end(file) for name, file in ((_BINS, bins_file), (_CUTS, cuts_file))}
    for name, array in ((_N_BINS, n_bins), (_SUMS, sums)):
        content = io.BytesIO()
        np.lib.format.write_array(content, array, (1, 0), allow_pickle=False)
        with (folder / name).open("xb") as stream:
            stream.write(content.getvalue())
            files[name] = _end(stream)
        files[name]["sha256"] = hashlib.sha256(content.getvalue()).hexdigest()
    record = {"format": FORMAT, **facts, "n_features": n_features, "n_examples": n, "files": files}
    write_header(folder, record)


def _begin(stream: BinaryIO, shape: tuple[int, ...], dtype: DTypeLike) -> None:
    header = {"descr": np.dtype(dtype).str, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(stream, header)


def _end(stream: BinaryIO) -> dict[str, Any]:
    """See that a file is on the disk; its size for the header."""
    stream.flush()
    os.fsync(stream.fileno())
    return {"bytes": stream.tell()}


def check_files(folder: Path, *, all_features: bool = False) -> None:
    """Check a bank; with `all_features` every byte of it.

    Raises
    ------
    DamagedBank
        What is wrong, as a phrase.
    """
    files = _Files.open(folder)
    if all_features:
        wrong = [what for what in map(files.damage, range(len(files.bins))) if what]
        if wrong:
            more = f" and {len(wrong) - 1:,} more" if len(wrong) > 1 else ""
            raise DamagedBank(wrong[0] + more)
