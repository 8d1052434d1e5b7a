"""Sparse parts of a table: their different values, and bin edges from those of all parts.

A value is a key: its column, then its bits as float32 in an order that is that of the values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from boostsample.banks.binning import SMALL_BLOCK, compute_columns, feature_blocks, find_cuts
from boostsample.banks.shard_columns import PackedCuts, columns_of_families
from boostsample.errors import DataError
from boostsample.family import Family
from boostsample.kernels.cuts import MAX_CUTS

_MOST_DISTINCT = MAX_CUTS + 1
_SIGN = np.uint32(1 << 31)
_ZERO = np.uint64(_SIGN)


class StoredValues(NamedTuple):
    """What the columns of a sparse part store; columns without a stored value are left out.

    `keys` are ascending and different: of each column its values but NaN, at most 256 of them.
    """

    columns: NDArray[np.int64]
    n_stored: NDArray[np.int64]
    keys: NDArray[np.uint64]

    @classmethod
    def of(cls, matrix: Any) -> StoredValues:
        """Those of a canonical CSR matrix."""
        n_stored = np.bincount(matrix.indices, minlength=matrix.shape[1])
        columns = np.flatnonzero(n_stored)
        values = matrix.data.astype(np.float32) + np.float32(0.0)  # no -0.0
        bits = values.view(np.uint32)
        ordered = np.where(bits & _SIGN, ~bits, bits | _SIGN)
        keys = matrix.indices.astype(np.uint64) << np.uint64(32) | ordered
        keys = np.unique(keys[~np.isnan(values)])
        return cls(columns, n_stored[columns], keys[_places(keys) <= _MOST_DISTINCT])


def _columns(keys: NDArray[np.uint64]) -> NDArray[np.int64]:
    return (keys >> np.uint64(32)).astype(np.int64)


def _places(keys: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Place of each key among those of its column."""
    columns = _columns(keys)
    return np.arange(keys.size) - np.searchsorted(columns, columns)


def _values(keys: NDArray[np.uint64]) -> NDArray[np.float32]:
    ordered = keys.astype(np.uint32)  # the lower half
    bits: NDArray[np.uint32] = np.where(ordered & _SIGN, ordered ^ _SIGN, ~ordered)
    return bits.view(np.float32)


def n_stored_of_parts(parts: Sequence[StoredValues], n_columns: int) -> NDArray[np.int64]:
    """Stored values of each column in all parts: int64 (d,)."""
    n_stored = np.zeros(n_columns, np.int64)
    for part in parts:
        n_stored[part.columns] += part.n_stored
    return n_stored


def cuts_of_sparse_parts(
    families: Sequence[Family],
    parts: Sequence[StoredValues],
    n_rows: int,
    n_stored: NDArray[np.int64],
    sample: Any,
) -> PackedCuts:
    """Cuts of all features: those of at most 255 values from all rows, others from a sample.

    `sample` is a CSC matrix, `n_stored` as of `n_stored_of_parts`. The cuts are those of dense
    parts.
    """
    columns = columns_of_families(families)
    keys = np.unique(np.concatenate([part.keys for part in parts]))
    zeros = np.unique(columns[n_stored[columns] < n_rows]).astype(np.uint64)
    keys = np.union1d(keys, zeros << np.uint64(32) | _ZERO)
    of_keys = _columns(keys)
    starts, ends = (np.searchsorted(of_keys, columns, side) for side in ("left", "right"))
    n_distinct = ends - starts
    blocks = []
    for family, block, local in feature_blocks(families, max(SMALL_BLOCK // (4 * MAX_CUTS), 1)):
        cuts = np.empty((local.size, MAX_CUTS), np.float32)
        n_bins = np.empty(local.size, np.int16)
        few = n_distinct[block] <= _MOST_DISTINCT
        table = np.full((int(few.sum()), max(n_distinct[block][few].max(initial=1), 1)), np.nan)
        at = starts[block][few, None] + np.arange(table.shape[1])
        is_value = at < ends[block][few, None]
        table[is_value] = _values(keys[at[is_value]])
        cuts[few], n_bins[few] = find_cuts(table.astype(np.float32))
        many = np.flatnonzero(~few)
        size = max(SMALL_BLOCK // (4 * sample.shape[0]), 1)
        for start in range(0, many.size, size):
            chosen = many[start : start + size]
            cuts[chosen], n_bins[chosen] = find_cuts(compute_columns(family, sample, local[chosen]))
        blocks.append((cuts, n_bins))
    return PackedCuts.of(blocks)


def canonical_rows(X: Any) -> Any:
    """A sparse matrix in canonical CSR format; DataError unless it is a table of finite numbers."""
    if len(X.shape) != 2 or X.dtype.kind not in "biuf":
        raise DataError(
            f"sparse blocks of X must be tables of real numbers, got {X.dtype} of shape {X.shape}; "
            "convert them by .astype(float)"
        )
    rows = X.tocsr()
    if not rows.has_canonical_format:
        rows = rows.copy() if rows is X else rows
        rows.sum_duplicates()
    with np.errstate(over="ignore"):
        infinite = np.isinf(rows.data.astype(np.float32))
    if infinite.any():
        at, stored = int(infinite.argmax()), rows.tocoo()
        place = int(stored.row[at]), int(stored.col[at])
        raise DataError(
            "X must hold finite numbers, of at most 3.4e38, or nan, which is a missing value, got "
            f"{stored.data[at].item()} at {place}; replace it"
        )
    return rows
