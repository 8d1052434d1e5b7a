"""Families from groups of columns: given by the user, by prefixes of names, or by dtype.

Strategies learn which families are useful, so columns of one origin should form a family. Data
frames are recognised by their attributes; pandas is not imported.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from boostsample.errors import DataError, SettingError, unknown
from boostsample.families.columns import Columns, ColumnSelection

__all__ = ["column_groups"]

_KINDS = {"b": "bool", "i": "integer", "u": "integer", "f": "float"}
"""Names of families by the kind of dtype in NumPy and pandas."""
_WAYS = ("dtype", "prefix")


def column_groups(
    groups: Mapping[str, ColumnSelection] | str,
    table: Any = None,
    *,
    n_columns: int | None = None,
    column_names: Sequence[str] | None = None,
    rest: str | None = None,
    separator: str = "_",
) -> list[Columns]:
    """One family for each group of columns.

    Parameters
    ----------
    groups : mapping of str to columns, "dtype" or "prefix"
        Family names with their columns: indices, ranges, slices, ``"3-17"``, names or patterns of
        names, see `Columns`; a column may be in several groups. ``"dtype"``: columns of a DataFrame
        by type: bool, integer and float. ``"prefix"``: columns by the part of the name before the
        separator, without digits at its end: pen_x, pen_y and pen2 are all in pen.
    table : DataFrame, array or sparse matrix, shape (n, d), optional
        Gives the number, names and dtypes of columns; its values are not read.
    n_columns : int, optional
        Number of columns, if no table is given; not needed with `column_names`.
    column_names : sequence of str, optional
        Names of all columns, if the table has none.
    rest : str, optional
        Name of one more family, of the columns in no group. Default: do not use such columns.
    separator : str, default "_"
        Ends the prefix of a name.

    Returns
    -------
    families : list of Columns
        In the order of `groups`, or of first columns; the rest last.

    Raises
    ------
    SettingError
        If a column does not exist, or number and names of columns are unknown.
    DataError
        If groups is ``"dtype"`` and a column does not hold numbers.

    Examples
    --------
    >>> pens = column_groups({"pen x": range(0, 6, 2)}, n_columns=6, rest="pen y")
    >>> [(pen.name, pen.columns) for pen in pens]
    [('pen x', (0, 2, 4)), ('pen y', (1, 3, 5))]
    >>> pens = column_groups("prefix", column_names=["pen_x", "pen_y", "age", "sensor1", "sensor2"])
    >>> [(pen.name, pen.columns) for pen in pens]
    [('pen', (0, 1)), ('age', (2,)), ('sensor', (3, 4))]
    """
    n_columns, column_names = _shape(table, n_columns, column_names)
    if isinstance(groups, str):
        if groups not in _WAYS:
            raise unknown("way to group columns", groups, _WAYS)
        groups = _by_dtype(table) if groups == "dtype" else _by_prefix(column_names, separator)
    if not groups:
        raise SettingError("groups must hold at least one group of columns, got none")
    families = [Columns(columns, name, n_columns, column_names) for name, columns in groups.items()]
    if rest is not None:
        if rest in groups:
            raise SettingError(f"rest must be another name than those of the groups, got {rest!r}")
        used = {column for family in families for column in family.columns}
        others = [c for c in range(families[0].n_columns or 0) if c not in used]
        if others:
            families.append(Columns(others, rest, n_columns, column_names))
    return families


def _shape(
    table: Any, n_columns: int | None, column_names: Sequence[str] | None
) -> tuple[int | None, Sequence[str] | None]:
    """Number and names of columns, from the table if there is one."""
    if table is None:
        if n_columns is None and column_names is None:
            raise SettingError(
                "column_groups needs a table, n_columns or column_names, got none of them"
            )
        return n_columns, column_names
    shape = getattr(table, "shape", None) or np.shape(table)
    if len(shape) != 2:
        raise SettingError(f"the table must have rows and columns, got shape {shape}")
    if n_columns is not None and n_columns != shape[1]:
        raise SettingError(
            f"n_columns must be that of the table, {shape[1]}, got {n_columns}; leave it out"
        )
    if column_names is None:
        found = [*getattr(table, "columns", ())]
        column_names = found if found and all(isinstance(name, str) for name in found) else None
    return int(shape[1]), column_names


def _by_dtype(table: Any) -> dict[str, list[int]]:
    """Columns of a DataFrame by the kind of their dtype."""
    if not hasattr(table, "dtypes"):
        raise SettingError(
            "groups by dtype need a table with a dtype for each column, such as a pandas "
            f"DataFrame, got {type(table).__name__}; name the groups yourself"
        )
    names = [*table.columns]
    groups: dict[str, list[int]] = {}
    for column, dtype in enumerate(table.dtypes):
        kind = _KINDS.get(getattr(dtype, "kind", ""))
        if kind is None:
            raise DataError(
                f"column {names[column]!r} ({dtype}) does not hold numbers; encode it first, for "
                "example by scikit-learn's OneHotEncoder, or drop it"
            )
        groups.setdefault(kind, []).append(column)
    return groups


def _by_prefix(names: Sequence[str] | None, separator: str) -> dict[str, list[int]]:
    """Columns by the prefixes of their names; names without a prefix are in "columns"."""
    if names is None:
        raise SettingError("groups by prefix need column_names, or a table that has them, got none")
    if not separator:
        raise SettingError("separator must be text of at least one character, got ''")
    groups: dict[str, list[int]] = {}
    for column, name in enumerate(names):
        prefix = name.partition(separator)[0].rstrip("0123456789") or "columns"
        groups.setdefault(prefix, []).append(column)
    return groups
