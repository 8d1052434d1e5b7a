"""A least-recently-used cache in the rows of one array, for lazy banks."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

__all__ = ["SlotCache"]

_FIRST_ROWS = 64


class SlotCache:
    """A bounded least-recently-used cache whose values are rows of an array.

    Keys are the integers 0 .. n_keys - 1. Each takes 4 bytes, cached or not, so that every
    operation is one on arrays. `rows`, of shape (any, width), is replaced by a larger array as rows
    are claimed, up to `n_rows` rows.
    """

    def __init__(self, n_keys: int, n_rows: int, width: int, dtype: DTypeLike) -> None:
        self.n_rows = n_rows
        self.rows: NDArray[Any] = np.empty((0, width), dtype)
        self._row_of = np.full(n_keys, -1, np.int32)
        self._key_of = np.empty(0, np.int64)
        self._last_use = np.empty(0, np.int64)
        self._n_used = 0
        self._clock = 0

    @property
    def nbytes(self) -> int:
        """Bytes of memory in use."""
        arrays = (self.rows, self._row_of, self._key_of, self._last_use)
        return sum(array.nbytes for array in arrays)

    def find(self, keys: NDArray[np.int64]) -> NDArray[np.int64]:
        """The row of each key, or -1; counts as a use."""
        found = self._row_of[keys].astype(np.int64)
        self._use(found[found >= 0])
        return found

    def claim(self, keys: NDArray[np.int64]) -> NDArray[np.int64]:
        """Rows for distinct new keys, to be filled by the caller; int64 (k,).

        Replaces the least recently used rows. Rows just found stay valid if they and the claimed
        ones are at most `n_rows`.
        """
        before = self._n_used
        self._grow(min(before + keys.size, self.n_rows))
        claimed = np.arange(before, before + keys.size)
        n_old = before + keys.size - self._n_used
        if n_old > 0:
            oldest = np.argpartition(self._last_use[:before], n_old - 1)[:n_old]
            self._row_of[self._key_of[oldest]] = -1
            claimed[keys.size - n_old :] = oldest
        self._key_of[claimed] = keys
        self._row_of[keys] = claimed
        self._use(claimed)
        return claimed

    def _use(self, rows: NDArray[np.int64]) -> None:
        self._last_use[rows] = np.arange(self._clock, self._clock + rows.size)
        self._clock += rows.size

    def _grow(self, n_used: int) -> None:
        if n_used > len(self.rows):
            size = min(max(n_used, 2 * len(self.rows), _FIRST_ROWS), self.n_rows)
            for name in ("rows", "_key_of", "_last_use"):
                old = getattr(self, name)
                new = np.empty((size, *old.shape[1:]), old.dtype)
                new[: self._n_used] = old[: self._n_used]
                setattr(self, name, new)
        self._n_used = n_used
