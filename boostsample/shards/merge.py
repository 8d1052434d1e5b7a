"""Searches on what the shards have sent: rows of samples, and histograms.

Both go through the search kernel of one process. The bins of a histogram are rows of a feature,
each float64 sum as two float32 ones, large and small; the kernel adds them up in float64.
"""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostsample.banks.bank import View
from boostsample.kernels.array_layout import (
    Rows,
    found_room,
    lay_out_rows,
    part_of,
    row_layout,
)
from boostsample.kernels.searches.search import search_kernel
from boostsample.kernels.searches.search_room import is_empty, search_room
from boostsample.records import Stumps
from boostsample.rows.searcher import Searcher, stumps_of


class MergedSearch:
    """Searches of a run's driver.

    Parameters
    ----------
    weights : ShardWeights
        For their numbers of examples and labels.
    threads : Threads
        Threads of this process.
    n_bins : ndarray of int64, shape (F,)
        Bins of each feature.
    """

    def __init__(self, weights: Any, threads: Any, n_bins: NDArray[np.int64]) -> None:
        self._n_labels = n_labels = weights.n_labels
        blocks, tail = row_layout(n_labels)
        self._width = 8 * blocks + tail
        self._n_bins = n_bins
        rows = SimpleNamespace(
            n_examples=weights.n_examples, n_labels=n_labels, threads=threads, width=self._width
        )
        self._bank: Any = SimpleNamespace(
            n_features=n_bins.size, most_features=lambda n_rows: 2**62, compile=lambda: None
        )
        self._searcher = Searcher(self._bank, rows)  # type: ignore[arg-type]  # no rows here
        self._kernel, self._room = search_kernel(blocks, tail), search_room(n_labels)

    def compile(self) -> None:
        """Compile all kernels of searches."""
        self._searcher.compile()

    def on_rows(
        self,
        features: NDArray[np.int64],
        bins: NDArray[np.uint8],
        weights: NDArray[np.float32],
        scale: float,
        two_sided: bool,
    ) -> Stumps:
        """Best stumps on sampled rows: bins uint8 (Q, T), signed weights float32 (T, K)."""
        base = np.zeros(self._width)
        np.add.reduce(weights, axis=0, dtype=np.float64, out=base[: self._n_labels])
        values = lay_out_rows(weights, self._width)
        rows = Rows(0, np.empty(0, np.int32), values, base, scale)
        at = np.arange(features.size)
        self._bank.view = lambda features, rows: View(bins, at[features], True)
        self._bank.n_bins = self._n_bins[features].astype(np.int16)
        searcher = self._searcher.over(self._searcher.weights, two_sided)
        found = searcher.search(at, rows, False)
        return replace(found, feature=features)

    def on_histograms(
        self,
        features: NDArray[np.int64],
        sums: NDArray[np.float64],
        last: NDArray[np.uint8],
        scale: float,
        n_rows: int,
        two_sided: bool,
    ) -> Stumps:
        """Best stumps on histograms of n_rows rows.

        Reads sums float64 (bins of all features, K), one feature after another, and last uint8
        (Q,), their last bins that hold a row.
        """
        tie = self.tie(n_rows) / scale
        found = found_room(features.size, self._n_labels, two_sided)
        at, nothing = np.zeros(1, np.int64), np.empty(0, np.int32)
        ends = np.cumsum(self._n_bins[features]).tolist()
        for k, (end, size, highest) in enumerate(
            zip(ends, self._n_bins[features].tolist(), last.tolist(), strict=True)
        ):
            mine = sums[end - size : end - size + highest + 1]
            base = np.zeros(self._width)
            np.add.reduce(mine, axis=0, out=base[: self._n_labels])
            used = np.flatnonzero(~is_empty(mine))
            large = mine[used].astype(np.float32)
            small = (mine[used] - large).astype(np.float32)
            values = lay_out_rows(np.concatenate([large, small]), self._width)
            column = np.tile(used.astype(np.uint8), 2)[None]
            n_bins = np.array([highest + 1], np.int16)
            rows, one = Rows(0, nothing, values, base, scale), part_of(found, slice(k, k + 1))
            self._kernel(column, at, n_bins, rows, tie, 1, False, self._room, one)
        return stumps_of(features, found)

    def tie(self, n_rows: int) -> float:
        """Edges this close are equal, as in `boostsample.rows.searcher`."""
        return 1e-9 + 1e-7 / math.sqrt(n_rows * self._n_labels)
