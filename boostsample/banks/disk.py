"""Feature banks on disk, in memory-mapped files: larger than memory, kept for later runs.

`cached_bank` finds a bank by a hash of everything that its bits depend on, or builds it: values,
dtype and shape of X; the reference rows; class, settings and source code of each family; the
binning code; the versions of NumPy and of the file format. The source code of a family is the
module of its class and those of the base classes; for the families of this package it is all of
their modules and the kernels. Other modules that a family of yours calls are not covered: clear the
cache after changing them.

A bank is a folder of four NumPy files and a header:

- ``bins.npy`` uint8 (F, N), feature-major;
- ``cuts.npy`` float32 (F, 254), padded with +inf;
- ``n_bins.npy`` int16 (F,);
- ``checksums.npy`` uint32 (F, 2): the CRC-32 of each row of the bins and of the cuts;
- ``header.json``: what the bank holds, the sizes of the files, SHA-256 of the small ones and of the
  header itself, and the version of this format.

Opening a bank checks the header, the sizes of all files and the content of the small ones. The bins
and cuts of a feature are checked before their first use, so that opening does not read the whole
bank. The checksums detect accidents, not forgery. Damage after that check goes unnoticed; a file
that is truncated while it is mapped ends the process.

Cost: a CRC of N bytes at the first use of a feature, 15 us for N = 60,000 (measured), then at most
one comparison per feature. Mapped pages belong to the system's file cache, not to the memory of the
process, and are dropped when memory is short.
"""

from __future__ import annotations

import inspect
import io
import logging
import os
import shutil
import zlib
from abc import ABC
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from boostsample.banks.bank import FeatureBank, View, check_bank_families
from boostsample.banks.binning import (
    MAX_CUTS,
    bank_block_size,
    bank_blocks,
    bin_bank_block,
    block_order,
    reference_rows,
    run_bank_blocks,
)
from boostsample.banks.cache_folder import banks_dir, building_in_cache, remove_from_cache
from boostsample.banks.disk_header import (
    DISK_HEADER,
    DamagedBank,
    read_bank_header,
    write_bank_header,
)
from boostsample.errors import DataError, SettingError
from boostsample.family import Family
from boostsample.hashing import sha256_of_arrays, sha256_of_bytes, sha256_of_json
from boostsample.threads.threads import n_threads

__all__ = [
    "FORMAT",
    "DiskBank",
    "cached_bank",
    "cached_bank_facts",
    "check_disk_bank",
    "disk_bank_bytes",
    "write_bank",
]

FORMAT = 1
"""Version of the files' format."""

_LOG = logging.getLogger(__name__)
_PACKAGE = Path(__file__).parents[1]
_ENGINE = (
    "checks.py",
    "family/family.py",
    "family/image_family.py",
    "banks/binning.py",
    "kernels/cuts.py",
)
"""Files of this package that every bank depends on, besides those of its families."""

_BINS, _CUTS, _N_BINS, _SUMS = "bins.npy", "cuts.npy", "n_bins.npy", "checksums.npy"
_MOST_BLOCK = 2**26
"""Largest block of float32 values, in bytes."""
_MOST_TURNED = 2**28
"""Largest X, in bytes, that is copied into the order that families read fastest."""


class _Files(NamedTuple):
    """The arrays of a bank; the first two are mapped files."""

    bins: NDArray[np.uint8]
    cuts: NDArray[np.float32]
    n_bins: NDArray[np.int16]
    sums: NDArray[np.uint32]

    def damage(self, feature: int) -> str:
        """Which file is damaged at a feature, as a phrase; empty if none is."""
        found = _checksums(self.bins[feature], self.cuts[feature])
        for name, a, b in zip((_BINS, _CUTS), found, self.sums[feature], strict=True):
            if a != b:
                return f"{name} is damaged at feature {feature}"
        return ""


class DiskBank(FeatureBank):
    """A feature bank in the files of `write_bank`: the same bits as the bank in memory.

    Several threads and processes may read one bank. Takes the folder, the families that the bank
    was built from, and N.

    Raises
    ------
    DamagedBank
        On opening: a file is missing, damaged, or of another size, format or shape.
    DataError
        On reading a feature whose bins or cuts are damaged.
    """

    def __init__(self, folder: Path, families: Sequence[Family], n_examples: int) -> None:
        files = _open(folder)
        shape = int(check_bank_families(families)[-1]), n_examples
        if files.bins.shape != shape:
            raise DamagedBank(f"it holds {files.bins.shape} bins, not {shape}")
        super().__init__(families, files.bins, files.cuts, files.n_bins)
        self.folder = folder
        self._files = files
        self._checked = np.zeros(self.n_features, np.bool_)

    @property
    def nbytes(self) -> int:
        """Bytes of memory in use, without the pages of mapped files."""
        arrays = (self.n_bins, self.first, self._files.sums, self._checked)
        return sum(array.nbytes for array in arrays)

    def view(self, features: NDArray[np.int64], rows: NDArray[Any] | None = None) -> View:
        """The mapped file itself; features are checked before their first use."""
        self._check_once(features)
        return super().view(features, rows)

    def cuts_of(self, features: NDArray[np.int64]) -> NDArray[np.float32]:
        """Cuts of some features: float32 (Q, 254)."""
        self._check_once(features)
        return super().cuts_of(features)

    def _check_once(self, features: NDArray[np.int64]) -> None:
        fresh = features[~self._checked[features]]
        for feature in np.unique(fresh).tolist():
            damage = self._files.damage(feature)
            if damage:
                name = self.folder.name[:12]
                raise DataError(
                    f"feature bank {name}: {damage}; remove it by 'boostsample cache clear {name}' "
                    "and run again to rebuild it"
                )
        self._checked[fresh] = True


