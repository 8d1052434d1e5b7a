"""Banks of one shard of a larger table, with cuts that are known before.

Dense rows come in chunks. Cuts of sparse ones are packed, because most columns of a sparse matrix
have few values: 254 for each would take more memory than the matrix.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from boostsample.banks.bank import FeatureBank, check_bank_families
from boostsample.banks.binning import (
    SMALL_BLOCK,
    assign_bins,
    compute_columns,
    declared_cuts,
    feature_blocks,
    find_cuts,
)
from boostsample.banks.column_bank import COLUMN_CACHE_BYTES, ColumnBank
from boostsample.banks.disk import (
    BINS_FILE,
    CUTS_FILE,
    DiskBank,
    complete_bank,
    flushed,
    npy_header,
)
from boostsample.errors import DataError, SettingError
from boostsample.family import BinnedFeatures, Family
from boostsample.hashing import sha256_of_arrays
from boostsample.kernels.array_layout import aligned
from boostsample.kernels.cuts import MAX_CUTS

Cuts = tuple[NDArray[np.float32], NDArray[np.int16]]
"""Cuts float32 (F, 254), padded with +inf, and n_bins int16 (F,), as of `binning.find_cuts`."""
_STORED = 2**20
"""Stored values that are binned at a time, about."""


def _blocks(families: Sequence[Family], n: int) -> Iterator[tuple[Family, slice, NDArray[Any]]]:
    """Blocks of features of n rows, of about 8 MiB of values."""
    return feature_blocks(families, max(SMALL_BLOCK // (4 * max(n, 1)), 1))


def cuts_of_rows(families: Sequence[Family], X: Any) -> Cuts:
    """Cuts of all features from the rows of X, or from the ranges that families declare.

    The same as those of a bank with all rows of X as reference. Memory: 8 MiB or one feature.
    """
    n_features = int(check_bank_families(families)[-1])
    cuts = np.empty((n_features, MAX_CUTS), np.float32)
    n_bins = np.empty(n_features, np.int16)
    for family, block, local in _blocks(families, X.shape[0]):
        edges = declared_cuts(family, local) or find_cuts(compute_columns(family, X, local))
        cuts[block], n_bins[block] = edges
    return cuts, n_bins


def bins_of_rows(families: Sequence[Family], X: Any, cuts: Cuts) -> NDArray[np.uint8]:
    """Bins of all features of some rows: uint8 (F, n); DataError if a value is infinite."""
    bins = np.empty((cuts[1].size, X.shape[0]), np.uint8)
    for family, block, local in _blocks(families, X.shape[0]):
        columns = compute_columns(family, X, local)
        assign_bins(columns, cuts[0][block], cuts[1][block], out=bins[block])
    return bins


def memory_bank_of_chunks(
    families: Sequence[Family],
    n: int,
    cuts: Cuts,
    chunks: Iterable[NDArray[np.uint8]],
    tile_bytes: int | None = None,
) -> FeatureBank:
    """A bank in memory of n rows, from the bins of all rows in order, as of `bins_of_rows`.

    `tile_bytes` is as in `FeatureBank.build`. DataError if the chunks do not have n rows.
    """
    bins = aligned(cuts[1].size * n, np.uint8).reshape(-1, n)
    for at, chunk in _placed(chunks, n):
        bins[:, at : at + chunk.shape[1]] = chunk
    bank = FeatureBank(families, bins, *cuts)
    bank.add_tiles(tile_bytes)
    return bank


def disk_bank_of_chunks(
    folder: Path,
    families: Sequence[Family],
    n: int,
    cuts: Cuts,
    chunks: Iterable[NDArray[np.uint8]],
    tile_bytes: int | None = None,
) -> DiskBank:
    """A bank of n rows in the files of a new folder, otherwise as `memory_bank_of_chunks`.

    Memory: one chunk. Cost: F writes for each chunk. DataError also if files cannot be written.
    """
    try:
        folder.mkdir(parents=True)
        _write(folder, families, n, cuts, chunks, tile_bytes)
    except OSError as error:
        raise DataError(
            f"the bank cannot be kept in '{folder}': {error.strerror or error}; free some space, "
            "or use the bank in memory"
        ) from error
    return DiskBank(folder, families, n, tile_bytes)


def _write(
    folder: Path,
    families: Sequence[Family],
    n: int,
    cuts: Cuts,
    chunks: Iterable[NDArray[np.uint8]],
    tile_bytes: int | None,
) -> None:
    values, n_bins = cuts
    sums = np.zeros((n_bins.size, 2), np.uint32)
    sums[:, 1] = [zlib.crc32(row.data) for row in np.ascontiguousarray(values)]
    files = {}
    with (folder / CUTS_FILE).open("xb") as stream:
        stream.write(npy_header(values.shape, np.float32))
        stream.write(np.ascontiguousarray(values).data)
        files[CUTS_FILE] = flushed(stream)
    with (folder / BINS_FILE).open("xb") as stream:
        header = npy_header((n_bins.size, n), np.uint8)
        stream.write(header)
        for at, chunk in _placed(chunks, n):
            for feature, piece in enumerate(np.ascontiguousarray(chunk)):
                stream.seek(len(header) + feature * n + at)
                stream.write(piece.data)
                sums[feature, 0] = zlib.crc32(piece.data, int(sums[feature, 0]))
        stream.seek(0, 2)
        files[BINS_FILE] = flushed(stream)
    facts = {"key": folder.name}
    complete_bank(folder, families, n, files, n_bins, sums, facts, tile_bytes)


def _placed(chunks: Iterable[NDArray[np.uint8]], n: int) -> Iterator[tuple[int, NDArray[np.uint8]]]:
    """The chunks with their first rows; DataError unless they have n rows together."""
    at = 0
    for chunk in chunks:
        if at + chunk.shape[1] <= n:
            yield at, chunk
        at += chunk.shape[1]
    if at != n:
        raise DataError(
            f"the chunks of a bank must have {n:,} rows together, got {at:,}; give each row once"
        )


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
    bins[:] = (1 + (cuts <= 0).sum(axis=1)).astype(np.uint8)[:, None]  # of 0, which is not stored
    ends = np.cumsum(counts)
    for goal in range(0, int(counts.sum()), _STORED):  # about so many stored values at a time
        part = slice(*np.searchsorted(ends, [goal, goal + _STORED], "right").tolist())
        feature = np.repeat(np.arange(columns.size)[part], counts[part])
        first = np.cumsum(counts[part]) - counts[part]
        at = np.arange(feature.size) + np.repeat(starts[part] - first, counts[part])
        values = matrix.data[at].astype(np.float32)
        # The binary search of `assign_bins`, for all values at once.
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
