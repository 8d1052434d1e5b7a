"""The feature bank: every feature of every example as one byte, feature-major.

`Bank` is the interface; `FeatureBank` keeps the bins in memory, `boostsample.banks.disk` in mapped
files, and `boostsample.banks.lazy` computes them on first use. Built from the same families, rows
and reference, all of them hold the same bits.
"""

from __future__ import annotations

import abc
import copy
import zlib
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from boostsample.banks.binning import binned_blocks, block_order, reference_rows
from boostsample.banks.tile_layout import TileCopy, check_tile_bytes, tiles_within
from boostsample.column_table import ColumnTable
from boostsample.errors import DataError, SettingError
from boostsample.family import Family
from boostsample.hashing import sha256_of_arrays
from boostsample.kernels.array_layout import N_BINS, aligned
from boostsample.kernels.cuts import MAX_CUTS
from boostsample.kernels.rare_rows import RareRows
from boostsample.kernels.tiles import RaceTiles
from boostsample.records import FamilyInfo, family_infos
from boostsample.threads import n_threads

_EVERYTHING = 2**62  # features: no limit


class View(NamedTuple):
    """The bins of some features of some examples, for kernels.

    If `compact`, column t of `bins` is the t-th requested row, and more columns may follow;
    otherwise column i is example i of the bank.
    """

    bins: NDArray[np.uint8]  # (any, any), C-contiguous, read-only, valid until the next call
    at: NDArray[np.int64]  # (Q,), row of `bins` of each feature
    compact: bool
    cuts: NDArray[np.float32] | None = None  # (any, 254), of the rows of `bins` if they vary


