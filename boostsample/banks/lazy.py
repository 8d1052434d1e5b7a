"""A feature bank that computes features on first use, for pools larger than memory.

A search on a sample computes the searched features of the drawn examples only, and finds its cuts
in these values. The whole column of a feature is computed for an exact search, and when a stump of
it is chosen; caches of bounded size keep some of them. Since cuts differ from search to search, the
thresholds of stumps stand for raw values: 1 for -inf, or else the place of a float32 among all.

A feature has the same cuts in all searches if its family declares its range, or if the bank has
`reference` rows.

Cost: at most one value per look, and N values for a chosen feature; with `reference` rows, their
number for each new feature.
Memory: about `cache_bytes` for columns and cuts together, 14 bytes for each feature of the pool, up
to 100 MiB for blocks, and copies of the training and reference rows of X.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Self

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
from boostsample.family import Family, read_only
from boostsample.hashing import sha256_of_arrays
from boostsample.kernels.cuts import MAX_CUTS
from boostsample.kernels.search import SEARCH_GROUP

LAZY_CACHE_BYTES = 2**28
"""Default size of the cache of columns and cuts."""

_BLOCK_BYTES = 2**25
"""Bytes of a block of float32 values, or of copied rows."""
_VIEW_BYTES = 2**26
"""Largest view of a sample, in bytes."""
_LEAST_CUTS = 1024
"""Features whose cuts are kept, at least."""
_FIRST_ROWS = 64
"""Rows that a cache begins with; it doubles them."""
_MANY = 2048
"""Features of a family, from all of it, that take its way for many."""
_SIGN = np.uint32(2**31)
"""The sign bit of a float32."""


class _Block(NamedTuple):
    """Ascending features of one family: global and local indices, and positions in a request."""

    family: Family
    features: NDArray[np.int64]
    local: NDArray[np.int64]
    part: slice


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
    reference : int, optional
        Number of train rows that the cuts of all searches are computed from, as in other banks: all
        results then equal theirs to the bit. By default the cuts of a search come from the values
        that it reads, and only exact searches of all rows equal those of a bank in memory.
    cache_bytes : int, default 2**28
        Size of a reader's cache: half for binned columns (at least a group of the search kernel), a
        quarter for raw columns (at least one), and a quarter for cuts that are the same in all
        searches (at least of 1,024 features). Readers share a copy of the training rows in the
        order that families read fastest, if it takes at most this size.

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

    on_demand = True
    largest_threshold = 2**32 - 1

    def __init__(
        self,
        families: Sequence[Family],
        X: Any,
        train_rows: NDArray[np.int64] | None = None,
        *,
        reference: int | None = None,
        cache_bytes: int = LAZY_CACHE_BYTES,
    ) -> None:
        super().__init__(families, X.shape[0])
        rows = reference_rows(X.shape[0], train_rows, reference)
        self._cache_bytes = check_integer("cache_bytes", cache_bytes, 1)
        self._source = _RawExamples(X, rows if reference else rows[:0], cache_bytes)
        self._start(np.arange(self.n_examples))

    def _start(self, rows: NDArray[np.int64]) -> None:
        """Set the state of a new reader: empty caches, counter at 0."""
        self._rows = rows
        self._raw: Any = None
        most = self._cache_bytes // 2 // (self.n_examples + 4 * MAX_CUTS)
        most = max(most // SEARCH_GROUP * SEARCH_GROUP, SEARCH_GROUP)
        n_columns = min(most, -(-self.n_features // SEARCH_GROUP) * SEARCH_GROUP)
        n_values = min(max(self._cache_bytes // 4 // (4 * self.n_examples), 1), self.n_features)
        n_cuts = max(self._cache_bytes // 4 // (4 * MAX_CUTS), _LEAST_CUTS)
        self._columns = SlotCache(self.n_features, n_columns, self.n_examples, np.uint8)
        self._column_cuts = np.empty((0, MAX_CUTS), np.float32)
        self._values = SlotCache(self.n_features, n_values, self.n_examples, np.float32)
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
        """Compile what families and bins need, by one feature and by many; counts no value."""
        rows = np.arange(min(self.n_examples, 2), dtype=np.int32)
        whole = self._source.X[: rows.size]
        for family in self.families:
            n = family.n_features
            many = np.arange(min(n, _MANY)) * n // min(n, _MANY)
            for examples in (whole, block_order(self._source.X, self._cache_bytes, rows)):
                family.compute(read_only(examples), np.zeros(1, np.int64))
                family.compute(read_only(examples), many)
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
        """Current bytes of this reader: columns, cuts and work space."""
        caches = sum(cache.nbytes for cache in (self._columns, self._values, self._cuts))
        arrays = self._column_cuts, self._space, self.n_bins, self.first
        return caches + sum(array.nbytes for array in arrays)

    def most_features(self, n_rows: int | None) -> int:
        """Maximum number of features per `view`."""
        most = self._columns.n_rows if n_rows is None else _VIEW_BYTES // max(n_rows, 1)
        return max(min(most, self._cuts.n_rows) // SEARCH_GROUP * SEARCH_GROUP, SEARCH_GROUP)

    def view(self, features: NDArray[np.int64], rows: NDArray[Any] | None = None) -> View:
        """Bins of some features: whole columns from the cache, or a block for a sample.

        Computes what is not in the cache; blocks for a sample are not cached. `rows` are some of
        the reader's rows. Takes at most `most_features` features.
        """
        different, inverse = np.unique(features, return_inverse=True)
        most = self.most_features(None if rows is None else rows.size)
        if different.size > most:
            raise SettingError(
                f"in a lazy bank, at most {most} features can be viewed at once, "
                f"got {different.size}; view them in parts, or raise cache_bytes"
            )
        if rows is None:
            at = self._whole_columns(different)
            self.n_bins[different] = _n_bins(self._column_cuts[at])
            return View(self._columns.rows, at[inverse], False, self._column_cuts)
        bins = self._room(different.size, rows.size)
        cuts = np.empty((different.size, MAX_CUTS), np.float32)
        for block, columns in self._sampled(different, rows):
            edges, n_bins = self._known_cuts(block) or find_cuts(columns)
            assign_bins(columns, edges, n_bins, bins[block.part])
            cuts[block.part], self.n_bins[block.features] = edges, n_bins
        return View(bins, inverse, True, cuts)

    def view_at(
        self,
        features: NDArray[np.int64],
        thresholds: NDArray[np.int64],
        rows: NDArray[Any] | None = None,
    ) -> tuple[View, NDArray[np.int16]]:
        """As of `Bank`: in place of bins, 1 where phi is +1, else 0."""
        sides = self._room(features.size, self.n_examples if rows is None else rows.size)
        if rows is None:
            for side, *stump in zip(sides, features.tolist(), thresholds.tolist(), strict=True):
                column, first = self.cut(*stump)
                side[:] = column >= first
        else:
            different, inverse = np.unique(features, return_inverse=True)
            for block, columns in self._sampled(different, rows):
                _write_sides(block.part, inverse, columns, thresholds, sides)
        at, ones = np.arange(features.size), np.ones(features.size, np.int16)
        return View(sides, at, rows is not None), ones

    def cut(self, feature: int, threshold: int) -> tuple[NDArray[np.uint8], Any]:
        """As of `Bank`: the bins if the threshold is one of their cuts, else 1 where phi is +1.

        Valid until the next call. Keeps the raw column if it is computed.
        """
        key, value = np.array([feature]), _raw_values(np.array([threshold]))[0]
        at = int(self._columns.find(key)[0])
        if at >= 0:
            # The threshold of a sample's cuts is seldom one of the column's: then the raw values
            # decide.
            below = int(np.searchsorted(self._column_cuts[at], value))
            if threshold == 1 or self._column_cuts[at, below : below + 1] == value:
                return self._columns.rows[at], np.int16(1 if threshold == 1 else below + 2)
        at = int(self._values.find(key)[0])
        if at < 0:
            (block,) = self._blocks(key, self._rows.size)
            column = self._whole_values(block)[0]
            (at,) = self._values.claim(key)
            self._values.rows[at, _as_slice(self._rows) or self._rows] = column
        values = self._values.rows[at]
        return (values >= value).view(np.uint8), np.int16(1)

    def sides(
        self, features: NDArray[np.int64], thresholds: NDArray[np.int64], rows: NDArray[Any]
    ) -> NDArray[np.bool_]:
        """As of `Bank`, computed without the caches."""
        different, inverse = np.unique(features, return_inverse=True)
        sides = np.empty((features.size, rows.size), np.uint8)
        X = _select(self._source.X, rows)
        for block in self._blocks(different, rows.size):
            columns = self._computed(block.family, X, block.local, rows)
            _write_sides(block.part, inverse, columns, thresholds, sides)
        return sides.view(np.bool_)

    def thresholds_in(self, view: View, bins: NDArray[np.int64]) -> NDArray[np.int64]:
        """As of `Bank`."""
        assert view.cuts is not None
        cuts = view.cuts[view.at, np.maximum(bins - 2, 0)]
        return np.where(bins == 1, 1, _thresholds_at(cuts))

    def threshold(self, feature: int, b: int) -> float:
        """Raw threshold of number b; as of `Bank`, but that any value can be a threshold."""
        self._check(feature)
        check_integer(f"the threshold of feature {feature}", b, 1, self.largest_threshold)
        return float(_raw_values(np.array([b]))[0])

    def column(self, feature: int) -> NDArray[np.uint8]:
        """Bins of a feature: uint8 (N,), valid in the reader's rows; a copy."""
        return super().column(feature).copy()

    def take(self, features: NDArray[np.int64], rows: NDArray[Any]) -> NDArray[np.uint8]:
        """Bins of some features of any examples, by the cuts of whole columns: uint8 (Q, T)."""
        different, inverse = np.unique(features, return_inverse=True)
        out = np.empty((different.size, rows.size), np.uint8)
        X = _select(self._source.X, rows)
        for block in self._blocks(different, rows.size):
            cuts = self._cuts_of(block)
            columns = self._computed(block.family, X, block.local, rows)
            assign_bins(columns, cuts, _n_bins(cuts), out[block.part])
        taken: NDArray[np.uint8] = out[inverse]
        return taken

    def cuts_of(self, features: NDArray[np.int64]) -> NDArray[np.float32]:
        """Cuts of the whole columns of some features: float32 (Q, 254)."""
        different, inverse = np.unique(features, return_inverse=True)
        cuts = np.empty((different.size, MAX_CUTS), np.float32)
        for block in self._blocks(different, 1):
            cuts[block.part] = self._cuts_of(block)
            self.n_bins[block.features] = _n_bins(cuts[block.part])
        return cuts[inverse]

    def _cuts_of(self, block: _Block) -> NDArray[np.float32]:
        known = self._known_cuts(block)
        if known is not None:
            return known[0]
        at = self._whole_columns(block.features)  # which may replace the array of the cuts
        cuts: NDArray[np.float32] = self._column_cuts[at]
        return cuts

    def _known_cuts(self, block: _Block) -> tuple[NDArray[np.float32], NDArray[np.int16]] | None:
        """Cuts and n_bins that are the same in all searches, from the cache if there; or None."""
        at = self._cuts.find(block.features)
        new = np.flatnonzero(at < 0)
        if new.size:
            source, local = self._source, block.local[new]
            edges = declared_cuts(block.family, local)
            if edges is None:
                if not source.reference_rows.size:
                    return None
                reads = source.reference, local, source.reference_rows
                edges = find_cuts(self._computed(block.family, *reads))
            at[new] = claimed = self._cuts.claim(block.features[new])
            self._cuts.rows[claimed] = edges[0]
        cuts = self._cuts.rows[at]
        return cuts, _n_bins(cuts)

    def _whole_columns(self, features: NDArray[np.int64]) -> NDArray[np.int64]:
        """Rows of features, ascending, in the cache of columns; adds the missing ones."""
        at = self._columns.find(features)
        new = np.flatnonzero(at < 0)
        for block in self._blocks(features[new], self._rows.size):
            columns = self._whole_values(block)
            cuts, n_bins = self._known_cuts(block) or find_cuts(columns)
            at[new[block.part]] = claimed = self._columns.claim(block.features)
            place = _as_slice(self._rows)
            to = (claimed, place) if place else np.ix_(claimed, self._rows)
            self._columns.rows[to] = assign_bins(columns, cuts, n_bins)
            if len(self._column_cuts) < len(self._columns.rows):
                grown = np.empty((len(self._columns.rows), MAX_CUTS), np.float32)
                grown[: len(self._column_cuts)] = self._column_cuts
                self._column_cuts = grown
            self._column_cuts[claimed] = cuts
        return at

    def _whole_values(self, block: _Block) -> NDArray[np.float32]:
        """Values of features for the reader's rows: float32 (q, n)."""
        columns = np.empty((block.local.size, self._rows.size), np.float32)
        for place, X in self._raw_rows():
            rows = self._rows[place]
            columns[:, place] = self._computed(block.family, X, block.local, rows)
        return columns

    def _sampled(
        self, features: NDArray[np.int64], rows: NDArray[Any]
    ) -> Iterator[tuple[_Block, NDArray[np.float32]]]:
        """Blocks of ascending features with their values in some of the reader's rows."""
        X = self._examples(rows)
        for block in self._blocks(features, rows.size):
            at = self._values.find(block.features)
            known = at >= 0
            if not known.any():
                yield block, self._computed(block.family, X, block.local, rows)
                continue
            columns = np.empty((at.size, rows.size), np.float32)
            columns[known] = self._values.rows[at[known, None], rows]
            if not known.all():
                columns[~known] = self._computed(block.family, X, block.local[~known], rows)
            yield block, columns

    def _computed(
        self, family: Family, X: Any, local: NDArray[np.int64], rows: NDArray[Any]
    ) -> NDArray[np.float32]:
        """Values of features for the examples X in the given rows, counted."""
        columns = compute_columns(family, X, local, rows)
        self.values_computed += columns.size
        return columns

    def _raw_rows(self) -> Iterator[tuple[slice, Any]]:
        """The reader's raw examples with their positions: in blocks if too large to be copied."""
        if self._source.too_large:
            yield from self._source.blocks(self._rows)
        else:
            if self._raw is None:
                self._raw = self._source.copy(self._rows)
            yield slice(None), self._raw

    def _blocks(self, features: NDArray[np.int64], n_rows: int) -> Iterator[_Block]:
        """Ascending features by family, in blocks that the caches and blocks of values can hold."""
        n_rows = max(n_rows, self._source.reference_rows.size, 1)
        size = min(_BLOCK_BYTES // (4 * n_rows), self._columns.n_rows, self._cuts.n_rows) or 1
        parts = blocks_by_family(self.families, self.first, features, size)
        for family, local, part in parts:
            yield _Block(family, features[part], local, part)

    def _room(self, n_features: int, n_rows: int) -> NDArray[np.uint8]:
        if self._space.size < n_features * n_rows:
            self._space = np.empty(n_features * n_rows, np.uint8)
        return self._space[: n_features * n_rows].reshape(n_features, n_rows)

    def _examples(self, rows: NDArray[Any]) -> Any:
        """Raw examples of a sample as families read them fastest.

        The last sample is kept, since every family reads it in every search on it.
        """
        # By identity: each draw makes a new array.
        if self._sample is None or self._sample[0] is not rows:
            self._sample = (rows, block_order(self._source.X, self._cache_bytes, rows))
        return self._sample[1]


def _n_bins(cuts: NDArray[np.float32]) -> NDArray[np.int16]:
    """Number of bins of cuts (Q, 254) that are padded with +inf: int16 (Q,)."""
    return np.asarray(np.isfinite(cuts).sum(axis=1) + 2, np.int16)


def _thresholds_at(values: NDArray[np.float32]) -> NDArray[np.int64]:
    """Thresholds at raw values, in the order of these: int64, above 1."""
    # Positive float32 numbers have the order of their bits, negative ones the reverse order below
    # them: the sign bit is set, or all bits are inverted.
    bits = values.view(np.uint32)
    return np.where(bits & _SIGN, ~bits, bits | _SIGN).astype(np.int64)


def _raw_values(thresholds: NDArray[np.int64]) -> NDArray[np.float32]:
    """Raw values of thresholds: float32; -inf for 1."""
    places = thresholds.astype(np.uint32)
    values = np.where(places & _SIGN, places ^ _SIGN, ~places).view(np.float32)
    return np.where(thresholds == 1, np.float32(-np.inf), values)


def _write_sides(
    part: slice,
    inverse: NDArray[np.intp],
    columns: NDArray[np.float32],
    thresholds: NDArray[np.int64],
    sides: NDArray[np.uint8],
) -> None:
    """Write 1 where phi is +1, else 0, for the stumps of a block of features.

    `columns` (q, T) are values of the features `part` of those that `inverse` numbers; `sides` has
    a row for each stump.
    """
    stumps = np.flatnonzero((inverse >= part.start) & (inverse < part.stop))
    values, least = columns[inverse[stumps] - part.start], _raw_values(thresholds[stumps])
    sides[stumps] = values >= least[:, None]  # NaN is below all, -inf included


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
