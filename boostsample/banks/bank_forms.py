"""The forms of a feature bank by name: memory, disk, lazy, columns.

A bank on disk is found by a hash of its content, or built. The hash covers X, the reference rows,
class, settings and code of each family (`code_of`), the code of binning, kernels and our families,
and the versions of NumPy and of the file format. Other modules that a family of yours calls are not
covered: clear the cache after changing them.
"""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostsample.banks.bank import Bank, FeatureBank, check_bank_families, digest_of_examples
from boostsample.banks.binning import reference_rows
from boostsample.banks.cache_folder import (
    DISK_HEADER,
    DamagedBank,
    banks_dir,
    building_in_cache,
    remove_from_cache,
)
from boostsample.banks.column_bank import COLUMN_CACHE_BYTES, ColumnBank
from boostsample.banks.disk import FORMAT, DiskBank, disk_bank_bytes, write_bank
from boostsample.banks.lazy import LAZY_CACHE_BYTES, LazyBank
from boostsample.banks.tile_layout import check_tile_bytes
from boostsample.checks import check_integer, check_known
from boostsample.column_table import ColumnTable
from boostsample.errors import DataError, SettingError, unknown
from boostsample.family import Family
from boostsample.hashing import code_of, sha256_of_arrays, sha256_of_bytes, sha256_of_json
from boostsample.jit.compile_kernels import kernel_files
from boostsample.kernels.cuts import MAX_CUTS
from boostsample.names import parse_name, refuse_alternatives

_LOG = logging.getLogger(__name__)
_PACKAGE = Path(__file__).parents[1]
_ENGINE = ("checks.py", "family.py", "banks/binning.py")
"""Files that every bank depends on, besides the kernels and our families."""
BANKS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "memory": {"reference": None, "tile_bytes": None},
        "disk": {"reference": None, "tile_bytes": None},
        "lazy": {"reference": None, "cache_bytes": LAZY_CACHE_BYTES},
        "columns": {"reference": None, "cache_bytes": COLUMN_CACHE_BYTES},
    }
)
"""The forms with their settings and defaults."""
AUTO_BANK = "auto"
"""Stands for the form of `automatic_form`."""
_MOST_BINS, _MOST_CHEAP_BINS = 2**31, 2**28
"""Bytes of bins and cuts that are kept if binning them again is dear, and if it is cheap."""


