"""All rows of a run over shards, their targets and draws, and searches on what shards have sent.

A search asks each shard for what its features need: the bins of the sampled rows, whose weights are
sent once, or the histogram of the feature if that is smaller. A nested sample begins with the rows
of the sample before: of features that were searched on that one, only the bins of the other rows
are sent.

Rows and histograms go through the search kernel of one process. The bins of a histogram are rows of
a feature, each float64 sum as two float32 ones, large and small; the kernel adds them in float64.

Of a draw, a shard with the share p_m of the weight makes T_m draws, E[T_m] = E_m. Its rows estimate
its part of the edge by any scheme, and count T_m / E_m times: the expectation is that of all.

- Independent draws: T_m is multinomial, E_m = T p_m, which is exactly a draw from all examples.
- Other schemes: T_m is T p_m rounded down or up, by pivotal sampling of the parts below 1 (Deville
  and Tille 1998), whose variance is at most the multinomial one (Chauvet 2017). With a scheme of
  variance at most (1 - G^2) / T in each shard, [DF11] eq. 7 holds for all of them together.
- Draws of different examples: the same, but E_m is at most the examples of the shard; the others
  take what is left.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from boostsample.errors import DataError, SettingError
from boostsample.hashing import sha256_of_json
from boostsample.kernels.array_layout import N_BINS, Rows, found_room, lay_out_rows, part_of
from boostsample.kernels.search import is_empty
from boostsample.records import NO_FEATURES, Stumps, arrays_of
from boostsample.rows.local_rows import compile_rows, row_facts
from boostsample.rows.protocol import Leaf, Stretch, StumpCut
from boostsample.rows.sampling_schemes import (
    LOGISTIC_SCHEMES,
    PROMISED,
    UNPROMISED,
    nested_scheme,
    samples_are_joined,
)
from boostsample.rows.searcher import EACH_ROW, BinSearch, stumps_of
from boostsample.rows.tree_growth import Searches
from boostsample.rows.weights import CellTable, Factors, SideSums, of_sides
from boostsample.shards.exchange import Exchange
from boostsample.shards.server import Draw, Target, WireStump, histogram_bins
from boostsample.threads import Threads

#: Bytes of histograms in one answer, about.
_MOST_BYTES = 2**26


class ShardNode:
    """Numbers of the rows of a target in all shards; asked for when they are read first."""

    def __init__(
        self,
        exchange: Exchange,
        target: Target,
        counts: NDArray[np.int64],
        masses: NDArray[np.float64] | None = None,
    ) -> None:
        self.exchange = exchange
        self.target = target
        self.counts = counts
        self.n_examples = int(counts.sum())
        self.n_labels = exchange.loaded[0].n_labels
        self._masses = masses
        self._sums: NDArray[np.float64] | None = None

    @property
    def masses(self) -> NDArray[np.float64]:
        """Masses of the target in the shards: float64 (M,)."""
        return self._asked()[0] if self._masses is None else self._masses

    @property
    def mass(self) -> float:
        """Sum of the weights."""
        return math.fsum(self.masses.tolist())

    @property
    def sums(self) -> NDArray[np.float64]:
        """Sum of the signed weights of each label: float64 (K,)."""
        return self._asked()[1] if self._sums is None else self._sums

    def _asked(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        answers = [sums for (sums,) in self.exchange.ask("sums", [self.target])]
        _, masses, sums = zip(*answers, strict=True)
        return self.know(masses, sums)

    def know(
        self, masses: Sequence[float], sums: Sequence[NDArray[np.float64]]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Keep masses and label sums of the shards."""
        known = np.array(masses), np.asarray(np.add.reduce(np.array(sums)))
        self._masses, self._sums = known
        return known

    @property
    def shares(self) -> NDArray[np.float64]:
        """Parts of the weight in the shards, of sum 1: float64 (M,)."""
        return np.asarray(self.masses / self.masses.sum())


