"""Lower bounds of a search: vector stores, and reads of bins.

The micro-kernels are compiled anew in each process: `boostsample.jit.compile_kernels` caches the
kernels of its own folders only.
"""

from __future__ import annotations

import functools
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from benchmarks.problem import seconds_of
from boostsample.banks.bank import Bank
from boostsample.jit.vectors import LANES, add_into, load, prefetch
from boostsample.kernels.array_layout import Rows, aligned, row_layout

N_BINS = 256
_SPARSE = 55
"""If fewer than one example of 55 is read, most of them are alone in a cache line of 64 bytes."""


def _compiled(function: Any) -> Any:
    return numba.njit(nogil=True, error_model="numpy")(function)


def store_bound(n_labels: int) -> Any:
    """A function of a number of looks that does their stores in a histogram, bin after bin.

    A look loads the vectors of a bin, adds those of a row and stores them; all looks do so with
    their first vectors, then with their second ones, so that the bins in use stay in the first
    cache.
    """
    blocks, tail = row_layout(n_labels)
    row = aligned(LANES * (blocks + 1), np.float32)
    row[: LANES * blocks + tail] = 1e-3
    planes = aligned((blocks + 1) * N_BINS * LANES, np.float32)
    return functools.partial(store_bound_kernel(blocks, tail), row, planes)


@functools.cache
def store_bound_kernel(blocks: int, tail: int) -> Any:
    """The compiled kernel of `store_bound` for rows of `blocks` full vectors and a tail."""
    has_tail, last = tail > 0, max(tail, 1)

    def store(row: NDArray[np.float32], planes: NDArray[np.float32], looks: int) -> None:
        """Reads row float32 (P,); adds to planes float32 (vectors * 256 * 8). O(looks P / 8)."""
        for k in range(blocks):
            value = load(row, k * LANES, LANES)
            for t in range(looks):
                add_into(planes, (k * N_BINS + (t & (N_BINS - 1))) * LANES, value)
        if has_tail:
            rest = load(row, blocks * LANES, last)
            for t in range(looks):
                add_into(planes, blocks * N_BINS * LANES + (t & (N_BINS - 1)) * last, rest)

    return _compiled(store)


@_compiled
def read_bound_kernel(
    bins: NDArray[np.uint8],
    features: NDArray[np.int64],
    start: int,
    examples: NDArray[np.int32],
    n: int,
) -> Any:
    """The sum of the bins of some features at `examples`, or at start .. start + n - 1; O(Q T).

    Reads bins uint8 (any, any), features int64 (Q,), the row of `bins` of each, examples int32
    (T,), or empty. Many cache misses overlap: for sparse examples, the next three features are
    prefetched into the second cache (three times, since the processor drops some requests); for
    dense ones, four features are read in turn. One feature after another is 40 % slower.
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
    last = 0 if few else n_features - n_features % 4
    for q in range(0, last, 4):
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


def time_read_bound(bank: Bank, features: NDArray[np.int64], rows: Rows, n: int) -> float:
    """Seconds to read the bins of some features in the `n` examples of `rows`."""
    view = bank.view(features, rows.examples if rows.examples.size else None)
    start, examples = (0, rows.examples[:0]) if view.compact else (rows.start, rows.examples)
    return seconds_of(lambda: read_bound_kernel(view.bins, view.at, start, examples, n))
