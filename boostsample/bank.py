"""The feature bank: every feature of every example as one byte, feature-major.

The engine reads a bank through `view`, `n_bins`, `threshold` and `transform`, never through the
place where its bins are kept, so that a bank on disk or one computed on demand can stand in for the
one in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from boostsample.binning import MAX_CUTS, assign_bins, check_rows, find_cuts, first_infinite
from boostsample.errors import DataError, SettingError
from boostsample.family import Family, pixel_major

__all__ = ["FeatureBank"]

ALIGNMENT = 64  # bytes: a cache line, and the widest vector
SMALL_BLOCK = 1 << 23  # bytes that are small enough whatever the size of the bank


class FeatureBank:
    """Bins of all features and examples, kept in memory.

    Built by `FeatureBank.build`; the constructor only puts finished arrays together.

    Parameters
    ----------
    families : sequence of Family
        Their features follow each other in this order. Names must differ.
    bins : ndarray of uint8, shape (F, N), C-contiguous
        Bin of each feature and example: 0 = missing, 1 .. n_bins - 1 rising with the value.
    cuts : ndarray of float32, shape (F, 254)
        Raw thresholds, ascending, filled up with +inf. The bin of a value is 1 + the cuts at or
        below it.
    n_bins : ndarray of int16, shape (F,)
        Number of cuts + 2: bin 0 and the bins of values. At least 2, so that thresholds are always
        1 <= b < n_bins, and b = 1 (-inf) is a candidate even of a feature that is constant or
        missing in all train rows.

    Attributes
    ----------
    families, bins, cuts, n_bins
        As above; `families` a tuple.
    first : ndarray of int64, shape (number of families + 1,)
        First global feature index of each family, then F.
    n_features, n_examples : int
        F and N.
    values_computed : int
        Feature values computed for training since the bank was built: 0 for a bank in memory.

    Raises
    ------
    SettingError
        If there is no family, one without features, or two of the same name.
    DataError
        If the arrays do not fit each other or the families.
    """

    def __init__(
        self,
        families: Sequence[Family],
        bins: NDArray[np.uint8],
        cuts: NDArray[np.float32],
        n_bins: NDArray[np.int16],
    ) -> None:
        self.families: tuple[Family, ...] = tuple(families)
        self.first = _first(self.families)
        n_features = int(self.first[-1])
        if not bins.shape[0] == cuts.shape[0] == n_bins.shape[0] == n_features:
            raise DataError(
                f"the families have {n_features} features, but the arrays are for "
                f"{bins.shape[0]}, {cuts.shape[0]} and {n_bins.shape[0]}"
            )
        self.bins = bins
        self.cuts = cuts
        self.n_bins = n_bins
        self.n_features = n_features
        self.n_examples = bins.shape[1]
        self.values_computed = 0

    @classmethod
    def build(
        cls,
        families: Sequence[Family],
        X: Any,
        train_rows: NDArray[np.int64] | None = None,
        *,
        progress: Callable[[int, int], None] | None = None,
        n_jobs: int = 1,
    ) -> FeatureBank:
        """Compute and bin all features of all rows of X.

        Blocks of features are computed for all rows, then cut and binned. The blocks in work take
        about a tenth of the bank, or 8 MiB a thread if that is more. A copy of X in the order that
        families read fastest is made where it takes at most an eighth of the bank. What a family
        needs inside `compute` comes on top. The bits depend neither on the number of threads nor on
        the sizes of blocks.

        Parameters
        ----------
        families : sequence of Family
        X : ndarray, shape (N, ...)
            Rows of raw data as the families take them; train and test rows together.
        train_rows : ndarray of int64, shape (T,), optional
            Rows that the cuts come from, all by default. Rows of weight zero must be left out.
        progress : callable, optional
            Called as progress(features done, F) in the calling thread after each block.
        n_jobs : int, default 1
            Number of threads; -1 means all cores, -2 all but one, and so on.

        Returns
        -------
        FeatureBank
            Its `bins` start at an address divisible by 64.

        Raises
        ------
        DataError
            If X has no rows, train_rows is empty or out of range, or a feature is infinite: the
            message names the first such feature and its first such row.
        SettingError
            If n_jobs is 0, or for the families as in the constructor.
        """
        first = _first(families)
        n_features, n = int(first[-1]), X.shape[0]
        if n == 0:
            raise DataError("X has no rows; give at least one example")
        rows = None if train_rows is None else check_rows(train_rows, n, "train_rows")
        if rows is not None and rows.size == 0:
            raise DataError("train_rows is empty; bin edges need at least one example")
        n_threads = _n_threads(n_jobs)
        if isinstance(X, np.ndarray) and X.nbytes <= max(SMALL_BLOCK, n_features * n // 8):
            X = pixel_major(X)
        bins = _aligned(n_features, n)
        cuts = np.empty((n_features, MAX_CUTS), np.float32)
        n_bins = np.empty(n_features, np.int16)

        def fill(number: int, start: int, stop: int) -> None:
            local = np.arange(start, stop, dtype=np.int64)
            block = slice(int(first[number]) + start, int(first[number]) + stop)
            columns = _compute(families[number], X, local)
            cuts[block], n_bins[block] = find_cuts(columns, rows)
            assign_bins(columns, cuts[block], n_bins[block], out=bins[block])

        def done(number: int, start: int, stop: int) -> None:
            if progress is not None:
                progress(int(first[number]) + stop, n_features)

        size = _block_size(n_features, n, n_threads)
        _run(fill, done, list(_blocks(families, size)), n_threads)
        return cls(families, bins, cuts, n_bins)

    @property
    def nbytes(self) -> int:
        """Bytes of memory that the bank keeps."""
        return self.bins.nbytes + self.cuts.nbytes + self.n_bins.nbytes + self.first.nbytes

    def family_of(self, feature: int) -> int:
        """Position in `families` of the family that a feature belongs to.

        Raises
        ------
        SettingError
            If there is no such feature.
        """
        self._check([feature])
        return int(np.searchsorted(self.first, feature, side="right")) - 1

    def feature_name(self, feature: int) -> str:
        """What a feature is, in its family's words; errors as in `family_of`."""
        number = self.family_of(feature)
        return self.families[number].feature_name(feature - int(self.first[number]))

    def threshold(self, feature: int, b: int) -> float:
        """Raw threshold of threshold index b: a value x has a bin >= b exactly if x >= threshold.

        Parameters
        ----------
        feature : int
            Global index.
        b : int
            1 <= b < n_bins[feature].

        Returns
        -------
        float
            -inf for b = 1, else a float32 as a Python float.

        Raises
        ------
        SettingError
            If there is no such feature or it has no such threshold.
        """
        self._check([feature])
        if not 1 <= b < self.n_bins[feature]:
            raise SettingError(
                f"threshold of feature {feature} must be between 1 and "
                f"{self.n_bins[feature] - 1}, got {b}"
            )
        return -np.inf if b == 1 else float(self.cuts[feature, b - 2])

    def view(
        self, features: NDArray[np.int64], rows: NDArray[np.int64] | None = None
    ) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """Where the bins of some features can be read, for kernels.

        Parameters
        ----------
        features : ndarray of int64, shape (Q,)
            Global indices.
        rows : ndarray of int64, shape (T,), optional
            The examples that will be read, all by default. A bank in memory has them all.

        Returns
        -------
        bins : ndarray of uint8, shape (any, N), C-contiguous
            Valid in the columns `rows` until the next call. Not a copy: only to be read.
        feature_rows : ndarray of int64, shape (Q,)
            Row of `bins` of each feature: the bin of features[q] and example i is
            bins[feature_rows[q], i].
        """
        return self.bins, features

    def transform(self, X: Any, features: ArrayLike) -> NDArray[np.uint8]:
        """Bins of some features of new rows; the other features are not computed.

        Parameters
        ----------
        X : ndarray, shape (n, ...)
            Rows of raw data as the families take them.
        features : array of int, shape (Q,)
            Global indices in any order; one that is repeated is computed once.

        Returns
        -------
        ndarray of uint8, shape (Q, n)

        Raises
        ------
        SettingError
            If there is no such feature.
        DataError
            If a feature is infinite.
        """
        wanted, inverse = np.unique(self._check(features), return_inverse=True)
        out = np.empty((wanted.size, X.shape[0]), np.uint8)
        size = _block_size(wanted.size, max(X.shape[0], 1), 1)
        for number, family in enumerate(self.families):
            low, high = np.searchsorted(wanted, self.first[number : number + 2])
            for start in range(low, high, size):
                part = slice(start, min(start + size, high))
                columns = _compute(family, X, wanted[part] - self.first[number])
                cuts, n_bins = self.cuts[wanted[part]], self.n_bins[wanted[part]]
                assign_bins(columns, cuts, n_bins, out=out[part])
        if np.array_equal(inverse, np.arange(wanted.size)):
            return out
        return out[inverse]

    def _check(self, features: ArrayLike) -> NDArray[np.int64]:
        given = np.asarray(features)
        if given.size == 0:
            return np.empty(0, np.int64)
        if given.ndim != 1 or given.dtype.kind not in "iu":
            raise SettingError(
                f"features must be a vector of whole numbers, got {given.dtype} of shape "
                f"{given.shape}"
            )
        outside = (given < 0) | (given >= self.n_features)
        if outside.any():
            raise SettingError(
                f"a feature must be between 0 and {self.n_features - 1}, "
                f"got {given[outside.argmax()]}"
            )
        return given.astype(np.int64)


