"""A user's CSV file: one line a row, numbers and one column of labels.

Text among the features, a missing label, a line of another length or an infinite value is a
`DataError` that names line and column; only missing values are taken as they are.
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
from boostsample.experiments.data.content import Content, encode_labels, parse_number, readable

__all__ = ["read_csv"]


def read_csv(
    path: Path,
    *,
    label: str | int = -1,
    header: bool | None = None,
    delimiter: str | None = None,
) -> Content:
    """Read a table of numbers with one column of labels.

    Parameters
    ----------
    path : Path
        Text in UTF-8, plain or gzipped. Empty cells, NA, N/A, NaN, null and ? are missing values;
        values are kept as float32.
    label : str or int, default -1
        Name of the label column or, if it is a whole number, its position.
    header : bool or None
        Whether the first line names the columns. None: it does if `label` is one of its cells, or
        if a cell in it, the label's apart, is neither a number nor missing.
    delimiter : str or None
        None: the tab for ``.tsv``, else the first of comma, semicolon and tab that is in the first
        line.
    """
    if delimiter is not None and len(delimiter) != 1:
        raise SettingError(f"delimiter must be one character, got {delimiter!r}")
    names: list[str] | None = None
    labels: list[str] = []
    values, lines = array("d"), array("q")
    width = column = 0
    with readable(path), _open_text(path) as stream:
        first = stream.readline()
        reader = csv.reader(
            itertools.chain([first], stream), delimiter=delimiter or _delimiter(first, path)
        )
        for row in reader:
            cells = [cell.strip() for cell in row]
            if cells in ([], [""]):
                continue
            if not width:
                width = len(cells)
                column, is_header = _first_line(cells, label, header, path)
                if is_header:
                    names = [cell or f"column {i}" for i, cell in enumerate(cells)]
                    continue
            if len(cells) != width:
                raise DataError(
                    f"{path}, line {reader.line_num}: every line must have {width} cells like the "
                    f"first, got {len(cells)}"
                )
            labels.append(cells.pop(column))
            lines.append(reader.line_num)
            try:
                values.extend([parse_number(cell) for cell in cells])
            except ValueError:
                at = next(i for i, cell in enumerate(cells) if not _is_number(cell))
                raise DataError(
                    f"{path}, line {lines[-1]}, {_column_name(at, column, names)} must be a number "
                    f"or missing, got {cells[at]!r}; encode text as numbers, or name the column of "
                    "the labels by label="
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
    y, classes = encode_labels(labels, f"{path}: the label column")
    columns = None if names is None else tuple(n for i, n in enumerate(names) if i != column)
    return Content(X, y, classes, columns, None)


def _open_text(path: Path) -> TextIO:
    with path.open("rb") as stream:
        zipped = stream.read(2) == b"\x1f\x8b"
    if zipped:
        return gzip.open(path, "rt", encoding="utf-8-sig", newline="")
    return path.open("r", encoding="utf-8-sig", newline="")


def _delimiter(first_line: str, path: Path) -> str:
    if path.name.lower().endswith((".tsv", ".tsv.gz")):
        return "\t"
    return next((mark for mark in ",;\t" if mark in first_line), ",")


def _is_number(cell: str) -> bool:
    try:
        parse_number(cell)
    except ValueError:
        return False
    return True


def _column_name(at: int, label_column: int, names: list[str] | None) -> str:
    """Name the feature `at`, counted without the label column."""
    position = at + (at >= label_column)
    return f"column {position}" if names is None else f"column {names[position]!r}"


def _first_line(
    cells: list[str], label: str | int, header: bool | None, path: Path
) -> tuple[int, bool]:
    """Return the position of the label column, and whether this line is a header."""
    width = len(cells)
    if width < 2:
        raise DataError(
            f"{path} must have at least two columns, a feature and the label, got {width}; "
            "give delimiter= if it is another than comma, semicolon or tab"
        )
    try:
        column = int(label)
    except ValueError:
        if header is False or label not in cells:
            raise SettingError(
                f"label must be a column of {path} or a position, got {label!r}; "
                + ("the file has no header" if header is False else f"columns: {', '.join(cells)}")
            ) from None
        column, header = cells.index(str(label)), True
    if not -width <= column < width:
        raise SettingError(
            f"label must be a column name or a position from {-width} to {width - 1} for {path}, "
            f"got {label!r}"
        )
    column %= width
    if header is None:
        header = any(not _is_number(cell) for i, cell in enumerate(cells) if i != column)
    return column, header