def bank_settings(form: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """All settings of a form of bank, options and defaults; SettingError if one is wrong.

    >>> bank_settings("memory", {"reference": 500})
    {'reference': 500, 'tile_bytes': None}
    """
    check_known("bank", form, BANKS)
    rule = "which only strategies take; give one value"
    refuse_alternatives(f"the {form} bank", options, rule)
    for name, value in options.items():
        if name not in BANKS[form]:
            raise unknown(f"setting of the {form} bank", name, BANKS[form])
        if value is not None or name == "cache_bytes":
            check_integer(f"{name} of the {form} bank", value, 0 if name == "tile_bytes" else 1)
    return {**BANKS[form], **options}


def bank_record(form: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Form and settings of a bank for records of runs; no `tile_bytes`, which changes no result."""
    settings = bank_settings(form, options)
    settings.pop("tile_bytes", None)
    return {"form": form, **settings}


def automatic_form(X: Any, n_features: int) -> str:
    """The form that "auto" stands for: "columns" for large tables by columns and sparse matrices.

    Bins and cuts of sparse matrices are kept in memory up to the 64 MiB that a bank of columns may
    take, since its exact searches read few rows; those of tables by columns up to 256 MiB, or 2 GiB
    if columns hold many values; those of arrays, which take four times as much themselves, always.
    """
    n_bytes = (X.shape[0] + 4 * MAX_CUTS) * n_features
    most = n_bytes
    if isinstance(X, ColumnTable):
        most = _MOST_BINS if X.values is None else _MOST_CHEAP_BINS
    elif hasattr(X, "tocsc"):
        most = COLUMN_CACHE_BYTES
    return "memory" if n_bytes <= most else "columns"


def make_bank(
    form: str,
    families: Sequence[Family],
    X: Any,
    train_rows: NDArray[np.int64] | None = None,
    *,
    progress: Callable[[int, int], None] | None = None,
    n_jobs: int = 1,
    name: str = "",
    **settings: Any,
) -> Bank:
    """A feature bank of one of the forms; equal `reference` gives equal results to the bit.

    `form` may have settings, as in ``"lazy:reference=512"``; they are those of `BANKS`, explained
    by `FeatureBank.build`, `LazyBank` and `ColumnBank`; "auto" is that of `automatic_form`. The
    others are as in `cached_bank`; banks that compute features later ignore `progress`, and a lazy
    one `n_jobs`.
    """
    if not isinstance(form, str):
        raise SettingError(f"bank must be text as in 'lazy:reference=512', got {form!r}")
    if form == AUTO_BANK:
        form = automatic_form(X, sum(family.n_features for family in families))
    form, options = parse_name(form)
    chosen = bank_settings(form, {**options, **settings})
    if form == "lazy":
        return LazyBank(families, X, train_rows, **chosen)
    if form == "columns":
        return ColumnBank(families, X, train_rows, n_jobs=n_jobs, **chosen)
    work: dict[str, Any] = {"progress": progress, "n_jobs": n_jobs}
    if form == "disk":
        return cached_bank(families, X, train_rows, name=name, **work, **chosen)
    return FeatureBank.build(families, X, train_rows, **work, **chosen)


def cached_bank(
    families: Sequence[Family],
    X: Any,
    train_rows: NDArray[np.int64] | None = None,
    *,
    progress: Callable[[int, int], None] | None = None,
    n_jobs: int = 1,
    reference: int | None = None,
    tile_bytes: int | None = None,
    name: str = "",
) -> DiskBank:
    """Open the feature bank of these families and data on disk; build it first if necessary.

    A damaged bank, or one of another format, is removed and rebuilt, with a logged warning. An
    interrupted build leaves no half bank. Processes that build the same bank at the same time do
    not share the work.

    Parameters
    ----------
    families, X, train_rows, progress, n_jobs, reference
        As in `FeatureBank.build`.
    tile_bytes : int, optional
        Largest second copy of the bins, in tiles, see `FeatureBank.build`; by default at most half
        of the free memory and of the free disk. A larger one that exists is not used.
    name : str
        Name of the data in the list of cached banks.

    Raises
    ------
    DataError
        The cache folder cannot be written or has no space left, or as in `FeatureBank.build`.
    SettingError
        The source code of a family cannot be read, or X holds objects other than text.
    """
    rows = reference_rows(X.shape[0], train_rows, reference)
    check_tile_bytes(tile_bytes)
    facts = cached_bank_facts(families, X, rows)
    key = sha256_of_json(facts)[:32]
    folder = banks_dir() / key
    if folder.is_dir():
        try:
            bank = DiskBank(folder, families, X.shape[0], tile_bytes)
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
    work: dict[str, Any] = {"progress": progress, "n_jobs": n_jobs, "tile_bytes": tile_bytes}
    record = {"key": key, "name": name, "created": created, **facts}
    scratch = building_in_cache(key)
    try:
        scratch.mkdir(parents=True)
        write_bank(scratch, families, X, rows, record, **work)
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
        return DiskBank(folder, families, X.shape[0], tile_bytes)
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
            f"to be cached, {n_features:,} features of {n:,} examples need "
            f"{needed / 2**30:.1f} GiB on disk, but '{banks_dir()}' has {free / 2**30:.1f} GiB "
            "left; free some space ('boostsample cache'), set BOOSTSAMPLE_CACHE_DIR to another "
            "folder, or use the lazy bank"
        )


def _unwritable(error: OSError) -> DataError:
    return DataError(
        f"the feature bank cannot be kept in '{banks_dir()}': {error.strerror or error}; free some "
        "space, set BOOSTSAMPLE_CACHE_DIR to a writable folder, or use another bank"
    )


def cached_bank_facts(
    families: Sequence[Family], X: Any, rows: NDArray[np.int64]
) -> dict[str, Any]:
    """All that the bits of a bank depend on, as a JSON value."""
    ours = sorted((_PACKAGE / "families").rglob("*.py"))
    paths = [*(_PACKAGE / name for name in _ENGINE), *ours, *kernel_files(_PACKAGE)]
    engine = [path.read_bytes() for path in paths]
    return {
        "version": FORMAT,
        "data": {"shape": list(X.shape), "sha256": digest_of_examples(X, "a cached bank")},
        "reference": {"rows": int(rows.size), "sha256": sha256_of_arrays(rows.astype("<i8"))},
        "families": [
            {
                "name": family.name,
                "class": f"{type(family).__module__}.{type(family).__qualname__}",
                "n_features": family.n_features,
                "settings": family.settings(),
                "code": code_of(type(family)),
            }
            for family in families
        ],
        "binning": {"cuts": MAX_CUTS, "code": sha256_of_bytes(*engine)},
        "numpy": np.__version__,
    }