class WholeNode(ShardNode):
    """All rows of the shards, whose weights change.

    `predicted` are the masses of the shards after the last update by a stump, up to rounding, or
    None: known from the sums of its finish, so that the next draw needs no message.
    """

    def __init__(self, exchange: Exchange) -> None:
        super().__init__(exchange, Target(), exchange.counts)
        self.log_loss = 0.0
        self.changed(np.array([mass for ((_, mass, _),) in exchange.first]))

    def changed(self, predicted: NDArray[np.float64] | None) -> None:
        """The weights have changed; to these masses, if they are known."""
        self._sums, self.predicted = None, predicted

    @property
    def masses(self) -> NDArray[np.float64]:
        """Masses of the shards: float64 (M,); one exchange if no shard has been asked since."""
        known = self.exchange.masses
        return self._asked()[0] if known is None else known

    @property
    def shares(self) -> NDArray[np.float64]:
        """Parts of the weight in the shards, of sum 1, for draws: float64 (M,)."""
        if self.predicted is None:
            self.predicted = self.masses.copy()
        return np.asarray(self.predicted / self.predicted.sum())

    @property
    def odds(self) -> float:
        """The loss over the mass as `shares` has it, for logistic draws."""
        masses = self.masses if self.predicted is None else self.predicted
        return math.exp(self.log_loss) / float(masses.sum())


class DriverSearch:
    """Searches of the driver, shared by all targets of a run."""

    def __init__(self, whole: WholeNode, threads: Threads) -> None:
        self.whole, self.exchange = whole, whole.exchange
        self.n_bins = histogram_bins(self.exchange.loaded[0].n_bins)
        self.n_draws = 0
        self.finished: tuple[Any, ...] = ()
        self.totals = np.empty((0, whole.n_labels))
        self.value, self.values_computed = -math.inf, 0
        self._bins = BinSearch(whole.n_labels, threads)
        self.tie = self._bins.tie
        compile_rows(whole.n_labels, threads.n > 1, True)

    def on_rows(
        self,
        features: NDArray[np.int64],
        bins: NDArray[np.uint8],
        weights: NDArray[np.float32],
        scale: float,
        two_sided: bool,
    ) -> Stumps:
        """Best stumps on sampled rows: bins uint8 (Q, T), signed weights float32 (T, K)."""
        rows = self._rows(weights, lay_out_rows(weights, self._bins.width), scale)
        at, n_bins = np.arange(features.size), self.n_bins[features].astype(np.int16)
        output = found_room(features.size, self._bins.n_labels, two_sided)
        self._bins.write(bins, at, n_bins, rows, self._bins.sample_precision(rows), output)
        return stumps_of(features, output)

    def _rows(self, weights: NDArray[Any], values: NDArray[np.float32], scale: float) -> Rows:
        """Rows of these values, whose sum is that of the weights (n, K)."""
        base = np.zeros(self._bins.width)
        np.add.reduce(weights, axis=0, dtype=np.float64, out=base[: self._bins.n_labels])
        return Rows(0, np.empty(0, np.int32), values, base, scale)

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
        output = found_room(features.size, self._bins.n_labels, two_sided)
        at, sizes = np.zeros(1, np.int64), self.n_bins[features]
        ends = np.cumsum(sizes)
        # Made for all features at once: they are many, and their bins few.
        place = np.arange(sums.shape[0]) - np.repeat(ends - sizes, sizes)
        used = np.flatnonzero(~is_empty(sums) & (place <= np.repeat(last, sizes)))
        bounds = np.searchsorted(used, np.append(0, ends))
        large = sums[used].astype(np.float32)
        # Together 48 bits or more of the 53, which the kernel adds up in float64.
        small = (sums[used] - large).astype(np.float32)
        order = np.arange(used.size)
        of_feature = np.repeat(np.arange(features.size), np.diff(bounds))
        of_large, of_small = order + bounds[of_feature], order + bounds[of_feature + 1]
        values = np.empty((2 * used.size, sums.shape[1]), np.float32)
        values[of_large], values[of_small] = large, small
        column = np.empty((1, 2 * used.size), np.uint8)
        column[0, of_large] = column[0, of_small] = place[used]
        n_bins = last.astype(np.int16) + np.int16(1)
        stretches = zip((2 * bounds).tolist(), (2 * bounds[1:]).tolist(), strict=False)
        first = (ends - sizes).tolist()
        for k, ((start, stop), highest) in enumerate(zip(stretches, last.tolist(), strict=True)):
            histogram = sums[first[k] : first[k] + highest + 1]
            of_rows = lay_out_rows(values[start:stop], self._bins.width)
            rows = self._rows(histogram, of_rows, scale)
            feature = slice(k, k + 1)
            of_bins = column[:, start:stop], at, n_bins[feature], rows, EACH_ROW
            self._bins.write(*of_bins, part_of(output, feature), n_rows)
        return stumps_of(features, output)


