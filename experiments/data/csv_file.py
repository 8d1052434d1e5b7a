"""Reads CSV files of numbers with one column of labels.

Text among the features, a missing label, a line of another length or an infinite value raises a
DataError that names line and column. Missing values are kept as NaN.
"""

from __future__ import annotations

import csv
import gzip
import itertools
from array import array
from pathlib import Path
from typing import TextIO

import numpy as np

from boostsample.errors import DataError, SettingError
from boostsample.experiments.common.files import readable_file
from boostsample.experiments.data.dataset import DataContent
from boostsample.experiments.data.parse_labels import parse_label_number, parse_labels

__all__ = ["read_csv"]


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
                values.extend([parse_label_number(field) for field in fields])
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
        parse_label_number(field)
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
