"""The rows of one part of a table, checked where they are read: on a worker."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array

from boostsample.checks import check_example_weight
from boostsample.classifier.inputs.fit_inputs import as_numbers
from boostsample.classifier.inputs.frames import frame_of, is_frame, is_number
from boostsample.classifier.inputs.seen_columns import check_container
from boostsample.errors import DataError, ShardError, one_line
from boostsample.hashing import crc32_of_arrays
from boostsample.labels import class_values


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
    names : tuple or None
        Names of the columns, if X was a data frame.
    """

    X: NDArray[Any]
    y: NDArray[Any]
    weight: NDArray[np.float64] | None
    names: tuple[Any, ...] | None


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
        If the columns are not numbers, a value is infinite, labels are invalid, or labels and
        weights do not fit the rows.
    """
    if hasattr(X, "tocsr"):
        raise DataError(
            "X must be a table of numbers in chunks of NumPy arrays or data frames, got sparse "
            "chunks; convert them by X.map_blocks(lambda chunk: chunk.toarray())"
        )
    X = np.asarray(X) if isinstance(X, list | tuple) else frame_of(X)  # a list of a bag
    labels = class_values(y)
    n = labels.shape[0]
    if X.shape[0] != n:
        raise DataError(
            f"X and y must have the same chunks, got {X.shape[0]:,} rows of X and {n:,} of y; "
            "rechunk or repartition one of them like the other"
        )
    if weight is not None:
        weight = np.asarray(weight, dtype=np.float64)
        weight = weight[:, 0] if weight.ndim == 2 and weight.shape[1] == 1 else weight
        if weight.any() or weight.shape != (n,):  # a part may have no weight, unlike the table
            check_example_weight(weight, n)
    if not n or (weight is not None and not weight.any()):
        return None
    check_container(X)
    names = None
    if is_frame(X):
        names = tuple(X.columns)
        for name, dtype in zip(names, X.dtypes, strict=True):
            if not is_number(dtype):
                raise DataError(
                    f"on a cluster, columns must hold numbers or truth values, got {name!r} "
                    f"({dtype}); encode it first, for example by dask.dataframe.get_dummies after "
                    "X.categorize(), or drop it"
                )
    examples = as_numbers(X, check_array)
    if weight is None or weight.all():
        return PartRows(examples, labels, weight, names)
    weighted = weight > 0
    return PartRows(examples[weighted], labels[weighted], weight[weighted], names)
