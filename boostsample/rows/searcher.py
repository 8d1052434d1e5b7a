"""Searches on a feature bank: draws, best stumps, ties, and edges of given stumps."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from boostsample.banks.bank import Bank, View
from boostsample.jit.compile_kernels import COMPILED
from boostsample.kernels.array_layout import (
    N_BINS,
    Found,
    Rows,
    found_room,
    matrix_of_rows,
    part_of,
    row_layout,
)
from boostsample.kernels.edges import edge_kernels
from boostsample.kernels.searches.histograms import histogram_kernel
from boostsample.kernels.searches.search import search_kernel
from boostsample.kernels.searches.search_room import NO_ROWS, SEARCH_GROUP, search_room
from boostsample.records import Stumps
from boostsample.rows.sampling_schemes import (
    SCHEMES,
    UNPROMISED,
    known_scheme,
    nested_scheme,
)
from boostsample.rows.target_rows import Leaf, TargetRows
from boostsample.rows.weighted_rows import WeightedRows
from boostsample.rows.weights import SignedWeights
from boostsample.threads.threads import CompilingThreads

#: Edges of an exact search are this close to the true ones; nearer ones are compared again.
_CLOSE = 5e-6
#: Rows a bin that a float32 histogram sums before float64 takes over: 64 on samples, whose noise is
#: far larger, and on many examples; 2 up to _MANY examples, where it costs little time.
_ROWS_A_BIN = 64
_MANY = 20_000
_MOST_COMPARED = 16
#: Samples of up to this many rows have sweeps in float32, which take three quarters of the time;
#: their noise is 1e5 times the rounding. Edges this close are then equal.
_FEW = 1200
_ROUGH_TIE = 4e-7


class _Precision(NamedTuple):
    """Rows a bin that a float32 histogram sums, and whether sweeps are in float32."""

    rows_a_bin: int
    rough: bool


_ROUGH = _Precision(_ROWS_A_BIN, True)


class Searcher:
    """Draws and searches of one run."""

    def __init__(self, bank: Bank, weights: WeightedRows) -> None:
        self.bank = bank
        self.weights = weights
        self.n_examples, self.n_labels = weights.n_examples, weights.n_labels
        self._n_run = weights.n_examples
        self.n_features = int(bank.n_features)
        self._members: NDArray[np.int64] | None = None
        sizes = row_layout(weights.n_labels)
        self._search = search_kernel(*sizes)
        self._signed_edges = edge_kernels(*sizes).signed_edges
        self.two_sided = False
        self._rooms = [search_room(self.n_labels) for _ in range(weights.threads.n)]

    def compile(self, one_search: bool = True) -> None:
        """Compile all kernels of draws, searches and updates, once for each number of labels.

        Those of products and trees only if rounds are more than `one_search`. Reads no example of
        the run, and changes nothing of it.
        """
        if COMPILED:
            several_threads = self.weights.threads.n > 1
            _compile(self.n_labels, several_threads, tuple(SCHEMES), one_search)
            self.bank.compile()

    def over(self, rows: WeightedRows, two_sided: bool = False) -> Searcher:
        """The same searches on other rows of the run, as they are now, with one or two sides."""
        if rows is self.weights and two_sided == self.two_sided:
            return self
        other = object.__new__(Searcher)
        changes = {"weights": rows, "n_examples": rows.n_examples, "two_sided": two_sided}
        other.__dict__ = {**self.__dict__, **changes}
        return other

    def among(self, members: NDArray[np.int64]) -> Searcher:
        """The same searches of some features of the bank, which are then 0, 1, ..., for all."""
        other = object.__new__(Searcher)
        other.__dict__ = {**self.__dict__, "n_features": members.size, "_members": members}
        return other

    def draw(self, size: int, scheme: str, rng: np.random.Generator) -> Rows:
        """Weighted rows of a draw of `size` examples; all with exact weights if `size` is N."""
        method = known_scheme(scheme)
        if size == self.n_examples:
            return self.weights.exact()
        return self.weights.draw(size, method, rng, **_reading(scheme))

    def draw_nested(
        self, sizes: Sequence[int], scheme: str, rng: np.random.Generator
    ) -> list[Rows]:
        """Weighted rows of samples of ascending sizes, each of which contains the one before."""
        method = nested_scheme(scheme)
        drawn = [size for size in sizes if size < self.n_examples]
        rows: list[Rows] = []
        if drawn:
            rows = self.weights.draw_nested(drawn, method, rng, **_reading(scheme))
        return rows + [self.weights.exact()] * (len(sizes) - len(drawn))

    def n_heaviest(self, mass: float) -> int:
        """The least number of examples with this share of the weight, heaviest first."""
        return self.weights.n_heaviest(mass)

    def _tie(self, n_rows: int) -> float:
        """Edges this close are equal: float32 weights round by 6e-8 each, independently."""
        return 1e-9 + 1e-7 / math.sqrt(n_rows * self.n_labels)

    def search(self, features: NDArray[np.int64], rows: Rows, exact: bool) -> Stumps:
        """The best stump of each feature on the given rows."""
        many = self.n_examples > _MANY
        how = _Precision(2 if exact and not many else _ROWS_A_BIN, False)
        if not exact and rows.values.size <= _FEW * self.weights.width:
            how = _ROUGH
        stumps = self._run(features, rows, how)
        if exact and features.size > 1:
            self._settle_ties(stumps, rows)
        return stumps

    def _run(self, features: NDArray[np.int64], rows: Rows, how: _Precision) -> Stumps:
        q = features.size
        found = found_room(q, self.n_labels, self.two_sided)
        most = self._most(rows)
        if q <= most:  # nearly always: slices of all would cost as much as a small kernel
            self._run_part(features, rows, how, found)
        else:
            for part in _parts(q, most):
                self._run_part(features[part], rows, how, part_of(found, part))
        return stumps_of(features, found)

    def _run_part(
        self, features: NDArray[np.int64], rows: Rows, how: _Precision, found: Found
    ) -> None:
        """Write the best stumps of no more features than the bank can show at once."""
        features = self._of_bank(features)
        bins, at, rows = self._read(features, rows)
        n_bins = self.bank.n_bins[features]
        tie = self._tie(rows.values.size // self.weights.width) + _ROUGH_TIE * how.rough
        tie /= rows.scale
        if self.weights.threads.n == 1:  # no slices here either
            self._search(bins, at, n_bins, rows, tie, *how, self._rooms[0], found)
            return
        rooms = iter(self._rooms)

        def arguments(first: int, end: int) -> tuple[Any, ...]:
            part, room = slice(first, end), next(rooms)
            mine = part_of(found, part)
            return bins, at[part], n_bins[part], rows, tie, *how, room, mine

        self.weights.threads.share(self._search, arguments, _cuts(at.size))

    def _settle_ties(self, stumps: Stumps, rows: Rows) -> None:
        """Compare the features again whose edges rounding cannot separate from the best one.

        Searches them with short float32 sums and sums their edges in float64 in one order of the
        rows: equal cuts then have equal bits whatever their features. Edges within `_tie` of the
        best become equal, so that the order of `Stumps.best` decides. Features of the same bits
        share the edge of the first of them.
        """
        found = stumps.edge.tolist()
        least = max(found) - _CLOSE
        rows_near = [row for row, edge in enumerate(found) if edge >= least]
        if len(rows_near) < 2:
            return
        near = np.array(rows_near)
        rough = stumps.edge[near]
        values, first = np.unique(rough, return_index=True)
        if values.size < 2:
            return
        values, first = values[-_MOST_COMPARED:], near[first[-_MOST_COMPARED:]]
        again = self._run(stumps.feature[first], rows, _Precision(1, False))
        for name in ("threshold", "votes", "divides", "below"):
            if getattr(again, name) is not None:
                getattr(stumps, name)[first] = getattr(again, name)
        edges = np.minimum(np.abs(self.signed_edges(again, rows)), 1.0)
        for value, edge in zip(values, edges, strict=True):
            stumps.edge[near[rough == value]] = edge
        best = stumps.edge.max()
        stumps.edge[stumps.edge >= best - self._tie(self.n_examples)] = best

    def column(self, feature: int) -> NDArray[np.uint8]:
        """The bins of one feature, numbered as in the bank, for all its examples: uint8 (n,)."""
        return self.bank.column(feature)

    def bin_totals(self, features: NDArray[np.int64]) -> NDArray[np.float64]:
        """Numbers of the rows in each bin: how many, their weight, and their label sums.

        Of all rows; float64 (Q, 256, 2 + K), in the units of the weights. O(Q n K).
        """
        rows, n = self.weights, self.n_examples
        examples = rows.columns if rows.columns.size else np.arange(rows.start, rows.start + n)
        signed = matrix_of_rows(rows.values, n, self.n_labels)
        numbers = [None, np.abs(signed).sum(axis=1, dtype=np.float64), *signed.T]
        totals = np.empty((features.size, N_BINS, len(numbers)))
        for to, bins in zip(totals, self.bank.take(self._of_bank(features), examples), strict=True):
            for k, number in enumerate(numbers):
                to[:, k] = np.bincount(bins, number, N_BINS)
        return totals

    def signed_edges(self, stumps: Stumps, rows: Rows) -> NDArray[np.float64]:
        """Sum w_il o_l(x_i) y_il of each stump on the given rows, normalised.

        o is v phi, or for votes a above and b below the threshold (a - b) / 2 phi + (a + b) / 2.
        """
        edges, sums = np.empty(len(stumps)), np.empty(self.weights.width)
        thresholds = stumps.threshold.astype(np.int16)
        votes = np.ascontiguousarray(stumps.votes, dtype=np.int8)
        constant: Any = 0.0
        if stumps.below is not None:
            constant = (votes + stumps.below) // 2 @ rows.base[: self.n_labels]
            votes = (votes - stumps.below) // 2
        for part in _parts(edges.size, self._most(rows)):
            bins, at, read = self._read(self._of_bank(stumps.feature[part]), rows)
            self._signed_edges(bins, at, thresholds[part], votes[part], read, sums, edges[part])
        return np.asarray((edges + constant) * rows.scale)

    def histograms(
        self, features: NDArray[np.int64], rows: Rows
    ) -> tuple[NDArray[np.float64], NDArray[np.uint8]]:
        """The rows by bin, NO_ROWS in others; and the last bin that holds one, at least 1.

        Float64 (Q, 256 * P), each feature in the layout of 256 rows, in the units of `rows.values`;
        uint8 (Q,).
        """
        width, q = self.weights.width, features.size
        hist, last = np.full((q, N_BINS * width), NO_ROWS, np.float64), np.ones(q, np.uint8)
        for part in _parts(q, min(self._most(rows), max(q, 1))):
            bins, at, read = self._read(self._of_bank(features[part]), rows)
            filled, tops = hist[part], last[part]

            def arguments(
                first: int,
                end: int,
                bins: Any = bins,
                at: Any = at,
                read: Any = read,
                to: Any = filled,
                tops: Any = tops,
            ) -> tuple[Any, ...]:
                own = slice(first, end)
                return bins, at[own], read, to[own].reshape(-1), tops[own]

            kernel = histogram_kernel(*row_layout(self.n_labels))
            cuts = (*range(0, at.size, 2), at.size)
            self.weights.threads.share(kernel, arguments, cuts)
        return hist, last

    def _of_bank(self, features: NDArray[np.int64]) -> NDArray[np.int64]:
        """Their numbers in the bank."""
        return features if self._members is None else self._members[features]

    def _whole(self, rows: Rows) -> bool:
        """Whether these rows are all examples of the run."""
        return rows.values.size == self._n_run * self.weights.width

    def _most(self, rows: Rows) -> int:
        """Features that the bank can show at once, in whole groups of the kernels."""
        n_rows = None if self._whole(rows) else rows.values.size // self.weights.width
        return self.bank.most_features(n_rows) // SEARCH_GROUP * SEARCH_GROUP

    def _read(
        self, features: NDArray[np.int64], rows: Rows
    ) -> tuple[NDArray[np.uint8], NDArray[np.int64], Rows]:
        """Bins, the row of each feature in them, and the rows with their columns in them."""
        bins, at, compact = self.bank.view(features, None if self._whole(rows) else rows.examples)
        if compact:
            rows = rows._replace(start=0, examples=rows.examples[:0])
        return bins, at, rows


def stumps_of(features: NDArray[np.int64], found: Found) -> Stumps:
    """The stumps that the search kernel has found."""
    below = found.below if found.below.size else None
    return Stumps(features, *found[:4], below)


def _reading(scheme: str) -> dict[str, bool]:
    """What a scheme draws by, and whether its edges are ratios: for `WeightedRows.draw`."""
    other = UNPROMISED.get(scheme)
    if other is None:
        return {}
    by = {"logistic": other.by == "logistic weights", "norms": other.by == "norms"}
    return {**by, "ratio": other.ratio}


def _parts(n_features: int, size: int) -> Iterator[slice]:
    for start in range(0, n_features, size):
        yield slice(start, start + size)


@lru_cache(maxsize=256)
def _cuts(n_features: int) -> tuple[int, ...]:
    """Where the kernel's groups of features begin and end; threads take whole groups."""
    cuts = list(range(0, n_features + 1, SEARCH_GROUP))
    cuts += range(cuts[-1] + 2, n_features + 1, 2)
    return tuple(cuts) if cuts[-1] == n_features else (*cuts, n_features)


