"""A feature bank that bins whole columns when they are first asked for, and keeps the last ones.

For tables of so many columns that their bins would not fit into memory, or are not worth keeping:
tables by columns in files, and sparse matrices. A pass over all features bins each once more;
features that are searched again and again stay in memory. Bins are those of a bank in memory.

Cost: the binning of a column that is not in memory, which takes a byte for each row, without a
table of float32 values where the family knows a short cut. Memory: at most `cache_bytes`, or a
group of the search kernel if that is more, for each thread that uses the bank; 10 bytes for each
feature; blocks of 32 MiB of values, or 8 MiB of bins, for each thread. The cache has room for a
list of N / 8 rows beside each column, 5/8 of its bytes.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from boostsample.banks.bank import Bank, View, digest_of_examples
from boostsample.banks.binning import bin_features, blocks_by_family, reference_rows
from boostsample.banks.lazy import SlotCache
from boostsample.checks import check_integer
from boostsample.column_table import chunked_width
from boostsample.errors import SettingError
from boostsample.family import BinnedFeatures, Family
from boostsample.hashing import sha256_of_arrays
from boostsample.kernels.cuts import MAX_CUTS
from boostsample.kernels.rare_rows import NOT_LISTED, RareRows, empty_lists, list_rare_rows
from boostsample.kernels.search import SEARCH_GROUP
from boostsample.threads import n_threads

COLUMN_CACHE_BYTES = 2**26
"""Default size of the bins and cuts that are kept."""

_LISTED = 8
"""A list holds at most N / 8 rows."""
_LIST_BYTES = 5
"""Bytes of a listed row and its bin."""

_BLOCK_VALUES = 2**23
"""Values of a block that a thread bins at a time."""

_Part: TypeAlias = tuple[Family, NDArray[np.int64], slice]
"""A family, some of its features by local index, and their positions among those asked for."""


class _Kept(threading.local):
    """The columns that a thread keeps: bins, cuts and lists of rare rows.

    Each thread has its own, so that none replaces a column that another one reads.
    """

    def __init__(self, n_features: int, n_kept: int, n_examples: int) -> None:
        self._shape = n_features, n_kept, n_examples
        self.bins = SlotCache(n_features, n_kept, n_examples, np.uint8)
        self.cuts = np.empty((n_kept, MAX_CUTS), np.float32)
        self.rare = empty_lists(n_kept, n_examples // _LISTED)

    def __reduce__(self) -> tuple[type[_Kept], tuple[int, int, int]]:
        return type(self), self._shape


class ColumnBank(Bank):
    """A bank of whole columns, binned when they are first asked for.

    Parameters
    ----------
    families : sequence of Family
    X : array, sparse matrix or ColumnTable, shape (N, ...)
        Rows of raw data as the families take them; not to be changed. Sparse matrices are kept in
        CSC format.
    train_rows : ndarray of int64, shape (T,), optional
        Rows that the cuts are computed from, all by default.
    reference : int, optional
        Number of train rows that the cuts are computed from, drawn independently of the data; all
        by default. Equal `reference` gives equal bits in all banks.
    cache_bytes : int, default 2**26
        Size of the bins and cuts that each thread keeps.
    n_jobs : int, default 1
        Threads that bin blocks of columns.

    Raises
    ------
    DataError
        If X has no rows, or train_rows is empty or out of range. Infinite values raise when their
        column is binned.
    """

    def __init__(
        self,
        families: Sequence[Family],
        X: Any,
        train_rows: NDArray[np.int64] | None = None,
        *,
        reference: int | None = None,
        cache_bytes: int = COLUMN_CACHE_BYTES,
        n_jobs: int = 1,
    ) -> None:
        super().__init__(families, X.shape[0])
        self._X = canonical_columns(X)
        self._reference = np.unique(reference_rows(X.shape[0], train_rows, reference))
        self._n_threads = n_threads(n_jobs)
        each = self.n_examples + 4 * MAX_CUTS + _LIST_BYTES * (self.n_examples // _LISTED + 1)
        most = check_integer("cache_bytes", cache_bytes, 1) // each // SEARCH_GROUP * SEARCH_GROUP
        n_kept = min(max(most, SEARCH_GROUP), -(-self.n_features // SEARCH_GROUP) * SEARCH_GROUP)
        self._kept = _Kept(self.n_features, n_kept, self.n_examples)
        self.n_bins = np.zeros(self.n_features, np.int16)

    def compile(self) -> None:
        """Compile what makes lists of rare rows."""
        list_rare_rows(np.zeros((1, 8), np.uint8), np.zeros(1, np.int64), empty_lists(1, 1))

    @property
    def nbytes(self) -> int:
        """Bytes of memory in use, with the columns of the calling thread."""
        lists = sum(array.nbytes for array in self._kept.rare)
        bins = self._kept.bins.nbytes + self._kept.cuts.nbytes
        return bins + lists + self.n_bins.nbytes + self.first.nbytes

    def most_features(self, n_rows: int | None) -> int:
        """Maximum number of features per `view`."""
        return self._kept.bins.n_rows

    def view(self, features: NDArray[np.int64], rows: NDArray[Any] | None = None) -> View:
        """Whole columns; takes at most `most_features` different features."""
        at = self._places(features)
        return View(self._kept.bins.rows, at, False)

    def rare_rows(self, features: NDArray[np.int64]) -> tuple[RareRows, NDArray[np.int64]]:
        """Lists of columns of which at most an eighth of the rows are outside one bin.

        They are made when they are first asked for, and kept with the column; O(N) for each.
        """
        at = self._places(features)
        new = self._kept.rare.sizes[at] == NOT_LISTED
        if new.any():
            list_rare_rows(self._kept.bins.rows, at[new], self._kept.rare)
        return self._kept.rare, at

    def cuts_of(self, features: NDArray[np.int64]) -> NDArray[np.float32]:
        """Cuts of some features: float32 (Q, 254)."""
        cuts = np.empty((features.size, MAX_CUTS), np.float32)
        for start in range(0, features.size, self._kept.bins.n_rows):
            part = slice(start, start + self._kept.bins.n_rows)
            cuts[part] = self._kept.cuts[self._places(features[part])]
        return cuts

    def take(self, features: NDArray[np.int64], rows: NDArray[Any]) -> NDArray[np.uint8]:
        """A copy of the bins of some features of some examples: uint8 (Q, T)."""
        taken = np.empty((features.size, rows.size), np.uint8)
        for start in range(0, features.size, self._kept.bins.n_rows):
            part = slice(start, start + self._kept.bins.n_rows)
            places = self._places(features[part])  # first: it may replace the array of the rows
            taken[part] = self._kept.bins.rows[places[:, None], rows]
        return taken

    def column(self, feature: int) -> NDArray[np.uint8]:
        """Bins of a feature: uint8 (N,); a copy."""
        return super().column(feature).copy()

    def digest(self) -> dict[str, str]:
        """Checksums of the examples and of the reference rows."""
        examples = digest_of_examples(self._X, "a bank of columns with a checkpoint")
        return {"examples": examples, "reference rows": sha256_of_arrays(self._reference)}

    def _places(self, features: NDArray[np.int64]) -> NDArray[np.int64]:
        """Places of some features among the columns in memory; bins the missing ones."""
        at = self._kept.bins.find(features)
        if at.min(initial=0) >= 0:
            return at
        different, inverse = np.unique(features, return_inverse=True)
        if different.size > self._kept.bins.n_rows:
            raise SettingError(
                f"in a bank of columns, at most {self._kept.bins.n_rows} features can be viewed at "
                f"once, got {different.size}; view them in parts, or raise cache_bytes"
            )
        at = self._kept.bins.find(different)
        new = np.flatnonzero(at < 0)
        n = self._n_threads
        size = chunked_width(self._X, max(_BLOCK_VALUES // self.n_examples, 1), n)
        chunk = getattr(self._X, "column_chunk", 1)
        parts = [*blocks_by_family(self.families, self.first, different[new], size, chunk)]
        # The places found above stay valid: `claim` takes those that were not used for longest.
        for first in range(0, len(parts), n):
            for (_, _, part), binned in self._binned(parts[first : first + n]):
                chosen = different[new[part]]
                at[new[part]] = places = self._kept.bins.claim(chosen)
                self._kept.rare.sizes[places] = NOT_LISTED  # the list of the column before
                self._kept.bins.rows[places], self._kept.cuts[places] = binned.bins, binned.cuts
                self.n_bins[chosen] = binned.n_bins
        return at[inverse]

    def _binned(self, parts: list[_Part]) -> Iterable[tuple[_Part, BinnedFeatures]]:
        """Parts, binned in a thread each."""

        def binned(part: _Part) -> BinnedFeatures:
            return self._bin(part[0], part[1])

        if len(parts) == 1:
            return [(parts[0], binned(parts[0]))]
        with ThreadPoolExecutor(len(parts)) as pool:
            return zip(parts, [*pool.map(binned, parts)], strict=True)

    def _bin(self, family: Family, local: NDArray[np.int64]) -> BinnedFeatures:
        return bin_features(family, self._X, local, self._reference)


def canonical_columns(X: Any) -> Any:
    """A sparse matrix in canonical CSC format, anything else as it is."""
    if not hasattr(X, "tocsc"):
        return X
    matrix = X.tocsc()
    if not matrix.has_canonical_format:
        matrix = matrix.copy() if matrix is X else matrix
        matrix.sum_duplicates()
    return matrix
