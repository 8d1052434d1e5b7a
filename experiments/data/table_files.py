"""Reads tables of numbers with one column of labels from CSV, TSV and Parquet files."""

from __future__ import annotations

import csv
import gzip
import itertools
import re
from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, TextIO

import numpy as np
from numpy.typing import NDArray

from boostsample.checks import columns_merged_by_float32, warn_of_merged_columns
from boostsample.errors import DataError, SettingError
from boostsample.experiments.data.class_labels import parse_labels, parse_number
from boostsample.experiments.data.dataset import DataContent
from boostsample.files.atomic import readable_file

_UNNAMED = re.compile(r"\s*|Unnamed: [0-9].*|__index_level_[0-9]+__")
"""Names of columns without one, in files and as pandas and pyarrow write them."""


class _Columns(NamedTuple):
    """Number of columns, positions of label and features, and whether there is a header."""

    width: int
    label: int
    features: list[int]
    header: bool


def read_csv(
    path: Path,
    *,
    label: str | int = -1,
    drop: Sequence[str | int] = (),
    header: bool | None = None,
    delimiter: str | None = None,
) -> DataContent:
    """Read a table of numbers, as float32, with one column of labels; UTF-8, plain or gzipped.

    Empty fields, NA, N/A, NaN, null and ? are missing values. `label` is the name of the label
    column or, if it is a whole number, its position; `drop` holds columns to leave out. `header`
    states whether the first line names the columns; None: it does if `label` or one of `drop` is a
    name, or if any field of a feature is neither a number nor missing. `delimiter` None is the tab
    for ``.tsv``, else the first of comma, semicolon and tab found in the first line.
    """
    names: list[str] | None = None
    labels: list[str] = []
    values, lines = array("d"), array("q")
    columns: _Columns | None = None
    with readable_file(path), open_text(path) as stream:
        first = stream.readline()
        if delimiter is None and path.name.lower().endswith((".tsv", ".tsv.gz")):
            delimiter = "\t"
        mark = delimiter or next((mark for mark in ",;\t" if mark in first), ",")
        reader = csv.reader(itertools.chain([first], stream), delimiter=mark)
        for row in reader:
            fields = [field.strip() for field in row]
            if fields in ([], [""]):
                continue
            if columns is None:
                columns = _columns(fields, label, drop, header, path)
                if columns.header:
                    names = fields
                    continue
            if len(fields) != columns.width:
                raise DataError(
                    f"{path}, line {reader.line_num}: every line must have {columns.width} fields "
                    f"like the first, got {len(fields)}"
                )
            labels.append(fields[columns.label])
            lines.append(reader.line_num)
            try:
                values.extend([parse_number(fields[at]) for at in columns.features])
            except ValueError:
                at = next(at for at in columns.features if not _is_number(fields[at]))
                raise DataError(
                    f"{path}, line {lines[-1]}, {_column_name(at, names)} must be a number or "
                    f"missing, got {fields[at]!r}; {_text_hint(at)}"
                ) from None
    if columns is None or not labels:
        raise DataError(f"{path} must have at least one line of data, got none")
    exact = np.frombuffer(values, dtype=np.float64).reshape(len(labels), -1)
    with np.errstate(over="ignore"):
        X = exact.astype(np.float32)
    for line, at in np.argwhere(np.isinf(X))[:1]:
        raise DataError(
            f"{path}, line {lines[line]}, {_column_name(columns.features[at], names)} must lie "
            f"within +-3.4e38 (float32), got {exact[line, at]}; rescale it, or leave it empty if "
            "missing"
        )
    for number, at in enumerate(columns.features):
        _check_named(path, at, names, exact[:, number])
    merged = (columns.features[number] for number in columns_merged_by_float32(exact))
    warn_of_merged_columns([f"{path}: {_column_name(at, names)}" for at in merged])
    y, classes = parse_labels(labels, f"{path}: the label column")
    kept = None if names is None else tuple(names[at] or f"column {at}" for at in columns.features)
    return DataContent(X, y, classes, kept, None)


