"""A feature bank that computes features on first use, for pools larger than memory.

A search on a sample computes the searched features of the drawn examples only; whole columns, for
exact searches and chosen stumps, are kept in a cache of bounded size. The bin edges of a feature
come from a reference sample of the training rows, or from the range that its family declares.

Cost: one value per look, and `reference` values for the bin edges at the first use of a feature.
Memory: at most `cache_bytes` for bins and cuts together, 10 bytes for each feature of the pool, up
to 100 MiB for blocks, and copies of the training and reference rows of X.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray

from boostsample.banks.bank import Bank, View, digest_of_examples
from boostsample.banks.binning import (
    assign_bins,
    block_order,
    blocks_by_family,
    compute_columns,
    declared_cuts,
    find_cuts,
    reference_rows,
)
from boostsample.checks import check_integer, check_rows
from boostsample.errors import SettingError
from boostsample.family import Family
from boostsample.hashing import sha256_of_arrays
from boostsample.kernels.cuts import MAX_CUTS
from boostsample.kernels.search import SEARCH_GROUP

LAZY_REFERENCE = 2048
"""Default number of reference rows."""
LAZY_CACHE_BYTES = 2**28
"""Default size of the cache of bins and cuts."""

_BLOCK_BYTES = 2**25
"""Bytes of a block of float32 values, or of copied rows."""
_VIEW_BYTES = 2**26
"""Largest view of a sample, in bytes."""
_LEAST_CUTS = 1024
_FIRST_ROWS = 64


class LazyBank(Bank):
    """A bank whose features are computed on first use.

    Each reader, for example a booster, has a separate cache, work space and counter, so that its
    history does not depend on other readers. The bank itself is the reader of all rows.

    Parameters
    ----------
    families : sequence of Family
    X : array, shape (N, ...)
        Rows of raw data as the families take them; neither copied nor to be changed.
    train_rows : ndarray of int64, shape (T,), optional
        Rows that reference rows are drawn from, all by default.
    reference : int or None, default 2048
        Number of train rows that the bin edges are computed from; None: all, the default of a bank
        in memory. Equal `reference` gives equal bits in all banks.
    cache_bytes : int, default 2**28
        Size of a reader's cache: three quarters for whole columns (at least a group of the search
        kernel), one quarter for cuts (of at least 1,024 features). Readers share a copy of the
        training rows in the order that families read fastest, if it takes at most this size.

    Attributes
    ----------
    values_computed : int
        Feature values computed by this reader, including those of reference rows.

    Raises
    ------
    DataError
        If X has no rows, or train_rows is empty or out of range. Infinite values raise when they
        are computed.
    """

    def __init__(
        self,
        families: Sequence[Family],
        X: Any,
        train_rows: NDArray[np.int64] | None = None,
        *,
        reference: int | None = LAZY_REFERENCE,
        cache_bytes: int = LAZY_CACHE_BYTES,
    ) -> None:
        super().__init__(families, X.shape[0])
        rows = reference_rows(X.shape[0], train_rows, reference)
        self._cache_bytes = check_integer("cache_bytes", cache_bytes, 1)
        self._source = _RawExamples(X, rows, self._cache_bytes)
        self._start(np.arange(self.n_examples))

    def _start(self, rows: NDArray[np.int64]) -> None:
        """Set the state of a new reader: empty caches, counter at 0."""
        self._rows = rows
        self._raw: Any = None
        most = self._cache_bytes * 3 // 4 // self.n_examples // SEARCH_GROUP * SEARCH_GROUP
        n_columns = min(max(most, SEARCH_GROUP), -(-self.n_features // SEARCH_GROUP) * SEARCH_GROUP)
        n_cuts = max(self._cache_bytes // 4 // (4 * MAX_CUTS), _LEAST_CUTS)
        self._columns = SlotCache(self.n_features, n_columns, self.n_examples, np.uint8)
        self._cuts = SlotCache(self.n_features, n_cuts, MAX_CUTS, np.float32)
        self.n_bins = np.zeros(self.n_features, np.int16)
        self._space = np.empty(0, np.uint8)
        self._sample: tuple[NDArray[Any], Any] | None = None
        self.values_computed = 0

    def reader(self, rows: NDArray[np.int64] | None = None) -> Self:
        """A bank on the same data with a separate cache, work space and counter.

        Whole columns are computed for `rows` only, all by default, and `view` reads these only.
        """
        other = copy.copy(self)
        every = np.arange(self.n_examples)
        other._start(every if rows is None else np.unique(check_rows(rows, self.n_examples)))
        return other

    def compile(self) -> None:
        """Compile what families and bins need, by a feature of each family; counts no value."""
        for family in self.families:
            family.compute(self._source.reference[:2], np.zeros(1, np.int64))
        columns = np.zeros((1, 2), np.float32)
        assign_bins(columns, *find_cuts(columns))

    def digest(self) -> dict[str, str]:
        """Checksums of the examples and of the reference rows."""
        source = self._source
        rows = source.reference_rows.astype("<i8")
        examples = digest_of_examples(source.X, "a lazy bank with a checkpoint")
        return {"examples": examples, "reference rows": sha256_of_arrays(rows)}

    @property
    def nbytes(self) -> int:
        """Current bytes of this reader: bins, cuts and work space."""
        cached = self._columns.nbytes + self._cuts.nbytes + self._space.nbytes
        return cached + self.n_bins.nbytes + self.first.nbytes

    def most_features(self, n_rows: int | None) -> int:
        """Maximum number of features per `view`."""
        most = self._columns.n_rows if n_rows is None else _VIEW_BYTES // max(n_rows, 1)
        return max(min(most, self._cuts.n_rows) // SEARCH_GROUP * SEARCH_GROUP, SEARCH_GROUP)

    def view(self, features: NDArray[np.int64], rows: NDArray[Any] | None = None) -> View:
        """Bins of some features: whole columns from the cache, or a block for a sample.

        Computes what is not in the cache; blocks for a sample are not cached. `rows` are some of
        the reader's rows. Takes at most `most_features` features.
        """
        wanted, inverse = np.unique(features, return_inverse=True)
        most = self.most_features(None if rows is None else rows.size)
        if wanted.size > most:
            raise SettingError(
                f"in a lazy bank, at most {most} features can be viewed at once, "
                f"got {wanted.size}; view them in parts, or raise cache_bytes"
            )
        if rows is None:
            at = self._whole_columns(wanted)
            return View(self._columns.rows, at[inverse], False)
        cached = self._columns.find(wanted)
        order = np.argsort(cached >= 0, kind="stable")  # those to be computed first
        n_new = int(np.count_nonzero(cached < 0))
        if self._space.size < wanted.size * rows.size:
            self._space = np.empty(wanted.size * rows.size, np.uint8)
        out = self._space[: wanted.size * rows.size].reshape(wanted.size, rows.size)
        self._compute(wanted[order[:n_new]], self._examples(rows), rows, out[:n_new])
        out[n_new:] = self._columns.rows[cached[order[n_new:], None], rows]
        at = np.empty(wanted.size, np.int64)
        at[order] = np.arange(wanted.size)
        return View(out, at[inverse], True)

    def column(self, feature: int) -> NDArray[np.uint8]:
        """Bins of a feature: uint8 (N,), valid in the reader's rows; a copy."""
        return super().column(feature).copy()

    def take(self, features: NDArray[np.int64], rows: NDArray[Any]) -> NDArray[np.uint8]:
        """Bins of some features of any examples, computed without the cache: uint8 (Q, T)."""
        wanted, inverse = np.unique(features, return_inverse=True)
        out = np.empty((wanted.size, rows.size), np.uint8)
        X, most = _select(self._source.X, rows), self._cuts.n_rows
        for start in range(0, wanted.size, most):
            part = slice(start, start + most)
            self._compute(wanted[part], X, rows, out[part])
        taken: NDArray[np.uint8] = out[inverse]
        return taken

    def cuts_of(self, features: NDArray[np.int64]) -> NDArray[np.float32]:
        """Cuts of some features: float32 (Q, 254)."""
        cuts = np.empty((features.size, MAX_CUTS), np.float32)
        for start in range(0, features.size, self._cuts.n_rows):
            part = slice(start, start + self._cuts.n_rows)
            wanted, inverse = np.unique(features[part], return_inverse=True)
            at = self._find_cuts(wanted)[inverse]
            cuts[part] = self._cuts.rows[at]
        return cuts

    def _find_cuts(self, features: NDArray[np.int64]) -> NDArray[np.int64]:
        """Rows of features, ascending, in the cache of cuts; adds the missing ones."""
        at = self._cuts.find(features)
        new = np.flatnonzero(at < 0)
        for family, local, part in self._blocks(features[new], self._source.reference_rows.size):
            cuts = declared_cuts(family, local)
            if cuts is None:
                source = self._source
                columns = compute_columns(family, source.reference, local, source.reference_rows)
                self.values_computed += columns.size
                cuts = find_cuts(columns)
            at[new[part]] = claimed = self._cuts.claim(features[new[part]])
            self._cuts.rows[claimed], self.n_bins[features[new[part]]] = cuts
        return at

    def _whole_columns(self, features: NDArray[np.int64]) -> NDArray[np.int64]:
        """Rows of features, ascending, in the cache of columns; adds the missing ones."""
        at = self._columns.find(features)
        new = np.flatnonzero(at < 0)
        step = max(_BLOCK_BYTES // max(self._rows.size, 1), 1)
        for start in range(0, new.size, step):
            part = new[start : start + step]
            bins = np.empty((part.size, self._rows.size), np.uint8)
            for rows, X in self._raw_rows():
                self._compute(features[part], X, self._rows[rows], bins[:, rows])
            at[part] = claimed = self._columns.claim(features[part])
            place = _as_slice(self._rows)
            self._columns.rows[(claimed, place) if place else np.ix_(claimed, self._rows)] = bins
        return at

    def _raw_rows(self) -> Iterator[tuple[slice, Any]]:
        """The reader's raw examples with their positions: in blocks if too large to be copied."""
        if self._source.too_large:
            yield from self._source.blocks(self._rows)
        else:
            if self._raw is None:
                self._raw = self._source.copy(self._rows)
            yield slice(None), self._raw

    def _compute(
        self,
        features: NDArray[np.int64],
        X: Any,
        rows: NDArray[Any],
        out: NDArray[np.uint8],
    ) -> None:
        """Write the bins of distinct features, ascending, for the examples X in the given rows."""
        cuts = self._find_cuts(features)
        for family, local, part in self._blocks(features, rows.size):
            columns = compute_columns(family, X, local, rows)
            edges, n_bins = self._cuts.rows[cuts[part]], self.n_bins[features[part]]
            out[part] = assign_bins(columns, edges, n_bins)
            self.values_computed += columns.size

    def _blocks(
        self, features: NDArray[np.int64], n_rows: int
    ) -> Iterator[tuple[Family, NDArray[np.int64], slice]]:
        """Ascending features by family, in blocks: the family, local indices, positions."""
        size = max(_BLOCK_BYTES // (4 * max(n_rows, 1)), 1)
        return blocks_by_family(self.families, self.first, features, size)

    def _examples(self, rows: NDArray[Any]) -> Any:
        """Raw examples of a sample as families read them fastest.

        The last sample is kept, since every family reads it in every search on it.
        """
        if self._sample is None or self._sample[0] is not rows:
            self._sample = (rows, block_order(self._source.X, self._cache_bytes, rows))
        return self._sample[1]


class _RawExamples:
    """The raw data and its copies, shared by all readers of a bank."""

    def __init__(self, X: Any, reference: NDArray[np.int64], copy_bytes: int) -> None:
        self.X = X.tocsr() if hasattr(X, "tocsr") else X  # CSR, to select rows
        self.reference_rows = reference
        self.reference = block_order(_select(self.X, reference), copy_bytes)
        self.too_large = isinstance(X, np.ndarray) and X.nbytes > copy_bytes
        self._copy_bytes = copy_bytes
        self._lock = threading.Lock()
        self._copy: tuple[NDArray[np.int64], Any] | None = None

    def copy(self, rows: NDArray[np.int64]) -> Any:
        """Raw examples as families read them fastest; keeps the last copy for other readers."""
        with self._lock:
            if self._copy is None or not np.array_equal(self._copy[0], rows):
                part = _select(self.X, rows)
                if hasattr(part, "tocsc"):
                    part = part.tocsc()
                self._copy = (rows, block_order(part, self._copy_bytes))
            return self._copy[1]

    def blocks(self, rows: NDArray[np.int64]) -> Iterator[tuple[slice, Any]]:
        """Raw examples in blocks, with their positions in `rows`."""
        step = max(_BLOCK_BYTES * self.X.shape[0] // self.X.nbytes, 1)
        for start in range(0, rows.size, step):
            part = slice(start, start + step)
            yield part, _select(self.X, rows[part])


def _select(X: Any, rows: NDArray[Any]) -> Any:
    """Some rows of X, without a copy if they are a slice."""
    place = _as_slice(rows)
    return X[rows] if place is None else X[place]


def _as_slice(rows: NDArray[Any]) -> slice | None:
    """Consecutive row numbers as a slice, else None."""
    if rows.size and rows[-1] - rows[0] == rows.size - 1 and bool((np.diff(rows) == 1).all()):
        return slice(int(rows[0]), int(rows[-1]) + 1)
    return None


class SlotCache:
    """A bounded least-recently-used cache of the keys 0 .. n_keys - 1: values are rows of an array.

    A key takes 4 bytes, cached or not. `rows` (any, width) grows to at most `n_rows` rows.
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
        rows = self._row_of[keys].astype(np.int64)
        self._use(rows[rows >= 0])
        return rows

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
