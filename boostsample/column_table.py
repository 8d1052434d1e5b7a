"""Tables that are read by columns, for example from files with very many of them.

`boostsample.formats` reads PLINK and AnnData files as such tables; subclass `ColumnTable` for
others. The classifier reads blocks of columns as it needs them, and for predictions only those that
the model uses.
"""

from __future__ import annotations

import abc
import copy
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from boostsample.checks import check_rows
from boostsample.errors import DataError
from boostsample.hashing import sha256_of_arrays, sha256_of_json

_BLOCK_VALUES, _CHUNK_BYTES = 2**23, 2**27

__all__ = ["ColumnTable"]


class ColumnTable(abc.ABC):
    """A table of real numbers, shape (n, d), whose columns are read when they are needed.

    A subclass implements `read`, and `read_codes` if all columns have the same few values.
    ``table[rows]`` selects rows without reading any value.

    Parameters
    ----------
    n_rows, n_columns : int
        Of the source.
    column_names : sequence of str, optional
        Distinct names of the columns.
    values : array of float32, shape (v,), optional
        The values that columns may have beside missing ones, ascending, at most 255; then
        `read_codes` is called in place of `read`.

    Attributes
    ----------
    shape : tuple of int, (n, d)
        Rows selected and columns.
    column_chunk : int
        Columns that are stored together: reading blocks of a multiple of it, from a multiple of it
        on, decodes nothing twice. 1 unless a subclass sets it.
    """

    ndim = 2
    column_chunk = 1
    dtype = np.dtype(np.float32)

    def __init__(
        self,
        n_rows: int,
        n_columns: int,
        column_names: Sequence[str] | None = None,
        values: NDArray[np.float32] | None = None,
    ) -> None:
        self.column_names = column_names
        self.values = values
        self.shape = n_rows, n_columns
        self._merged: set[int] = set()  # of the source, shared by all tables of its rows
        self._rows: NDArray[np.int64] | None = None
        self._columns: NDArray[np.int64] | None = None

    @abc.abstractmethod
    def read(self, columns: NDArray[np.int64]) -> NDArray[np.float32]:
        """Values of some columns in all rows of the source: float32 (q, n), NaN for missing.

        Finite, C-contiguous; `columns` (q,) are distinct and ascending. Several threads call it at
        the same time.
        """

    def read_codes(self, columns: NDArray[np.int64]) -> NDArray[np.uint8]:
        """Codes of some columns in all rows of the source: uint8 (q, n), C-contiguous.

        0 is missing, code c is `values[c - 1]`; `columns` (q,) are distinct and ascending.
        """
        raise NotImplementedError  # without `values` nobody calls it

    @property
    def nbytes(self) -> int:
        """Bytes of all values as float32."""
        return 4 * self.shape[0] * self.shape[1]

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: Any) -> Self:
        """The table of some rows: a slice, positions or truth values."""
        chosen = np.arange(self.shape[0])[rows] if self._rows is None else self._rows[rows]
        if chosen.ndim != 1:
            raise DataError(f"a table by columns selects rows as in table[rows], got {rows!r:.60}")
        table = copy.copy(self)
        table._rows, table.shape = chosen.astype(np.int64), (chosen.size, self.shape[1])
        return table

    def aligned(self, names: Sequence[str], needed: NDArray[np.int64] | None = None) -> Self:
        """The table with the columns of these names, in this order.

        DataError if columns are missing: of all names, or of those at the positions `needed`; then
        reading another one is an error.
        """
        if self.column_names is None:
            raise DataError("columns must have names to be found by them, got a table without")
        position = {name: k for k, name in enumerate(self.column_names)}
        positions = np.array([position.get(name, -1) for name in names], np.int64)
        absent = np.flatnonzero(positions < 0)
        absent = absent if needed is None else np.intersect1d(absent, needed)
        if absent.size:
            first = ", ".join(repr(names[k]) for k in absent[:5].tolist())
            raise DataError(
                f"the table must have the {len(names):,} columns that were learned, but "
                f"{absent.size:,} are missing: {first}{', ...' * (absent.size > 5)}; add them"
            )
        if self._columns is not None:
            positions = np.where(positions < 0, -1, self._columns[positions])
        return self._with_columns(names, positions)

    def _with_columns(self, names: Sequence[str], positions: NDArray[np.int64]) -> Self:
        """The table of some columns of the source; -1 is a column that must not be read."""
        table = copy.copy(self)
        table.column_names, table._columns = names, positions
        table.shape = self.shape[0], len(names)
        return table

    def columns_at(self, columns: NDArray[np.int64]) -> NDArray[np.float32]:
        """Values of some columns, in any order, in the selected rows: float32 (q, n)."""
        if self.values is not None:
            table = np.append(np.float32(np.nan), self.values)
            return np.asarray(table[self.codes_at(columns)], np.float32)
        wanted, inverse = np.unique(self._check(columns), return_inverse=True)
        return self._selected(self.read(wanted), inverse)

    def codes_at(self, columns: NDArray[np.int64]) -> NDArray[np.uint8]:
        """Codes of some columns, in any order, in the selected rows: uint8 (q, n)."""
        wanted, inverse = np.unique(self._check(columns), return_inverse=True)
        return self._selected(self.read_codes(wanted), inverse)

    def merged_columns(self) -> list[int]:
        """Columns read so far whose different values float32 merges, see `boostsample.checks`.

        A subclass that reads other numbers adds their columns of the source to `_merged`.
        """
        merged = sorted(self._merged)
        if self._columns is not None:
            merged = np.flatnonzero(np.isin(self._columns, merged)).tolist()
        return merged

    def _check(self, columns: NDArray[np.int64]) -> NDArray[np.int64]:
        checked = check_rows(columns, self.shape[1], "columns of the table")
        if self._columns is None:
            return checked
        positions = self._columns[checked]
        if checked.size and positions.min() < 0:
            assert self.column_names is not None
            name = self.column_names[int(checked[positions.argmin()])]
            raise DataError(f"the table must have the column {name!r:.60} to read it; add it")
        return positions

    def _selected(self, read: NDArray[Any], inverse: NDArray[np.intp]) -> NDArray[Any]:
        in_order = inverse.size == read.shape[0] and bool((np.diff(inverse) > 0).all())
        table = read if in_order else read[inverse]
        return table if self._rows is None else np.take(table, self._rows, axis=1)

    def digest(self) -> str:
        """SHA-256 of all values in the selected rows; reads the table once."""
        read = self.columns_at if self.values is None else self.codes_at
        step = chunked_width(self, max(_BLOCK_VALUES // max(self.shape[0], 1), 1))
        blocks = (
            np.arange(at, min(at + step, self.shape[1])) for at in range(0, self.shape[1], step)
        )
        return sha256_of_json([sha256_of_arrays(read(block)) for block in blocks])


def chunked_width(X: Any, width: int, n_threads: int = 1) -> int:
    """Columns of a block: a multiple of `column_chunk` of X near `width`, or `width`.

    It is `width` if X is no table by columns, its columns were rearranged, or a block of one chunk
    took more than 128 MiB in all threads together.
    """
    if not isinstance(X, ColumnTable) or X._columns is not None:
        return width
    chunk = X.column_chunk
    fits = 4 * n_threads * X.shape[0] * chunk <= _CHUNK_BYTES
    return max(width // chunk, 1) * chunk if fits else width


class JoinedTable(ColumnTable):
    """The rows of two tables of the same columns; one may be an array or a sparse matrix."""

    def __init__(self, first: Any, second: Any) -> None:
        self._parts = first, second
        if first.shape[1] != second.shape[1]:
            raise DataError(
                f"tables must have the same columns to be joined, got {first.shape[1]:,} and "
                f"{second.shape[1]:,}"
            )
        values: Any = getattr(first, "values", None)
        of_second: Any = getattr(second, "values", None)
        if not np.array_equal(values, of_second):
            values = None
        names = getattr(first, "column_names", None)
        super().__init__(first.shape[0] + second.shape[0], first.shape[1], names, values)
        self.column_chunk = max(getattr(part, "column_chunk", 1) for part in self._parts)

    def read(self, columns: NDArray[np.int64]) -> NDArray[np.float32]:
        """As of `ColumnTable`."""
        return np.concatenate([_columns_of(part, columns) for part in self._parts], axis=1)

    def merged_columns(self) -> list[int]:
        """As of `ColumnTable`."""
        tables = [part for part in self._parts if isinstance(part, ColumnTable)]
        merged = {column for table in tables for column in table.merged_columns()}
        return sorted(merged)

    def read_codes(self, columns: NDArray[np.int64]) -> NDArray[np.uint8]:
        """As of `ColumnTable`."""
        return np.concatenate([part.codes_at(columns) for part in self._parts], axis=1)


def _columns_of(table: Any, columns: NDArray[np.int64]) -> NDArray[np.float32]:
    if isinstance(table, ColumnTable):
        return table.columns_at(columns)
    part = table.tocsc()[:, columns].toarray() if hasattr(table, "tocsc") else table[:, columns]
    return np.ascontiguousarray(part.T, np.float32)
