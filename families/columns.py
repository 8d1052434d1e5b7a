"""Columns of a table as features.

Cost: one copy per value; for a sparse matrix in CSC format, a pass over the stored values of the
wanted columns, and zeros for the rest. NaN means missing.

Strategies learn which families are useful, so columns of one origin should form a family:
`column_groups`. Data frames are recognised by their attributes; neither pandas nor SciPy is
imported.
"""

from __future__ import annotations

import itertools
import re
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, SupportsIndex, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from boostsample.banks.binning import (
    assign_bins,
    bin_coded,
    bin_sparse_columns,
    compute_columns,
    find_cuts,
)
from boostsample.checks import check_integer, check_known
from boostsample.column_table import ColumnTable
from boostsample.errors import DataError, SettingError, unknown
from boostsample.family import BinnedFeatures, Family, check_examples, check_name

ColumnSelection: TypeAlias = Iterable[int | str | range | slice] | int | str | slice
"""Columns by index, range or name, see `Columns`."""

_BLOCK_ROWS = 1024
"""Rows per transposed block: half the time of 4,096 for 34 columns, which exceed the cache."""
_KINDS = {"b": "bool", "i": "integer", "u": "integer", "f": "float"}
"""Names of families by the kind of dtype in NumPy and pandas."""
_WAYS = ("dtype", "prefix")
_LISTED = 10_000
"""More consecutive columns than these are kept and saved as a range."""


