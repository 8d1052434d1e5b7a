"""Columns of a table as they are: one family of all, or one for each group that the user names.

Cost: one copy a value. The only family whose values may be missing: NaN passes through.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, SupportsIndex, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from boostsample.checks import check_integer
from boostsample.errors import DataError, SettingError, unknown
from boostsample.family import Family, check_examples, check_name

__all__ = ["Columns", "column_groups"]

Selection: TypeAlias = Iterable[int | str | range] | int | str
"""Columns by index, by range, or by name."""

_BLOCK_ROWS = 4096


class Columns(Family):
    """Columns of a table: feature j is column columns[j], as float32; NaN means missing.

    Parameters
    ----------
    columns : sequence of int, range or str, or one int or str
        Different columns by index (from 0), by ranges of indices, or by name, also mixed:
        ``range(16)``, ``[0, 3, range(8, 12)]``, ``["age", "height"]``. Kept as a tuple of indices.
    name : str, default "columns"
    n_columns : int, optional
        Width of the table. Default: the number of column names, else any table wide enough.
    column_names : sequence of str, optional
        Names of all columns of the table, different from each other.

    Examples
    --------
    >>> body = Columns(["height", "age"], "body", column_names=["age", "sex", "height"])
    >>> body.feature_name(0)
    'height'
    >>> body.compute([[30, 1, 1.75], [41, 0, float("nan")]], [0, 1]).tolist()
    [[1.75, 30.0], [nan, 41.0]]
    """

    def __init__(
        self,
        columns: Selection,
        name: str = "columns",
        n_columns: int | None = None,
        column_names: Sequence[str] | None = None,
    ) -> None:
        self.name = check_name(name)
        self.column_names = None if column_names is None else _check_names(column_names)
        self.n_columns = None if n_columns is None else check_integer("n_columns", n_columns, 1)
        if self.column_names is not None:
            if self.n_columns is None:
                self.n_columns = len(self.column_names)
            if self.n_columns != len(self.column_names):
                raise SettingError(
                    f"family {name!r}: column_names must name all {self.n_columns} columns, "
                    f"got {len(self.column_names)} names"
                )
        self.columns = _indices(columns, self.n_columns, self.column_names, self.name)
        self.n_features = len(self.columns)
        self._columns = np.array(self.columns, np.intp)

    def feature_name(self, feature: SupportsIndex) -> str:
        """The column's name, or "column 3" where the columns have none."""
        return self._column_name(self.check_feature(feature))

    def compute(self, X: Any, features: ArrayLike) -> NDArray[np.float32]:
        """Values of some columns for some rows, see `Family.compute`; feature-major memory."""
        wanted = self.check_features(features)
        columns = self._columns[wanted]
        table = self._table(X)
        out = np.empty((len(wanted), len(table)), np.float32)
        for start in range(0, len(table) if out.size else 0, _BLOCK_ROWS):
            part = out[:, start : start + _BLOCK_ROWS]
            with np.errstate(over="ignore"):  # a float64 that becomes infinite is refused below
                part[:] = table[start : start + _BLOCK_ROWS, columns].T
            if table.dtype.kind == "f" and np.isinf(part).any():
                which, row = np.argwhere(np.isinf(part))[0]
                feature, row = int(wanted[which]), int(row) + start
                raise DataError(
                    f"family {self.name!r}: values must be finite as float32 (at most 3.4e38) or "
                    f"NaN for missing, but {self._column_name(feature)} holds "
                    f"{table[row, columns[which]]} in row {row}; "
                    "rescale that column or replace the value"
                )
        return out.T

    def _column_name(self, feature: int) -> str:
        column = self.columns[feature]
        return f"column {column}" if self.column_names is None else self.column_names[column]

    def _table(self, X: Any) -> NDArray[Any]:
        """X as an array (n, d) of real numbers that has the columns."""
        table = np.asarray(X)
        width = table.shape[1] if table.ndim == 2 else 0
        if self.n_columns is None and width <= max(self.columns):
            raise DataError(
                f"family {self.name!r} takes tables of shape (n, d) with more than "
                f"{max(self.columns)} columns, got shape {table.shape}; "
                "give it such tables or name other columns"
            )
        return check_examples(table, (self.n_columns or width,), self.name)


def column_groups(
    groups: Mapping[str, Selection],
    n_columns: int | None = None,
    column_names: Sequence[str] | None = None,
    rest: str | None = None,
) -> list[Columns]:
    """One family for each named group of columns.

    Parameters
    ----------
    groups : mapping of str to columns
        Family names with their columns, see `Columns`. A column may be in several groups.
    n_columns : int, optional
        Width of the table; may be left out where `column_names` are given.
    column_names : sequence of str, optional
        Names of all columns of the table.
    rest : str, optional
        Name of one more family, of the columns that are in no group, if there are any. Default:
        such columns are not used.

    Returns
    -------
    families : list of Columns
        In the order of `groups`, the rest last.

    Examples
    --------
    >>> pens = column_groups({"pen x": range(0, 6, 2)}, n_columns=6, rest="pen y")
    >>> [(pen.name, pen.columns) for pen in pens]
    [('pen x', (0, 2, 4)), ('pen y', (1, 3, 5))]
    """
    if not groups:
        raise SettingError("groups must hold at least one group of columns, got none")
    if n_columns is None and column_names is None:
        raise SettingError("column_groups needs n_columns or column_names, got neither")
    families = [Columns(columns, name, n_columns, column_names) for name, columns in groups.items()]
    if rest is not None:
        if rest in groups:
            raise SettingError(f"rest must be another name than those of the groups, got {rest!r}")
        used = {column for family in families for column in family.columns}
        others = [c for c in range(families[0].n_columns or 0) if c not in used]
        if others:
            families.append(Columns(others, rest, n_columns, column_names))
    return families


def _check_names(names: Any) -> tuple[str, ...]:
    """Names of all columns: different texts, at least one; or a SettingError."""
    found = (names,) if isinstance(names, str) else tuple(names)
    if not found or not all(isinstance(name, str) for name in found):
        raise SettingError(f"column_names must be one text a column, got {names!r}")
    if len(set(found)) < len(found):
        twice = next(name for name in found if found.count(name) > 1)
        raise SettingError(f"column_names must differ from each other, got {twice!r} twice")
    return found


def _indices(
    columns: Selection, n_columns: int | None, names: tuple[str, ...] | None, family: str
) -> tuple[int, ...]:
    """Columns by index, range or name as a tuple of different indices, or a SettingError."""
    parts: Iterable[Any] = [columns] if isinstance(columns, int | str) else columns
    positions = {name: position for position, name in enumerate(names or ())}
    indices: list[int] = []
    for part in parts:
        if isinstance(part, str):
            if names is None:
                raise SettingError(
                    f"family {family!r}: column {part!r} is given by name, which needs column_names"
                )
            if part not in positions:
                raise unknown("column", part, names)
            indices.append(positions[part])
        else:
            several = part if isinstance(part, range) else [part]
            rule = f"family {family!r}: each column"
            high = None if n_columns is None else n_columns - 1
            indices.extend(check_integer(rule, column, 0, high) for column in several)
    if not indices:
        raise SettingError(f"family {family!r} must have at least one column, got {columns!r}")
    if len(set(indices)) < len(indices):
        twice = next(column for column in indices if indices.count(column) > 1)
        raise SettingError(
            f"family {family!r}: columns must differ from each other, got {twice} twice"
        )
    return tuple(indices)
