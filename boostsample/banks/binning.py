"""Binning of features by quantiles or a declared range, block by block, for every form of a bank.

A feature has at most 256 bins. Bin 0 holds missing values (NaN); a value x has bin 1 + the number
of cuts t with x >= t. A cut between the neighbouring train values a < b is their midpoint, rounded
to float32 such that a < t <= b. A feature with at most 255 distinct train values has one bin for
each of them; others have 254 cuts at quantiles (see `kernels.cuts.place_cuts`).
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from boostsample.checks import check_integer, check_rows
from boostsample.column_table import chunked_width
from boostsample.errors import DataError
from boostsample.family import BinnedFeatures, Family, check_computed, pixel_major, read_only
from boostsample.kernels import cuts as kernels
from boostsample.kernels.cuts import MAX_CUTS
from boostsample.kernels.images import take_transposed
from boostsample.threads import n_threads

SMALL_BLOCK = 1 << 23  # bytes that a block or copy may take even for a small bank
_SORTED_VALUES = 1 << 17
"""Values sorted at a time, which stay in the second-level cache."""


def find_cuts(
    columns: NDArray[np.float32], rows: NDArray[np.int64] | None = None
) -> tuple[NDArray[np.float32], NDArray[np.int16]]:
    """Cuts float32 (F, 254), ascending, padded with +inf, and n_bins int16 (F,) of each feature.

    `columns` is float32 (F, N), C-contiguous, finite or NaN; another form raises DataError. `rows`
    are the rows that the cuts are computed from, all by default; repeats count. n_bins is the
    number of cuts + 2: 2 for a feature that is constant or missing in `rows`.

    >>> import numpy as np
    >>> cuts, n_bins = find_cuts(np.array([[3, 1, 1, np.nan, 2]], np.float32))
    >>> cuts[0, :3], n_bins
    (array([1.5, 2.5, inf], dtype=float32), array([4], dtype=int16))
    """
    _check_columns(columns)
    n_features, n = columns.shape
    chosen = None if rows is None else check_rows(rows, n)
    n_values = n if chosen is None else chosen.size
    starts = np.empty(n_values + 1, np.int64)
    heavy = np.empty(n_values, np.bool_)
    gaps = np.empty(MAX_CUTS + 1, np.int64)
    cuts, n_bins = _room_for_cuts(n_features)
    step = max(_SORTED_VALUES // max(n_values, 1), 1)
    for start in range(0, n_features, step):
        part = slice(start, start + step)
        ordered = np.array(columns[part]) if chosen is None else columns[part].take(chosen, axis=1)
        ordered.sort(axis=1)
        kernels.cut_block(ordered, starts, heavy, gaps, cuts[part], n_bins[part])
    return cuts, n_bins


def uniform_cuts(
    lows: ArrayLike, highs: ArrayLike
) -> tuple[NDArray[np.float32], NDArray[np.int16]]:
    """Cuts and n_bins, as of `find_cuts`, of 255 equal bins in a given range of each feature.

    Fewer where float32 has fewer distinct values in the range, none where low = high. Values beyond
    the range fall into the outer bins. DataError unless lows <= highs, finite, of one shape (F,).

    >>> cuts, n_bins = uniform_cuts([0, 2], [255, 2])
    >>> cuts[0, :3], n_bins
    (array([1., 2., 3.], dtype=float32), array([256,   2], dtype=int16))
    """
    low, high = np.asarray(lows, np.float64), np.asarray(highs, np.float64)
    limit = float(np.finfo(np.float32).max)
    if low.ndim != 1 or low.shape != high.shape:
        raise DataError(
            f"for uniform cuts, lows and highs must be vectors of one size, got {low.shape} and "
            f"{high.shape}"
        )
    bad = ~((-limit <= low) & (low <= high) & (high <= limit))
    if bad.any():
        at = int(bad.argmax())
        raise DataError(
            f"lows must be at most highs and both finite, got {low[at]} and {high[at]} for the "
            f"feature at position {at}"
        )
    steps = np.arange(1, MAX_CUTS + 1) / (MAX_CUTS + 1)
    # Products and sums are monotone in the step despite rounding; adding 0 turns -0.0 into 0.0.
    cuts = (low[:, None] + (high - low)[:, None] * steps).astype(np.float32) + np.float32(0.0)
    before = np.concatenate([low[:, None].astype(np.float32), cuts[:, :-1]], axis=1)
    keep = cuts > before
    cuts[~keep] = np.inf
    cuts.sort(axis=1)
    return cuts, (keep.sum(axis=1) + 2).astype(np.int16)


def assign_bins(
    columns: NDArray[np.float32],
    cuts: NDArray[np.float32],
    n_bins: NDArray[np.int16],
    out: NDArray[np.uint8] | None = None,
) -> NDArray[np.uint8]:
    """The bin of each value, uint8 (F, N): 0 where missing, else 1 + the number of cuts <= value.

    `columns` as in `find_cuts`, `cuts` and `n_bins` as it returns them. Writes to `out`, uint8
    (F, N) and C-contiguous, if given. Raises DataError for a wrong dtype, shape or layout.
    """
    _check_columns(columns)
    n_features = columns.shape[0]
    if out is None:
        out = np.empty(columns.shape, np.uint8)
    # Read-only arrays are copied: numba would compile the kernel again for them.
    cuts = np.require(cuts, np.float32, ["C", "W"])
    n_bins = np.require(n_bins, np.int16, ["C", "W"])
    if cuts.shape != (n_features, MAX_CUTS) or n_bins.shape != (n_features,):
        raise DataError(
            f"the bins of {n_features} features need cuts of shape {(n_features, MAX_CUTS)} and "
            f"n_bins of shape {(n_features,)}, got {cuts.shape} and {n_bins.shape}"
        )
    if out.dtype != np.uint8 or out.shape != columns.shape or not out.flags.c_contiguous:
        raise DataError(f"out must be contiguous uint8 of shape {columns.shape}")
    padded, table = np.empty(MAX_CUTS + 1, np.float32), np.empty(kernels.BIN_BUCKETS, np.uint8)
    kernels.assign_block(columns, cuts, n_bins, padded, table, out)
    return out


def bin_coded(
    codes: NDArray[np.uint8], values: NDArray[np.float32], rows: NDArray[np.int64]
) -> BinnedFeatures:
    """Bins of features of few values: codes uint8 (q, n), 0 missing, else 1 + a place in `values`.

    `values` are float32, ascending, at most 255; the cuts come from `rows`, ascending. Overwrites
    the codes, and equals `find_cuts` and `assign_bins` of the values.

    >>> import numpy as np
    >>> bin_coded(np.array([[1, 3, 0, 2]], np.uint8), np.float32([0, 1, 2]), np.arange(2)).bins
    array([[1, 2, 0, 2]], dtype=uint8)
    """
    cuts, n_bins = _room_for_cuts(codes.shape[0])
    is_present, table = np.empty((2, 256), np.uint8)
    kernels.bin_codes(codes, rows, values, is_present, table, cuts, n_bins)
    return BinnedFeatures(codes, cuts, n_bins)


def bin_sparse_columns(
    matrix: Any, columns: NDArray[np.integer[Any]], rows: NDArray[np.int64]
) -> tuple[BinnedFeatures, NDArray[np.intp]]:
    """Bins of some columns of a canonical CSC matrix (n, d), and those that are still to be binned.

    These have more than 255 distinct values, or an infinite one; their positions are returned, and
    their bins undefined. The cuts come from `rows`, which are different. Equals `find_cuts` and
    `assign_bins` of the values.
    """
    n = matrix.shape[0]
    cuts, n_bins = _room_for_cuts(columns.size)
    is_reference = np.zeros(n, np.uint8)
    is_reference[rows] = 1
    starts, ends = (matrix.indptr[columns + side].astype(np.int64) for side in (0, 1))
    part: Any = slice(None)
    if matrix.data.dtype != np.float32 or matrix.indices.dtype != np.int32:
        # Converted are the values of these columns only, which may lie anywhere.
        sizes = ends - starts
        moved = np.cumsum(sizes) - sizes
        part = np.repeat(starts - moved, sizes) + np.arange(int(sizes.sum()))
        starts, ends = moved, moved + sizes
    with np.errstate(over="ignore"):  # an infinite value is left to be refused
        stored = np.ascontiguousarray(matrix.data[part], np.float32)
    bins = np.empty((columns.size, n), np.uint8)
    kernels.bin_sparse(
        starts,
        ends,
        np.ascontiguousarray(matrix.indices[part], np.int32),
        stored,
        is_reference,
        rows.size,
        np.empty(MAX_CUTS + 1, np.float32),
        cuts,
        n_bins,
        bins,
    )
    return BinnedFeatures(bins, cuts, n_bins), np.flatnonzero(n_bins == 0)


def _room_for_cuts(n_features: int) -> tuple[NDArray[np.float32], NDArray[np.int16]]:
    return np.empty((n_features, MAX_CUTS), np.float32), np.empty(n_features, np.int16)


def bin_features(
    family: Family,
    X: Any,
    local: NDArray[np.int64],
    rows: NDArray[np.int64],
    out: NDArray[np.uint8] | None = None,
) -> BinnedFeatures:
    """Bins of some features of a family for all rows of X, in `out` if given; cuts from `rows`."""
    binned = family.binned(X, local, rows)  # a short cut without float32 values, if there is one
    if binned is None:
        columns = compute_columns(family, X, local)
        cuts, n_bins = declared_cuts(family, local) or find_cuts(columns, rows)
        return BinnedFeatures(assign_bins(columns, cuts, n_bins, out), cuts, n_bins)
    if out is None:
        return binned
    out[:] = binned.bins
    return binned._replace(bins=out)


def _first_infinite(columns: NDArray[np.float32]) -> tuple[int, int] | None:
    """Position (feature, row) of the first infinite value in columns (F, N), or None."""
    _check_columns(columns)
    highest = np.fmax.reduce(columns, axis=None, initial=0.0)  # np.isinf would allocate (F, N)
    lowest = np.fmin.reduce(columns, axis=None, initial=0.0)
    if np.isfinite(highest) and np.isfinite(lowest):
        return None
    feature, row = np.argwhere(np.isinf(columns))[0].tolist()
    return feature, row


def compute_columns(
    family: Family, X: Any, local: NDArray[np.int64], rows: NDArray[Any] | None = None
) -> NDArray[np.float32]:
    """Feature-major values of some features of a family for all rows of X, finite or NaN.

    `rows` are the row numbers for error messages; default: positions in X.
    """
    values = family.compute(read_only(X), local)
    values = check_computed(family.name, values, (X.shape[0], local.size))
    columns = np.require(values.T, requirements=["C", "W"])  # no copy of feature-major memory
    infinite = _first_infinite(columns)
    if infinite is not None:
        feature, row = int(local[infinite[0]]), infinite[1]
        raise DataError(
            f"feature {feature} of family {family.name} has an infinite value in row "
            f"{row if rows is None else rows[row]}; it is {family.feature_name(feature)!r}: mark "
            "missing values as NaN, or leave the row out"
        )
    return columns


def declared_cuts(
    family: Family, local: NDArray[np.int64]
) -> tuple[NDArray[np.float32], NDArray[np.int16]] | None:
    """Cuts and n_bins of some features from the range that the family declares, or None."""
    declared = family.value_range(local)
    if declared is None:
        return None
    try:
        return uniform_cuts(*declared)
    except DataError as error:
        raise DataError(
            f"binning of family {family.name}: value_range() is wrong: {error}"
        ) from error


def _check_columns(columns: NDArray[np.float32]) -> None:
    if columns.dtype != np.float32 or columns.ndim != 2 or not columns.flags.c_contiguous:
        raise DataError(
            "columns must be contiguous float32 of shape (features, rows), got "
            f"{columns.dtype} of shape {columns.shape}"
        )


def reference_rows(
    n: int, train_rows: NDArray[np.int64] | None, reference: int | None
) -> NDArray[np.int64]:
    """The rows that the cuts are computed from, in the order of the train rows.

    `reference` of the train rows (None: of all n rows of X) are drawn without replacement; None, or
    at least their number, takes all of them. The draw depends on these two numbers only, and on no
    version of NumPy, which guarantees the raw stream of a bit generator. Raises DataError if there
    is no row or one is out of range, SettingError if `reference` is below 1.
    """
    if n == 0:
        raise DataError("X has no rows; give at least one example")
    rows = np.arange(n) if train_rows is None else check_rows(train_rows, n, "train_rows")
    if rows.size == 0:
        raise DataError("train_rows is empty; bin edges need at least one example")
    if reference is None:
        return rows
    size = check_integer("reference", reference, 1, hint="None takes all training rows")
    if size >= rows.size:
        return rows
    keys = np.random.PCG64(np.random.SeedSequence([rows.size, size])).random_raw(rows.size)
    chosen: NDArray[np.int64] = rows[np.sort(np.argsort(keys, kind="stable")[:size])]
    return chosen


def block_order(X: Any, most: int, rows: NDArray[Any] | None = None) -> Any:
    """X, or some rows of it, in the order that families read fastest, if at most `most` bytes.

    8 MiB are always allowed. Larger arrays, documents and sparse matrices keep their order. Rows
    are selected and transposed by blocks that stay in the cache; bytes in registers, which takes
    half the time (0.35 us for an image of 28 x 28).
    """
    n = X.shape[0] if rows is None else rows.size
    turnable = isinstance(X, np.ndarray) and X.dtype.kind in "biuf" and X.ndim > 1
    if not turnable or n * X[:1].nbytes > max(SMALL_BLOCK, most):
        return X if rows is None else X[rows]
    if rows is None or not rows.size or X.dtype != np.uint8 or X[0].size % 8:
        return pixel_major(X, rows)
    if not X.flags.c_contiguous or sys.byteorder != "little":
        return pixel_major(X, rows)
    n_words = -(-rows.size // 8)
    # An odd number of cache lines: at whole pages, columns would push each other out of the cache.
    # One word more than needed: kernels are compiled for columns that are parts of longer ones.
    lines = np.empty((X[0].size, 8 * (-(-(n_words + 1) // 8) | 1)), np.uint64)
    take_transposed(X.reshape(len(X), -1).view(np.uint64), rows, lines[:, :n_words])
    turned = lines.view(np.uint8)[:, : rows.size].reshape(*X.shape[1:], rows.size)
    return np.moveaxis(turned, -1, 0)


def feature_blocks(
    families: Sequence[Family], size: int
) -> Iterator[tuple[Family, slice, NDArray[np.int64]]]:
    """Blocks of at most `size` features: their family, and their global and local indices."""
    first = 0
    for family in families:
        for start in range(0, family.n_features, size):
            stop = min(start + size, family.n_features)
            yield family, slice(first + start, first + stop), np.arange(start, stop)
        first += family.n_features


def blocks_by_family(
    families: Sequence[Family],
    first: NDArray[np.int64],
    features: NDArray[np.int64],
    size: int,
    chunk: int = 1,
) -> Iterator[tuple[Family, NDArray[np.int64], slice]]:
    """Ascending features in blocks of at most `size`: the family, local indices, positions.

    `first` are the first features of the families, and the number of all. With a `chunk` above 1, a
    block lies between two successive multiples of `size` in its family.
    """
    # Features ascend, so that those of a family are a stretch.
    ends = np.searchsorted(features, first).tolist()
    for number, family in enumerate(families):
        start = ends[number]
        while start < ends[number + 1]:
            local = features[start : start + size][: ends[number + 1] - start] - first[number]
            if chunk > 1:
                local = local[local < (local[0] // size + 1) * size]
            yield family, local, slice(start, start + local.size)
            start += local.size


class BinnedBlock(NamedTuple):
    """A range of global features, their bins uint8 (f, N), cuts and n_bins."""

    features: slice
    bins: NDArray[np.uint8]
    cuts: NDArray[np.float32]
    n_bins: NDArray[np.int16]


def binned_blocks(
    families: Sequence[Family],
    X: Any,
    rows: NDArray[np.int64],
    *,
    n_jobs: int,
    progress: Callable[[int, int], None] | None,
    bins: NDArray[np.uint8] | None = None,
    most: int = 2**62,
) -> Generator[BinnedBlock, None, None]:
    """Blocks of all features for all rows of X in order, computed in threads.

    `rows` are the reference rows. The float32 values of the blocks of all threads together take
    1/32 of the bank; each takes at least 8 MiB, and at most `most` bytes. `bins` uint8 (F, N) is
    written to, if given. Tables by columns are read in whole chunks, see `chunked_width`. The error
    of the first failing block is raised. At most 2 * threads blocks wait to be taken; close the
    iterator to cancel the rest.
    """
    n, n_features = X.shape[0], sum(family.n_features for family in families)
    threads = n_threads(n_jobs)
    size = min(max(SMALL_BLOCK, n_features * n // (32 * threads)), most) // (4 * n) or 1
    size = chunked_width(X, size, threads)

    def binned(family: Family, block: slice, local: NDArray[np.int64]) -> BinnedBlock:
        out = None if bins is None else bins[block]
        return BinnedBlock(block, *bin_features(family, X, local, rows, out))

    ahead: deque[Future[BinnedBlock]] = deque()
    todo = feature_blocks(families, size)
    with ThreadPoolExecutor(threads) as pool:
        try:
            while True:
                # A block more for each thread hides the time in which the caller writes one.
                fresh = islice(todo, 2 * threads - len(ahead))
                ahead.extend(pool.submit(binned, *block) for block in fresh)
                if not ahead:
                    return
                block = ahead.popleft().result()
                yield block
                if progress is not None:
                    progress(block.features.stop, n_features)
        finally:
            pool.shutdown(cancel_futures=True)