class Bank(abc.ABC):
    """Interface of a feature bank.

    Parameters
    ----------
    families : sequence of Family
        Their features are numbered in this order. Names must differ.
    n_examples : int
        N, training and test rows together.

    Attributes
    ----------
    families : tuple of Family
    first : ndarray of int64, shape (number of families + 1,)
        First global feature index of each family, then F.
    n_features, n_examples : int
        F and N.
    n_bins : ndarray of int16, shape (F,)
        Number of cuts + 2: bin 0 and the bins of values. At least 2: thresholds are 1 <= b <
        n_bins, and b = 1 (-inf) is a candidate even for a feature that is constant or missing in
        all train rows. 0 for a feature that a lazy bank has not computed yet.
    values_computed : int
        Feature values that a lazy bank has computed; 0 for the others.

    SettingError if there is no family, one without features, or two of the same name.
    """

    n_bins: NDArray[np.int16]
    on_demand = False
    """Whether feature values are computed when they are looked at."""
    largest_threshold = N_BINS - 1
    """Thresholds of stumps are numbered from 1, -inf, to at most this; by bins, unless a bank has
    other cuts in other views."""

    def __init__(self, families: Sequence[Family], n_examples: int) -> None:
        self.families: tuple[Family, ...] = tuple(families)
        self.first = check_bank_families(self.families)
        self.n_features = int(self.first[-1])
        self.n_examples = n_examples
        self.values_computed = 0

    @abc.abstractmethod
    def view(self, features: NDArray[np.int64], rows: NDArray[Any] | None = None) -> View:
        """The bins of some features (Q,), for kernels; sets `n_bins` of these features.

        `rows` (T,) are the examples that will be read, by default all of this reader.
        """

    @abc.abstractmethod
    def cuts_of(self, features: NDArray[np.int64]) -> NDArray[np.float32]:
        """Cuts of some features: float32 (Q, 254), ascending, padded with +inf.

        The bin of a value is 1 + the number of cuts at or below it.
        """

    @property
    @abc.abstractmethod
    def nbytes(self) -> int:
        """Bytes of memory in use, without the pages of mapped files."""

    def rare_rows(self, features: NDArray[np.int64]) -> tuple[RareRows, NDArray[np.int64]] | None:
        """Lists of the rows outside the bin of most rows, and which is a feature's: int64 (Q,).

        Takes as many features as `view`; valid until the next call of either. None, the default,
        if the bank makes no lists. Whether a feature has one depends on its column only.
        """
        return None

    def race_tiles(self) -> RaceTiles | None:
        """The tiles of a bank in memory, for races in one call; None if there are none."""
        return None

    def reader(self, rows: NDArray[np.int64] | None = None) -> Self:
        """The bank for one user in one thread; `rows` are the examples of whole columns."""
        return self

    def compile(self) -> None:  # noqa: B027 - nothing to do by default
        """Compile all that `view` can need; a lazy bank computes features, others read tiles."""

    def most_features(self, n_rows: int | None) -> int:
        """Maximum number of features per `view`, at least a group of the search kernel.

        `n_rows` is the number of rows, None for whole columns.
        """
        return _EVERYTHING

    @abc.abstractmethod
    def digest(self) -> dict[str, str]:
        """Checksums, by what they are of, that differ if the bins or cuts of a feature differ.

        Computes no feature. Banks in memory and on disk that hold the same have the same ones.
        """

    def column(self, feature: int) -> NDArray[np.uint8]:
        """Bins of a feature: uint8 (N,), read-only, valid in the rows of this reader."""
        view = self.view(np.array([feature], np.int64))
        column: NDArray[np.uint8] = view.bins[view.at[0]]
        return column

    def take(self, features: NDArray[np.int64], rows: NDArray[Any]) -> NDArray[np.uint8]:
        """A copy of the bins of some features of some examples: uint8 (Q, T)."""
        bins, at, compact, _ = self.view(features, rows)
        taken: NDArray[np.uint8] = bins[at, : rows.size] if compact else bins[at[:, None], rows]
        return taken

    def view_at(
        self,
        features: NDArray[np.int64],
        thresholds: NDArray[np.int64],
        rows: NDArray[Any] | None = None,
    ) -> tuple[View, NDArray[np.int16]]:
        """Bins for stumps with thresholds (Q,), as `view`, and the bin of each: int16 (Q,).

        phi is +1 where a bin is at least that of the threshold.
        """
        return self.view(features, rows), thresholds.astype(np.int16)

    def cut(self, feature: int, threshold: int) -> tuple[NDArray[np.uint8], Any]:
        """As of `view_at` for one stump: uint8 (N,), valid in the rows of this reader; int16."""
        return self.column(feature), np.int16(threshold)

    def sides(
        self, features: NDArray[np.int64], thresholds: NDArray[np.int64], rows: NDArray[Any]
    ) -> NDArray[np.bool_]:
        """Whether phi is +1, for stumps of any examples: bool (Q, T)."""
        return np.asarray(self.take(features, rows) >= thresholds[:, None])

    def thresholds_in(self, view: View, bins: NDArray[np.int64]) -> NDArray[np.int64]:
        """The thresholds of bins (Q,) in a view, of each of its features one: int64 (Q,)."""
        return bins

    def family_infos(self) -> tuple[FamilyInfo, ...]:
        """The families as strategies see them."""
        return family_infos(self.families, self.on_demand)

    def family_of(self, feature: int) -> int:
        """Position in `families` of the family of a feature; SettingError if out of range."""
        self._check(feature)
        return int(self.first.searchsorted(feature, side="right")) - 1

    def feature_name(self, feature: int) -> str:
        """Description of a feature by its family; SettingError if out of range."""
        number = self.family_of(feature)
        return self.families[number].feature_name(feature - int(self.first[number]))

    def threshold(self, feature: int, b: int) -> float:
        """Raw threshold of index b: a value's bin is >= b if and only if the value is >= this.

        -inf for b = 1, else a float32 as a Python float. Raises SettingError if the feature, or b,
        1 <= b < n_bins[feature], is out of range.
        """
        self._check(feature)
        cuts = self.cuts_of(np.array([feature]))[0]
        if not 1 <= b < self.n_bins[feature]:
            raise SettingError(
                f"threshold of feature {feature} must be between 1 and "
                f"{self.n_bins[feature] - 1}, got {b}"
            )
        return -np.inf if b == 1 else float(cuts[b - 2])

    def _check(self, feature: int) -> None:
        if not 0 <= feature < self.n_features:
            raise SettingError(
                f"in a bank, a feature must be between 0 and {self.n_features - 1}, got {feature}"
            )


