"""Feature banks kept on disk from one run to the next, found again by what they hold.

A bank's name is a hash of all that its bits depend on: the values, type and shape of X; the
reference rows; each family's class, settings and source code; the code that bins; the versions of
NumPy and of the format. The source code is that of the module of the class and of its bases, for
the families of this package all of them: what a family of your own calls in other modules of yours
is not seen, so clear the cache when you change that.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import logging
import os
import shutil
import sys
from abc import ABC
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostsample.banks.binning import MAX_CUTS
from boostsample.banks.build import check_families, reference_rows
from boostsample.banks.cache_folder import HEADER, DamagedBank, banks_dir, building, remove
from boostsample.banks.disk import FORMAT, DiskBank, bytes_needed, check_files, write_bank
from boostsample.errors import DataError, SettingError
from boostsample.family import Family

__all__ = ["bank_facts", "cached_bank", "check_space"]

_CHUNK = 2**24
_ATTEMPTS = 3
_LOG = logging.getLogger(__name__)
_ENGINE = ("family.py", "banks/binning.py", "banks/build.py", "kernels/binning.py")
"""Files of this package that every bank depends on, beside those of the families."""


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
    """Open the feature bank of these families and data on disk; build it first if need be.

    A bank that is damaged or of another format is built anew, with a message. It is built beside
    its final place and renamed when it is complete: nobody ever sees half a bank, and when several
    processes build the same one at once, each builds its own and the first one stays.

    Parameters
    ----------
    families, X, train_rows, progress, n_jobs, reference
        As in `FeatureBank.build`. X is kept, not copied, to mend damaged features.
    name : str
        What the list of cached banks calls the data.

    Raises
    ------
    DataError
        The cache folder cannot be written or has no room, or as in `FeatureBank.build`.
    SettingError
        The code of a family, or a content of X, cannot be told apart from another one; or as in
        `FeatureBank.build`.
    """
    rows = reference_rows(X.shape[0], train_rows, reference)
    facts = bank_facts(families, X, rows)
    key = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:32]
    record = {"key": key, "name": name, "created": _now(), **facts}
    place = banks_dir() / key
    for _ in range(_ATTEMPTS):
        bank = _opened(place, families, X, rows)
        if bank is not None:
            with suppress(OSError):  # a cache that can only be read will do
                os.utime(place / HEADER)
            return bank
        check_space(int(check_families(families)[-1]), X.shape[0])
        scratch = building(key)
        _LOG.info("feature bank %s is built in %s", key[:12], banks_dir())
        try:
            scratch.mkdir(parents=True)
            write_bank(scratch, families, X, rows, record, progress=progress, n_jobs=n_jobs)
            _put_in_place(scratch, place)
        except OSError as error:
            raise _unwritable(error) from error
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
        with suppress(DamagedBank):  # removed by a process that took it for the damaged one
            return DiskBank(place, families, X, rows)
    raise DataError(
        f"feature bank {key[:12]} was built {_ATTEMPTS} times, but each time removed or damaged at "
        f"once in '{banks_dir()}'; set BOOSTSAMPLE_CACHE_DIR to another folder"
    )


def _opened(
    place: Path, families: Sequence[Family], X: Any, rows: NDArray[np.int64]
) -> DiskBank | None:
    """The bank that is there; None if there is none, also where a damaged one was removed."""
    if not place.is_dir():
        return None
    try:
        bank = DiskBank(place, families, X, rows)
    except DamagedBank as error:
        _LOG.warning("cached feature bank %s cannot be used: %s", place.name[:12], error)
        _unless_removed(place)
        return None
    _LOG.info("cached feature bank %s is used", place.name[:12])
    return bank


def check_space(n_features: int, n: int) -> None:
    """Refuse a bank that the disk has no room for, before anything is computed."""
    folder = banks_dir()
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    try:
        free = shutil.disk_usage(folder).free
    except OSError as error:
        raise _unwritable(error) from error
    needed = bytes_needed(n_features, n)
    if needed > free:
        raise DataError(
            f"{n_features:,} features of {n:,} examples need {needed / 2**30:.1f} GiB on disk, but "
            f"'{banks_dir()}' has {free / 2**30:.1f} GiB left; make room ('boostsample cache'), "
            "set BOOSTSAMPLE_CACHE_DIR to another folder, or take the lazy bank"
        )


def _put_in_place(scratch: Path, place: Path) -> None:
    """Rename a finished bank; where another process has put a good one meanwhile, leave that."""
    for attempt in (1, 2, 3):
        try:
            scratch.rename(place)
            break
        except OSError:
            if not place.is_dir() or attempt == 3:
                raise
        try:
            check_files(place)
            return
        except DamagedBank:
            _unless_removed(place)
    if os.name == "posix":  # elsewhere folders cannot be synchronised
        handle = os.open(place.parent, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _unless_removed(place: Path) -> None:
    try:
        remove(place)
    except OSError as error:
        raise _unwritable(error) from error


def _unwritable(error: OSError) -> DataError:
    return DataError(
        f"the feature bank cannot be kept in '{banks_dir()}': {error.strerror or error}; make "
        "room or set BOOSTSAMPLE_CACHE_DIR to a folder that can be written, or take another bank"
    )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def bank_facts(families: Sequence[Family], X: Any, rows: NDArray[np.int64]) -> dict[str, Any]:
    """All that the bits of a bank depend on, as JSON takes it."""
    return {
        "version": FORMAT,
        "data": {"shape": list(X.shape), "sha256": _digest_of_data(X)},
        "reference": {"rows": int(rows.size), "sha256": _digest(rows.astype("<i8").tobytes())},
        "families": [
            {
                "name": family.name,
                "class": f"{type(family).__module__}.{type(family).__qualname__}",
                "n_features": family.n_features,
                "settings": family.settings(),
                "code": _digest(*_code(type(family))),
            }
            for family in families
        ],
        "binning": {"cuts": MAX_CUTS, "code": _digest(*_engine_code())},
        "numpy": np.__version__,
    }


def _digest(*parts: bytes) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "little") + part)
    return digest.hexdigest()


def _digest_of_data(X: Any) -> str:
    """Hash of the values, dtype and shape of an array, a sparse matrix or documents."""
    digest = hashlib.sha256()
    if hasattr(X, "tocsr"):
        rows = X.tocsr()
        parts = [rows.data, rows.indices, rows.indptr]
    else:
        parts = [np.asarray(X)]
    for part in parts:
        digest.update(f"{part.dtype.str}{part.shape}".encode())
        if part.dtype.kind == "O":
            for item in part.ravel().tolist():
                digest.update(_digest(_bytes_of(item)).encode())
            continue
        step = max(_CHUNK // max(part[:1].nbytes, 1), 1)
        for start in range(0, len(part), step):
            digest.update(np.ascontiguousarray(part[start : start + step]).data.cast("B"))
    return digest.hexdigest()


def _bytes_of(item: object) -> bytes:
    if isinstance(item, str):
        return b"str" + item.encode("utf-8", "surrogatepass")
    raise SettingError(
        f"a bank on disk is found again by its examples, which must be numbers or texts, got "
        f"{type(item).__name__}; take the bank in memory"
    )


def _engine_code() -> list[bytes]:
    folder = Path(__file__).parents[1]
    return [(folder / name).read_bytes() for name in _ENGINE]


def _code(kind: type) -> list[bytes]:
    """Source code of a family's class and of its bases, with their modules."""
    files: dict[str, bytes] = {}
    for base in kind.__mro__:
        if base in (object, ABC):
            continue
        package = sys.modules.get(base.__module__.rpartition(".")[0])
        try:
            path = Path(inspect.getsourcefile(base) or "")
            mine = [path]
            if getattr(package, "__name__", "") == "boostsample.families":
                kernels = Path(__file__).parents[1] / "kernels"
                mine = [*sorted(path.parent.glob("*.py")), *sorted(kernels.glob("*.py"))]
            for file in mine:
                files[f"{file.parent.name}/{file.name}"] = file.read_bytes()
        except (OSError, TypeError):
            try:
                files[base.__qualname__] = inspect.getsource(base).encode()
            except (OSError, TypeError):
                raise SettingError(
                    f"the source code of the family class {base.__qualname__} cannot be read, so "
                    "that a bank on disk could not be told from one of an earlier version; define "
                    "it in a module, or take the bank in memory"
                ) from None
    return [part for name in sorted(files) for part in (name.encode(), files[name])]
