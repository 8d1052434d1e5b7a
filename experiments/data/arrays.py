"""Makes data sets of arrays and data frames in memory, as of functions of the user."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostsample.checks import columns_merged_by_float32, warn_of_merged_columns
from boostsample.classifier.inputs.frames import TableColumns, frame_of, is_frame, is_number
from boostsample.column_table import ColumnTable
from boostsample.errors import DataError
from boostsample.experiments.data.dataset import DataContent, Dataset
from boostsample.experiments.data.table_reader import number_classes
from boostsample.labels import class_values

_SEED_NAME = "arrays"  # `Dataset.seed_name` of all arrays in memory


def dataset_of_arrays(X: Any, y: Any, name: str = "data") -> Dataset:
    """A data set of arrays as of `content_of_arrays`, of which splits are drawn."""
    return Dataset(name, **content_of_arrays(X, y)._asdict(), seed_name=_SEED_NAME)


def content_of_arrays(X: Any, y: Any, n_train: int | None = None) -> DataContent:
    """The content of a data set of examples and their labels (n,), or 0 and 1 (n, K).

    X is an array, data frame, SciPy matrix or ColumnTable (n, d), or images (n, h, w) or (n, h, w,
    c). Numbers become float32; uint8 images stay uint8. Columns of text, dates and categories of a
    frame of pandas, polars or Arrow become numbers as those of files. The first `n_train` rows, if
    given, are those to train on. DataError if X holds other values than numbers, or y none that are
    labels (`class_values`).
    """
    from scipy.sparse import csc_array, issparse

    X = frame_of(X)
    columns: tuple[str, ...] | None = None
    if is_frame(X):
        X, merged, columns = numbers_of_frame(X.set_axis(map(str, X.columns), axis=1))
        warn_of_merged_columns([f"column {name!r}" for name in merged])
    elif issparse(X):
        X = csc_array(X, dtype=np.float32)
        X.sum_duplicates()
    elif isinstance(X, ColumnTable):
        columns = None if X.column_names is None else tuple(X.column_names)
    else:
        X = _plain(X)
    values = class_values(y)
    if len(values) != X.shape[0]:
        raise DataError(
            f"X and y must have as many rows, got {X.shape[0]} and {len(values)}; give each row "
            "of X its label"
        )
    if values.ndim == 2:
        names = tuple(map(str, range(values.shape[1])))
        return DataContent(X, values.astype(np.int8), names, columns, n_train)
    return DataContent(X, *number_classes(values, "y"), columns, n_train)


def _plain(X: Any) -> NDArray[Any]:
    array: NDArray[Any] = np.asarray(X)
    if array.dtype == np.uint8 and array.ndim > 2:
        return array
    try:
        with np.errstate(over="ignore"):  # `Dataset` names the place of an infinite value
            return np.asarray(array, np.float32)
    except (TypeError, ValueError) as error:
        raise DataError(
            f"X must hold numbers, got {array.dtype}: {error}; give text and dates in a data frame"
        ) from error


def numbers_of_frame(frame: Any) -> tuple[NDArray[np.float32], list[str], tuple[str, ...]]:
    """The table of numbers, names of columns that float32 merges, and names of all columns."""
    merged: list[str] = []
    if all(map(is_number, frame.dtypes)):  # at once: a wide table has 100,000 columns
        exact = frame.to_numpy(np.float64, na_value=np.nan)
        with np.errstate(over="ignore"):
            X = exact.astype(np.float32, order="C")
        if not np.isinf(X).any():
            merged = [frame.columns[at] for at in columns_merged_by_float32(exact)]
            return X, merged, tuple(frame.columns)
    columns = TableColumns.learn(frame)
    return np.ascontiguousarray(columns.transform(frame, merged)), merged, columns.names


def _form(X: Any) -> str:
    from scipy.sparse import issparse

    if isinstance(X, ColumnTable):
        raise DataError("a ColumnTable cannot be joined; return DataContent with n_train")
    return "frame" if is_frame(X) else "sparse" if issparse(X) else "array"


def joined_parts(train: tuple[Any, Any], test: tuple[Any, Any]) -> DataContent:
    """The content of a fixed split: both parts are (X, y) as of `content_of_arrays`.

    DataError if they do not fit each other.
    """
    (X, y), (X_test, y_test) = train, test
    X, X_test = frame_of(X), frame_of(X_test)
    if _form(X) != _form(X_test):
        raise DataError(
            f"X to train and to test on must be of one kind, got {type(X).__name__} and "
            f"{type(X_test).__name__}"
        )
    shapes = [np.shape(part)[1:] for part in (X, X_test)]
    if shapes[0] != shapes[1] or (is_frame(X) and list(X.columns) != list(X_test.columns)):
        raise DataError(
            "X to train and to test on must have the same columns, or images of one shape, got "
            f"examples of shape {shapes[0]} and {shapes[1]}"
        )
    labels = [class_values(part) for part in (y, y_test)]
    if labels[0].shape[1:] != labels[1].shape[1:] or len(labels[0]) != np.shape(X)[0]:
        raise DataError(
            "y to train and to test on must have a label for each row of X, and be of one shape, "
            f"got y of shape {labels[0].shape} and {labels[1].shape} for {np.shape(X)[0]} and "
            f"{np.shape(X_test)[0]} rows"
        )
    if labels[0].ndim == 1:  # labels of different kinds are refused
        both: Any = [*labels[0].tolist(), *labels[1].tolist()]
    else:
        both = np.concatenate(labels)
    if is_frame(X):
        import pandas as pd

        table: Any = pd.concat([X, X_test], ignore_index=True)
    else:
        from scipy.sparse import issparse, vstack

        table = vstack([X, X_test]) if issparse(X) else np.concatenate([X, X_test])
    return content_of_arrays(table, both, len(labels[0]))
