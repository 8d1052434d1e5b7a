"""A shard: where its rows come from, and how it answers the messages of the driver.

A source loads the rows of a shard again and again with the same result. A message is some changes,
made in their order, and one request: names of methods of `ShardServer` with their arguments. The
same changes in the same order give the same bits, wherever the shard is.
"""

from __future__ import annotations

import math
import os
import pickle  # noqa: TID251 - between processes of one run; never a file
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from boostsample.banks.bank import Bank, FeatureBank
from boostsample.errors import DataError, SettingError
from boostsample.family import Family
from boostsample.hashing import sha256_of_arrays, sha256_of_json
from boostsample.kernels.array_layout import (
    N_BINS,
    Rows,
    matrix_of_rows,
    row_layout,
)
from boostsample.kernels.row_kernels import row_kernels
from boostsample.kernels.search import NO_ROWS
from boostsample.labels import check_labels
from boostsample.records import Stumps
from boostsample.rows.local_rows import LocalRows
from boostsample.rows.protocol import Leaf, Stretch
from boostsample.rows.sampling_schemes import (
    PROMISED,
    UNPROMISED,
    DrawnSample,
    NestedSample,
    NestedScheme,
    nested_scheme,
    samples_are_joined,
)
from boostsample.rows.searcher import SearchRules
from boostsample.rows.weights import CellTable, Factors, InitialWeights, SignedWeights, WeightedRows
from boostsample.threads import Threads, n_threads


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


WHOLE = 0
"""The node of all examples."""


class WireStump(NamedTuple):
    """A stump; `key` is the same for the same stump of a round."""

    key: int
    feature: int
    threshold: int
    votes: NDArray[np.int8]


class Target(NamedTuple):
    """The examples of a node, their labels multiplied by the outputs of some stumps."""

    node: int = WHOLE
    stumps: tuple[WireStump, ...] = ()


class Draw(NamedTuple):
    """Samples of ascending sizes, each of which contains the one before.

    `number` counts the draws of a run; `sizes` are the draws in this shard, `units` the factors of
    their samples: the inverse of the expected share of the draws in this shard. `odds`, the loss
    over the mass of all shards, is for logistic draws.
    """

    number: int
    target: Target
    scheme: str
    seed: int
    sizes: tuple[int, ...]
    units: tuple[float, ...]
    odds: float


class Loaded(NamedTuple):
    """What a source holds: rows, examples with weight, K, and checksum of bank, labels, weights.

    `least` and `most` are the least positive and the largest user weight; `least_label` and `total`
    the least and the sum of the first label weights.
    """

    n_rows: int
    n_examples: int
    n_labels: int
    least: float
    most: float
    least_label: float
    total: float
    families: tuple[Any, ...]
    n_bins: NDArray[np.int16]
    checksum: str


def pack_message(message: Any) -> bytes:
    """A message or an answer as bytes."""
    return pickle.dumps(message, protocol=5)


def unpack_message(content: bytes) -> Any:
    """A message or an answer from bytes."""
    return pickle.loads(content)


class _ShardWeights(SignedWeights):
    """Weights of a shard: `odds`, the loss over the mass of all shards, comes from the driver."""

    odds = 1.0

    def _odds(self) -> float:
        return self.odds