class Columns(Family):
    """Columns of a table: feature j is column columns[j], as float32; NaN means missing.

    Tables are arrays of real numbers or SciPy sparse matrices, preferably in CSC format, where the
    cost of a column is proportional to its stored values.

    Parameters
    ----------
    columns : sequence of int, range, slice or str, or one of them
        Distinct columns: by index from 0 (``[0, 3, range(8, 12)]``, ``slice(3, 18)``, or ``"3-17"``
        with both ends), by name (``["age", "height"]``), by a pattern of names (``"pen_*"``, see
        `fnmatch`), or mixed. A text is first taken as a name. Stored as a tuple of indices, or as a
        range if they are more than 10,000 consecutive ones.
    name : str, default "columns"
    n_columns : int, optional
        Width of the table. Default: the number of column names, else any sufficient width.
    column_names : sequence of str, optional
        Distinct names of all columns of the table.

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
        columns: ColumnSelection,
        name: str = "columns",
        n_columns: int | None = None,
        column_names: Sequence[str] | None = None,
    ) -> None:
        self.name = check_name(name)
        self.column_names = None if column_names is None else _check_names(column_names, name)
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
        # Indices of a range follow from its start, so that one in a file takes no memory.
        is_range = isinstance(self.columns, range)
        self._columns = None if is_range else np.array(self.columns, np.intp)
        self._widest = self.columns[-1] if is_range else max(self.columns)

    def settings(self) -> dict[str, Any]:
        """See `Family.settings`; a range of columns is a text such as ``"0-200000"``."""
        if not isinstance(self.columns, range):
            return super().settings()
        first, last = str(self.columns[0]), str(self.columns[-1])
        text, names = f"{first}-{last}", self.column_names
        is_name = names is not None and not {text, first, last}.isdisjoint(names)
        return {
            "columns": [*self.columns] if is_name else text,
            "name": self.name,
            "n_columns": self.n_columns,
            "column_names": None if names is None else [*names],
        }

    def feature_name(self, feature: SupportsIndex) -> str:
        """The column's name, or "column 3" if columns have no names."""
        return self._column_name(self.check_feature(feature))

    def compute(self, X: Any, features: ArrayLike) -> NDArray[np.float32]:
        """Values of some columns for some rows, see `Family.compute`; feature-major memory."""
        wanted = self.check_features(features)
        columns = self._indices_of(wanted)
        table = self._table(X)
        if isinstance(table, ColumnTable):
            return table.columns_at(columns).T
        if _is_sparse(table):
            out = sparse_columns(table, columns)
            self._check_finite(out, table, wanted, 0)
            return out.T
        out = np.empty((len(wanted), len(table)), np.float32)
        for start in range(0, len(table) if out.size else 0, _BLOCK_ROWS):
            part = out[:, start : start + _BLOCK_ROWS]
            with np.errstate(over="ignore"):  # a float64 that becomes infinite raises below
                part[:] = table[start : start + _BLOCK_ROWS, columns].T
            self._check_finite(part, table, wanted, start)
        return out.T

    def binned(
        self, X: Any, features: NDArray[np.int64], rows: NDArray[np.int64]
    ) -> BinnedFeatures | None:
        """Bins of tables by columns of few values, and of matrices in CSC format."""
        columns = self._indices_of(features)
        if isinstance(X, ColumnTable):
            table = self._table(X)
            if table.values is None:
                return None
            return bin_coded(table.codes_at(columns), table.values, rows)
        if not (_is_sparse(X) and X.format == "csc" and X.has_canonical_format):
            return None
        binned, others = bin_sparse_columns(self._table(X), columns, rows)
        if others.size:
            values = compute_columns(self, X, features[others])
            binned.cuts[others], binned.n_bins[others] = of_others = find_cuts(values, rows)
            binned.bins[others] = assign_bins(values, *of_others)
        return binned

    def _check_finite(
        self, part: NDArray[np.float32], table: Any, wanted: NDArray[np.intp], start: int
    ) -> None:
        if table.dtype.kind != "f" or not np.isinf(part).any():
            return
        which, row = np.argwhere(np.isinf(part))[0]
        feature, row = int(wanted[which]), int(row) + start
        column = self._indices_of(np.array([feature]))
        value = (table[[row]].toarray() if _is_sparse(table) else table[[row]])[0, column][0]
        raise DataError(
            f"family {self.name!r}: values must be finite as float32 (at most 3.4e38) or NaN for "
            f"missing, but {self._column_name(feature)} holds {value} in row {row}; "
            "rescale that column or replace the value"
        )

    def _indices_of(self, features: NDArray[np.intp]) -> NDArray[np.intp]:
        return features + self.columns[0] if self._columns is None else self._columns[features]

    def _column_name(self, feature: int) -> str:
        column = self.columns[feature]
        return f"column {column}" if self.column_names is None else self.column_names[column]

    def _table(self, X: Any) -> Any:
        """X as an array or sparse matrix (n, d) of real numbers; DataError if not wide enough."""
        is_by_columns = _is_sparse(X) or isinstance(X, ColumnTable)
        table: Any = X if is_by_columns else np.asarray(X)
        width = table.shape[1] if table.ndim == 2 else 0
        if self.n_columns is None and width <= self._widest:
            raise DataError(
                f"family {self.name!r} takes tables of shape (n, d) with more than "
                f"{self._widest} columns, got shape {table.shape}; "
                "give it such tables or name other columns"
            )
        shape = (self.n_columns or width,)
        if is_by_columns:  # checked by an array of the same shape and dtype without memory
            check_examples(np.broadcast_to(table.dtype.type(0), table.shape), shape, self.name)
            is_ready = isinstance(table, ColumnTable) or table.format in ("csc", "csr")
            return table if is_ready else table.tocsc()
        return check_examples(table, shape, self.name)


def _check_names(names: Any, family: str) -> tuple[str, ...]:
    """Names of all columns as a tuple; SettingError unless they are distinct texts."""
    texts = (names,) if isinstance(names, str) else tuple(names)
    rule = f"column_names of family {family!r} must"
    if not texts or not all(isinstance(name, str) for name in texts):
        raise SettingError(f"{rule} be one text per column, got {names!r}")
    if len(set(texts)) < len(texts):
        twice = next(name for name, times in Counter(texts).items() if times > 1)
        raise SettingError(f"{rule} differ from each other, got {twice!r} twice")
    return texts


