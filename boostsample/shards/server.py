"""A shard: owns the rows of one source, and answers the messages of the driver."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostsample.errors import DataError
from boostsample.hashing import sha256_of_arrays, sha256_of_json
from boostsample.kernels.array_layout import (
    N_BINS,
    Rows,
    matrix_of_rows,
    row_layout,
)
from boostsample.kernels.searches.histograms import histogram_kernel
from boostsample.kernels.searches.search_room import NO_ROWS
from boostsample.labels import check_labels
from boostsample.records import Stumps
from boostsample.rows.local_rows import LocalRows
from boostsample.rows.protocol import Factors, Leaf, Stretch
from boostsample.rows.sampling_schemes import (
    LOGISTIC_SCHEMES,
    DrawnSample,
    NestedSample,
    NestedScheme,
    nested_scheme,
)
from boostsample.rows.weighted_rows import WeightedRows
from boostsample.rows.weights import InitialWeights, SignedWeights
from boostsample.shards import messages as m
from boostsample.shards.allocation import samples_are_joined
from boostsample.shards.shard_source import Source
from boostsample.threads.threads import Threads, n_threads


class _ShardWeights(SignedWeights):
    """Weights of a shard: `odds`, the loss over the mass of all shards, comes from the driver."""

    odds = 1.0

    def _odds(self) -> float:
        return self.odds


class ShardServer:
    """Owns bank, labels and weights of the rows of a source.

    It makes no random choice and no decision of its own: answers follow from the source and the
    messages so far.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self._data: Any = None
        self._answers: dict[type, Callable[[Any], Any]] = {
            m.Load: self._load,
            m.MeasureWeights: self._measure,
            m.Build: self._build,
            m.Nodes: self._sums,
            m.SearchRequest: self._search,
            m.Edges: self._edges,
            m.BinTotals: self._bin_totals,
            m.Logistic: self._logistic,
            m.Finish: self._finish,
            m.Values: lambda request: self._weights.state(),
            m.Digest: self._digest,
            type(None): lambda request: None,
        }
        self._changes: dict[type, Callable[[Any], None]] = {
            m.Begin: self._begin,
            m.Release: self._release,
            m.Split: self._split,
            m.Update: self._update,
            m.UpdateLeaves: self._update_leaves,
            m.Restore: lambda change: self._weights.restore(change.state),
            m.Restart: lambda change: self._set_weights(),
        }

    def handle(self, content: bytes) -> bytes:
        """Answer a packed `Message`."""
        message: m.Message = m.unpack_message(content)
        for change in message.changes:
            self._changes[type(change)](change)
        return m.pack_message(self._answers[type(message.request)](message.request))

    # ------------------------------------------------------------------------- before the rounds

    def _rows_of_source(self) -> tuple[Any, NDArray[np.int64], NDArray[np.float64]]:
        """The data, its rows with weight, and the weights of these."""
        if self._data is None:
            data = self._source.load()
            n = data.bank.n_examples
            Y = check_labels(data.Y, n)
            weight = np.ones(n) if data.example_weight is None else data.example_weight
            weight = np.asarray(weight, np.float64)
            if weight.shape != (n,) or not np.all(np.isfinite(weight) & (weight >= 0)):
                raise DataError(
                    f"example weights of a shard must be {n} finite numbers of 0 or more, got "
                    f"shape {weight.shape}"
                )
            weighted = np.flatnonzero(weight > 0)
            self._n_bins = histogram_bins(np.array(data.bank.n_bins))
            self._data = data._replace(Y=Y[weighted]), weighted, weight[weighted]
            self._checksum = sha256_of_json([data.bank.digest(), sha256_of_arrays(Y, weight)])
        data_rows: tuple[Any, NDArray[np.int64], NDArray[np.float64]] = self._data
        return data_rows

    def _load(self, request: m.Load) -> m.Loaded:
        data, weighted, weight = self._rows_of_source()
        bank = data.bank
        least, most = (weight.min(), weight.max()) if weighted.size else (math.inf, 0.0)
        of_rows = bank.n_examples, int(weighted.size), int(data.Y.shape[1])
        families = tuple(bank.families)
        of_weights = float(least), float(most)
        return m.Loaded(*of_rows, *of_weights, families, np.array(bank.n_bins), self._checksum)

    def _initial(self, measure: m.MeasureWeights, total: float | None = None) -> InitialWeights:
        weight = self._rows_of_source()[2]
        return InitialWeights(measure.weight_init, weight, measure.unit, total)

    def _measure(self, request: m.MeasureWeights) -> m.Measured:
        weights = self._initial(request).of(self._rows_of_source()[0].Y)
        return m.Measured(float(weights.min()), math.fsum(weights.ravel()))

    def _build(self, request: m.Build) -> m.Sums:
        self._request = request
        data, weighted, _ = self._rows_of_source()
        if request.checksum != self._checksum:
            raise DataError(
                f"shard {request.number} was loaded again with other rows, labels or weights; a "
                "source must load the same each time: keep its data as they are until the end"
            )
        self._bank = data.bank.reader(weighted)
        self._threads = Threads(n_threads(request.n_jobs))
        self._set_weights()
        self._rows.compile(request.one_search)
        width, bins = self._weights.width, np.ones((1, 1), np.uint8)
        rows = Rows(0, np.empty(0, np.int32), np.zeros(width, np.float32), np.zeros(width), 1.0)
        kernel = histogram_kernel(*row_layout(self._weights.n_labels))
        kernel(bins, np.zeros(1, np.int64), rows, np.zeros(N_BINS * width), bins[0])  # compiles it
        return self._sums(m.Nodes((m.Target(),)))

    def _set_weights(self) -> None:
        """The weights before the first round."""
        data, weighted, _ = self._rows_of_source()
        request = self._request
        initial = self._initial(request.measure, request.total)
        self._weights = _ShardWeights(
            data.Y, initial.of(data.Y), weighted, self._threads, initial, request.least
        )
        self._rows = LocalRows(self._bank, self._weights)
        self._samples: dict[int, list[Rows]] = {}
        self._begin(m.Begin())

    def _digest(self, request: m.Digest) -> dict[str, str]:
        data, weighted, weight = self._rows_of_source()
        arrays = {"labels": data.Y, "rows": weighted, "weights": weight}
        return {
            **{name: sha256_of_arrays(array) for name, array in arrays.items()},
            **self._bank.digest(),
        }

    # ----------------------------------------------------------------------------------- changes

    def _begin(self, change: m.Begin) -> None:
        self._rows.begin(0.0)
        self._nodes: dict[int, Stretch] = {m.WHOLE: (0, self._rows.n_examples)}
        self._stumps: dict[int, m.WireStump] = {}

    def _release(self, change: m.Release) -> None:
        self._samples.clear()
        self._weights.release()
        self._rows.nodes.release()

    def _split(self, change: m.Split) -> None:
        first, end = self._nodes[change.node]
        halves: Any = ((first, first), (first, first))
        if first < end:
            halves = self._rows.split((first, end), change.stump)
        self._nodes[change.below], self._nodes[change.above] = halves

    def _update(self, change: m.Update) -> None:
        self._rows.update(change, Factors(change.right, change.wrong))

    def _update_leaves(self, change: m.UpdateLeaves) -> None:
        leaves = [
            Leaf(self._nodes[leaf.node], self._same(leaf.stumps), leaf.votes)
            for leaf in change.leaves
        ]
        self._rows.update_leaves(leaves, Factors(change.right, change.wrong))

    def _same(self, stumps: Iterable[m.WireStump]) -> tuple[m.WireStump, ...]:
        """The same objects for the same stumps: rows are not copied again."""
        return tuple(self._stumps.setdefault(stump.key, stump) for stump in stumps)

    # ---------------------------------------------------------------------------------- requests

    def _read(self, target: m.Target) -> WeightedRows:
        """The rows of a target, valid until the next one is read."""
        return self._rows.nodes.read(self._nodes[target.node], self._same(target.stumps))

    def _n(self, target: m.Target) -> int:
        first, end = self._nodes[target.node]
        return end - first

    def _sums(self, request: m.Nodes) -> m.Sums:
        sums, n_labels = [], self._weights.n_labels
        for target in request.targets:
            if self._n(target):
                rows = self._read(target)
                sums.append((rows.n_examples, rows.mass, rows.sums[:n_labels].copy()))
            else:
                sums.append((0, 0.0, np.zeros(n_labels)))
        return m.Sums(self._weights.mass, tuple(sums))

    def _part(self, part: m.SampleOfTarget) -> list[Rows]:
        """The rows of all samples of a part's draw; those of all examples."""
        if part.draw is None:
            return [self._read(part.target).exact() if self._n(part.target) else self._nothing()]
        if part.draw.number not in self._samples:
            self._samples[part.draw.number] = self._draw(part.draw)
        return self._samples[part.draw.number]

    def _nothing(self) -> Rows:
        """No rows."""
        width, values = self._weights.width, np.empty(0, np.float32)
        return Rows(0, np.empty(0, np.int32), values, np.zeros(width), 1.0)

    def _draw(self, draw: m.Draw) -> list[Rows]:
        """The samples of a draw; empty ones hold no row."""
        n, nothing = self._n(draw.target), self._nothing()
        joined = samples_are_joined(draw.scheme)
        sizes = draw.sizes if joined else [min(size, n) for size in draw.sizes]
        n_empty = sum(size == 0 for size in sizes)
        empty = [nothing] * (len(sizes) if n == 0 else n_empty)
        if len(empty) == len(sizes):
            return empty
        self._weights.odds = draw.odds
        rng = np.random.default_rng((draw.seed, self._request.number))
        scheme = _in_units(nested_scheme(draw.scheme), joined, draw.units[n_empty:])
        logistic = draw.scheme in LOGISTIC_SCHEMES
        rows = self._read(draw.target)
        return empty + rows.draw_nested(sizes[n_empty:], scheme, rng, logistic)

    def _search(self, request: m.SearchRequest) -> m.SearchAnswer:
        target = request.part.target
        n_labels, width = self._weights.n_labels, self._weights.width
        samples, at = self._part(request.part), request.part.sample
        rows = samples[at]
        known = (
            _n_rows(samples, request.bins_after, width),
            _n_rows(samples, request.weights_after, width),
        )
        n = rows.values.size // width
        bins = np.empty((request.features.size, n - known[0]), np.uint8)
        weights = np.empty((0, n_labels), np.float32)
        if request.features.size:
            weights = matrix_of_rows(rows.values, n, n_labels)[known[1] :] if n else weights
            if n > known[0]:
                bins = self._bank.take(request.features, rows.examples[known[0] :])
        kind = np.float64 if request.wide else np.float32
        sums, last = np.zeros((0, n_labels), kind), np.ones(request.histograms.size, np.uint8)
        if request.histograms.size:
            n_bins = self._n_bins[request.histograms].tolist()
            if n and self._n(target):
                hist, last = self._rows.searcher.histograms(request.histograms, rows)
                sums = np.concatenate(
                    [
                        matrix_of_rows(histogram, N_BINS, n_labels)[:most].astype(kind)
                        for histogram, most in zip(hist, n_bins, strict=True)
                    ]
                )
            else:
                sums = np.full((sum(n_bins), n_labels), NO_ROWS, kind)
        bins = bins.view(np.uint8)  # a dtype that was pickled with a source takes more bytes again
        return m.SearchAnswer(self._weights.mass, bins, np.ascontiguousarray(weights), sums, last)

    def _edges(self, request: m.Edges) -> m.Totals:
        rows = self._part(request.part)[request.part.sample]
        totals = np.zeros(request.features.size)
        if rows.values.size:
            _, features, thresholds, votes, below = request
            stumps = Stumps(features, thresholds, votes, np.zeros(features.size), below=below)
            totals = self._rows.searcher.signed_edges(stumps, rows._replace(scale=1.0))
        return m.Totals(self._weights.mass, totals)

    def _bin_totals(self, request: m.BinTotals) -> m.Totals:
        totals = np.zeros((request.features.size, N_BINS, 2 + self._weights.n_labels))
        if self._n(request.target):
            searcher = self._rows.searcher.over(self._read(request.target))
            totals = searcher.bin_totals(request.features)
        return m.Totals(self._weights.mass, totals)

    def _logistic(self, request: m.Logistic) -> m.Totals:
        mass = 0.0
        if self._n(request.target):
            self._weights.odds = request.odds
            mass = self._read(request.target).logistic_mass()
        return m.Totals(self._weights.mass, np.array([mass]))

    def _finish(self, request: m.Finish) -> m.Finished:
        target, n_labels = request.target, self._weights.n_labels
        totals, mass, sums = np.zeros(n_labels), 0.0, np.zeros(n_labels)
        column = self._bank.column(request.feature)
        if self._n(target):
            rows = self._read(target)
            totals = rows.label_totals(column, request.threshold)
            mass, sums = rows.mass, rows.sums[:n_labels].copy()
        value = self._bank.threshold(request.feature, request.threshold)
        computed = self._bank.values_computed
        return m.Finished(self._weights.mass, totals, mass, sums, value, computed)


def histogram_bins(n_bins: NDArray[np.int16]) -> NDArray[np.int64]:
    """Bins of histograms: 256 of a feature that a lazy bank had not computed at first."""
    return np.where(n_bins > 0, n_bins, N_BINS).astype(np.int64)


def _n_rows(samples: Sequence[Rows], at: int, width: int) -> int:
    """Rows of sample number `at`; none for -1."""
    return samples[at].values.size // width if at >= 0 else 0


def _in_units(scheme: NestedScheme, joined: bool, units: Sequence[float]) -> NestedScheme:
    """A nested scheme with the units of the driver in place of the scales of one process."""

    def draw(
        weight: Any, ends: Any, sizes: Sequence[int], rng: np.random.Generator
    ) -> Iterator[NestedSample]:
        for sample, unit in zip(scheme(weight, ends, sizes, rng), units, strict=True):
            factors = sample.drawn.factors * (float(ends[-1]) * unit)
            yield NestedSample(DrawnSample(sample.drawn.examples, factors), 1.0, sample.known)

    return draw