def read_parquet(
    path: Path, *, label: str | int = -1, drop: Sequence[str | int] = ()
) -> DataContent:
    """Read a table of numbers, as float32, with one column of labels, from a Parquet file.

    `label` and `drop` as in `read_csv`. Null and NaN are missing values; the index of a data frame
    is left out. SettingError if pyarrow is not installed.
    """
    try:
        from pyarrow import parquet, types
    except ImportError:
        raise SettingError(
            f"reading {path} needs pyarrow, which is not installed; pip install pyarrow, or save "
            "the table as .csv"
        ) from None
    with readable_file(path):
        table = parquet.read_table(path)
        about = table.schema.pandas_metadata or {}
        index = [name for name in about.get("index_columns", ()) if name in table.column_names]
        table = table.drop_columns(index)
        names = table.column_names
    columns = _columns(names, label, drop, True, path)
    if not table.num_rows:
        raise DataError(f"{path} must have at least one row of data, got none")
    X = np.empty((table.num_rows, len(columns.features)), dtype=np.float32)
    merged = []
    for number, at in enumerate(columns.features):
        column = table.column(at)
        kinds = (types.is_boolean, types.is_integer, types.is_floating, types.is_decimal)
        if not any(is_kind(column.type) for is_kind in (*kinds, types.is_null)):
            raise DataError(
                f"{path}, column {names[at]!r} must hold numbers, got {column.type}; "
                f"{_text_hint(at)}"
            )
        exact = np.asarray(column.cast("float64", safe=False).to_numpy(), dtype=np.float64)
        _check_named(path, at, names, exact)
        X[:, number] = _as_float32(exact, f"{path}, column {names[at]!r}")
        if columns_merged_by_float32(exact[:, None]):
            merged.append(f"{path}: column {names[at]!r}")
    warn_of_merged_columns(merged)
    with readable_file(path):  # of text that is not UTF-8
        labels = table.column(columns.label).to_pylist()
    y, classes = parse_labels(labels, f"{path}: the label column")
    return DataContent(X, y, classes, tuple(names[at] for at in columns.features), None)


def _as_float32(exact: NDArray[np.float64], where: str) -> NDArray[np.float32]:
    """Return the numbers of a column; DataError if float32 cannot hold one."""
    with np.errstate(over="ignore"):
        values = exact.astype(np.float32)
    for row in np.flatnonzero(np.isinf(values))[:1].tolist():
        raise DataError(
            f"{where} must lie within +-3.4e38 (float32), got {exact[row]} in data row {row + 1}; "
            "rescale it, or leave it empty if missing"
        )
    return values


def may_be_index(name: str, values: NDArray[np.float64] | None) -> bool:
    """Whether a column has no name and whole numbers, as the index of a data frame has.

    `values` is None for text, dates and other values, which may be an index, too.
    """
    if not _UNNAMED.fullmatch(name):
        return False
    return values is None or bool((values % 1 == 0).all())


def _check_named(path: Path, at: int, names: list[str] | None, values: NDArray[np.float64]) -> None:
    if names is not None and may_be_index(names[at], values):
        raise DataError(
            f"{path}: features must not number the rows, but {_column_name(at, names)}, which has "
            "no name, holds whole numbers, as the index that to_csv of pandas writes; leave it out "
            f"by drop={at}, or give it a name"
        )


def open_text(path: Path) -> TextIO:
    """Open a text file, plain or gzipped, in UTF-8 with or without a byte order mark."""
    with path.open("rb") as stream:
        zipped = stream.read(2) == b"\x1f\x8b"
    return (gzip.open if zipped else open)(path, "rt", encoding="utf-8-sig", newline="")


def _is_number(field: str) -> bool:
    try:
        parse_number(field)
    except ValueError:
        return False
    return True


def _column_name(position: int, names: list[str] | None) -> str:
    name = "" if names is None else names[position]
    return f"column {name!r}" if name else f"column {position}"


def _text_hint(position: int) -> str:
    return (
        f"leave that column out by drop={position}, name the label column by label=, or encode "
        "text as numbers"
    )


def _columns(
    fields: list[str], label: str | int, drop: Sequence[str | int], header: bool | None, path: Path
) -> _Columns:
    """Choose the columns of a table by the fields of its first line."""
    if len(fields) < 2:
        raise DataError(
            f"{path} must have at least two columns, a feature and the label, got {len(fields)}; "
            "give delimiter= if it is none of comma, semicolon and tab"
        )
    if header is None and not all(map(_is_position, (label, *drop))):
        header = True
    at = _position("label", label, fields, header, path)
    left_out = {_position("drop", one, fields, header, path) for one in drop}
    if at in left_out:
        raise SettingError(f"drop must not name the label column of {path}, {label!r}")
    features = [one for one in range(len(fields)) if one != at and one not in left_out]
    if not features:
        raise SettingError(f"drop must leave at least one feature of {path}, but names all of them")
    if header is None:
        header = any(not _is_number(fields[one]) for one in features)
    return _Columns(len(fields), at, features, header)


def _is_position(column: str | int) -> bool:
    try:
        int(column)
    except ValueError:
        return False
    return True


def _position(
    option: str, column: str | int, fields: list[str], header: bool | None, path: Path
) -> int:
    """Return the position of a column that an option names, from 0."""
    width = len(fields)
    if not _is_position(column):
        if header is False or column not in fields:
            raise SettingError(
                f"{option} must be a column of {path} or a position, got {column!r}; "
                + ("the file has no header" if header is False else f"columns: {', '.join(fields)}")
            )
        if fields.count(str(column)) > 1:
            places = ", ".join(str(at) for at, one in enumerate(fields) if one == column)
            raise SettingError(
                f"{option} must name one column, but {path} has {column!r} at the positions "
                f"{places}; give positions"
            )
        return fields.index(str(column))
    if not -width <= int(column) < width:
        raise SettingError(
            f"{option} must be a column name or a position from {-width} to {width - 1} for "
            f"{path}, got {column!r}"
        )
    return int(column) % width