class ShardServer:
    """Owns bank, labels and weights of the rows of a source; makes no random choice of its own."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._data: Any = None
        self._weights: Any = None

    def handle(self, content: bytes) -> bytes:
        """Answer a packed message: the mass of all examples, and what its request returns."""
        changes, request = unpack_message(content)
        for name, *arguments in changes:
            getattr(self, name)(*arguments)
        name, *arguments = request
        answer = getattr(self, name)(*arguments)
        mass = None if self._weights is None else self._weights.mass
        return pack_message((mass, answer))

    # ------------------------------------------------------------------------- before the rounds

    def _rows_of_source(self) -> tuple[Any, NDArray[np.int64], NDArray[np.float64]]:
        """The data, its rows with weight, and the weights of these."""
        if self._data is None:
            data = self._source.load()
            if data.bank.on_demand:
                raise SettingError(
                    "the bank of a shard must have the same cuts in all searches, but a lazy bank "
                    "finds them in each sample; use a bank in memory, on disk or of columns"
                )
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

    def load(self, weight_init: str) -> Loaded:
        """Load the rows."""
        data, weighted, weight = self._rows_of_source()
        least = most = least_label = total = 0.0
        if weighted.size:
            labels = InitialWeights(weight_init, weight).of(data.Y)
            least, most, least_label = (
                float(x) for x in (weight.min(), weight.max(), labels[labels > 0.0].min())
            )
            total = math.fsum(labels.ravel())
        return Loaded(
            data.bank.n_examples,
            int(weighted.size),
            int(data.Y.shape[1]),
            least,
            most,
            least_label,
            total,
            tuple(data.bank.families),
            np.array(data.bank.n_bins),
            self._checksum,
        )

    def build(
        self,
        number: int,
        initial: tuple[str, float, float, float],
        one_search: bool,
        two_sided: bool,
        n_jobs: int,
        checksum: str,
    ) -> list[tuple[int, float, NDArray[np.float64]]]:
        """Set the first weights; loads the rows if they are not. Answers the sums of all examples.

        `initial` are their kind, the unit of the user weights, and, in this unit, the least and the
        sum of the label weights of all shards. `checksum` is that of `Loaded`.
        """
        data, weighted, weight = self._rows_of_source()
        if checksum != self._checksum:
            raise DataError(
                f"shard {number} was loaded again with other rows, labels or weights; a "
                "source must load the same each time: keep its data as they are until the end"
            )
        self._number = number
        self._bank = data.bank.reader(weighted)
        kind, unit, least, total = initial
        first = InitialWeights(kind, weight, unit, total)
        threads = Threads(n_threads(n_jobs))
        self._weights = _ShardWeights(data.Y, first.of(data.Y), weighted, threads, first, least)
        self._rows = LocalRows(self._bank, self._weights, rules=SearchRules(two_sided))
        self._samples: dict[int, list[Rows]] = {}
        self._rows.compile(one_search)
        width, bins = self._weights.width, np.ones((1, 1), np.uint8)
        kernel = row_kernels(*row_layout(self._weights.n_labels)).histograms
        rows = self._nothing()
        kernel(bins, np.zeros(1, np.int64), rows, np.zeros(N_BINS * width), bins[0])  # compiles it
        self.begin()
        return self.sums([Target()])

    def digest(self) -> dict[str, str]:
        """Checksums of what the shard holds."""
        data, weighted, weight = self._rows_of_source()
        arrays = {"labels": data.Y, "rows": weighted, "weights": weight}
        return {
            **{name: sha256_of_arrays(array) for name, array in arrays.items()},
            **self._bank.digest(),
        }

    # ----------------------------------------------------------------------------------- changes

    def begin(self) -> None:
        """A round begins: node 0 is all examples, and there are no others."""
        self._rows.begin(0.0)
        self._nodes: dict[int, Stretch] = {WHOLE: (0, self._rows.n_examples)}
        self._stumps: dict[int, WireStump] = {}

    def release(self) -> None:
        """The samples drawn so far are no longer needed."""
        self._samples.clear()
        self._weights.release()
        self._rows.nodes.release()

    def split(self, node: int, stump: WireStump, below: int, above: int) -> None:
        """The examples of a node with phi = -1 become node `below`, the others node `above`."""
        first, end = self._nodes[node]
        # A shard may hold no example of a node.
        halves: Any = ((first, first), (first, first))
        if first < end:
            halves = self._rows.split((first, end), stump)
        self._nodes[below], self._nodes[above] = halves

    def update(self, stump: WireStump, factors: tuple[float, float]) -> None:
        """Multiply weights by one factor where a stump agrees with the label, else by the other."""
        self._rows.update(stump, Factors(*factors))

    def update_leaves(
        self,
        leaves: Sequence[tuple[int, tuple[WireStump, ...], NDArray[np.int8]]],
        factors: tuple[float, float],
    ) -> None:
        """As `update`, for a base classifier of leaves: node, stumps and votes."""
        of_nodes = [
            Leaf(self._nodes[node], self._same(stumps), votes) for node, stumps, votes in leaves
        ]
        self._rows.update_leaves(of_nodes, Factors(*factors))

    def update_sides(self, stump: WireStump, table: CellTable) -> None:
        """Multiply weights by the factors of their side of a stump."""
        self._rows.update_sides(stump, table)

    def update_cells(self, nodes: Sequence[int], table: CellTable) -> None:
        """Multiply weights by the factors of their node."""
        nothing = np.empty(0, np.int8)
        self._rows.update_cells([Leaf(self._nodes[node], (), nothing) for node in nodes], table)

    def restore(self, state: Mapping[str, Any]) -> None:
        """The weights of an earlier state."""
        self._weights.restore(state)

    def _same(self, stumps: Iterable[WireStump]) -> tuple[WireStump, ...]:
        """The same objects for the same stumps: rows are not copied again."""
        return tuple(self._stumps.setdefault(stump.key, stump) for stump in stumps)

    # ---------------------------------------------------------------------------------- requests

    def nothing(self) -> None:
        """Only the changes are asked for."""

    def state(self) -> dict[str, Any]:
        """The weights."""
        state: dict[str, Any] = self._weights.state()
        return state

    def sums(self, targets: Sequence[Target]) -> list[tuple[int, float, NDArray[np.float64]]]:
        """Number, mass and label sums (K,) of targets."""
        return [self._sums_of(target) for target in targets]

    def _sums_of(self, target: Target) -> tuple[int, float, NDArray[np.float64]]:
        n_labels = self._weights.n_labels
        if not self._n(target):
            return 0, 0.0, np.zeros(n_labels)
        rows = self._read(target)
        return rows.n_examples, rows.mass, rows.sums[:n_labels].copy()

    def _read(self, target: Target) -> WeightedRows:
        return self._rows.nodes.read(self._nodes[target.node], self._same(target.stumps))

    def _n(self, target: Target) -> int:
        first, end = self._nodes[target.node]
        return end - first

    def _samples_of(self, target: Target, draw: Draw | None) -> list[Rows]:
        """The rows of all samples of a draw; without a draw, those of all examples."""
        if draw is None:
            return [self._read(target).exact() if self._n(target) else self._nothing()]
        if draw.number not in self._samples:
            self._samples[draw.number] = self._draw(draw)
        return self._samples[draw.number]

    def _nothing(self) -> Rows:
        base = np.zeros(self._weights.width)
        return Rows(0, np.empty(0, np.int32), np.empty(0, np.float32), base, 1.0)

    def _draw(self, draw: Draw) -> list[Rows]:
        """The samples of a draw; empty ones hold no row."""
        n = self._n(draw.target)
        joined = samples_are_joined(draw.scheme)
        sizes = draw.sizes if joined else [min(size, n) for size in draw.sizes]
        n_empty = sum(size == 0 for size in sizes) if n else len(sizes)
        empty = [self._nothing()] * n_empty
        if n_empty == len(sizes):
            return empty
        self._weights.odds = draw.odds
        # One stream for each shard, from numbers of the driver: a shard that was lost draws again
        # what it had drawn.
        rng = np.random.default_rng((draw.seed, self._number))
        scheme = _in_units(nested_scheme(draw.scheme), draw.units[n_empty:])
        how = UNPROMISED.get(draw.scheme, PROMISED)
        return empty + self._read(draw.target).draw_nested(sizes[n_empty:], scheme, rng, how)

    def search(
        self,
        target: Target,
        draw: Draw | None,
        sample: int,
        by_rows: NDArray[np.int64],
        by_sums: NDArray[np.int64],
        bins_after: int = -1,
        weights_after: int = -1,
        wide: bool = False,
    ) -> tuple[NDArray[np.uint8], NDArray[np.float32], NDArray[Any], NDArray[np.uint8]]:
        """What a search needs of the sample of this number of a draw.

        Of features `by_rows` the bins, uint8 (Q, rows), and the signed weights, float32 (rows, K),
        of the rows that follow the samples `bins_after` and `weights_after`, which the driver
        knows; -1 is none. Of features `by_sums` the histograms, float64 if `wide` else float32
        (bins of all, K), `n_bins` rows of each, and the last bin of each that holds a row.
        """
        samples = self._samples_of(target, draw)
        rows, n_labels, width = samples[sample], self._weights.n_labels, self._weights.width
        n, n_known, n_weighed = (
            samples[at].values.size // width if at >= 0 else 0
            for at in (sample, bins_after, weights_after)
        )
        bins = np.empty((by_rows.size, n - n_known), np.uint8)
        weights = np.empty((0, n_labels), np.float32)
        if by_rows.size and n:
            weights = np.ascontiguousarray(matrix_of_rows(rows.values, n, n_labels)[n_weighed:])
            if n > n_known:
                bins = self._bank.take(by_rows, rows.examples[n_known:])
        bins = bins.view(np.uint8)  # a dtype that came with a pickled source is pickled in full
        kind: Any = np.float64 if wide else np.float32
        n_bins = self._n_bins[by_sums]
        sums, last = np.full((int(n_bins.sum()), n_labels), NO_ROWS, kind), np.ones(0, np.uint8)
        if by_sums.size and n:
            histograms, last = self._rows.searcher.histograms(by_sums, rows)
            matrices = [
                matrix_of_rows(histogram, N_BINS, n_labels)[:most]
                for histogram, most in zip(histograms, n_bins.tolist(), strict=True)
            ]
            np.concatenate(matrices, out=sums, casting="same_kind")
        elif by_sums.size:
            last = np.ones(by_sums.size, np.uint8)
        return bins, weights, sums, last

    def edges(
        self,
        target: Target,
        draw: Draw | None,
        sample: int,
        features: NDArray[np.int64],
        thresholds: NDArray[np.int64],
        votes: NDArray[np.int8],
        below: NDArray[np.int8] | None,
    ) -> NDArray[np.float64]:
        """Signed edges of stumps on a sample, in the units of the weights: float64 (Q,)."""
        rows = self._samples_of(target, draw)[sample]
        if not rows.values.size:
            return np.zeros(features.size)
        stumps = Stumps(features, thresholds, votes, np.zeros(features.size), below=below)
        return self._rows.searcher.signed_edges(stumps, rows._replace(scale=1.0))

    def bin_totals(self, target: Target, features: NDArray[np.int64]) -> NDArray[np.float64]:
        """As of `Searcher.bin_totals`, of all examples of a target."""
        if not self._n(target):
            return np.zeros((features.size, N_BINS, 2 + self._weights.n_labels))
        return self._rows.searcher.over(self._read(target)).bin_totals(features)

    def logistic_mass(self, target: Target, odds: float) -> float:
        """The logistic mass of a target."""
        if not self._n(target):
            return 0.0
        self._weights.odds = odds
        return self._read(target).logistic_mass()

    def finish(
        self, target: Target, feature: int, threshold: int
    ) -> tuple[NDArray[np.float64], float, NDArray[np.float64], float, int]:
        """Sums of w_il y_il phi(x_i), mass, label sums, raw threshold, and values computed."""
        return self._finish(target, feature, threshold, WeightedRows.label_totals, ())

    def finish_sides(
        self, target: Target, feature: int, threshold: int
    ) -> tuple[NDArray[np.float64], float, NDArray[np.float64], float, int]:
        """As `finish`, with `WeightedRows.side_totals` (3, K)."""
        return self._finish(target, feature, threshold, WeightedRows.side_totals, (3,))

    def label_masses(self, target: Target) -> NDArray[np.float64]:
        """Weight of each label in a target: float64 (K,)."""
        if not self._n(target):
            return np.zeros(self._weights.n_labels)
        return self._read(target).label_masses()

    def _finish(
        self, target: Target, feature: int, threshold: int, sums_of: Any, shape: tuple[int, ...]
    ) -> tuple[NDArray[np.float64], float, NDArray[np.float64], float, int]:
        column = self._bank.column(feature)
        _, mass, sums = self._sums_of(target)
        totals = np.zeros((*shape, sums.size))
        if self._n(target):
            totals = sums_of(self._read(target), column, threshold)
        value = self._bank.threshold(feature, threshold)
        return totals, mass, sums, value, self._bank.values_computed


def histogram_bins(n_bins: NDArray[np.int16]) -> NDArray[np.int64]:
    """Bins of histograms: 256 of a feature that a lazy bank had not computed at first."""
    return np.where(n_bins > 0, n_bins, N_BINS).astype(np.int64)


def _in_units(scheme: NestedScheme, units: Sequence[float]) -> NestedScheme:
    """A nested scheme with the units of the driver in place of the scales of one process."""

    def draw(
        weight: Any, ends: Any, sizes: Sequence[int], rng: np.random.Generator
    ) -> Iterator[NestedSample]:
        for sample, unit in zip(scheme(weight, ends, sizes, rng), units, strict=True):
            factors = sample.drawn.factors * (float(ends[-1]) * unit)
            yield NestedSample(DrawnSample(sample.drawn.examples, factors), 1.0, sample.known)

    return draw