@cache
def _compile(
    n_labels: int, several_threads: bool, schemes: tuple[str, ...], one_search: bool
) -> None:
    """Do on three examples of one feature what a run can do, with arrays of the same types."""
    Y, columns, feature = np.ones((3, n_labels), np.int8), np.arange(3), np.zeros(1, np.int64)
    threads = CompilingThreads() if several_threads else None
    weights = SignedWeights(Y, np.ones(Y.shape), columns, threads, lambda Y: np.ones(Y.shape))
    bins = np.ones((1, 3), np.uint8)
    bank: Any = SimpleNamespace(
        n_features=1,
        n_bins=np.full(1, 2, np.int16),
        most_features=lambda n_rows: SEARCH_GROUP,
        view=lambda features, rows: View(bins, features, False),
    )
    searcher, rng = Searcher(bank, weights), np.random.default_rng(0)
    for scheme in schemes:
        searcher.search(feature, searcher.draw(2, scheme, rng), False)
        searcher.draw_nested((1, 2), scheme, rng)
    stumps = searcher.search(feature, weights.exact(), True)
    searcher.signed_edges(stumps, weights.exact())
    weights.label_sums(bins[0], 1)
    weights.update(bins[0], 1, stumps.votes[0], 0.5)
    if not one_search:
        targets, stump = TargetRows(weights, lambda feature: bins[0]), stumps.best()
        targets.read(targets.whole, [stump])
        below, above = targets.split(targets.whole, stump)
        targets.read((0, 1), [])
        leaves = [Leaf(stretch, (), stump.votes) for stretch in (below, above)]
        targets.update(leaves, 0.5)
