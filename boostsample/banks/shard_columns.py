"""Banks of the sparse rows of one shard, with cuts that are known before.

Cuts are packed, because most columns of a sparse matrix have few values: 254 for each would take
more memory than the matrix.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from boostsample.banks.bank import FeatureBank
from boostsample.banks.binning import SMALL_BLOCK, feature_blocks
from boostsample.banks.column_bank import COLUMN_CACHE_BYTES, ColumnBank
from boostsample.errors import SettingError
from boostsample.family import BinnedFeatures, Family
from boostsample.hashing import sha256_of_arrays
from boostsample.kernels.array_layout import aligned
from boostsample.kernels.cuts import MAX_CUTS

_STORED = 2**20
"""Stored values that are binned at a time, about."""


class PackedCuts(NamedTuple):
    """Cuts of F features: those of feature f are ``values[starts[f]:starts[f + 1]]``, ascending."""

    starts: NDArray[np.int64]  # (F + 1,)
    values: NDArray[np.float32]

    @classmethod
    def of(cls, blocks: Sequence[tuple[NDArray[np.float32], NDArray[np.int16]]]) -> PackedCuts:
        """From cuts (f, 254) and n_bins of consecutive blocks of features."""
        n_cuts = np.concatenate([n_bins for _, n_bins in blocks]).astype(np.int64) - 2
        values = [cuts[np.arange(MAX_CUTS) < n_bins[:, None] - 2] for cuts, n_bins in blocks]
        return cls(np.concatenate([[0], np.cumsum(n_cuts)]), np.concatenate(values))

    @property
    def n_bins(self) -> NDArray[np.int16]:
        """Numbers of bins, as of `Bank`."""
        return (np.diff(self.starts) + 2).astype(np.int16)

    def padded(self, features: NDArray[np.int64]) -> NDArray[np.float32]:
        """Cuts of some features as of `Bank.cuts_of`."""
        at = self.starts[features, None] + np.arange(MAX_CUTS)
        is_cut = at < self.starts[features + 1, None]
        cuts = np.full(at.shape, np.inf, np.float32)
        cuts[is_cut] = self.values[at[is_cut]]
        return cuts


def columns_of_families(families: Sequence[Family]) -> NDArray[np.int64]:
    """The column of each feature: int64 (F,); SettingError if a family is not of columns."""
    other = [family.name for family in families if not hasattr(family, "columns")]
    if other:
        raise SettingError(
            "on a cluster, families of sparse blocks must be groups of columns, got "
            f"{other[0]!r}; convert the blocks by X.map_blocks(lambda block: block.toarray())"
        )
    return np.concatenate([np.asarray(getattr(family, "columns"), np.int64) for family in families])  # noqa: B009 - `Family` does not declare it


def bins_of_columns(
    matrix: Any, columns: NDArray[np.int64], cuts: NDArray[np.float32]
) -> NDArray[np.uint8]:
    """Bins of some columns of a canonical CSC matrix (n, d), of their cuts (q, 254): uint8 (q, n).

    Equal to `assign_bins` of the values as float32. Cost: 8 steps of binary search for each stored
    value, and n bytes for each column.
    """
    starts = matrix.indptr[columns].astype(np.int64)
    counts = matrix.indptr[columns + 1] - starts
    bins = np.empty((columns.size, matrix.shape[0]), np.uint8)
    bins[:] = (1 + (cuts <= 0).sum(axis=1)).astype(np.uint8)[:, None]
    ends = np.cumsum(counts)
    for goal in range(0, int(counts.sum()), _STORED):  # about so many stored values at a time
        part = slice(*np.searchsorted(ends, [goal, goal + _STORED], "right").tolist())
        feature = np.repeat(np.arange(columns.size)[part], counts[part])
        first = np.cumsum(counts[part]) - counts[part]
        at = np.arange(feature.size) + np.repeat(starts[part] - first, counts[part])
        values = matrix.data[at].astype(np.float32)
        n_below = np.zeros(feature.size, np.int64)
        for step in (128, 64, 32, 16, 8, 4, 2, 1):
            last = n_below + (step - 1)
            is_cut = last < MAX_CUTS
            n_below += step * (is_cut & (cuts[feature, np.where(is_cut, last, 0)] <= values))
        bins[feature, matrix.indices[at]] = np.where(np.isnan(values), 0, 1 + n_below)
    return bins


def memory_bank_of_columns(
    families: Sequence[Family], matrix: Any, cuts: PackedCuts, tile_bytes: int | None = None
) -> FeatureBank:
    """A bank in memory of the rows of a canonical CSC matrix; `tile_bytes` as in `FeatureBank`."""
    columns, n = columns_of_families(families), matrix.shape[0]
    bins = aligned(columns.size * n, np.uint8).reshape(-1, n)
    every = np.arange(columns.size)
    padded = cuts.padded(every)
    size = max(SMALL_BLOCK // max(n, 1), 1)
    for _, block, _ in feature_blocks(families, size):
        bins[block] = bins_of_columns(matrix, columns[block], padded[block])
    bank = FeatureBank(families, bins, padded, cuts.n_bins)
    bank.add_tiles(tile_bytes)
    return bank


class ShardColumnBank(ColumnBank):
    """A bank of the columns of a shard, a canonical CSC matrix, with cuts that are known before.

    Parameters are those of `ColumnBank`.
    """

    def __init__(
        self,
        families: Sequence[Family],
        matrix: Any,
        cuts: PackedCuts,
        cache_bytes: int = COLUMN_CACHE_BYTES,
    ) -> None:
        super().__init__(families, matrix, cache_bytes=cache_bytes)
        self._packed, self._column_of = cuts, columns_of_families(families)
        self.n_bins = cuts.n_bins

    def cuts_of(self, features: NDArray[np.int64]) -> NDArray[np.float32]:
        """Cuts of some features: float32 (Q, 254)."""
        return self._packed.padded(features)

    def digest(self) -> dict[str, str]:
        """Checksums of the examples and of the cuts."""
        return {"examples": super().digest()["examples"], "cuts": sha256_of_arrays(*self._packed)}

    def _bin(self, family: Family, local: NDArray[np.int64]) -> BinnedFeatures:
        features = local + self.first[self.families.index(family)]
        cuts = self._packed.padded(features)
        bins = bins_of_columns(self._X, self._column_of[features], cuts)
        return BinnedFeatures(bins, cuts, self.n_bins[features])