class _Drawn:
    """A draw of nested samples, and what the driver knows of their rows.

    Edges are sums over rows times `scale` / T, or times `scale` if samples are not joined; None is
    the inverse of the mass of the target. Known in each shard are `bins` of `features` on the rows
    of sample `bins_of`, (features, rows), and `weights` of those of `weights_of`, (rows, K).
    """

    def __init__(self, draws: list[Draw], n_labels: int, scale: float | None) -> None:
        self.draws, self.scale = draws, scale
        self.joined = samples_are_joined(draws[0].scheme)
        self.features, self.bins_of, self.bins = np.empty(0, np.int64), -1, list[Any]()
        nothing = np.empty((0, n_labels), np.float32)
        self.weights_of, self.weights = -1, [nothing for _ in draws]

    def n_rows(self, at: int) -> int:
        """Draws of sample number `at`; more than its different rows."""
        return sum(draw.sizes[at] for draw in self.draws) if at >= 0 else 0

    def known(self, features: NDArray[np.int64], number: int) -> NDArray[np.int64] | None:
        """Where the bins of these features are known on a smaller sample; None if not of all."""
        if not self.joined or not 0 <= self.bins_of <= number:
            return None
        order = np.argsort(self.features, kind="stable")
        places = np.searchsorted(self.features, features, sorter=order)
        at = order[np.minimum(places, order.size - 1)]
        return at if np.array_equal(self.features[at], features) else None


