"""Containers of labels: functions that make one from a list of values of one kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas
import polars
import pyarrow

INT64_END = 2**63
VALUES: dict[str, list[Any]] = {
    "codes": [0, 1],
    "neighbours": [2**53, 2**53 + 1, 2**53 + 2],
    "large": [2**63, 2**64 - 1],
    "truth values": [False, True],
    "floats": [0.0, 1.0],
    "text": ["01", "1", "a"],
}
"""Labels of every kind, in ascending order."""


def dtypes_of(values: list[Any]) -> tuple[Any, str, Any, Any]:
    """The dtypes of NumPy, pandas, Arrow and polars for some values; None may be among them."""
    known = [value for value in values if value is not None]
    if isinstance(known[0], str):
        return object, "string", pyarrow.string(), polars.String
    if isinstance(known[0], bool):
        return bool, "boolean", pyarrow.bool_(), polars.Boolean
    if isinstance(known[0], float):
        return np.float64, "Float64", pyarrow.float64(), polars.Float64
    if max(known) >= INT64_END:
        return np.uint64, "UInt64", pyarrow.uint64(), polars.UInt64
    return np.int64, "Int64", pyarrow.int64(), polars.Int64


def _arrow(values: list[Any]) -> Any:
    return pyarrow.array(values, dtypes_of(values)[2])


def objects(values: list[Any]) -> Any:
    """An array (n,) of objects."""
    return np.fromiter(values, object, len(values))


def _nullable(values: list[Any]) -> Any:
    return pandas.Series(values, dtype=dtypes_of(values)[1])


def _masked(values: list[Any]) -> Any:
    known = next(value for value in values if value is not None)
    filled = [known if value is None else value for value in values]
    array = np.array(filled, dtypes_of(values)[0])
    return np.ma.MaskedArray(array, [value is None for value in values])


WITH_MISSING: dict[str, Callable[[list[Any]], Any]] = {
    "list": lambda values: values,
    "objects": objects,
    "masked": _masked,
    "pandas objects": lambda values: pandas.Series(objects(values), range(9, 9 + len(values))),
    "pandas nullable": _nullable,
    "pandas frame": lambda values: _nullable(values).to_frame(),
    "pandas Arrow": lambda values: pandas.Series(
        _arrow(values), dtype=pandas.ArrowDtype(dtypes_of(values)[2])
    ),
    "pandas categories": lambda values: _nullable(values).astype("category"),
    "polars": lambda values: polars.Series(values, dtype=dtypes_of(values)[3]),
    "Arrow": _arrow,
    "Arrow dictionary": lambda values: _arrow(values).dictionary_encode(),
}
"""Containers that can hold a missing value, written None."""

CONTAINERS: dict[str, Callable[[list[Any]], Any]] = {
    **WITH_MISSING,
    "array": lambda values: np.array(values, dtypes_of(values)[0]),
    "pandas": lambda values: pandas.Series(np.array(values, dtypes_of(values)[0])),
}
