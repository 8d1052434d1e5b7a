"""Stump search on the bank: work space, the rule for ties, and the edges of given stumps."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from boostsample.banks.bank import Bank
from boostsample.kernels.layout import GROUP
from boostsample.loop.sampling import known_scheme
from boostsample.loop.weights import Rows, SignedWeights, search_room
from boostsample.records import Stumps

__all__ = ["Searcher"]

#: Edges of an exact search are this close to the true ones; nearer ones are compared again.
_CLOSE = 5e-6
#: Rows a bin that a float32 histogram adds up before its sums go on in float64. On samples, whose
#: own noise is far larger, 64; on all examples 32, and 2 where that costs no time to speak of.
_ROWS_A_BIN = 64
_MANY = 20_000
_MOST_COMPARED = 16

#: Thresholds, votes and edges.
_Found: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int8], NDArray[np.float64]]


class Searcher:
    """Stump search on the bank for one booster: kernels, work space, and the rule for ties."""

    def __init__(self, bank: Bank, weights: SignedWeights) -> None:
        self.bank = bank
        self.weights = weights
        self._rooms = [search_room(weights.n_labels) for _ in range(weights.threads.n)]

    @property
    def n_examples(self) -> int:
        """Examples with weight, N."""
        return self.weights.n_examples

    @property
    def n_labels(self) -> int:
        """Labels, K."""
        return self.weights.n_labels

    @property
    def n_features(self) -> int:
        """Features in the bank, F."""
        return int(self.bank.n_features)

    def draw(self, size: int, scheme: str, rng: np.random.Generator) -> Rows:
        """Weighted rows of a draw of `size` examples; all with exact weights if `size` is N."""
        method = known_scheme(scheme)
        if size == self.weights.n_examples:
            return self.weights.exact()
        return self.weights.draw(size, method, rng)

    def _tie(self, n_rows: int) -> float:
        """Edges this close are equal: float32 weights round by 6e-8 each, independently."""
        return 1e-9 + 1e-7 / math.sqrt(n_rows * self.weights.n_labels)

    def search(self, features: NDArray[np.int64], rows: Rows, exact: bool) -> Stumps:
        """The best stump of each feature on the given rows."""
        many = self.weights.n_examples > _MANY
        stumps = self._run(features, rows, 2 if exact and not many else _ROWS_A_BIN)
        if exact and features.size > 1:
            self._settle_ties(stumps, rows)
        return stumps

    def _run(self, features: NDArray[np.int64], rows: Rows, rows_a_bin: int) -> Stumps:
        q = features.size
        found = np.empty(q, np.int64), np.empty((q, self.weights.n_labels), np.int8), np.empty(q)
        most = self._most(rows)
        if q <= most:  # nearly always: slices of all would cost as much as a small kernel
            self._run_part(features, rows, rows_a_bin, found)
        else:
            for part in _parts(q, most):
                mine = found[0][part], found[1][part], found[2][part]
                self._run_part(features[part], rows, rows_a_bin, mine)
        return Stumps(features, *found)

    def _run_part(
        self, features: NDArray[np.int64], rows: Rows, rows_a_bin: int, found: _Found
    ) -> None:
        """Write thresholds, votes and edges of as many features as the bank can show at once."""
        bins, at, start, examples = self._read(features, rows)
        n_bins = self.bank.n_bins[features]
        tie = self._tie(rows.values.size // self.weights.width) / rows.scale
        same = start, examples, rows.values, rows.base, rows.scale, tie, rows_a_bin
        if self.weights.threads.n == 1:  # no slices here either
            self.weights.search_kernel(bins, at, n_bins, *same, *self._rooms[0], *found)
            return
        rooms = iter(self._rooms)

        def arguments(first: int, end: int) -> tuple[Any, ...]:
            mine = slice(first, end)
            columns = (column[mine] for column in found)
            return bins, at[mine], n_bins[mine], *same, *next(rooms), *columns

        self.weights.threads.share(self.weights.search_kernel, arguments, _cuts(at.size))

    def _settle_ties(self, stumps: Stumps, rows: Rows) -> None:
        """Compare again the features whose edges rounding cannot tell from the best one.

        They are searched anew with short float32 sums, and their edges summed in float64 in one
        order of the rows: equal cuts then have equal bits whatever their features, edges within
        `_tie` of the best become equal, and the first feature searched wins. Features of the same
        bits share the edge of the first of them.
        """
        found = stumps.edge.tolist()
        least = max(found) - _CLOSE
        near = np.array([row for row, edge in enumerate(found) if edge >= least])
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
        return self.bank.column(feature)

    def signed_edges(self, stumps: Stumps, rows: Rows) -> NDArray[np.float64]:
        """Sum w_il v_l phi(x_i) y_il of each stump on the given rows, normalised."""
        edges, sums = np.empty(len(stumps)), np.empty(self.weights.width)
        thresholds = stumps.threshold.astype(np.int16)
        votes = np.ascontiguousarray(stumps.votes, dtype=np.int8)
        for part in _parts(edges.size, self._most(rows)):
            bins, at, start, examples = self._read(stumps.feature[part], rows)
            these = bins, at, thresholds[part], votes[part], start, examples
            self.weights.edge_kernels.signed_edges(*these, rows.values, sums, edges[part])
        return edges * rows.scale

    def _whole(self, rows: Rows) -> bool:
        """Whether these rows are all examples of the run."""
        return rows.values.size == self.weights.n_examples * self.weights.width

    def _most(self, rows: Rows) -> int:
        """As many features as the bank can show at once; the kernels' groups stay what they are."""
        n_rows = None if self._whole(rows) else rows.values.size // self.weights.width
        return self.bank.most_features(n_rows) // GROUP * GROUP

    def _read(
        self, features: NDArray[np.int64], rows: Rows
    ) -> tuple[NDArray[np.uint8], NDArray[np.int64], int, NDArray[np.int32]]:
        """Bins for the kernels, the row of each feature, and the column of each example."""
        bins, at, compact = self.bank.view(features, None if self._whole(rows) else rows.examples)
        start, examples = (0, rows.examples[:0]) if compact else (rows.start, rows.examples)
        return bins, at, start, examples


def _parts(n_features: int, size: int) -> Iterator[slice]:
    for start in range(0, n_features, size):
        yield slice(start, start + size)


@lru_cache(maxsize=256)
def _cuts(n_features: int) -> tuple[int, ...]:
    """Where the kernel's groups of features begin and end: threads take whole groups."""
    cuts = list(range(0, n_features + 1, GROUP))
    cuts += range(cuts[-1] + 2, n_features + 1, 2)
    return tuple(cuts) if cuts[-1] == n_features else (*cuts, n_features)
