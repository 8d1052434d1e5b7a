"""Banks whose rows come in chunks, with cuts that are known before: one shard of a larger table."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

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
from boostsample.banks.disk import (
    BINS_FILE,
    CUTS_FILE,
    DiskBank,
    complete_bank,
    flushed,
    npy_header,
)
from boostsample.errors import DataError
from boostsample.family import Family
from boostsample.kernels.array_layout import aligned
from boostsample.kernels.cuts import MAX_CUTS

Cuts = tuple[NDArray[np.float32], NDArray[np.int16]]
"""Cuts float32 (F, 254), padded with +inf, and n_bins int16 (F,), as of `binning.find_cuts`."""


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