class ShardSample(NamedTuple):
    """A sample of a draw, or all examples of a target if `drawn` is None: a `SampleRows`."""

    of: ShardTarget
    size: int
    drawn: _Drawn | None = None
    number: int = 0

    def _ask(self, name: str, *arguments: Any) -> list[Any]:
        target, drawn = self.of.node.target, self.drawn
        draws = [None] * self.of.node.exchange.n_shards if drawn is None else drawn.draws
        requests = [(name, target, draw, self.number, *arguments) for draw in draws]
        return self.of.node.exchange.ask_each(requests)

    def _scale(self) -> float:
        """Factor of the sums over its rows; known after an answer."""
        if self.drawn is None:
            return 1.0 / self.of.mass
        scale = self.drawn.scale
        whole = 1.0 / self.of.mass if scale is None else scale
        return whole / self.size if self.drawn.joined else whole

    def search(
        self, features: NDArray[np.int64], labels: NDArray[np.int64] | None = None
    ) -> Stumps:
        """The best stump of each feature. One exchange. SettingError for some labels only."""
        if labels is not None:
            raise SettingError(
                f"over shards, labels of a search must be None, got {labels.size} labels; search "
                "all of them, or train in one process"
            )
        self.of.looks += features.size * self.size
        numbers = self.of.numbers(features)
        if self.drawn is None:
            stumps = self._search_all(numbers)
        else:
            stumps = self._search_drawn(numbers, self.drawn)
        return replace(stumps, feature=features)

    def _search_all(self, features: NDArray[np.int64]) -> Stumps:
        """Histograms of all examples in float64, in several exchanges if they are large."""
        driver, nothing = self.of.driver, np.empty(0, np.int64)
        sizes = np.cumsum(driver.n_bins[features]) * (8 * self.of.n_labels)
        parts = []
        for part in np.split(features, np.flatnonzero(np.diff(sizes // _MOST_BYTES)) + 1):
            answers = self._ask("search", nothing, part, -1, -1, True)
            parts.append(self._on_histograms(part, answers))
        stumps = _joined(parts)
        edges = stumps.edge
        # Shards add up in another order than one process: edges within rounding become equal, so
        # that the first feature wins in both.
        best = edges.max()
        edges[edges >= best - driver.tie(self.of.n_examples)] = best
        return stumps

    def _on_histograms(self, features: NDArray[np.int64], answers: Sequence[Any]) -> Stumps:
        """Best stumps on the histograms of the shards, added in their order."""
        sums = reduce(np.add, [of_shard.astype(np.float64) for *_, of_shard, _ in answers])
        last = np.maximum.reduce([of_shard for *_, of_shard in answers])
        of_sample = self._scale(), self.size, self.of.two_sided
        return self.of.driver.on_histograms(features, sums, last, *of_sample)

    def _search_drawn(self, features: NDArray[np.int64], drawn: _Drawn) -> Stumps:
        """Rows or histograms of a sample, whatever is smaller."""
        known = drawn.known(features, self.number)
        compact = self._as_rows(features, drawn, known)
        if known is not None and not compact.all():
            known = known[compact]
        by_rows, by_sums = features[compact], features[~compact]
        after = (
            (drawn.bins_of if known is not None else -1),
            (drawn.weights_of if drawn.joined else -1),
        )
        answers = self._ask("search", by_rows, by_sums, *after)
        parts = []
        if by_rows.size:
            parts.append(self._on_rows(by_rows, drawn, known, answers))
        if by_sums.size:
            parts.append(self._on_histograms(by_sums, answers))
        if len(parts) == 1:
            return parts[0]
        order = np.argsort(np.argsort(~compact, kind="stable"))
        return _joined(parts)[order]

    def _as_rows(
        self,
        features: NDArray[np.int64],
        drawn: _Drawn,
        known: NDArray[np.int64] | None,
    ) -> NDArray[np.bool_]:
        """The features whose rows take fewer bytes than their histograms, in all shards."""
        n, n_labels = drawn.n_rows(self.number), self.of.n_labels
        n_new = n - (drawn.n_rows(drawn.bins_of) if known is not None else 0)
        n_weights = n - (drawn.n_rows(drawn.weights_of) if drawn.joined else 0)
        of_sums = self.of.driver.n_bins[features] * (4 * n_labels * len(drawn.draws))
        compact: NDArray[np.bool_] = n_new < of_sums
        # The weights of new rows are sent once for all features: rows must save more than that.
        saved = int(np.maximum(of_sums - n_new, 0).sum())
        if saved <= max(n_weights, 0) * 4 * n_labels:
            compact[:] = False
        return compact

    def _on_rows(
        self,
        features: NDArray[np.int64],
        drawn: _Drawn,
        known: NDArray[np.int64] | None,
        answers: Sequence[Any],
    ) -> Stumps:
        """Best stumps on the rows of the shards, one shard after another."""
        bins, weights = [], []
        for k, (of_shard, weights_of_shard, *_) in enumerate(answers):
            if known is not None:
                of_shard = np.concatenate([drawn.bins[k][known], of_shard], axis=1)
            if drawn.joined:
                weights_of_shard = np.concatenate([drawn.weights[k], weights_of_shard])
            bins.append(of_shard)
            weights.append(weights_of_shard)
        if drawn.joined:
            drawn.features, drawn.bins_of, drawn.bins = features, self.number, bins
            drawn.weights_of, drawn.weights = max(self.number, drawn.weights_of), weights
        of_sample = [rows[: part.shape[1]] for rows, part in zip(weights, bins, strict=True)]
        joined = np.concatenate(bins, axis=1), np.concatenate(of_sample)
        return self.of.driver.on_rows(features, *joined, self._scale(), self.of.two_sided)

    def signed_edges(self, stumps: Stumps) -> NDArray[np.float64]:
        """Edges of given stumps: float64 (Q,). One exchange."""
        self.of.looks += len(stumps) * self.size
        cuts = self.of.numbers(stumps.feature), stumps.threshold, stumps.votes, stumps.below
        return np.asarray(np.add.reduce(self._ask("edges", *cuts)) * self._scale())


class ShardTarget:
    """A target of a run over shards: implements `TargetRows`."""

    def __init__(
        self,
        node: ShardNode,
        driver: DriverSearch,
        two_sided: bool,
        members: NDArray[np.int64] | None,
    ) -> None:
        self.node, self.driver, self.two_sided = node, driver, two_sided
        self.n_examples, self.n_labels = node.n_examples, node.n_labels
        self.n_features = int(driver.n_bins.size if members is None else members.size)
        self.largest_threshold = N_BINS - 1
        self.bounds_edges = True  # shards search votes, whose edges are means
        self.looks = 0
        self._members = members

    @property
    def mass(self) -> float:
        """Sum of the weights."""
        return self.node.mass

    @property
    def sums(self) -> NDArray[np.float64]:
        """Sum of the signed weights of each label: float64 (K,)."""
        return self.node.sums

    def numbers(self, features: NDArray[np.int64]) -> NDArray[np.int64]:
        """Their numbers in the banks."""
        return features if self._members is None else self._members[features]

    def label_sums(self, feature: int, threshold: int) -> NDArray[np.float64]:
        """As of `TargetRows`. One exchange."""
        totals = self._finish("finish", feature, threshold)
        self.driver.finished = self.node.target, self._number(feature), threshold
        self.driver.totals = totals
        return np.asarray(np.add.reduce(totals) / self.mass)

    def side_sums(self, feature: int, threshold: int) -> SideSums:
        """As of `TargetRows`. One exchange."""
        totals = self._finish("finish_sides", feature, threshold)
        return of_sides(np.asarray(np.add.reduce(totals) / self.mass))

    def label_masses(self) -> NDArray[np.float64]:
        """As of `TargetRows`. One exchange."""
        return np.asarray(np.add.reduce(self.node.exchange.ask("label_masses", self.node.target)))

    def _finish(self, name: str, feature: int, threshold: int) -> NDArray[np.float64]:
        """Sums of a stump in each shard (M, ...); keeps its raw threshold."""
        cut = self.node.target, self._number(feature), threshold
        answers = self.node.exchange.ask(name, *cut)
        parts, masses, sums, values, computed = zip(*answers, strict=True)
        self.node.know(masses, sums)
        self.driver.finished = ()
        self.driver.value, self.driver.values_computed = values[0], sum(computed)
        return np.array(parts)

    def _number(self, feature: int) -> int:
        return feature if self._members is None else int(self._members[feature])

    def bin_totals(self, features: NDArray[np.int64]) -> NDArray[np.float64]:
        """As of `TargetRows`. One exchange."""
        answers = self.node.exchange.ask("bin_totals", self.node.target, self.numbers(features))
        return np.asarray(np.add.reduce(answers))

    def cut_totals(self, feature: int, threshold: int) -> NDArray[np.float64]:
        """As of `TargetRows`. One exchange."""
        (totals,) = self.bin_totals(np.array([feature]))
        return np.array([totals[:threshold].sum(axis=0), totals[threshold:].sum(axis=0)])

    def threshold_of(self, feature: int, b: int) -> int:
        """As of `TargetRows`."""
        return b

    def release(self) -> None:
        """Samples drawn so far are no longer needed."""
        self.node.exchange.change("release")

    def race(
        self,
        features: NDArray[np.int64],
        stages: Sequence[tuple[int, int]],
        rng: np.random.Generator,
        again: NDArray[np.int64] = NO_FEATURES,
        join: int = 0,
    ) -> None:
        """Not in one call: each stage asks all shards."""
        return

    def shuffled(self, rng: np.random.Generator) -> ShardSample:
        """SettingError: no shard has the features of all rows."""
        raise SettingError(
            "over shards, features must not be shuffled among the rows by Step.draw_shuffled; use "
            "another strategy, such as 'successive-halving', or train in one process"
        )

    def n_heaviest(self, mass: float) -> int:
        """SettingError: no shard knows the weights of the others."""
        raise SettingError(
            f"over shards, the number of examples with a mass must not be asked for, got {mass}; "
            "use a strategy without Step.n_heaviest, or train in one process"
        )

    def sample(self, size: int, scheme: str, rng: np.random.Generator) -> ShardSample:
        """A draw of `size` examples; all with exact weights if `size` is n."""
        return self.nested_samples([size], scheme, rng)[0]

    def nested_samples(
        self, sizes: Sequence[int], scheme: str, rng: np.random.Generator
    ) -> list[ShardSample]:
        """Samples of ascending sizes. No exchange, but one for logistic weights."""
        nested_scheme(scheme)
        promised = UNPROMISED.get(scheme, PROMISED).unbiased
        if not promised and scheme not in LOGISTIC_SCHEMES:
            raise SettingError(
                "over shards, scheme must be filter or one that promises unbiased edges, got "
                f"{scheme!r}, which {UNPROMISED[scheme].why}; use iid, stratified or distinct"
            )
        node, driver = self.node, self.driver
        small = [size for size in sizes if size < self.n_examples]
        exact = [ShardSample(self, size) for size in sizes[len(small) :]]
        if not small:
            return exact
        shares, odds, scale = node.shares, 0.0, None
        if scheme in LOGISTIC_SCHEMES:
            odds = driver.whole.odds
            masses = np.array(node.exchange.ask("logistic_mass", node.target, odds))
            shares, scale = masses / masses.sum(), 1.0 / math.fsum(masses)
        of_shards, units_of_shards = allocate(small, shares, node.counts, scheme, rng)
        seed = int(rng.integers(1 << 63))
        driver.n_draws += 1
        draw = driver.n_draws, node.target, scheme, seed
        draws = [
            Draw(*draw, tuple(counts), tuple(units), odds)
            for counts, units in zip(of_shards.T.tolist(), units_of_shards.T.tolist(), strict=True)
        ]
        drawn = _Drawn(draws, self.n_labels, scale)
        return [ShardSample(self, size, drawn, k) for k, size in enumerate(small)] + exact


def _joined(parts: Sequence[Stumps]) -> Stumps:
    columns = zip(*map(arrays_of, parts), strict=True)
    joined: list[Any] = [
        None if arrays[0] is None else np.concatenate(arrays) for arrays in columns
    ]
    return Stumps(*joined)


def allocate(
    sizes: Sequence[int],
    shares: NDArray[np.float64],
    counts: Sequence[int] | NDArray[np.int64],
    scheme: str,
    rng: np.random.Generator,
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Sizes of nested samples in the shards, and how often a row counts, both (S, M).

    Sizes of the samples ascend, shares p_m sum to 1, counts are examples.
    """
    so_far, before = np.zeros(shares.size, np.int64), 0
    expected_before = np.zeros(shares.size)
    counted, units = [], []
    for size in sizes:
        more = size - before
        if scheme == "iid" or scheme in LOGISTIC_SCHEMES:
            so_far = so_far + rng.multinomial(more, shares)
            units.append(_inverse(shares))
        elif samples_are_joined(scheme):
            so_far = so_far + pivotal_sizes(more * shares, rng)
            units.append(_inverse(shares))
        else:
            expected = expected_sizes(size, shares, counts)
            # Sizes of a shard never fall, so that its samples are nested.
            so_far = so_far + pivotal_sizes(np.maximum(expected - expected_before, 0.0), rng)
            expected_before = expected
            units.append(so_far * _inverse(expected))
        counted.append(so_far)
        before = size
    return np.array(counted), np.array(units)


def _inverse(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """1 / x, and 0 for x = 0: a shard without weight draws nothing."""
    return np.divide(1.0, numbers, out=np.zeros(numbers.size), where=numbers > 0)


def expected_sizes(
    size: int, shares: NDArray[np.float64], counts: Sequence[int] | NDArray[np.int64]
) -> NDArray[np.float64]:
    """E_m = min(n_m, c p_m), c such that they sum to `size`: float64 (M,)."""
    most = np.asarray(counts, float)
    full = np.zeros(shares.size, np.bool_)  # shards that give all examples; c rises with each
    while True:
        left, free = size - most[full].sum(), shares[~full].sum()
        expected = np.where(full, most, shares * (left / free if free > 0 else 0.0))
        over = ~full & (expected > most)
        if not over.any():
            return expected
        full |= over


def pivotal_sizes(expected: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.int64]:
    """Whole numbers of these expectations, each rounded down or up; the sum is kept: int64 (M,)."""
    sizes = np.floor(expected).astype(np.int64)
    uniforms = rng.random(expected.size)
    # Ordered pivotal sampling as of `kernels.draw.draw_pivotal`, of the parts below 1.
    fighter, chance = -1, 0.0
    for m, part in enumerate((expected - sizes).tolist()):
        both = chance + part
        if both <= 0.0:
            continue
        if both < 1.0:  # one of both loses
            if uniforms[m] * both >= chance:
                fighter = m
            chance = both
        elif uniforms[m] * (2.0 - both) < 1.0 - part:  # the fighter wins, this one keeps the rest
            sizes[fighter] += 1
            fighter, chance = m, both - 1.0
        else:
            sizes[m] += 1
            chance = both - 1.0
    if chance > 0.5:
        sizes[fighter] += 1
    return sizes


class ShardRows:
    """All rows of a run over shards: implements `RunRows`.

    A stretch names a node by its place in the order that all splits of the round make; a node has
    its number in the messages.
    """

    def __init__(self, exchange: Exchange, threads: Threads) -> None:
        self.families, self.on_demand = exchange.loaded[0].families, False
        self._exchange, self._whole = exchange, WholeNode(exchange)
        self._driver = DriverSearch(self._whole, threads)
        self.n_examples, self.n_labels = self._whole.n_examples, self._whole.n_labels
        self.n_features = int(self._driver.n_bins.size)
        first = [(n, mass, *sums.tolist()) for ((n, mass, sums),) in exchange.first]
        self.digest = hashlib.sha256(repr(first).encode()).hexdigest()
        self.round = 0
        self._forget()

    def _forget(self) -> None:
        self._nodes: dict[Stretch, ShardNode] = {(0, self.n_examples): self._whole}
        self._stumps: dict[int, tuple[WireStump, StumpCut]] = {}
        self._n_nodes = 1

    @property
    def mass(self) -> float:
        """Sum of the weights of all examples."""
        return self._whole.mass

    @property
    def values_computed(self) -> int:
        """Feature values that lazy banks had computed at the last finish."""
        return self._driver.values_computed

    def raw_threshold(self, feature: int, threshold: int) -> float:
        """Raw threshold of the stump finished last."""
        return self._driver.value

    def begin(self, log_loss: float) -> None:
        """Begin a round, with the log of the loss so far: the weights have changed."""
        self.round += 1
        self._whole.log_loss = log_loss
        self._exchange.begin()
        self._forget()

    def split(self, stretch: Stretch, cut: StumpCut) -> tuple[Stretch, Stretch]:
        """The stretches of phi = -1 and of phi = +1. One exchange."""
        below, above = self._n_nodes, self._n_nodes + 1
        self._n_nodes += 2
        node = self._nodes[stretch].target.node
        self._exchange.change("split", node, self._wire(cut), below, above)
        targets = Target(below), Target(above)
        nodes = []
        answers = self._exchange.ask("sums", targets)
        for target, of_shards in zip(targets, zip(*answers, strict=True), strict=True):
            counts, masses, _ = (np.array(column) for column in zip(*of_shards, strict=True))
            nodes.append(ShardNode(self._exchange, target, counts, masses))
        first, end = stretch
        middle = first + nodes[0].n_examples
        halves = (first, middle), (middle, end)
        self._nodes.update(zip(halves, nodes, strict=True))
        return halves

    def _wire(self, cut: StumpCut) -> WireStump:
        """A stump as in messages; the same object has the same key in a round."""
        if id(cut) not in self._stumps:
            votes = np.sign(cut.votes).astype(np.int8)
            stump = WireStump(len(self._stumps), int(cut.feature), int(cut.threshold), votes)
            self._stumps[id(cut)] = stump, cut  # the cut keeps its id while it is held
        return self._stumps[id(cut)][0]

    def target(
        self,
        stretch: Stretch,
        stumps: Sequence[StumpCut],
        two_sided: bool = False,
        members: NDArray[np.int64] | None = None,
    ) -> ShardTarget:
        """As of `RunRows`. No exchange."""
        node = self._nodes[stretch]
        if stumps:
            target = Target(node.target.node, tuple(self._wire(stump) for stump in stumps))
            node = ShardNode(self._exchange, target, node.counts, node.masses)
        return ShardTarget(node, self._driver, two_sided, members)

    def growth(self, searches: Searches, scheme: str) -> None:
        """Trees need an exchange for each search."""

    def level_growth(self, searches: Searches) -> None:
        """Trees need an exchange for each search."""

    def update(self, cut: StumpCut, factors: Factors) -> None:
        """Update the weights by a stump; sent with the next request."""
        # The sums of the finish give the masses after the update: the next draw needs no exchange.
        predicted = None
        if self._driver.finished == (Target(), cut.feature, cut.threshold):
            masses = self._whole.masses
            agree = 0.5 * (masses + self._driver.totals @ cut.votes)
            predicted = factors.right * agree + factors.wrong * (masses - agree)
        self._change(predicted, factors, "update", self._wire(cut))

    def update_leaves(self, leaves: Sequence[Leaf], factors: Factors) -> None:
        """Update the weights by a base classifier; sent with the next request."""
        content = []
        for leaf in sorted(leaves, key=lambda leaf: leaf.stretch):
            if leaf.stretch[0] < leaf.stretch[1]:
                node = self._nodes[leaf.stretch].target.node
                stumps = tuple(self._wire(stump) for stump in leaf.stumps)
                content.append((node, stumps, np.asarray(leaf.votes, np.int8)))
        self._change(None, factors, "update_leaves", content)

    def update_sides(self, cut: StumpCut, table: CellTable) -> None:
        """Multiply the weights by the factors of the side of a stump, as `update` does."""
        self._change(None, table, "update_sides", self._wire(cut))

    def update_cells(self, leaves: Sequence[Leaf], table: CellTable) -> None:
        """Multiply the weights by the factors of their leaf, as `update_leaves` does."""
        filled = [at for at, leaf in enumerate(leaves) if leaf.stretch[0] < leaf.stretch[1]]
        filled.sort(key=lambda at: leaves[at].stretch)
        nodes = [self._nodes[leaves[at].stretch].target.node for at in filled]
        self._change(None, table[filled], "update_cells", nodes)

    def _change(
        self,
        predicted: NDArray[np.float64] | None,
        factors: Factors | CellTable,
        name: str,
        base: Any,
    ) -> None:
        numbers: Any = tuple(factors) if isinstance(factors, Factors) else factors
        self._exchange.change(name, base, numbers)
        self._whole.changed(predicted)
        # A chain of the factors of all updates: they follow from all weights of all shards.
        digits = np.asarray(numbers, "<f8").tobytes()
        self.digest = hashlib.sha256(self.digest.encode() + digits).hexdigest()

    def facts(self) -> dict[str, object]:
        """As of `LocalRows.facts`, from the checksums of each shard. One exchange."""
        digests: list[dict[str, str]] = self._exchange.ask("digest")
        loaded = self._exchange.loaded
        joined = {
            name: sha256_of_json([of_shard[name] for of_shard in digests]) for name in digests[0]
        }
        parts = joined.pop("labels"), joined.pop("rows"), joined.pop("weights")
        counts = self.n_examples, self.n_labels, sum(shard.n_rows for shard in loaded)
        sizes = [int(shard.n_examples) for shard in loaded]
        return {**row_facts(counts, *parts, joined), "sizes of the shards": sizes}

    def state(self) -> dict[str, object]:
        """All weights of all shards, a copy: one exchange."""
        states = self._exchange.ask("state")
        shards = {str(number): state for number, state in enumerate(states)}
        return {**self.small_state(), "shards": shards}

    def small_state(self) -> dict[str, object]:
        """The digest, and what the next draw needs. No exchange, even if shards are lost."""
        predicted = self._whole.predicted
        nothing = np.empty(0)
        return {
            "weights": self.digest,
            "predicted": nothing if predicted is None else predicted.copy(),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore a `state()` of a run on the same shards: one exchange."""
        states = state["shards"]
        if len(states) != self._exchange.n_shards:
            raise DataError(
                f"the saved weights must be those of {self._exchange.n_shards} shards, got "
                f"{len(states)}; restore into a booster on the same shards"
            )
        self._exchange.restore([states[str(number)] for number in range(len(states))])
        self._take(state)

    def _take(self, state: Mapping[str, Any]) -> None:
        """Take the digest and the masses of a `small_state()`, after its updates."""
        self.digest = str(state["weights"])
        self._whole.changed(state["predicted"].copy() if state["predicted"].size else None)

    def replayed(self, state: Mapping[str, Any]) -> bool:
        """Whether the digest is that of a `small_state()`; takes its masses."""
        if self.digest != state["weights"]:
            return False
        self._take(state)
        return True
