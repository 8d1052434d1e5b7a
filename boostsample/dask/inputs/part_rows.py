"""The rows of one part of a table, checked where they are read: on a worker."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from boostsample.checks import check_example_weight
from boostsample.classifier.inputs.frames import is_frame, numbers_by_dtype
from boostsample.errors import DataError, ShardError, one_line
from boostsample.hashing import crc32_of_arrays

__all__ = ["PartRows", "checked_rows", "checksum", "naming_part"]


class PartRows(NamedTuple):
    """Rows of weight above 0 of one part.

    Attributes
    ----------
    X : ndarray, shape (n, ...)
        Real numbers, finite or NaN.
    y : ndarray, shape (n,) or (n, K)
        Class labels, or 0 and 1 of several labels.
    weight : ndarray of float64, shape (n,), or None
        Example weights as the user gave them.
    names : tuple of str or None
        Names of the columns, if X was a data frame with names.
    """

    X: NDArray[Any]
    y: NDArray[Any]
    weight: NDArray[np.float64] | None
    names: tuple[str, ...] | None


@contextmanager
def naming_part(number: int, place: str) -> Iterator[None]:
    """Turn errors of a part into a DataError with its number and its place, if that is known."""
    try:
        yield
    except (MemoryError, ShardError):
        raise
    except Exception as error:
        name = f"part {number} of the table{place and f' ({place})'}"
        is_of_data = isinstance(error, TypeError | ValueError | OSError)
        kind = "" if is_of_data else f"{type(error).__name__}: "
        raise DataError(f"{name}: {kind}{one_line(error)}") from error


def checksum(rows: PartRows) -> int:
    """CRC-32 of examples, labels, weights and names of columns."""
    y = rows.y
    if y.dtype.kind in "OT":
        y = np.frombuffer(repr(y.tolist()).encode("utf-8", "surrogatepass"), np.uint8)
    arrays = [rows.X, y] if rows.weight is None else [rows.X, y, rows.weight]
    return crc32_of_arrays(*arrays, np.frombuffer(repr(rows.names).encode(), np.uint8))


def checked_rows(X: Any, y: Any, weight: Any = None) -> PartRows | None:
    """The rows of a part, None if none has weight.

    Parameters
    ----------
    X : array, shape (n, ...), data frame, shape (n, d), or list of rows
    y : array or series, shape (n,) or (n, K)
    weight : array or series, shape (n,), optional

    Raises
    ------
    DataError
        If the columns are not numbers, or labels and weights do not fit the rows.
    ValueError
        Of scikit-learn's checks: infinite values, labels that are no classes.
    """
    if hasattr(X, "tocsr"):
        raise DataError(
            "X must be a table of numbers in chunks of NumPy arrays or data frames, got sparse "
            "chunks; convert them by X.map_blocks(lambda chunk: chunk.toarray())"
        )
    if isinstance(X, list | tuple):  # of a bag
        X = np.asarray(X)
    labels = _labels(y)
    if X.shape[0] != labels.shape[0]:
        raise DataError(
            f"X and y must have the same chunks, got {X.shape[0]:,} rows of X and "
            f"{labels.shape[0]:,} of y; rechunk or repartition one of them like the other"
        )
    given = None if weight is None else _weights(weight, labels.shape[0])
    if not labels.shape[0] or (given is not None and not given.any()):
        return None
    names = _numeric_names(X) if is_frame(X) else None
    examples = check_array(
        X, dtype="numeric", allow_nd=True, ensure_all_finite="allow-nan", input_name="X"
    )
    if given is None or given.all():
        return PartRows(examples, _classes(labels), given, names)
    kept = given > 0
    return PartRows(examples[kept], _classes(labels[kept]), given[kept], names)


def _labels(y: Any) -> NDArray[Any]:
    found: NDArray[Any] = y.to_numpy() if hasattr(y, "to_numpy") else np.asarray(y)
    if found.ndim == 2 and found.shape[1] == 1:
        found = found[:, 0]
    if found.ndim not in (1, 2):
        raise DataError(f"y must be class labels (n,) or 0 and 1 (n, K), got shape {found.shape}")
    return found


def _classes(labels: NDArray[Any]) -> NDArray[Any]:
    """The labels; scikit-learn's ValueError if they are numbers in between, or missing."""
    try:
        check_classification_targets(labels)
        if labels.ndim == 2 and type_of_target(labels) != "multilabel-indicator":
            if np.isin(labels, (0, 1)).all():  # a part may have rows without a difference
                return labels
            raise DataError(
                "labels y with several columns must be a multi-label indicator of 0 and 1, got "
                f"{type_of_target(labels)}; fit one classifier per column instead"
            )
    except TypeError as error:
        raise DataError(
            f"y must hold labels of one kind, none of them missing ({one_line(error)})"
        ) from error
    return labels


def _weights(weight: Any, n: int) -> NDArray[np.float64]:
    found = np.asarray(weight, dtype=np.float64)
    if found.ndim == 2 and found.shape[1] == 1:
        found = found[:, 0]
    if found.shape == (n,) and n and not (found != 0).any():
        return found  # a part may have no weight; the whole table may not
    if n or found.shape != (n,):
        check_example_weight(found, n)
    return found


def _numeric_names(frame: Any) -> tuple[str, ...] | None:
    """Names of the columns; DataError unless all hold numbers or truth values."""
    if not numbers_by_dtype(frame):
        for name, dtype in zip(frame.columns, frame.dtypes, strict=True):
            if getattr(dtype, "kind", "O") not in "biuf":
                raise DataError(
                    f"on a cluster, columns must hold numbers or truth values, got {name!r} "
                    f"({dtype}); encode it first, for example by dask.dataframe.get_dummies after "
                    "X.categorize(), or drop it"
                )
    names = tuple(frame.columns)
    return names if all(isinstance(name, str) for name in names) else None
