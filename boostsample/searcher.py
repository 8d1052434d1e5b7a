"""Stump search on the bank: work space, the rule for ties, and the edges of given stumps."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from boostsample.bank import FeatureBank
from boostsample.kernels.search import GROUP, N_BINS
from boostsample.strategy import Stumps
from boostsample.weights import Rows, SignedWeights, aligned

__all__ = ["Searcher"]

#: Edges of an exact search are this close to the true ones; nearer ones are compared again.
_CLOSE = 5e-6
#: Rows a bin that a float32 histogram adds up before its sums go on in float64. On samples, whose
#: own noise is far larger, 64; on all examples 32, and 2 where that costs no time to speak of.
_ROWS_A_BIN = 64
_MANY = 20_000
_MOST_COMPARED = 16


class Searcher:
    """Stump search on the bank for one booster: kernels, work space, and the rule for ties."""

    def __init__(self, bank: FeatureBank, weights: SignedWeights) -> None:
        self.bank = bank
        self.weights = weights
        self._histograms = aligned(GROUP * N_BINS * weights.width, np.float32)
        self._sums = aligned(GROUP * N_BINS * weights.width, np.float64)

    def _tie(self, n_rows: int) -> float:
        """Edges this close are equal: float32 weights round by 6e-8 each, independently."""
        return 1e-9 + 1e-7 / math.sqrt(n_rows * self.weights.n_labels)

    def search(self, features: NDArray[np.int64], rows: Rows, exact: bool) -> Stumps:
        """The best stump of each feature on the given rows."""
        many = self.weights.n_examples > _MANY
        stumps = self._run(features, rows, (32 if many else 2) if exact else _ROWS_A_BIN)
        if exact and features.size > 1:
            self._settle_ties(stumps, rows)
        return stumps

    def _run(self, features: NDArray[np.int64], rows: Rows, rows_a_bin: int) -> Stumps:
        q = features.size
        thresholds = np.empty(q, np.int16)
        votes = np.empty((q, self.weights.n_labels), np.int8)
        edges = np.empty(q)
        bins, at = self.bank.view(features)
        self.weights.kernels.search(
            bins,
            at,
            self.bank.n_bins[features],
            rows.start,
            rows.examples,
            rows.values,
            rows.base,
            self._tie(rows.values.size // self.weights.width) / rows.scale,
            rows_a_bin,
            self._histograms,
            self._sums,
            thresholds,
            votes,
            edges,
        )
        edges *= rows.scale
        np.minimum(edges, 1.0, out=edges)
        return Stumps(features, thresholds.astype(np.int64), votes, edges)

    def _settle_ties(self, stumps: Stumps, rows: Rows) -> None:
        """Compare again the features whose edges rounding cannot tell from the best one.

        They are searched anew with short float32 sums, and their edges summed in float64 in one
        order of the rows: equal cuts then have equal bits whatever their features, edges within
        `_tie` of the best become equal, and the first feature searched wins. Features of the same
        bits share the edge of the first of them.
        """
        near = np.flatnonzero(stumps.edge >= stumps.edge.max() - _CLOSE)
        if near.size < 2:
            return
        rough = stumps.edge[near]
        values, first = np.unique(rough, return_index=True)
        if values.size < 2:
            return
        values, first = values[-_MOST_COMPARED:], near[first[-_MOST_COMPARED:]]
        again = self._run(stumps.feature[first], rows, 1)
        stumps.threshold[first] = again.threshold
        stumps.votes[first] = again.votes
        edges = np.minimum(np.abs(self.signed_edges(again, rows)), 1.0)
        for value, edge in zip(values, edges, strict=True):
            stumps.edge[near[rough == value]] = edge
        best = stumps.edge.max()
        stumps.edge[stumps.edge >= best - self._tie(self.weights.n_examples)] = best

    def column(self, feature: int) -> NDArray[np.uint8]:
        """The bins of one feature for every example of the bank: uint8 (n,)."""
        bins, at = self.bank.view(np.array([feature]))
        return np.asarray(bins[at[0]])

    def signed_edges(self, stumps: Stumps, rows: Rows) -> NDArray[np.float64]:
        """Sum w_il v_l phi(x_i) y_il of each stump on the given rows, normalised."""
        edges = np.empty(len(stumps))
        bins, at = self.bank.view(stumps.feature)
        self.weights.kernels.signed_edges(
            bins,
            at,
            stumps.threshold.astype(np.int16),
            np.ascontiguousarray(stumps.votes, dtype=np.int8),
            rows.start,
            rows.examples,
            rows.values,
            edges,
        )
        return edges * rows.scale
