"""The forms of a feature bank by name: memory, disk, lazy, columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostsample.banks.bank import Bank, FeatureBank
from boostsample.banks.cached_bank import cached_bank
from boostsample.banks.column_bank import COLUMN_CACHE_BYTES, ColumnBank
from boostsample.banks.lazy import LAZY_CACHE_BYTES, LazyBank
from boostsample.checks import check_integer
from boostsample.column_table import ColumnTable
from boostsample.errors import SettingError, unknown
from boostsample.family import Family
from boostsample.kernels.cuts import MAX_CUTS
from boostsample.names import parse_name, refuse_alternatives

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
    if form not in BANKS:
        raise unknown("bank", form, BANKS)
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