def _indices(
    columns: ColumnSelection, n_columns: int | None, names: tuple[str, ...] | None, family: str
) -> Sequence[int]:
    """A selection as distinct indices, see `Columns`, or a SettingError."""
    single = isinstance(columns, int | str | range | slice | np.integer)
    parts: list[Any] = [columns] if single else [*columns]  # type: ignore[misc]  # not narrowed by mypy
    positions = None if names is None else {name: at for at, name in enumerate(names)}
    rule, high = f"family {family!r}: each column", None if n_columns is None else n_columns - 1
    chosen: list[Sequence[int]] = [parts]
    if not all(type(part) is int for part in parts):
        chosen = []
        for part in parts:
            if isinstance(part, str):
                chosen.append(_named(part, positions, family))
            elif isinstance(part, slice):
                chosen.append(_sliced(part, n_columns, family))
            else:
                is_range = isinstance(part, range)
                chosen.append(part if is_range else [check_integer(rule, part, 0, high)])
    for several in chosen:
        ends = (several[0], several[-1]) if several and isinstance(several, range) else several
        if ends and not 0 <= min(ends) <= max(ends) <= (sys.maxsize if high is None else high):
            for column in ends:
                check_integer(rule, column, 0, high)
    indices = chosen[0] if len(chosen) == 1 else [*itertools.chain.from_iterable(chosen)]
    if not indices:
        raise SettingError(f"family {family!r} must have at least one column, got {columns!r}")
    if not isinstance(indices, range) and len(set(indices)) < len(indices):
        twice = next(column for column, times in Counter(indices).items() if times > 1)
        raise SettingError(
            f"family {family!r}: columns must differ from each other, got {twice} twice"
        )
    if len(indices) <= _LISTED:
        return tuple(indices)
    step = indices.step if isinstance(indices, range) else np.unique(np.diff(indices)).tolist()
    is_consecutive = step in (1, [1])
    return range(indices[0], indices[-1] + 1) if is_consecutive else tuple(indices)


def _named(text: str, positions: Mapping[str, int] | None, family: str) -> Sequence[int]:
    """Columns by a name, else by a range of indices like "3-17", else by a pattern of names."""
    known = positions or {}
    if text in known:
        return [known[text]]
    ends = re.fullmatch(r"\s*([0-9]+)\s*-\s*([0-9]+)\s*", text)
    if ends:
        first, last = int(ends[1]), int(ends[2])
        if last < first:
            raise SettingError(
                f"family {family!r}: the range of columns {text!r} must not run backwards"
            )
        for end in ends.groups():
            if known.get(end, int(end)) != int(end):
                raise SettingError(
                    f"family {family!r}: {text!r} means the columns of indices {first} to {last}, "
                    f"but the column named {end!r} has index {known[end]}; give "
                    f"range({first}, {last + 1}), or the names"
                )
        return range(first, last + 1)
    if positions is None:
        raise SettingError(
            f"family {family!r}: column {text!r} is given by name, which needs column_names"
        )
    matching = [at for name, at in positions.items() if fnmatchcase(name, text)]
    if not matching:
        raise unknown("column", text, positions)
    return matching


def _sliced(part: slice, n_columns: int | None, family: str) -> range:
    """A slice as a range; unlike in NumPy, ends out of range are errors."""
    if part.stop is None and n_columns is None:
        raise SettingError(f"family {family!r}: {part} needs n_columns, or an end")
    ends = (0 if part.start is None else part.start, n_columns if part.stop is None else part.stop)
    rule = f"family {family!r}: each end of a slice of columns"
    start, stop = (check_integer(rule, end, 0, n_columns) for end in ends)
    step = 1 if part.step is None else part.step
    return range(start, stop, check_integer(f"family {family!r}: the step of a slice", step, 1))


def _is_sparse(X: Any) -> bool:
    return hasattr(X, "tocsc") and hasattr(X, "nnz")


def sparse_columns(matrix: Any, columns: NDArray[np.intp]) -> NDArray[np.float32]:
    """Some columns as a dense array: float32 (q, n), C-contiguous; overflow becomes infinite.

    `matrix` is (n, d), and its duplicate entries are summed; `columns` (q,) are in any order, with
    repeats. Cost: a pass over the q n values of the result and over the stored values, in CSC
    format only those of the given columns.
    """
    part = matrix[:, columns] if matrix.format in ("csc", "csr") else matrix.tocsc()[:, columns]
    with np.errstate(over="ignore"):
        part = part.T.astype(np.float32)
    dense: NDArray[np.float32] = part.toarray(order="C")
    return dense


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
        check_known("way to group columns", groups, _WAYS)
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
        names = [*getattr(table, "columns", ())]
        column_names = names if names and all(isinstance(name, str) for name in names) else None
    return int(shape[1]), column_names


def _by_dtype(table: Any) -> dict[str, list[int]]:
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
                f"groups by dtype need columns of numbers, but column {names[column]!r} ({dtype}) "
                "holds none; encode it first, for example by scikit-learn's OneHotEncoder, or drop "
                "it"
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
