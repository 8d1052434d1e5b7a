"""Reads the user's own data from ``.npz``, CSV and svmlight files.

Text among the features, a missing label, a row of another length, an infinite value or a damaged
file raises a DataError that names the place. Missing values are kept as NaN.
"""

from __future__ import annotations

import csv
import gzip
import inspect
import itertools
import math
from array import array
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray

from boostsample.errors import DataError, SettingError, unknown
from boostsample.experiments.common.files import readable_file
from boostsample.experiments.common.machine import machine_memory
from boostsample.experiments.data.dataset import DataContent

__all__ = [
    "is_dataset_file",
    "parse_labels",
    "read_csv",
    "read_dataset_file",
    "read_npz",
    "read_svmlight",
]

_SUFFIXES = {
    ".npz": "npz",
    ".csv": "csv",
    ".tsv": "csv",
    ".svmlight": "svmlight",
    ".libsvm": "svmlight",
    ".svm": "svmlight",
}

_MISSING = frozenset({"", "na", "n/a", "nan", "null", "?"})
"""Texts of a missing value, compared without case."""


def is_dataset_file(path: Path) -> bool:
    """Return whether `read_dataset_file` recognises the suffix (before any ``.gz``)."""
    return _suffix(path) in _SUFFIXES


def _suffix(path: Path) -> str:
    return (path.with_suffix("") if path.suffix.lower() == ".gz" else path).suffix.lower()


def read_dataset_file(path: Path, *, file_format: str | None = None, **options: Any) -> DataContent:
    """Read a file in the format of its suffix, or in `file_format`: npz, csv or svmlight.

    Suffixes are ``.npz``; ``.csv``, ``.tsv``; ``.svmlight``, ``.libsvm``, ``.svm``; text also with
    ``.gz``. `options` are those of `read_npz`, `read_csv` or `read_svmlight`; an unknown one raises
    SettingError.
    """
    if file_format is None:
        if not is_dataset_file(path):
            raise SettingError(
                f"cannot tell the format of {path} from its suffix, known: {', '.join(_SUFFIXES)}; "
                f"give file_format=, one of {', '.join(_READERS)}"
            )
        file_format = _SUFFIXES[_suffix(path)]
    if file_format not in _READERS:
        raise unknown("data format", file_format, _READERS)
    reader = _READERS[file_format]
    known = [name for name in inspect.signature(reader).parameters if name != "path"]
    for option in options:
        if option not in known:
            raise unknown(f"option of {file_format} files", option, ["file_format", *known])
    if not path.is_file():
        raise DataError(f"data file {str(path)!r} must be an existing file; there is none")
    return reader(path, **options)


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
        X, y = (np.concatenate([arrays[f"{one}_train"], arrays[f"{one}_test"]]) for one in "Xy")
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
    with np.errstate(over="ignore"):
        result = np.ascontiguousarray(X, dtype=np.float32)
    for place in np.argwhere(np.isinf(result) & np.isfinite(X))[:1].tolist():
        raise DataError(
            f"{path}: X must hold values within +-3.4e38 (float32), got {X[tuple(place)]} at "
            f"{tuple(place)}; rescale them"
        )
    return result


def _npz_labels(
    y: NDArray[Any], path: Path
) -> tuple[NDArray[np.int64] | NDArray[np.int8], tuple[str, ...]]:
    if y.dtype.kind not in "buifU":
        raise DataError(f"{path}: y must hold numbers or text, got dtype {y.dtype}")
    if y.ndim == 1:
        return parse_labels(y.tolist(), f"{path}: y")
    if y.ndim != 2 or y.shape[1] < 2 or y.dtype.kind == "U" or not np.isin(y, (0, 1)).all():
        raise DataError(
            f"{path}: y must be n labels, or (n, K) of 0 and 1 with K >= 2 for several labels a "
            f"row, got {y.dtype} of shape {y.shape}"
        )
    return y.astype(np.int8), tuple(str(label) for label in range(y.shape[1]))


def read_csv(
    path: Path, *, label: str | int = -1, header: bool | None = None, delimiter: str | None = None
) -> DataContent:
    """Read a table of numbers, as float32, with one column of labels; UTF-8, plain or gzipped.

    Empty fields, NA, N/A, NaN, null and ? are missing values. `label` is the name of the label
    column or, if it is a whole number, its position. `header` states whether the first line names
    the columns; None: it does if `label` is one of its fields, or if any field outside of the label
    column is neither a number nor missing. `delimiter` None is the tab for ``.tsv``, else the first
    of comma, semicolon and tab found in the first line.
    """
    if delimiter is not None and len(delimiter) != 1:
        raise SettingError(f"delimiter must be one character, got {delimiter!r}")
    names: list[str] | None = None
    labels: list[str] = []
    values, lines = array("d"), array("q")
    width = column = 0
    with readable_file(path), _open_text(path) as stream:
        first = stream.readline()
        if delimiter is None and path.name.lower().endswith((".tsv", ".tsv.gz")):
            delimiter = "\t"
        mark = delimiter or next((mark for mark in ",;\t" if mark in first), ",")
        reader = csv.reader(itertools.chain([first], stream), delimiter=mark)
        for row in reader:
            fields = [field.strip() for field in row]
            if fields in ([], [""]):
                continue
            if not width:
                width = len(fields)
                column, is_header = _first_line(fields, label, header, path)
                if is_header:
                    names = [field or f"column {i}" for i, field in enumerate(fields)]
                    continue
            if len(fields) != width:
                raise DataError(
                    f"{path}, line {reader.line_num}: every line must have {width} fields like the "
                    f"first, got {len(fields)}"
                )
            labels.append(fields.pop(column))
            lines.append(reader.line_num)
            try:
                values.extend([_parse_number(field) for field in fields])
            except ValueError:
                at = next(i for i, field in enumerate(fields) if not _is_number(field))
                raise DataError(
                    f"{path}, line {lines[-1]}, {_column_name(at, column, names)} must be a number "
                    f"or missing, got {fields[at]!r}; encode text as numbers, or name the label "
                    "column by label="
                ) from None
    if not labels:
        raise DataError(f"{path} must have at least one line of data, got none")
    exact = np.frombuffer(values, dtype=np.float64).reshape(-1, width - 1)
    with np.errstate(over="ignore"):
        X = exact.astype(np.float32)
    for line, at in np.argwhere(np.isinf(X))[:1]:
        raise DataError(
            f"{path}, line {lines[line]}, {_column_name(int(at), column, names)} must lie within "
            f"+-3.4e38 (float32), got {exact[line, at]}; rescale it, or leave it empty if missing"
        )
    y, classes = parse_labels(labels, f"{path}: the label column")
    columns = None if names is None else tuple(n for i, n in enumerate(names) if i != column)
    return DataContent(X, y, classes, columns, None)