def _open(folder: Path) -> _Files:
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
    return _Files(
        np.asarray(_Mapped(folder / _BINS, (n_features, n), np.uint8)),
        np.asarray(_Mapped(folder / _CUTS, (n_features, MAX_CUTS), np.float32)),
        small[_N_BINS],
        small[_SUMS],
    )


class _Mapped:
    """A memory-mapped `.npy` file, for `np.asarray`.

    The map is shared and read-only, so that it does not count as the memory of the process (a
    private writable one counts for RLIMIT_DATA). The array is nevertheless flagged as writable,
    because numba compiles kernels again for read-only arrays. Writing to it ends the process.
    """

    def __init__(self, path: Path, shape: tuple[int, int], dtype: DTypeLike) -> None:
        header = _npy_header(shape, dtype)
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


def _npy_header(shape: tuple[int, int], dtype: DTypeLike) -> bytes:
    stream = io.BytesIO()
    facts = {"descr": np.dtype(dtype).str, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(stream, facts)
    return stream.getvalue()


def _checksums(bins: NDArray[np.uint8], cuts: NDArray[np.float32]) -> tuple[int, int]:
    """CRC-32 of the bins and of the cuts of one feature."""
    return zlib.crc32(bins.data), zlib.crc32(cuts.data)


def disk_bank_bytes(n_features: int, n: int) -> int:
    """Bytes of a bank on disk, without about 10 KiB of headers."""
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
    """Build a bank block by block into files, and flush them to disk.

    Memory: up to 64 MiB of values and 48 MiB of finished bins for each thread, and a copy of X if
    that takes at most an eighth of the bank and 256 MiB.

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
        sums[block] = [_checksums(b, c) for b, c in zip(bins, cuts, strict=True)]
        return block.stop, bins, cuts

    files = {}
    size = bank_block_size(n_features, n, threads, _MOST_BLOCK)
    with (
        (folder / _BINS).open("xb") as bins_file,
        (folder / _CUTS).open("xb") as cuts_file,
        closing(run_bank_blocks(work, bank_blocks(families, size), threads)) as finished,
    ):
        bins_file.write(_npy_header((n_features, n), np.uint8))
        cuts_file.write(_npy_header((n_features, MAX_CUTS), np.float32))
        for stop, bins, cuts in finished:
            bins_file.write(bins.data)
            cuts_file.write(cuts.data)
            if progress is not None:
                progress(stop, n_features)
        files[_BINS], files[_CUTS] = _flushed(bins_file), _flushed(cuts_file)
    for name, array in ((_N_BINS, n_bins), (_SUMS, sums)):
        content = io.BytesIO()
        np.save(content, array)
        with (folder / name).open("xb") as stream:
            stream.write(content.getvalue())
            files[name] = {**_flushed(stream), "sha256": sha256_of_bytes(content.getvalue())}
    record = {"format": FORMAT, **facts, "n_features": n_features, "n_examples": n, "files": files}
    write_bank_header(folder, record)


def _flushed(stream: BinaryIO) -> dict[str, Any]:
    """Flush a file to disk; its entry in the header."""
    stream.flush()
    os.fsync(stream.fileno())
    return {"bytes": stream.tell()}


def check_disk_bank(folder: Path, *, all_features: bool = False) -> None:
    """Raise DamagedBank as opening a bank does; with `all_features`, check every byte."""
    files = _open(folder)
    if all_features:
        wrong = [what for what in map(files.damage, range(len(files.bins))) if what]
        if wrong:
            more = f" and {len(wrong) - 1:,} more" if len(wrong) > 1 else ""
            raise DamagedBank(wrong[0] + more)


def cached_bank(
    families: Sequence[Family],
    X: Any,
    train_rows: NDArray[np.int64] | None = None,
    *,
    progress: Callable[[int, int], None] | None = None,
    n_jobs: int = 1,
    reference: int | None = None,
    name: str = "",
) -> DiskBank:
    """Open the feature bank of these families and data on disk; build it first if necessary.

    A damaged bank, or one of another format, is removed and rebuilt, with a logged warning. A bank
    is built in a temporary folder and renamed when complete, so an interrupted build leaves no
    half bank. Processes that build the same bank at the same time do not share the work; the bank
    of the first one is kept.

    Parameters
    ----------
    families, X, train_rows, progress, n_jobs, reference
        As in `FeatureBank.build`.
    name : str
        Name of the data in the list of cached banks.

    Raises
    ------
    DataError
        The cache folder cannot be written or has no space left, or as in `FeatureBank.build`.
    SettingError
        The source code of a family cannot be read, X holds objects other than text, or as in
        `FeatureBank.build`.
    """
    rows = reference_rows(X.shape[0], train_rows, reference)
    facts = cached_bank_facts(families, X, rows)
    key = sha256_of_json(facts)[:32]
    folder = banks_dir() / key
    if folder.is_dir():
        try:
            bank = DiskBank(folder, families, X.shape[0])
        except DamagedBank as error:
            _LOG.warning("cached feature bank %s cannot be used: %s", key[:12], error)
            try:
                remove_from_cache(folder)
            except OSError as failure:
                raise _unwritable(failure) from failure
        else:
            _LOG.info("cached feature bank %s is used", key[:12])
            with suppress(OSError):  # the cache may be read-only
                os.utime(folder / DISK_HEADER)
            return bank
    _check_space(int(check_bank_families(families)[-1]), X.shape[0])
    _LOG.info("feature bank %s is built in %s", key[:12], banks_dir())
    created = datetime.now(UTC).isoformat(timespec="seconds")
    record = {"key": key, "name": name, "created": created, **facts}
    scratch = building_in_cache(key)
    try:
        scratch.mkdir(parents=True)
        write_bank(scratch, families, X, rows, record, progress=progress, n_jobs=n_jobs)
        try:
            scratch.rename(folder)
        except OSError:
            if not folder.is_dir():  # otherwise another process finished the same bank first
                raise
    except OSError as error:
        raise _unwritable(error) from error
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    try:
        return DiskBank(folder, families, X.shape[0])
    except DamagedBank as error:  # of another process, or removed by it
        raise DataError(f"feature bank {key[:12]} cannot be used: {error}; run again") from error


def _check_space(n_features: int, n: int) -> None:
    """Raise DataError if the disk has no space for a bank, before anything is computed."""
    folder = banks_dir()
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    try:
        free = shutil.disk_usage(folder).free
    except OSError as error:
        raise _unwritable(error) from error
    needed = disk_bank_bytes(n_features, n)
    if needed > free:
        raise DataError(
            f"{n_features:,} features of {n:,} examples need {needed / 2**30:.1f} GiB on disk, but "
            f"'{banks_dir()}' has {free / 2**30:.1f} GiB left; free some space "
            "('boostsample cache'), set BOOSTSAMPLE_CACHE_DIR to another folder, or use the lazy "
            "bank"
        )


def _unwritable(error: OSError) -> DataError:
    return DataError(
        f"the feature bank cannot be kept in '{banks_dir()}': {error.strerror or error}; free some "
        "space, set BOOSTSAMPLE_CACHE_DIR to a writable folder, or use another bank"
    )


def cached_bank_facts(
    families: Sequence[Family], X: Any, rows: NDArray[np.int64]
) -> dict[str, Any]:
    """Everything that the bits of a bank depend on, as a JSON value."""
    engine = [(_PACKAGE / name).read_bytes() for name in _ENGINE]
    return {
        "version": FORMAT,
        "data": {"shape": list(X.shape), "sha256": _digest_of_data(X)},
        "reference": {"rows": int(rows.size), "sha256": sha256_of_arrays(rows.astype("<i8"))},
        "families": [
            {
                "name": family.name,
                "class": f"{type(family).__module__}.{type(family).__qualname__}",
                "n_features": family.n_features,
                "settings": family.settings(),
                "code": sha256_of_bytes(*_code(type(family))),
            }
            for family in families
        ],
        "binning": {"cuts": MAX_CUTS, "code": sha256_of_bytes(*engine)},
        "numpy": np.__version__,
    }


def _digest_of_data(X: Any) -> str:
    """Checksum of an array of numbers or texts, or of a sparse matrix in any format."""
    if hasattr(X, "tocsr"):
        rows = X.tocsr()
        return sha256_of_arrays(rows.data, rows.indices, rows.indptr)
    try:
        return sha256_of_arrays(X)
    except TypeError as error:
        raise SettingError(
            f"examples of a bank on disk must be numbers or texts: {error}; use the bank in memory"
        ) from None


def _code(kind: type) -> list[bytes]:
    """Names and content of the modules of a family's class and its base classes."""
    sources: dict[str, bytes] = {}
    for base in kind.__mro__:
        if base in (object, ABC):
            continue
        try:
            path = Path(inspect.getsourcefile(base) or "")
            paths = [path]
            if base.__module__.startswith("boostsample.families."):
                paths = [*path.parent.glob("*.py"), *(_PACKAGE / "kernels").glob("*.py")]
            sources.update({f"{file.parent.name}/{file.name}": file.read_bytes() for file in paths})
        except (OSError, TypeError):
            try:
                sources[base.__qualname__] = inspect.getsource(base).encode()
            except (OSError, TypeError):
                raise SettingError(
                    f"the source code of the family class {base.__qualname__} cannot be read, so "
                    "a bank on disk could be one of an earlier version; define the class in a "
                    "module, or use the bank in memory"
                ) from None
    return [part for name in sorted(sources) for part in (name.encode(), sources[name])]