def _first(families: Sequence[Family]) -> NDArray[np.int64]:
    """First global feature index of each family, and the number of features at the end."""
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


def _compute(family: Family, X: Any, local: NDArray[np.int64]) -> NDArray[np.float32]:
    """Feature-major values of some features of a family for all rows of X, finite or NaN."""
    values = family.compute(X, local)
    if values.dtype != np.float32 or values.shape != (X.shape[0], local.size):
        raise DataError(
            f"family {family.name} must compute float32 of shape {(X.shape[0], local.size)}, "
            f"got {values.dtype} of shape {values.shape}"
        )
    columns = np.require(values.T, requirements=["C", "W"])  # no copy of feature-major memory
    infinite = first_infinite(columns)
    if infinite is not None:
        feature = int(local[infinite[0]])
        raise DataError(
            f"feature {feature} of family {family.name} has an infinite value in row "
            f"{infinite[1]}; it is {family.feature_name(feature)!r}: mark missing values as NaN, "
            "or leave the row out"
        )
    return columns


def _block_size(n_features: int, n: int, n_threads: int) -> int:
    """Features a block, so that the float32 blocks of all threads take a tenth of the bank."""
    return int(max(SMALL_BLOCK, n_features * n // (10 * n_threads)) // (4 * n)) or 1


def _blocks(families: Sequence[Family], size: int) -> Iterator[tuple[int, int, int]]:
    """Blocks of at most `size` features of one family: its number, start and stop inside it."""
    for number, family in enumerate(families):
        for start in range(0, family.n_features, size):
            yield number, start, min(start + size, family.n_features)


def _run(
    work: Callable[[int, int, int], None],
    done: Callable[[int, int, int], None],
    blocks: list[tuple[int, int, int]],
    n_threads: int,
) -> None:
    """Call `work` for each block in threads, and `done` in this one, in the order of the blocks.

    The first block that fails in that order is the one whose error is raised, whatever the threads
    do.
    """
    if n_threads == 1 or len(blocks) == 1:
        for block in blocks:
            work(*block)
            done(*block)
        return
    with ThreadPoolExecutor(n_threads) as pool:
        futures = [pool.submit(work, *block) for block in blocks]
        try:
            for future, block in zip(futures, blocks, strict=True):
                future.result()
                done(*block)
        finally:
            pool.shutdown(cancel_futures=True)


def _n_threads(n_jobs: int) -> int:
    if n_jobs > 0:
        return n_jobs
    if n_jobs == 0:
        raise SettingError("n_jobs must be 1 or more, or -1 for all cores, got 0")
    import joblib

    return max(int(joblib.cpu_count()) + 1 + n_jobs, 1)


def _aligned(n_features: int, n: int) -> NDArray[np.uint8]:
    """An uninitialised (n_features, n) array that starts at a multiple of 64 bytes.

    NumPy's own start 16 bytes off, so that every vector load would cross a cache line.
    """
    raw = np.empty(n_features * n + ALIGNMENT, np.uint8)
    start = -raw.ctypes.data % ALIGNMENT
    return raw[start : start + n_features * n].reshape(n_features, n)
