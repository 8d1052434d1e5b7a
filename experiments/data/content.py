"""What every reader of data returns, and what the readers share: labels, numbers, damaged files."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from boostsample.errors import DataError, SettingError
from boostsample.experiments.common.files import one_line

__all__ = [
    "MISSING",
    "Content",
    "check_count",
    "encode_labels",
    "parse_number",
    "readable",
]

MISSING = frozenset({"", "na", "n/a", "nan", "null", "?"})
"""Cells that stand for a missing value, compared without case."""


class Content(NamedTuple):
    """Arrays of a data set as read, see `boostsample.experiments.data.datasets.Dataset`."""

    X: NDArray[np.uint8] | NDArray[np.float32]
    y: NDArray[np.int64] | NDArray[np.int8]
    classes: tuple[str, ...]
    columns: tuple[str, ...] | None
    n_train: int | None


def check_count(name: str, value: object, least: int) -> int:
    """Return a whole number that must be at least `least`."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < least:
        raise SettingError(f"{name} must be a whole number of at least {least}, got {value!r}")
    return int(value)


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Turn whatever a damaged file makes the libraries raise into one line."""
    try:
        yield
    except (DataError, SettingError):
        raise
    except Exception as error:  # of garbage libraries raise whatever their parsers do
        raise DataError(
            f"{path} cannot be read, it is damaged or in another format: {one_line(error)}"
        ) from error


def parse_number(cell: str) -> float:
    """Return the value of a cell, NaN if it is missing; ValueError if it is text."""
    try:
        if "_" not in cell:  # float() would read 1_000 as 1000
            return float(cell)
    except ValueError:
        pass
    if cell.casefold() in MISSING:
        return math.nan
    raise ValueError(cell)


def encode_labels(
    values: Sequence[object], where: str
) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Number the classes 0 to K-1 in the order of their numbers or, if any is text, their names.

    Parameters
    ----------
    values : sequence of n labels
        Whole numbers (also written as floats or text), booleans or text; text is stripped.
    where : str
        Begins every message, for instance ``"data.csv, label column 'y'"``.

    Returns
    -------
    codes : int64 array (n,)
    classes : tuple of str
        The name of each code.

    Raises
    ------
    DataError
        A label is missing, or a number that is not whole.
    """
    cells = [str(value).strip() for value in values]
    distinct = set(cells)
    if any(cell.casefold() in MISSING for cell in distinct):
        row = next(i for i, cell in enumerate(cells) if cell.casefold() in MISSING)
        raise DataError(
            f"{where} must have a label in every row, got {cells[row]!r} in data row {row + 1}; "
            "leave out the rows without one"
        )
    numbers = {cell: _label_number(cell) for cell in distinct}
    if any(number is None for number in numbers.values()):
        names = sorted(distinct)
        code_of = {name: code for code, name in enumerate(names)}
    else:
        ordered = sorted({number for number in numbers.values() if number is not None})
        for number in ordered:
            if not isinstance(number, int):
                raise DataError(
                    f"{where} must hold whole numbers or text, got {number}; cut a measured "
                    "quantity into classes first"
                )
        place = {number: code for code, number in enumerate(ordered)}
        code_of = {cell: place[number] for cell, number in numbers.items() if number is not None}
        names = [str(number) for number in ordered]
    return np.array([code_of[cell] for cell in cells], dtype=np.int64), tuple(names)


def _label_number(cell: str) -> int | float | None:
    """Return the number that a label is, as int if it is whole; None for text."""
    try:
        return int(cell) if "_" not in cell else None
    except ValueError:
        pass
    try:
        number = parse_number(cell)
    except ValueError:
        return None
    return int(number) if number.is_integer() else number
