"""Reads the user's own data from files: ``.npz``, CSV, TSV, Parquet and svmlight (docs/data.md).

A missing label, a row of another length, an infinite value or a damaged file raises a DataError
that names the place. Missing values are kept as NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostsample.checks import columns_merged_by_float32, warn_of_merged_columns
from boostsample.classifier.inputs.frames import TableColumns, is_number
from boostsample.errors import DataError, SettingError, unknown
from boostsample.experiments.common.machine import machine_memory
from boostsample.experiments.data.dataset import DataContent
from boostsample.experiments.data.table_reader import (
    TABLE_OPTIONS,
    TABLE_SUFFIXES,
    LabelledTable,
    TableOptions,
    check_file_option,
    check_row_numbers,
    file_suffix,
    label_values,
    number_classes,
    read_csv,
    read_parquet,
    split_label,
)
from boostsample.files.atomic import readable_file

_SUFFIXES = {
    **TABLE_SUFFIXES,
    ".npz": "npz",
    ".svmlight": "svmlight",
    ".libsvm": "svmlight",
    ".svm": "svmlight",
    ".svmlight.gz": "svmlight",
    ".libsvm.gz": "svmlight",
    ".svm.gz": "svmlight",
}


OPTIONS = {**TABLE_OPTIONS, "npz": (), "svmlight": ("multilabel",)}
"""Options of each kind of files."""


def is_dataset_file(path: Path) -> bool:
    """Return whether `read_dataset_file` recognises the suffix."""
    return file_suffix(path) in _SUFFIXES


def read_dataset_file(path: Path, *, kind: str | None = None, **options: Any) -> DataContent:
    """Read a file in the format of its suffix, or of `kind`: csv, parquet, npz or svmlight.

    `options` are those of `OPTIONS`, also as text; None is the default. SettingError if one is
    unknown.
    """
    if kind is None:
        if not is_dataset_file(path):
            raise SettingError(
                f"cannot tell the format of {path} from its suffix, known: {', '.join(_SUFFIXES)}; "
                f"give kind=, one of {', '.join(_READERS)}"
            )
        kind = _SUFFIXES[file_suffix(path)]
    if kind not in _READERS:
        raise unknown("kind of data file", kind, _READERS)
    known = OPTIONS[kind]
    for option in options:
        if option not in known:
            raise unknown(f"option of {kind} files", option, ["kind", "name", "validation", *known])
    checked = {
        name: check_file_option(name, value) for name, value in options.items() if value is not None
    }
    if not path.is_file():
        raise DataError(f"data file {str(path)!r} must be an existing file; there is none")
    return _READERS[kind](path, **checked)


def _read_table(
    read: Callable[[Path, TableOptions], LabelledTable], path: Path, **options: Any
) -> DataContent:
    """The numbers that the classifier makes of a table; categories are those of all rows."""
    table = read(path, TableOptions(**{"label": -1, "header": None, **options}))
    assert table.label is not None
    frame, values = split_label(table.frame, table.label, path)
    check_row_numbers(frame, path)
    try:
        X, merged, names = _as_numbers(frame)
    except DataError as error:
        raise DataError(f"{path}: {error}") from error
    warn_of_merged_columns([f"{path}: column {name!r}" for name in merged])
    columns = names if table.has_names or len(names) > frame.shape[1] else None
    return DataContent(X, *number_classes(values, f"{path}: the label"), columns, None)


def _as_numbers(frame: Any) -> tuple[NDArray[np.float32], list[str], tuple[str, ...]]:
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


def read_npz(path: Path) -> DataContent:
    """Read a NumPy archive: ``X, y``, or ``X_train, y_train, X_test, y_test`` for a fixed split.

    ``X`` is (n, d), or (n, h, w) or (n, h, w, c) for images (uint8 stays uint8, anything else
    becomes float32); ``y`` has n labels, or is (n, K) of 0 and 1 for several labels a row; the
    optional ``columns`` names the d columns. Pickled objects are not loaded.
    """
    # Opened here because np.load leaves the file of a damaged archive open.
    with readable_file(path), path.open("rb") as stream:
        archive = np.load(stream, allow_pickle=False)
        if not isinstance(archive, np.lib.npyio.NpzFile):
            raise DataError(f"{path} must be an .npz archive, got a single array; use numpy.savez")
        arrays: dict[str, NDArray[Any]] = {key: archive[key] for key in archive.files}
    for key, array in arrays.items():
        if not isinstance(array, np.ndarray):  # a member that is no .npy file, as bytes
            raise DataError(f"{path}: {key!r:.60} must be an array, got a file of another kind")
    named = arrays.pop("columns", None)
    if named is not None and named.dtype.kind != "U":
        raise DataError(f"{path}: columns must hold names (text), got dtype {named.dtype}")
    columns = None if named is None else tuple(named.ravel().tolist())
    keys = set(arrays)
    if keys == {"X", "y"}:
        X, y, n_train = arrays["X"], arrays["y"], None
    elif keys == {"X_train", "y_train", "X_test", "y_test"}:
        for kind in "Xy":
            train, test = arrays[f"{kind}_train"], arrays[f"{kind}_test"]
            if train.ndim == 0 or train.shape[1:] != test.shape[1:]:
                raise DataError(
                    f"{path}: {kind}_train and {kind}_test must agree in all but the number of "
                    f"rows, got shapes {train.shape} and {test.shape}"
                )
        X, y = (np.concatenate([arrays[f"{kind}_train"], arrays[f"{kind}_test"]]) for kind in "Xy")
        n_train = len(arrays["X_train"])
        if len(arrays["y_train"]) != n_train:
            raise DataError(
                f"{path}: X_train and y_train must have equally many rows, got {n_train} and "
                f"{len(arrays['y_train'])}"
            )
    else:
        raise DataError(
            f"{path} must hold the arrays X and y, or X_train, y_train, X_test and y_test (and "
            f"columns, if named), got {', '.join(sorted(keys)) or 'none'}"
        )
    return DataContent(_npz_features(X, path), *_npz_labels(y, path), columns, n_train)


def _npz_features(X: NDArray[Any], path: Path) -> NDArray[np.uint8] | NDArray[np.float32]:
    if X.ndim > 2 and X.dtype == np.uint8:
        return np.ascontiguousarray(X)
    if X.dtype.kind not in "buif":
        raise DataError(f"{path}: X must hold real numbers, got dtype {X.dtype}")
    with np.errstate(over="ignore"):  # the data set refuses infinite values
        return np.ascontiguousarray(X, dtype=np.float32)


def _npz_labels(
    y: NDArray[Any], path: Path
) -> tuple[NDArray[np.int64] | NDArray[np.int8], tuple[str, ...]]:
    if y.dtype.kind not in "buifU":
        raise DataError(f"{path}: y must hold numbers or text, got dtype {y.dtype}")
    if y.ndim == 1:
        return number_classes(label_values(y.tolist(), f"{path}: y"), f"{path}: y")
    labelled = y.ndim == 2 and y.shape[0] > 0 and y.shape[1] >= 2 and y.dtype.kind != "U"
    if not labelled or not np.isin(y, (0, 1)).all():
        raise DataError(
            f"{path}: y must be n labels, or (n, K) of 0 and 1 with n >= 1 and K >= 2 for several "
            f"labels a row, got {y.dtype} of shape {y.shape}"
        )
    return y.astype(np.int8), tuple(str(label) for label in range(y.shape[1]))


def read_svmlight(path: Path, *, multilabel: bool = False) -> DataContent:
    """Read a svmlight/libsvm text (plain, ``.gz`` or ``.bz2``) into a dense table.

    Features absent from a line are 0, not missing. With `multilabel`, commas separate the labels of
    a line, and y is (n, K) of 0 and 1.
    """
    from sklearn.datasets import load_svmlight_file

    with readable_file(path):
        sparse, labels = load_svmlight_file(str(path), dtype=np.float32, multilabel=multilabel)
    n_bytes, memory = 4 * sparse.shape[0] * sparse.shape[1], machine_memory()
    if n_bytes > memory:
        raise DataError(
            f"{path}: a dense table must fit into memory, {memory / 2**30:.1f} GiB, but "
            f"{sparse.shape[0]} x {sparse.shape[1]} values need {n_bytes / 2**30:.1f} GiB; select "
            "features of the svmlight file first"
        )
    X = sparse.toarray(order="C")
    where = f"{path}: the labels"
    flat = [label for row in labels for label in row] if multilabel else labels.tolist()
    codes, classes = number_classes(label_values(flat, where), where)
    if not multilabel:
        return DataContent(X, codes, classes, None, None)
    y = np.zeros((len(labels), len(classes)), dtype=np.int8)
    y[np.repeat(np.arange(len(labels)), [len(row) for row in labels]), codes] = 1
    return DataContent(X, y, classes, None, None)


_READERS: dict[str, Callable[..., DataContent]] = {
    "csv": partial(_read_table, read_csv),
    "parquet": partial(_read_table, read_parquet),
    "npz": read_npz,
    "svmlight": read_svmlight,
}
