"""Reference rows: those that the cuts of a bank are computed from."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from boostsample.checks import check_integer, check_rows
from boostsample.errors import DataError

__all__ = ["reference_rows"]


def reference_rows(
    n: int, train_rows: NDArray[np.int64] | None, reference: int | None
) -> NDArray[np.int64]:
    """The rows that the cuts are computed from, in the order of the train rows.

    `reference` of the train rows (None: of all n rows of X) are drawn without replacement; None, or
    at least their number, takes all of them. The draw depends on these two numbers only, and on no
    version of NumPy, which guarantees the raw stream of a bit generator. Raises DataError if there
    is no row or one is out of range, SettingError if `reference` is below 1.
    """
    if n == 0:
        raise DataError("X has no rows; give at least one example")
    rows = np.arange(n) if train_rows is None else check_rows(train_rows, n, "train_rows")
    if rows.size == 0:
        raise DataError("train_rows is empty; bin edges need at least one example")
    if reference is None:
        return rows
    size = check_integer("reference", reference, 1, hint="None takes all training rows")
    if size >= rows.size:
        return rows
    keys = np.random.PCG64(np.random.SeedSequence([rows.size, size])).random_raw(rows.size)
    chosen: NDArray[np.int64] = rows[np.sort(np.argsort(keys, kind="stable")[:size])]
    return chosen
