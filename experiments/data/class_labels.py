"""Class labels in files: numbers the classes; and the numbers and missing values of tables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostsample.errors import DataError
from boostsample.labels import check_class_counts, class_values

MISSING_MARKS = frozenset({"", "na", "n/a", "nan", "null", "?"})
"""Texts of a missing value, compared without case."""


def parse_number(text: str) -> float:
    """Return the number that a text spells, NaN if it is missing; ValueError for other text."""
    try:
        if "_" not in text:  # float() would read 1_000 as 1000
            return float(text)
    except ValueError:
        pass
    if text.casefold() in MISSING_MARKS:
        return math.nan
    raise ValueError(text)


def parse_labels(values: Sequence[object], where: str) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Number the classes 0 to K-1, ordered as numbers or, if any label is text, by name.

    Labels are class values, see `boostsample.labels.class_values`; text is stripped, and read as
    whole numbers (also written as floats) if all of it is. Returns the code of each label, int64
    (n,), and the name of each code. DataError, beginning with `where`, if a label is missing or is
    a number that is not whole.
    """
    checked = class_values(list(values), where, in_file=True)
    labels = [str(value).strip() for value in checked.tolist()]
    keys: dict[str, Any] = {label: _label_number(label) for label in set(labels)}
    for row, label in enumerate(labels, start=1):
        if label.casefold() in MISSING_MARKS:
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
    check_class_counts(np.bincount(codes), where)
    return codes, tuple(map(str, ordered))


def _label_number(label: str) -> int | float | None:
    """Return the number of a label, as int if it is whole; None for text and inexact floats."""
    try:
        return int(label) if "_" not in label else None
    except ValueError:
        pass
    try:
        number = parse_number(label)
    except ValueError:
        return None
    if 2**53 <= abs(number) < math.inf:  # others round to it
        return None
    return int(number) if number.is_integer() else number
