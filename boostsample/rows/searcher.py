"""Searches on a feature bank: draws, best stumps, ties, and edges of given stumps."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from boostsample.banks.bank import Bank, View
from boostsample.errors import SettingError
from boostsample.jit.vectors import LANES
from boostsample.kernels.array_layout import (
    N_BINS,
    Rows,
    SearchOutput,
    found_room,
    matrix_of_rows,
    part_of,
    row_layout,
    rows_of_labels,
)
from boostsample.kernels.rare_rows import (
    RareRoom,
    RareRows,
    number_rows,
    rare_room,
    rare_search_kernel,
)
from boostsample.kernels.row_kernels import row_kernels
from boostsample.kernels.search import (
    NO_ROWS,
    SEARCH_GROUP,
    SearchRoom,
    search_kernel,
    search_room,
)
from boostsample.kernels.tiles import RaceLimits, RaceRows, RaceTiles, race_kernel, race_room
from boostsample.records import NO_FEATURES, Stumps
from boostsample.rows.sampling_schemes import (
    PROMISED,
    UNPROMISED,
    known_scheme,
    nested_scheme,
    order_seed,
)
from boostsample.rows.weights import SideSums, WeightedRows
from boostsample.threads import Threads

#: Edges of an exact search are this close to the true ones; nearer ones are compared again.
_CLOSE = 5e-6
#: Rows a bin that a float32 histogram sums before float64 takes over: 64 on samples, whose noise is
#: far larger, and on many examples; 2 up to _MANY examples, where it costs little time.
_ROWS_A_BIN = 64
_MANY = 20_000
#: Different edges that are compared again, at most: each is one more feature to search.
_MOST_COMPARED = 16
#: Samples of up to this many rows have sweeps in float32, which take three quarters of the time;
#: their noise is 1e4 times the rounding. Edges this close are then equal.
FEW = 8192
ROUGH_TIE = 4e-7
#: Races whose work space is kept; the oldest one goes.
_MOST_RACES = 16
#: A list of more rows than are searched, and this many, is slower than the bins, at 50 features
#: and one label; with more labels, or fewer rows, a longer list is.
_LISTED_BESIDES = 200
#: Up to this many listed rows, 20 to 50 us, one thread searches alone.
_MOST_ALONE = 20_000


class Precision(NamedTuple):
    """Rows a bin that a float32 histogram sums, and whether sweeps are in float32."""

    rows_a_bin: int
    rough: bool


ROUGH, FINE = Precision(_ROWS_A_BIN, True), Precision(_ROWS_A_BIN, False)
_FINEST, EACH_ROW = Precision(2, False), Precision(1, False)


class BinSearch:
    """The search kernel for rows of K labels, on bins from anywhere."""

    def __init__(self, n_labels: int, threads: Threads, classes: bool = False) -> None:
        self.n_labels, self.threads, self.classes = n_labels, threads, classes
        blocks, tail = row_layout(n_labels)
        self.width = LANES * blocks + tail
        self._kernel = search_kernel(blocks, tail, classes)
        self._rooms = [search_room(n_labels) for _ in range(threads.n)]

    def tie(self, n_rows: int) -> float:
        """Edges this close are equal: float32 weights round by 6e-8 each, independently."""
        return 1e-9 + 1e-7 / math.sqrt(n_rows * self.n_labels)

    def sample_precision(self, rows: Rows) -> Precision:
        """The precision for the rows of a sample."""
        return ROUGH if rows.values.size <= FEW * self.width else FINE

    @property
    def room(self) -> SearchRoom:
        """Work space of this thread."""
        return self._rooms[0]

    def race_limits(self, sizes: Sequence[int]) -> RaceLimits:
        """Precision of samples of some sizes, as of `sample_precision` and `write`."""
        rough = np.array(sizes) <= FEW
        ties = np.array([self.tie(size) + ROUGH_TIE * (size <= FEW) for size in sizes])
        return RaceLimits(ties, _ROWS_A_BIN, rough)

    def write(
        self,
        bins: NDArray[np.uint8],
        at: NDArray[np.int64],
        n_bins: NDArray[np.int16],
        rows: Rows,
        precision: Precision,
        output: SearchOutput,
        n_rows: int | None = None,
    ) -> None:
        """Write the best stump of each feature, whose bins are rows `at` of `bins`, to `output`."""
        tie = self.tie(rows.values.size // self.width if n_rows is None else n_rows)
        tie = (tie + ROUGH_TIE * precision.rough) / rows.scale
        if self.threads.n == 1:  # no slices: they would cost as much as a small kernel
            self._kernel(bins, at, n_bins, rows, tie, *precision, self._rooms[0], output)
            return
        calls = []
        for room, ends in zip(self._rooms, self.threads.stretches(_cuts(at.size)), strict=False):
            part = slice(*ends)
            calls.append(
                (bins, at[part], n_bins[part], rows, tie, *precision, room, part_of(output, part))
            )
        self.threads.run(self._kernel, calls)


class Race:
    """Races of some stages: their work space, and what does not change from one to the next."""

    def __init__(
        self,
        stages: Sequence[tuple[int, int]],
        n_examples: int,
        n_labels: int,
        two_sided: bool = False,
        classes: bool = False,
    ) -> None:
        layout = row_layout(n_labels)
        self._counts, self._sizes = (np.array(numbers) for numbers in zip(*stages, strict=True))
        self._kernel = race_kernel(*layout, classes)
        self._n_labels, self._two_sided = n_labels, two_sided
        width = LANES * layout[0] + layout[1]
        self._room = race_room(n_examples, stages, width)
        self._n = int(self._counts.sum())
        self._limits: RaceLimits | None = None

    def run(
        self,
        rows: RaceRows,
        features: NDArray[np.int64],
        tiles: RaceTiles,
        search: BinSearch,
        rng: np.random.Generator,
        again: NDArray[np.int64] = NO_FEATURES,
        join: int = 0,
    ) -> Stumps:
        """The stumps of all stages, one stage after the other."""
        if self._limits is None:
            self._limits = search.race_limits(self._sizes.tolist())
        output = found_room(self._n, self._n_labels, self._two_sided)
        every = np.empty(self._n, np.int64)  # the kernel adds the features of the later stages
        every[: features.size] = features
        stages = self._sizes, self._counts, again, join, order_seed(rng)
        work = tiles, self._limits, self._room, search.room
        self._kernel(rows, *stages, *work, every, output)
        return stumps_of(every, output)


class LocalSample(NamedTuple):
    """A sample, or all rows, of a target in this process: implements `SampleRows`.

    `size` are its draws; `rows` are fewer where an example was drawn more than once.
    """

    searcher: Searcher
    rows: Rows
    exact: bool
    size: int

    def search(
        self, features: NDArray[np.int64], labels: NDArray[np.int64] | None = None
    ) -> Stumps:
        """As of `SampleRows`."""
        self.searcher.looks += features.size * self.size
        if labels is not None:
            return self.searcher.search_labels(features, self.rows, self.exact, labels)
        return self.searcher.search(features, self.rows, self.exact)

    def signed_edges(self, stumps: Stumps) -> NDArray[np.float64]:
        """Edges of given stumps: float64 (Q,)."""
        self.searcher.looks += len(stumps) * self.size
        return self.searcher.signed_edges(stumps, self.rows)


class SearchRules(NamedTuple):
    """What the searches of a run maximise, see `boostsample.objective.Objective`.

    `edges` makes edges of the worth of stumps; None if they are the same.
    """

    two_sided: bool = False
    classes: bool = False
    edges: Callable[[NDArray[np.float64]], NDArray[np.float64]] | None = None

    @property
    def bounds_edges(self) -> bool:
        """Whether a base classifier of edge H on a mass W has at most W H + 1 - W on all.

        It has at most the worth of both: so for edges that are convex in the worth, and 1 at 1.
        """
        if self.edges is None:
            return True
        return bool(np.diff(self.edges(np.linspace(0.0, 1.0, 101)), 2).min() >= -1e-9)


class Searcher:
    """Draws and searches on all rows of a run, or those of a target: implements `TargetRows`."""

    def __init__(
        self,
        bank: Bank,
        weights: WeightedRows,
        run: Searcher | None = None,
        two_sided: bool = False,
        members: NDArray[np.int64] | None = None,
        rules: SearchRules | None = None,
    ) -> None:
        self.bank, self.weights = bank, weights
        self.two_sided, self._members = two_sided, members
        self.n_examples, self.n_labels = weights.n_examples, weights.n_labels
        self.n_features = int(bank.n_features) if members is None else members.size
        self.largest_threshold = bank.largest_threshold
        self.looks = 0
        if run is None:
            self._n_run = weights.n_examples
            self._rules = SearchRules() if rules is None else rules
            self._search = BinSearch(self.n_labels, weights.threads, self._rules.classes)
            self._races = dict[tuple[tuple[int, int], ...], Race]()
            self._label_searches = dict[int, BinSearch]()
            self._signed_edges = row_kernels(*row_layout(self.n_labels)).signed_edges
            place = int(bank.n_examples), weights.columns
            self._rare_search = RareSearch(self.n_labels, weights.threads, *place)
        else:
            self._n_run, self._search, self._races = run._n_run, run._search, run._races
            self._rules, self._label_searches = run._rules, run._label_searches
            self._rare_search = run._rare_search
            self._signed_edges = run._signed_edges

    def over(
        self,
        rows: WeightedRows,
        two_sided: bool = False,
        members: NDArray[np.int64] | None = None,
    ) -> Searcher:
        """The same searches on other rows of the run, as they are now."""
        if rows is self.weights and two_sided == self.two_sided and members is self._members:
            return self
        return Searcher(self.bank, rows, self, two_sided, members)

    @property
    def bounds_edges(self) -> bool:
        """As of `TargetRows`."""
        return self._rules.bounds_edges

    @property
    def mass(self) -> float:
        """Sum of the weights."""
        return self.weights.mass

    @property
    def sums(self) -> NDArray[np.float64]:
        """Sum of the signed weights of each label: float64 (K,)."""
        return self.weights.sums[: self.n_labels]

    def label_sums(self, feature: int, threshold: int) -> NDArray[np.float64]:
        """sum_i w_il y_il phi(x_i) for each label: float64 (K,), normalised; O(n)."""
        number = feature if self._members is None else int(self._members[feature])
        return self.weights.label_sums(*self.bank.cut(number, threshold))

    def side_sums(self, feature: int, threshold: int) -> SideSums:
        """`label_sums`, and the weight of each label with phi = -1, then +1: float64 (2, K)."""
        number = feature if self._members is None else int(self._members[feature])
        return self.weights.side_sums(*self.bank.cut(number, threshold))

    def label_masses(self) -> NDArray[np.float64]:
        """Weight of each label: float64 (K,); O(n)."""
        return self.weights.label_masses()

    def release(self) -> None:
        """Invalidate all samples drawn so far; later ones reuse their buffers."""
        self.weights.release()

    def sample(self, size: int, scheme: str, rng: np.random.Generator) -> LocalSample:
        """A draw of `size` examples; all with exact weights if `size` is n."""
        method, exact = known_scheme(scheme), size == self.n_examples
        if exact:
            return LocalSample(self, self.weights.exact(), exact, size)
        how = UNPROMISED.get(scheme, PROMISED)
        return LocalSample(self, self.weights.draw(size, method, rng, how), exact, size)

    def nested_samples(
        self, sizes: Sequence[int], scheme: str, rng: np.random.Generator
    ) -> list[LocalSample]:
        """Samples of ascending sizes, each of which contains the one before."""
        method, how = nested_scheme(scheme), UNPROMISED.get(scheme, PROMISED)
        drawn = [size for size in sizes if size < self.n_examples]
        rows = self.weights.draw_nested(drawn, method, rng, how) if drawn else []
        whole = LocalSample(self, self.weights.exact(), True, self.n_examples)
        nested = [LocalSample(self, of, False, size) for of, size in zip(rows, drawn, strict=True)]
        return nested + [whole] * (len(sizes) - len(drawn))

    def race(
        self,
        features: NDArray[np.int64],
        stages: Sequence[tuple[int, int]],
        rng: np.random.Generator,
        again: NDArray[np.int64] = NO_FEATURES,
        join: int = 0,
    ) -> Stumps | None:
        """As of `TargetRows`: possible with tiles, for whole rows and stumps of the objective."""
        whole = self._members is None and self.n_examples == self._n_run
        other = self.two_sided != self._rules.two_sided
        if other or not whole or stages[-1][1] >= self.n_examples:
            return None
        tiles = self.bank.race_tiles()
        if tiles is None:
            return None
        plan = tuple(stages)
        if plan not in self._races:
            if len(self._races) == _MOST_RACES:
                del self._races[next(iter(self._races))]
            rules = self._rules
            size = self.n_examples, self.n_labels
            self._races[plan] = Race(plan, *size, rules.two_sided, rules.classes)
        run = self._races[plan].run
        stumps = run(self.weights.for_race(), features, tiles, self._search, rng, again, join)
        self.weights.raced()
        self.looks += sum([q * size for q, size in plan])
        return self._with_edges(stumps)

    def _with_edges(self, stumps: Stumps) -> Stumps:
        """The stumps, with edges of the objective in the place of their worth."""
        if self._rules.edges is not None:
            stumps.edge[:] = self._rules.edges(stumps.edge)
        return stumps

    def shuffled(self, rng: np.random.Generator) -> LocalSample:
        """All rows, each with the features of another."""
        return LocalSample(self, self.weights.shuffled(rng), False, self.n_examples)

    def n_heaviest(self, mass: float) -> int:
        """The least number of examples with this share of the weight, heaviest first."""
        return self.weights.n_heaviest(mass)

    def search(self, features: NDArray[np.int64], rows: Rows, exact: bool) -> Stumps:
        """The best stump of each feature on the given rows."""
        if not exact:
            precision = self._search.sample_precision(rows)
            return self._with_edges(self._run(features, rows, precision, exact))
        stumps = self._run(features, rows, FINE if self.n_examples > _MANY else _FINEST, exact)
        if features.size > 1:
            self._settle_ties(stumps, rows)
        return self._with_edges(stumps)

    def search_labels(
        self, features: NDArray[np.int64], rows: Rows, exact: bool, labels: NDArray[np.int64]
    ) -> Stumps:
        """The stump of each feature that is best on some labels; votes of the others are +1.

        Copies the rows of these labels, O(T K). SettingError for objectives of one class a side.
        """
        if self._rules.classes:
            raise SettingError(
                "labels must be None with objectives that vote for one class, as m1 and samme, got "
                f"{labels.size} labels; search all of them, or use the objective mh"
            )
        n = labels.size
        if n not in self._label_searches:
            self._label_searches[n] = BinSearch(n, self.weights.threads)
        of_labels = copy.copy(self)
        of_labels.n_labels, of_labels._search = n, self._label_searches[n]
        n_rows = rows.values.size // self._search.width
        base = np.zeros(of_labels._search.width)
        base[:n] = rows.base[labels]
        values = rows_of_labels(rows.values, n_rows, labels, of_labels._search.width)
        rows = rows._replace(values=values, base=base)
        precision = FINE if exact else of_labels._search.sample_precision(rows)
        # Not exact: lists of rare rows are searched with all labels only.
        stumps = of_labels._run(features, rows, precision, exact=False)
        votes, below = np.ones((2, features.size, self.n_labels), np.int8)
        votes[:, labels] = stumps.votes
        if stumps.below is not None:
            below[:, labels] = stumps.below
        return self._with_edges(
            replace(stumps, votes=votes, below=None if stumps.below is None else below)
        )

    def _run(
        self, features: NDArray[np.int64], rows: Rows, precision: Precision, exact: bool
    ) -> Stumps:
        q = features.size
        output = found_room(q, self.n_labels, self.two_sided)
        most = self._most(rows)
        if q <= most:  # nearly always: slices of all would cost as much as a small kernel
            self._run_part(features, rows, precision, exact, output)
        else:
            for part in _parts(q, most):
                self._run_part(features[part], rows, precision, exact, part_of(output, part))
        return stumps_of(features, output)

    def _run_part(
        self,
        features: NDArray[np.int64],
        rows: Rows,
        precision: Precision,
        exact: bool,
        output: SearchOutput,
    ) -> None:
        """Write the best stumps of no more features than the bank can show at once.

        Only exact searches read lists of rare rows: a sample can hold a row more than once.
        """
        features = self._of_bank(features)
        lists = self.bank.rare_rows(features) if exact else None
        if lists is None or not self._rare_search.possible or self._rules.classes:
            self._search_bins(features, rows, precision, output)
            return
        rare, at = lists
        is_rare = self._rare_search.is_faster(rare.sizes[at], self.n_examples)
        tie = self._search.tie(self.n_examples) / rows.scale
        if is_rare.all():
            self._rare_search.write(rare, at, rows, tie, output)
            return
        if not is_rare.any():
            self._search_bins(features, rows, precision, output)
            return
        for some in (is_rare, ~is_rare):
            places = np.flatnonzero(some)
            of_some = found_room(places.size, self.n_labels, self.two_sided)
            if some is is_rare:
                self._rare_search.write(rare, at[places], rows, tie, of_some)
            else:
                self._search_bins(features[places], rows, precision, of_some)
            arrays: Any = output
            for array, part in zip(arrays, of_some, strict=True):
                if array.size:
                    array[places] = part

    def _search_bins(
        self, features: NDArray[np.int64], rows: Rows, precision: Precision, output: SearchOutput
    ) -> None:
        view, rows = self._read(features, rows)
        n_bins = self.bank.n_bins[features]
        self._search.write(view.bins, view.at, n_bins, rows, precision, output)
        if view.cuts is not None:
            output.thresholds[:] = self.bank.thresholds_in(view, output.thresholds)

    def _settle_ties(self, stumps: Stumps, rows: Rows) -> None:
        """Compare the features again whose edges rounding cannot separate from the best one.

        Short float32 sums, and edges summed in float64 in one order of the rows, give equal cuts
        equal bits, whatever their features. Edges within a tie of the best become equal, so that
        the order of `Stumps.best` decides.
        """
        if self._rules.classes:  # many stumps have the accuracy of one class alone
            best = stumps.edge.max()
            stumps.edge[stumps.edge >= best - ROUGH_TIE] = best
            return
        edges = stumps.edge.tolist()
        least = max(edges) - _CLOSE
        rows_near = [row for row, edge in enumerate(edges) if edge >= least]
        if len(rows_near) < 2:
            return
        near = np.array(rows_near)
        rough = stumps.edge[near]
        # Equal cuts have equal bits: of each value, one stump is compared again for all.
        values, first = np.unique(rough, return_index=True)
        if values.size < 2:
            return
        values, first = values[-_MOST_COMPARED:], near[first[-_MOST_COMPARED:]]
        again = self._run(stumps.feature[first], rows, EACH_ROW, exact=True)
        for name in ("threshold", "votes", "divides", "below"):
            if getattr(again, name) is not None:
                getattr(stumps, name)[first] = getattr(again, name)
        summed = np.minimum(np.abs(self._signed_sums(again, rows)), 1.0)
        for value, edge in zip(values, summed, strict=True):
            stumps.edge[near[rough == value]] = edge
        best = stumps.edge.max()
        stumps.edge[stumps.edge >= best - self._search.tie(self.n_examples)] = best

    def bin_totals(self, features: NDArray[np.int64]) -> NDArray[np.float64]:
        """As of `TargetRows`, of all rows; O(Q n K)."""
        return self._totals(self.bank.take(self._of_bank(features), self._examples()), N_BINS)

    def cut_totals(self, feature: int, threshold: int) -> NDArray[np.float64]:
        """As of `TargetRows`, of all rows; O(n K)."""
        number = feature if self._members is None else int(self._members[feature])
        column, first = self.bank.cut(number, threshold)
        return np.asarray(self._totals((column[self._examples()] >= first)[None, :], 2)[0])

    def threshold_of(self, feature: int, b: int) -> int:
        """As of `TargetRows`."""
        view = self.bank.view(self._of_bank(np.array([feature])))
        return int(self.bank.thresholds_in(view, np.array([b]))[0])

    def _examples(self) -> NDArray[np.integer[Any]]:
        rows = self.weights
        return rows.columns if rows.columns.size else np.arange(self.n_examples) + rows.start

    def _totals(self, bins: NDArray[Any], n_bins: int) -> NDArray[np.float64]:
        """Numbers, weight and label sums of all rows by bin: float64 (Q, n_bins, 2 + K)."""
        signed = matrix_of_rows(self.weights.values, self.n_examples, self.n_labels)
        numbers = [None, np.abs(signed).sum(axis=1, dtype=np.float64), *signed.T]
        totals = np.empty((len(bins), n_bins, len(numbers)))
        for to, of_feature in zip(totals, bins, strict=True):
            for k, number in enumerate(numbers):
                to[:, k] = np.bincount(of_feature, number, n_bins)
        return totals

    def signed_edges(self, stumps: Stumps, rows: Rows) -> NDArray[np.float64]:
        """Edges of given stumps on the given rows."""
        sums = self._signed_sums(stumps, rows)
        if self._rules.edges is None:
            return sums
        worth = 0.5 * (1.0 + sums) if self._rules.classes else np.abs(sums)
        return self._rules.edges(np.minimum(worth, 1.0))

    def _signed_sums(self, stumps: Stumps, rows: Rows) -> NDArray[np.float64]:
        """Sum w_il o_l(x_i) y_il of each stump on the given rows, normalised.

        o is v phi, or for votes a above and b below the threshold (a - b) / 2 phi + (a + b) / 2.
        """
        edges, sums = np.empty(len(stumps)), np.empty(self.weights.width)
        votes = np.ascontiguousarray(stumps.votes, dtype=np.int8)
        constant: Any = 0.0
        if stumps.below is not None:
            constant = (votes + stumps.below) // 2 @ rows.base[: self.n_labels]
            votes = (votes - stumps.below) // 2  # exact: sums of -1 and +1 are even
        for part in _parts(edges.size, self._most(rows)):
            features, thresholds = self._of_bank(stumps.feature[part]), stumps.threshold[part]
            view, bins = self.bank.view_at(features, thresholds, self._rows_of_view(rows))
            read = _in_view(view, rows)
            self._signed_edges(view.bins, view.at, bins, votes[part], read, sums, edges[part])
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
            (bins, at, *_), read = self._read(self._of_bank(features[part]), rows)
            filled, tops = hist[part], last[part]
            # The kernel takes two features at a time.
            stretches = self.weights.threads.stretches((*range(0, at.size, 2), at.size))
            slices = [slice(*ends) for ends in stretches]
            calls = [(bins, at[s], read, filled[s].reshape(-1), tops[s]) for s in slices]
            self.weights.threads.run(row_kernels(*row_layout(self.n_labels)).histograms, calls)
        return hist, last

    def _of_bank(self, features: NDArray[np.int64]) -> NDArray[np.int64]:
        return features if self._members is None else self._members[features]

    def _whole(self, rows: Rows) -> bool:
        # Draws and nodes have fewer rows than the run; shuffled rows read whole columns, too.
        return rows.values.size == self._n_run * self._search.width

    def _most(self, rows: Rows) -> int:
        """Features that the bank can show at once, in whole groups of the kernels."""
        n_rows = None if self._whole(rows) else rows.values.size // self._search.width
        return self.bank.most_features(n_rows) // SEARCH_GROUP * SEARCH_GROUP

    def _read(self, features: NDArray[np.int64], rows: Rows) -> tuple[View, Rows]:
        view = self.bank.view(features, self._rows_of_view(rows))
        return view, _in_view(view, rows)

    def _rows_of_view(self, rows: Rows) -> NDArray[Any] | None:
        return None if self._whole(rows) else rows.examples


def _in_view(view: View, rows: Rows) -> Rows:
    """The rows with their columns in a view."""
    return rows._replace(start=0, examples=rows.examples[:0]) if view.compact else rows


def stumps_of(features: NDArray[np.int64], output: SearchOutput) -> Stumps:
    """The stumps that the search kernel has found."""
    return Stumps(features, *output[:4], output.below if output.below.size else None)


def _parts(n_features: int, size: int) -> Iterator[slice]:
    for start in range(0, n_features, size):
        yield slice(start, start + size)


@lru_cache(maxsize=256)
def _cuts(n_features: int) -> tuple[int, ...]:
    """Where the kernel's groups of features begin and end; threads take whole groups."""
    cuts = list(range(0, n_features + 1, SEARCH_GROUP))
    cuts += range(cuts[-1] + 2, n_features + 1, 2)
    return tuple(cuts) if cuts[-1] == n_features else (*cuts, n_features)