class FeatureBank(Bank):
    """Bins of all features and examples, kept in memory.

    `FeatureBank.build` makes one from data; the constructor takes finished arrays.

    Parameters
    ----------
    families : sequence of Family
        Their features are numbered in this order. Names must differ.
    bins : ndarray of uint8, shape (F, N), C-contiguous
        Bin of each feature and example: 0 = missing, 1 .. n_bins - 1 in the order of the values.
    cuts : ndarray of float32, shape (F, 254)
        Raw thresholds, see `Bank.cuts_of`.
    n_bins : ndarray of int16, shape (F,)
        See `Bank`.

    DataError if the arrays do not fit each other or the families.
    """

    def __init__(
        self,
        families: Sequence[Family],
        bins: NDArray[np.uint8],
        cuts: NDArray[np.float32],
        n_bins: NDArray[np.int16],
    ) -> None:
        super().__init__(families, bins.shape[1])
        if not bins.shape[0] == cuts.shape[0] == n_bins.shape[0] == self.n_features:
            raise DataError(
                f"the families have {self.n_features} features, but the arrays are for "
                f"{bins.shape[0]}, {cuts.shape[0]} and {n_bins.shape[0]}"
            )
        self.bins = bins
        self.cuts = cuts
        self.n_bins = n_bins
        self._tiles: TileCopy | None = None

    def reader(self, rows: NDArray[np.int64] | None = None) -> Self:
        """The bank for one user in one thread, with the same arrays."""
        if self._tiles is None:
            return self
        other = copy.copy(self)
        other._tiles = self._tiles.user()  # gathered bins are overwritten by the next search
        return other

    def compile(self) -> None:
        """Compile what reads the tiles."""
        if self._tiles is not None:
            self._tiles.compile()

    @classmethod
    def build(
        cls,
        families: Sequence[Family],
        X: Any,
        train_rows: NDArray[np.int64] | None = None,
        *,
        progress: Callable[[int, int], None] | None = None,
        n_jobs: int = 1,
        reference: int | None = None,
        tile_bytes: int | None = None,
    ) -> FeatureBank:
        """Compute and bin all features of all rows of X.

        Memory beside the bank: about 1/32 of it for values, at least 8 MiB per thread, and a copy
        of X in the order that families read fastest if that takes at most 1/8. The result does not
        depend on the number of threads.

        Parameters
        ----------
        families : sequence of Family
        X : ndarray, shape (N, ...)
            Rows of raw data as the families take them; train and test rows together.
        train_rows : ndarray of int64, shape (T,), optional
            Rows that the cuts are computed from, all by default. Leave out rows of weight zero.
        progress : callable, optional
            Called as progress(features done, F) in the calling thread after each block.
        n_jobs : int, default 1
            Number of threads; -1 means all cores, -2 all but one, and so on.
        reference : int, optional
            Number of train rows that the cuts are computed from, drawn independently of the data;
            all by default. A feature with at most 255 distinct values in these rows has a bin for
            each of them.
        tile_bytes : int, optional
            Most bytes of a second copy of the bins, in tiles, for fast searches of few examples. It
            is as large as the bins, and made from 4,033 features and 16,384 examples on. The
            default is half of the free memory (0 where the system does not say how much is free); 0
            makes no copy. Results do not depend on it.

        Raises
        ------
        DataError
            If X has no rows, train_rows is empty or out of range, or a value is infinite: the
            message names the first such feature and its first such row.
        SettingError
            If a setting is out of range, or for the families as in the constructor.
        """
        n_features, n = int(check_bank_families(families)[-1]), X.shape[0]
        rows = reference_rows(n, train_rows, reference)
        check_tile_bytes(tile_bytes)
        threads = n_threads(n_jobs)
        X = block_order(X, n_features * n // 8)
        bins = aligned(n_features * n, np.uint8).reshape(n_features, n)
        cuts = np.empty((n_features, MAX_CUTS), np.float32)
        n_bins = np.empty(n_features, np.int16)

        work = binned_blocks(families, X, rows, n_jobs=n_jobs, progress=progress, bins=bins)
        with closing(work) as blocks:
            for block in blocks:
                cuts[block.features], n_bins[block.features] = block.cuts, block.n_bins
        bank = cls(families, bins, cuts, n_bins)
        bank.add_tiles(tile_bytes, threads)
        return bank

    def add_tiles(self, tile_bytes: int | None = None, threads: int = 1) -> None:
        """Make the second copy of the bins, if it fits; `tile_bytes` as in `build`."""
        tiles = tiles_within(self.families, self.n_examples, tile_bytes)
        if tiles is not None:
            self._tiles = TileCopy.make(self.bins, tiles, threads)

    @property
    def nbytes(self) -> int:
        """Bytes of memory in use."""
        second = 0 if self._tiles is None else self._tiles.bins.nbytes + self._tiles.room_bytes
        return self.bins.nbytes + self.cuts.nbytes + self.n_bins.nbytes + self.first.nbytes + second

    def _check_once(self, features: NDArray[np.int64] | Sequence[int]) -> None:
        """Called before columns or cuts are read; files may be damaged."""

    def view(self, features: NDArray[np.int64], rows: NDArray[Any] | None = None) -> View:
        """The bank itself, or bins gathered from its tiles where that is faster."""
        if rows is not None and self._tiles is not None:
            gathered = self._tiles.gather(features, rows)
            if gathered is not None:
                return View(*gathered, True)
        self._check_once(features)
        return View(self.bins, features, False)

    def race_tiles(self) -> RaceTiles | None:
        """As of `Bank`."""
        return None if self._tiles is None else self._tiles.for_race(self.n_bins, self.bins)

    def column(self, feature: int) -> NDArray[np.uint8]:
        """Bins of a feature: uint8 (N,); as of `Bank`, in less time."""
        self._check_once([feature])
        column: NDArray[np.uint8] = self.bins[feature]
        return column

    def threshold(self, feature: int, b: int) -> float:
        """Raw threshold of index b; as of `Bank`, in less time."""
        # The way without an array of cuts; errors and b = 1 are left to `Bank`.
        if 0 <= feature < self.n_features and 1 < b < self.n_bins[feature]:
            self._check_once([feature])
            return float(self.cuts[feature, b - 2])
        return super().threshold(feature, b)

    def cuts_of(self, features: NDArray[np.int64]) -> NDArray[np.float32]:
        """Cuts of some features: float32 (Q, 254)."""
        self._check_once(features)
        cuts: NDArray[np.float32] = self.cuts[features]
        return cuts

    def digest(self) -> dict[str, str]:
        """Checksum of a CRC-32 of the bins and of the cuts of each feature; reads the bank once."""
        return {"features": sha256_of_arrays(self._checksums())}

    def _checksums(self) -> NDArray[np.uint32]:
        """CRC-32 of the bins and cuts of each feature: uint32 (F, 2)."""
        return feature_checksums(self.bins, self.cuts)


def feature_checksums(bins: NDArray[np.uint8], cuts: NDArray[np.float32]) -> NDArray[np.uint32]:
    """CRC-32 of the bins and of the cuts of each feature, C-contiguous: uint32 (F, 2)."""
    pairs = zip(bins, cuts, strict=True)
    return np.array([(zlib.crc32(b.data), zlib.crc32(c.data)) for b, c in pairs], np.uint32)


def digest_of_examples(X: Any, user: str) -> str:
    """Checksum of an array of numbers or texts, a sparse matrix in any format, or a ColumnTable.

    SettingError if X holds other objects, which names the `user` of the checksum.
    """
    if isinstance(X, ColumnTable):
        return X.digest()
    if hasattr(X, "tocsr"):
        rows = X.tocsr()
        return sha256_of_arrays(rows.data, rows.indices, rows.indptr)
    try:
        return sha256_of_arrays(X)
    except TypeError as error:
        raise SettingError(
            f"examples of {user} must be numbers or texts: {error}; use the bank in memory"
        ) from None


def check_bank_families(families: Sequence[Family]) -> NDArray[np.int64]:
    """First global feature index of each family, followed by F; raises SettingError."""
    if not families:
        raise SettingError("a feature bank needs at least one family, got none")
    names = [family.name for family in families]
    for family in families:
        if family.n_features < 1:
            raise SettingError(
                f"family {family.name} must have at least one feature, got {family.n_features}"
            )
        if names.count(family.name) > 1:
            raise SettingError(
                f"names of families must differ, but {names.count(family.name)} are called "
                f"{family.name!r}"
            )
    return np.cumsum([0, *(family.n_features for family in families)], dtype=np.int64)
