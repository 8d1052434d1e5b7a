"""Sources of shards: where the rows of a shard come from, again and again with the same result."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from boostsample.banks.bank import Bank, FeatureBank
from boostsample.family import Family


class ShardData(NamedTuple):
    """The rows of one shard.

    Attributes
    ----------
    bank : Bank
        Features of these n rows and of no others, in any form. Families, cuts and numbers of bins
        are the same in all shards of a run.
    Y : ndarray of int8, shape (n, K)
        Labels, +1 or -1; two classes are K = 1.
    example_weight : ndarray of float64, shape (n,), or None
        User weights s_i >= 0 in units that all shards share; rows of weight 0 are dropped. None is
        1 for each row.
    """

    bank: Bank
    Y: NDArray[np.int8]
    example_weight: NDArray[np.float64] | None = None


class Source(Protocol):
    """Loads the rows of one shard; pickled and sent to the process that owns the shard.

    The examples of a run are those of its sources in their order.
    """

    def load(self) -> ShardData:
        """Load the rows: in any process and any number of times with the same result.

        Called in a thread. A MemoryError or a DataError ends the run; an OSError, too.
        """
        ...


@dataclass(frozen=True, eq=False)
class ArraySource:
    """Rows in memory, sent with the source: for tests and small data.

    Bins uint8 (F, n), C-contiguous, cuts float32 (F, 254) and numbers of bins int16 (F,) are as of
    `boostsample.banks.bank.FeatureBank`; Y and example_weight as of `ShardData`.
    """

    families: Sequence[Family]
    bins: NDArray[np.uint8]
    cuts: NDArray[np.float32]
    n_bins: NDArray[np.int16]
    Y: NDArray[np.int8]
    example_weight: NDArray[np.float64] | None = None

    def load(self) -> ShardData:
        """The bank of these arrays."""
        bank = FeatureBank(self.families, self.bins, self.cuts, self.n_bins)
        return ShardData(bank, self.Y, self.example_weight)


@dataclass(frozen=True, eq=False)
class FileSource:
    """Rows `first` to `end` of `.npy` files of all examples, which every process can read.

    Bins are uint8 (N, F), example-major, so that a shard is one part; labels int8 (N, K); weights
    float64 (N,).
    """

    families: Sequence[Family]
    bins: str | os.PathLike[str]
    cuts: NDArray[np.float32]
    n_bins: NDArray[np.int16]
    labels: str | os.PathLike[str]
    first: int
    end: int
    weights: str | os.PathLike[str] | None = None

    def load(self) -> ShardData:
        """Read and turn the rows: one pass over their part of the file."""
        rows = slice(self.first, self.end)

        def part(path: Any) -> Any:
            return np.load(path, mmap_mode="r", allow_pickle=False)[rows]

        bins = np.ascontiguousarray(part(self.bins).T)
        weight = None if self.weights is None else np.array(part(self.weights))
        bank = FeatureBank(self.families, bins, self.cuts, self.n_bins)
        return ShardData(bank, np.array(part(self.labels)), weight)


def array_sources(
    bank: FeatureBank,
    Y: NDArray[np.int8],
    n_shards: int,
    example_weight: NDArray[np.float64] | None = None,
    rows: NDArray[np.int64] | None = None,
) -> list[ArraySource]:
    """Sources of the examples of a bank in memory, or of its `rows`, as evenly as possible."""
    columns = np.arange(bank.n_examples) if rows is None else np.asarray(rows)
    cuts, n_bins = np.array(bank.cuts), np.array(bank.n_bins)
    sources = []
    for part in np.array_split(np.arange(columns.size), n_shards):
        bins = np.ascontiguousarray(bank.bins[:, columns[part]])
        weight = None if example_weight is None else np.asarray(example_weight, float)[part]
        labels = np.asarray(Y)[part].astype(np.int8)
        sources.append(ArraySource(bank.families, bins, cuts, n_bins, labels, weight))
    return sources