def _open_text(path: Path) -> TextIO:
    with path.open("rb") as stream:
        zipped = stream.read(2) == b"\x1f\x8b"
    return (gzip.open if zipped else open)(path, "rt", encoding="utf-8-sig", newline="")


def _is_number(field: str) -> bool:
    try:
        _parse_number(field)
    except ValueError:
        return False
    return True


def _column_name(at: int, label_column: int, names: list[str] | None) -> str:
    """Return the name of feature `at`, counted without the label column, for messages."""
    position = at + (at >= label_column)
    return f"column {position}" if names is None else f"column {names[position]!r}"


def _first_line(
    fields: list[str], label: str | int, header: bool | None, path: Path
) -> tuple[int, bool]:
    """Return the position of the label column, and whether this line is a header."""
    width = len(fields)
    if width < 2:
        raise DataError(
            f"{path} must have at least two columns, a feature and the label, got {width}; "
            "give delimiter= if it is none of comma, semicolon and tab"
        )
    try:
        column = int(label)
    except ValueError:
        if header is False or label not in fields:
            raise SettingError(
                f"label must be a column of {path} or a position, got {label!r}; "
                + ("the file has no header" if header is False else f"columns: {', '.join(fields)}")
            ) from None
        column, header = fields.index(str(label)), True
    if not -width <= column < width:
        raise SettingError(
            f"label must be a column name or a position from {-width} to {width - 1} for {path}, "
            f"got {label!r}"
        )
    column %= width
    if header is None:
        header = any(not _is_number(field) for i, field in enumerate(fields) if i != column)
    return column, header


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
    if not multilabel:
        return DataContent(X, *parse_labels(labels.tolist(), f"{path}: the labels"), None, None)
    codes, classes = parse_labels([one for row in labels for one in row], f"{path}: the labels")
    y = np.zeros((len(labels), len(classes)), dtype=np.int8)
    y[np.repeat(np.arange(len(labels)), [len(row) for row in labels]), codes] = 1
    return DataContent(X, y, classes, None, None)


def _parse_number(text: str) -> float:
    """Return the number that a text spells, NaN if it is missing; ValueError for other text."""
    try:
        if "_" not in text:  # float() would read 1_000 as 1000
            return float(text)
    except ValueError:
        pass
    if text.casefold() in _MISSING:
        return math.nan
    raise ValueError(text)


def parse_labels(values: Sequence[object], where: str) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Number the classes 0 to K-1, ordered as numbers or, if any label is text, by name.

    Labels are whole numbers (also written as floats), booleans or text, which is stripped. Returns
    the code of each label, int64 (n,), and the name of each code. DataError, beginning with
    `where`, if a label is missing or is a number that is not whole.
    """
    labels = [str(value).strip() for value in values]
    keys: dict[str, Any] = {label: _label_number(label) for label in set(labels)}
    for row, label in enumerate(labels, start=1):
        if label.casefold() in _MISSING:
            raise DataError(
                f"{where} must have a label in every row, got {label!r} in data row {row}; "
                "leave out the rows without one"
            )
    if None in keys.values():
        keys = {label: label for label in keys}
    ordered = sorted(set(keys.values()))
    for key in ordered:
        if isinstance(key, float):
            raise DataError(
                f"{where} must hold whole numbers or text, got {key}; cut a measured quantity "
                "into classes first"
            )
    code_of = {key: code for code, key in enumerate(ordered)}
    codes = np.array([code_of[keys[label]] for label in labels], dtype=np.int64)
    return codes, tuple(map(str, ordered))


def _label_number(label: str) -> int | float | None:
    """Return the number of a label, as int if it is whole; None for text."""
    try:
        return int(label) if "_" not in label else None
    except ValueError:
        pass
    try:
        number = _parse_number(label)
    except ValueError:
        return None
    return int(number) if number.is_integer() else number


_READERS: dict[str, Callable[..., DataContent]] = {
    "npz": read_npz,
    "csv": read_csv,
    "svmlight": read_svmlight,
}
