"""Arrays that every reader of data returns, and parsers of labels and numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from boostsample.errors import DataError, SettingError
from boostsample.experiments.common.faults import one_line

__all__ = ["DataContent", "encode_labels", "parse_number", "readable_file"]

_MISSING = frozenset({"", "na", "n/a", "nan", "null", "?"})
"""Texts of a missing value, compared without case."""


class DataContent(NamedTuple):
    """Arrays of a data set as read, see `boostsample.experiments.data.datasets.Dataset`."""

    X: NDArray[np.uint8] | NDArray[np.float32]
    y: NDArray[np.int64] | NDArray[np.int8]
    classes: tuple[str, ...]
    columns: tuple[str, ...] | None
    n_train: int | None


@contextmanager
def readable_file(path: Path) -> Iterator[None]:
    """Turn any exception of a library that reads a damaged file into a DataError of one line."""
    try:
        yield
    except (DataError, SettingError):
        raise
    except Exception as error:  # parsers raise anything on garbage
        raise DataError(
            f"{path} cannot be read, it is damaged or in another format: {one_line(error)}"
        ) from error


def parse_number(text: str) -> float:
    """Return the number that a text spells, NaN if it is missing; ValueError for other text."""
    try:
        if "_" not in text:  # float() would read 1_000 as 1000
            return float(text)
    except ValueError:
        pass
    if text.casefold() in _MISSING:
        return math.nan
    raise ValueError(text)


def encode_labels(
    values: Sequence[object], where: str
) -> tuple[NDArray[np.int64], tuple[str, ...]]:
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
        number = parse_number(label)
    except ValueError:
        return None
    return int(number) if number.is_integer() else number
