"""What no search can do without, and nothing else: stores and reads, to time the bounds.

Compiled anew in each process: the cache of `boostsample.jit.compiling` is stamped with the files of
`boostsample.kernels` alone.
"""

from __future__ import annotations

import functools
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from boostsample.jit.vectors import LANES, add_into, load, prefetch
from boostsample.kernels.layout import aligned, vectors_of

__all__ = ["AT_ONCE", "read_bins", "read_words", "store_rows"]

N_BINS = 256
"""Of the histogram of a feature."""
AT_ONCE = 4
"""Places that a kernel goes to in turn, so that none waits for the one before."""

_SPARSE = 55
"""Of so many examples one is read: from there on most have a cache line, 64 bytes, of their own."""


def _compiled(function: Any) -> Any:
    return numba.njit(nogil=True, error_model="numpy")(function)


def store_rows(n_labels: int) -> Any:
    """A function of a number of looks that does their stores in a histogram, bin after bin.

    Each look loads the vectors of a bin, adds those of a row and stores them; first all looks do so
    with their first vectors, then with their second ones, so that the 8 KiB of the bins that are at
    work stay in the nearest cache. The row stays in registers, no bin is read to find the place,
    and none is come back to before all others: what is left is the rate at which the processor
    loads, adds and stores vectors.
    """
    kernel, row, planes = stores_of(n_labels)

    def store(looks: int) -> None:
        kernel(row, planes, looks)

    return store


def stores_of(n_labels: int) -> tuple[Any, NDArray[np.float32], NDArray[np.float32]]:
    """The kernel of `store_rows`, a row, and a histogram of its own."""
    blocks, tail = vectors_of(n_labels)
    row = aligned(LANES * (blocks + 1), np.float32)
    row[: LANES * blocks + tail] = 1e-3
    return _store_kernel(blocks, tail), row, aligned((blocks + 1) * N_BINS * LANES, np.float32)


@functools.cache
def _store_kernel(blocks: int, tail: int) -> Any:
    has_tail, last = tail > 0, max(tail, 1)

    def store(row: NDArray[np.float32], planes: NDArray[np.float32], looks: int) -> None:
        """Reads row float32 (P,); adds to planes float32 (vectors * 256 * 8). O(looks P / 8)."""
        for k in range(blocks):
            value = load(row, k * LANES, LANES)
            for t in range(0, looks, AT_ONCE):
                at = (k * N_BINS + (t & (N_BINS - 1))) * LANES
                add_into(planes, at, value)
                add_into(planes, at + LANES, value)
                add_into(planes, at + 2 * LANES, value)
                add_into(planes, at + 3 * LANES, value)
        if has_tail:
            rest = load(row, blocks * LANES, last)
            for t in range(0, looks, AT_ONCE):
                at = blocks * N_BINS * LANES + (t & (N_BINS - 1)) * last
                add_into(planes, at, rest)
                add_into(planes, at + last, rest)
                add_into(planes, at + 2 * last, rest)
                add_into(planes, at + 3 * last, rest)

    return _compiled(store)


def _read_bins(
    bins: NDArray[np.uint8],
    features: NDArray[np.int64],
    start: int,
    examples: NDArray[np.int32],
    n: int,
) -> Any:
    """The sum of the bins of some features at `examples`, or at start .. start + n - 1; O(Q T).

    Reads bins uint8 (any, any), features int64 (Q,), the row of `bins` of each, examples int32
    (T,), or empty. As many cache misses as can be are under way: of few examples, those of the next
    three features go to the second cache, which can wait for twice as many as the first, and are
    asked for three times, since of too many requests some are dropped; of more, four features are
    read in turn.
    """
    total: Any = 0
    n_features = features.size
    if examples.size == 0:
        for q in range(n_features):
            whole = bins[features[q], start : start + n]
            for t in range(n):
                total += np.int64(whole[t])
        return total
    few = examples.size < bins.shape[1] // _SPARSE
    last = 0 if few else n_features - n_features % AT_ONCE
    for q in range(0, last, AT_ONCE):
        column0, column1 = bins[features[q]], bins[features[q + 1]]
        column2, column3 = bins[features[q + 2]], bins[features[q + 3]]
        for t in range(examples.size):
            i = examples[t]
            total += np.int64(column0[i]) + np.int64(column1[i])
            total += np.int64(column2[i]) + np.int64(column3[i])
    for q in range(last, n_features):
        column, next1 = bins[features[q]], bins[features[min(q + 1, n_features - 1)]]
        next2 = bins[features[min(q + 2, n_features - 1)]]
        next3 = bins[features[min(q + 3, n_features - 1)]]
        for t in range(examples.size):
            i = examples[t]
            if few:
                prefetch(next3, i)
                prefetch(next2, i)
                prefetch(next1, i)
            total += np.int64(column[i])
    return total


def _read_words(words: NDArray[np.uint64]) -> Any:
    """The sum of the words of an array, read from its first to its last."""
    total: Any = np.uint64(0)
    for i in range(words.size):
        total += words[i]
    return total


read_bins: Any = _compiled(_read_bins)
read_words: Any = _compiled(_read_words)