class RareSearch:
    """The search kernel for lists of rare rows, for the rows of a run or some of them.

    `columns` int32 (n,) are the bank columns of the rows of the run, empty if they follow each
    other; the bank has `n_bank` of them.
    """

    def __init__(
        self, n_labels: int, threads: Threads, n_bank: int, columns: NDArray[np.int32]
    ) -> None:
        self._n_labels, self._threads = n_labels, threads
        self._n_bank, self._columns = n_bank, columns
        self._kernel = rare_search_kernel(*row_layout(n_labels))
        self._rooms: list[RareRoom] = []
        self._is_numbered = False

    @cached_property
    def possible(self) -> bool:
        """Whether no row is in the run more than once: a row of the bank has one number."""
        return np.unique(self._columns).size == self._columns.size

    @cached_property
    def _numbers(self) -> NDArray[np.int32]:
        return np.full(self._n_bank, -1, np.int32)

    def is_faster(self, sizes: NDArray[np.int32], n_rows: int) -> NDArray[np.bool_]:
        """For which lists, by their sizes, a search of this many rows is faster: bool (Q,)."""
        return (sizes >= 0) & (sizes <= n_rows + _LISTED_BESIDES)

    def write(
        self, rare: RareRows, at: NDArray[np.int64], rows: Rows, tie: float, output: SearchOutput
    ) -> None:
        """Write the best stump of each feature, whose lists are `at` of `rare`, to `output`."""
        most = rare.rows.shape[1]
        if not self._rooms or self._rooms[0].at.size <= most:
            self._rooms = [rare_room(self._n_labels, most) for _ in range(self._threads.n)]
        if self._is_numbered:  # an interrupt has left them
            self._numbers.fill(-1)
        self._is_numbered = True
        number_rows(rows.examples, self._numbers, False)
        calls, stretches = [], [(0, at.size)]
        if self._threads.n > 1 and rare.sizes[at].sum() > _MOST_ALONE:
            stretches = [*self._threads.stretches(range(at.size + 1))]
        for room, ends in zip(self._rooms, stretches, strict=False):
            part = slice(*ends)
            calls.append((rare, at[part], rows, self._numbers, tie, room, part_of(output, part)))
        self._threads.run(self._kernel, calls)
        number_rows(rows.examples, self._numbers, True)
        self._is_numbered = False
