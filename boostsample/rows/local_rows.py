"""The rows of a run in this process.

One copy of the weights is reused for all searches of products and trees, and no array of size N is
allocated in a round. A node of a tree is a stretch of `order`, a permutation of the examples; a
split partitions its stretch, and a search reads only its rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostsample.banks.bank import Bank, FeatureBank
from boostsample.hashing import sha256_of_arrays
from boostsample.jit.compile_kernels import COMPILED
from boostsample.kernels.array_layout import (
    Floats,
    aligned,
    found_room,
    matrix_of_rows,
    row_layout,
)
from boostsample.kernels.cell_kernels import cell_kernels
from boostsample.kernels.rare_rows import empty_lists
from boostsample.kernels.row_kernels import UpdateFactors, partition, row_kernels
from boostsample.kernels.tiles import RaceTiles
from boostsample.kernels.tree_growth import GrowthRoom, growth_kernels
from boostsample.records import NodeFeatures, Stumps
from boostsample.records.feature_tiles import TILE
from boostsample.rows.derived_weights import Colorings, Pairs
from boostsample.rows.protocol import Leaf, Stretch, StumpCut
from boostsample.rows.sampling_schemes import (
    PROMISED,
    SCHEMES,
    UNPROMISED,
    known_scheme,
    nested_scheme,
    node_features,
)
from boostsample.rows.searcher import FINE, BinSearch, Race, RareSearch, Searcher, SearchRules
from boostsample.rows.tree_growth import ObliviousGrowth, Searches, TreeGrowth, growth_possible
from boostsample.rows.weights import (
    FULL_STEP,
    PART,
    WEIGHT_FLOOR,
    CellTable,
    Factors,
    InitialWeights,
    SignedWeights,
    WeightedRows,
)
from boostsample.threads import CompilingThreads

#: Looks of a search, times labels, up to which one thread grows trees faster than several search.
_MOST_ALONE = 40_000_000


class NodeRows(WeightedRows):
    """A copy of the rows of one target at a time; `cut` is as of `Bank`."""

    def __init__(
        self, weights: SignedWeights, cut: Callable[[int, int], tuple[NDArray[np.uint8], Any]]
    ) -> None:
        self.n_labels = weights.n_labels
        self._weights = weights
        self._cut = cut
        self._has_room = False

    @property
    def whole(self) -> Stretch:
        """The stretch of all examples."""
        return 0, self._weights.n_examples

    def begin(self) -> None:
        """Begin a round: the weights have changed."""
        if self._has_room:
            self._order[:] = self._identity
            self._parted = set[Stretch]()  # partitioned: no longer in the order of the examples
            self._stretch: Stretch | None = None
            self._stumps: list[StumpCut] = []

    def _make_room(self) -> None:
        """Allocate the copy of the weights when it is needed first; stumps never need it."""
        if self._has_room:
            return
        weights = self._weights
        super().__init__(weights.n_examples, weights.n_labels, weights.threads)
        self._own = row_kernels(*row_layout(weights.n_labels))
        self._update_parts = growth_kernels(*row_layout(weights.n_labels)).update_parts
        self._identity = np.arange(weights.n_examples, dtype=np.int32)
        self._order, self._spare = self._identity.copy(), self._identity.copy()
        self._columns_room = self._identity.copy()
        self._sides = np.ones(2 * self.width, np.float32)
        self._has_room = True
        self.begin()

    def split(self, stretch: Stretch, stump: StumpCut) -> tuple[Stretch, Stretch]:
        """Partition a stretch by a stump: the examples with phi = -1 and with phi = +1; O(n)."""
        self._make_room()
        first, end = stretch
        weights = self._weights
        column, threshold = self._cut(stump.feature, stump.threshold)
        place = weights.start, weights.columns, self._order, first, end, self._spare
        middle = int(partition(column, threshold, *place))
        self._parted.add(stretch)
        self._stretch = None
        return (first, middle), (middle, end)

    def read(self, stretch: Stretch, stumps: Sequence[StumpCut]) -> WeightedRows:
        """The rows of a stretch, labels multiplied by the stumps' outputs; until the next call."""
        if stretch == self.whole and not stumps:
            return self._weights
        self._read(stretch, stumps)
        return self

    def _read(self, stretch: Stretch, stumps: Sequence[StumpCut]) -> None:
        self._make_room()
        if stretch != self._stretch:
            self._copy(stretch)
        if self._stumps or stumps:
            # Outputs are -1 and +1: to multiply by a stump again takes it back.
            for stump in _different(self._stumps, stumps):
                self._flip(stump)
            self._stumps = list(stumps)

    def _copy(self, stretch: Stretch) -> None:
        weights, (first, end) = self._weights, stretch
        self.resize(end - first)
        self._stretch, self._stumps = stretch, []
        if stretch == self.whole:
            self.start, self.columns = weights.start, weights.columns
            self.values[:] = weights.values
            self.sums[:] = weights.sums
            self.mass = weights.mass
            return
        positions = self._order[first:end]
        self.start, self.columns = 0, self._columns_room[: end - first]
        if weights.columns.size:
            np.take(weights.columns, positions, out=self.columns, mode="clip")  # unbuffered
        elif weights.start:
            np.add(positions, np.int32(weights.start), out=self.columns)
        else:
            self.columns = positions
        reads = weights.values, positions, self.values
        self.share(self._own.gather, reads, (self.part_sums, self.part_masses))
        self.set_sums(self.part_sums, self.part_masses)

    def _flip(self, stump: StumpCut) -> None:
        self._sides[: self.n_labels] = -stump.votes
        self._sides[self.width : self.width + self.n_labels] = stump.votes
        cut = self._cut(stump.feature, stump.threshold)
        self.share(self._own.flip, (*cut, self.exact(), self._sides), (self.part_sums,))
        np.add.reduce(self.part_sums, axis=0, out=self.sums)

    def odds_factors(self) -> tuple[Floats, float]:
        """Those of the run, gathered in a node; multiplied labels do not change them."""
        factors, scale = self._weights.odds_factors()
        if self._stretch is None or self._stretch == self.whole:
            return factors, scale
        first, end = self._stretch
        gathered, positions = self._buffer(self.values.size), self._order[first:end]
        sums = np.empty_like(self.part_sums), np.empty_like(self.part_masses)
        self.share(self._own.gather, (factors, positions, gathered), sums)
        return gathered, scale

    def release(self) -> None:
        """As of `WeightedRows`."""
        if self._has_room:
            super().release()

    def order_room(self) -> NDArray[np.int32]:
        """The order of the examples, which a growth of trees writes."""
        self._make_room()
        return self._order

    def growth_room(self, searches: Searches, n_marks: int) -> GrowthRoom:
        """The room of this object for `TreeGrowth`, and more for searches of a part of F."""
        self._make_room()
        self._stretch = None
        n, n_features = self._weights.n_examples, searches.n_features
        n_sampled = min(searches.budget // n_features, n)
        shares, examples = np.empty(n_sampled + 1), np.empty(n_sampled + 1, np.int32)
        sampled = aligned(shares.size * self.width, np.float32)
        of_nodes = self._order, self._spare, self._columns_room, *self._room
        part_sums, part_masses, ends = self._part_room
        features, n_bins = np.arange(n_features), np.empty(n_features, np.int16)
        part_sides = np.empty((part_masses.size if searches.masses else 0, 3 * self.width))
        marks = np.zeros(n_marks, np.uint8)
        of_draw = part_sides, np.empty(n + 1, np.uint8), features, n_bins, marks
        of_sample = sampled, np.empty(self.width), np.empty(self.width)
        rest: tuple[Any, ...] = (*of_draw, examples, shares, *of_sample)
        return GrowthRoom(*of_nodes, ends, part_sums, part_masses, *rest)

    def update(self, leaves: Iterable[Leaf], factors: Factors) -> None:
        """Update the weights of the run by the base classifier with these leaves; O(N).

        Leaves and their rows are added up in one order, whatever else was split before: `replay`
        splits only what the model holds.
        """
        self._make_room()
        weights = self._weights
        by_place = sorted(leaves, key=lambda leaf: leaf.stretch)
        filled = [leaf for leaf in by_place if leaf.stretch[0] < leaf.stretch[1]]
        self._sort_parted(filled)
        votes = np.ones((len(filled), self.width), np.float32)
        votes[:, : self.n_labels] = [leaf.votes for leaf in filled]
        if any(leaf.stumps for leaf in filled):
            self._update_products(filled, votes, factors)
            return
        reads = votes.reshape(-1), UpdateFactors(votes[0], *factors, weights.floor)
        self._share_parts(self._update_parts, filled, reads)

    def update_cells(self, leaves: Sequence[Leaf], table: CellTable) -> None:
        """Multiply the weights of the run by the factors of their leaf; O(N)."""
        self._make_room()
        places = sorted(range(len(leaves)), key=lambda at: leaves[at].stretch)
        filled = [at for at in places if leaves[at].stretch[0] < leaves[at].stretch[1]]
        of_leaves = [leaves[at] for at in filled]
        self._sort_parted(of_leaves)
        factors = self._weights.cell_factors(table[filled])
        update = cell_kernels(*row_layout(self.n_labels)).update_cells
        self._share_parts(update, of_leaves, (factors,))

    def _sort_parted(self, leaves: Iterable[Leaf]) -> None:
        """Put the examples of leaves that were split again in their order."""
        for leaf in leaves:
            if leaf.stretch in self._parted:
                self._order[slice(*leaf.stretch)].sort()
                self._stretch = None

    def _share_parts(self, kernel: Any, leaves: Sequence[Leaf], reads: tuple[Any, ...]) -> None:
        """Update the rows of leaves, PART at a time, shared among the threads."""
        weights = self._weights
        parts = [
            (number, at, min(at + PART, end))
            for number, ((first, end), *_) in enumerate(leaves)
            for at in range(first, end, PART)
        ]
        rows = weights.values, self._order, np.array(parts)
        writes = np.empty((len(parts), self.width)), np.empty(len(parts))
        stretches = self.threads.stretches(range(len(parts) + 1))
        calls = [(*rows, *reads, *ends, *writes) for ends in stretches]
        self.threads.run(kernel, calls)
        weights.set_sums(*writes)

    def _update_products(
        self, leaves: Sequence[Leaf], votes: NDArray[np.float32], factors: Factors
    ) -> None:
        """`update` by leaves that have stumps, each of which multiplies the rows first."""
        weights = self._weights
        sums, masses, nothing = [], [], (np.empty(0, np.int32), np.empty(0, np.float32))
        for leaf, of_votes in zip(leaves, votes, strict=True):
            positions, targets = self._order[slice(*leaf.stretch)], nothing[1]
            if leaf.stretch == self.whole or leaf.stumps:
                self._read(leaf.stretch, leaf.stumps)
                targets = self.values
                positions = nothing[0] if leaf.stretch == self.whole else positions
            else:
                self.resize(leaf.stretch[1] - leaf.stretch[0])
            of_leaf = UpdateFactors(of_votes, *factors, weights.floor)
            reads = weights.values, positions, targets, of_leaf
            self.share(self._own.update_nodes, reads, (self.part_sums, self.part_masses))
            sums.append(self.part_sums.copy())
            masses.append(self.part_masses.copy())
        weights.set_sums(np.concatenate(sums), np.concatenate(masses))


def _different(some: Sequence[StumpCut], others: Sequence[StumpCut]) -> list[StumpCut]:
    ids, other_ids = {id(stump) for stump in some}, {id(stump) for stump in others}
    only_some = [stump for stump in some if id(stump) not in other_ids]
    return only_some + [stump for stump in others if id(stump) not in ids]


class LocalRows:
    """All rows of a run in this process: implements `RunRows`; `bank` is a reader of these rows."""

    def __init__(
        self,
        bank: Bank,
        weights: SignedWeights,
        example_weight: NDArray[np.float64] | None = None,
        rules: SearchRules | None = None,
        pairs: Pairs | None = None,
        colorings: Colorings | None = None,
    ) -> None:
        self.bank, self.weights = bank, weights
        self.families, self.on_demand = bank.families, bank.on_demand
        self.searcher = Searcher(bank, weights, rules=rules)
        self._rules = SearchRules() if rules is None else rules
        self._pairs, self._colorings = pairs, colorings
        self._initial: NDArray[np.float32] | None = None
        self.nodes = NodeRows(weights, bank.cut)
        self.n_examples, self.n_labels = weights.n_examples, weights.n_labels
        self.n_features = int(bank.n_features)
        self.round = 0
        self._example_weight = example_weight

    def compile(self, one_search: bool, n_labels: int | None = None) -> None:
        """Compile all kernels of a run, or of searches of some of its labels; changes nothing."""
        lists = self.bank.rare_rows(np.empty(0, np.int64)) is not None
        races = self.bank.race_tiles() is not None
        several, rules = self.weights.threads.n > 1, self._rules
        of_rules = rules.two_sided, rules.classes
        if n_labels is None:
            n_labels = self.n_labels
        else:
            self.weights.label_masses()  # by which they are drawn: compiles the kernel
        compile_rows(n_labels, several, one_search, lists, races, *of_rules)
        self.bank.compile()

    @property
    def mass(self) -> float:
        """Sum of the weights."""
        return self.weights.mass

    def example_weights(self) -> NDArray[np.float64]:
        """The weight of each example, the sum over labels: float64 (N,) of total 1; O(N K)."""
        return (self._colorings or self.weights).example_weights()

    @property
    def values_computed(self) -> int:
        """Feature values that a lazy bank has computed."""
        return self.bank.values_computed

    def begin(self, log_loss: float) -> None:
        """Begin a round, with the log of the loss so far: the weights have changed."""
        self.round += 1
        self.weights.log_loss = log_loss
        self.nodes.begin()
        if self._pairs is not None:
            self._pairs.begin(self.weights.values, self.weights.mass)

    def target(
        self,
        stretch: Stretch,
        stumps: Sequence[StumpCut],
        two_sided: bool = False,
        members: NDArray[np.int64] | None = None,
    ) -> Searcher:
        """As of `RunRows`."""
        return self.searcher.over(self.nodes.read(stretch, stumps), two_sided, members)

    def best_edge(self, two_sided: bool = False) -> float:
        """The largest edge of a stump, or of two leaves, of any feature on all examples; O(F N)."""
        features = np.arange(self.bank.n_features)
        searcher = self.searcher.over(self.weights, two_sided or self.searcher.two_sided)
        return float(searcher.search(features, self.weights.exact(), True).edge.max())

    def split(self, stretch: Stretch, cut: StumpCut) -> tuple[Stretch, Stretch]:
        """As of `RunRows`."""
        return self.nodes.split(stretch, cut)

    def growth(self, searches: Searches, scheme: str) -> TreeGrowth | None:
        """As of `RunRows`; unless several threads share searches of many looks."""
        looks = min(searches.budget, int(searches.n_features * searches.part * self.n_examples))
        alone = self.weights.threads.n == 1 or looks * self.weights.width <= _MOST_ALONE
        if not (alone and growth_possible(searches, scheme, self.bank, self.weights)):
            return None
        room = self.nodes.growth_room(searches, self.n_features if searches.of_nodes else 0)
        return TreeGrowth(self.bank, self.weights, searches, room)

    def level_growth(self, searches: Searches) -> ObliviousGrowth | None:
        """As of `RunRows`."""
        if not isinstance(self.bank, FeatureBank):
            return None
        return ObliviousGrowth(self.bank, self.weights, searches, self.nodes.order_room())

    def update(self, cut: StumpCut, factors: Factors) -> None:
        """Update the weights by a stump; O(N)."""
        column, first = self.bank.cut(cut.feature, cut.threshold)
        self.weights.update(column, first, cut.votes, factors)

    def update_leaves(self, leaves: Sequence[Leaf], factors: Factors) -> None:
        """Update the weights by the base classifier with these leaves; O(N)."""
        self.nodes.update(leaves, factors)

    def update_sides(self, cut: StumpCut, table: CellTable) -> None:
        """Multiply the weights by the factors of the side of a stump; O(N)."""
        self.weights.update_sides(*self.bank.cut(cut.feature, cut.threshold), table)

    def update_cells(self, leaves: Sequence[Leaf], table: CellTable) -> None:
        """Multiply the weights by the factors of their leaf; O(N)."""
        self.nodes.update_cells(leaves, table)

    def pair(self) -> None:
        """Make potentials of pairs of the weights after an update; they sum to the loss factor."""
        assert self._pairs is not None
        self.weights.set_values(self._pairs.updated(self.weights.values)[:, None])

    def color(self, seed: Sequence[int]) -> tuple[NDArray[np.int8], float]:
        """Color the classes and set the weights by it; signs (K,), and share of the weights."""
        assert self._colorings is not None
        self.weights.set_values(self._colorings.begin(seed)[:, None])
        # What an update multiplies: `uncolor` divides by it to find the factors.
        self._colored = np.abs(self.weights.label_values()[:, 0]) / self.weights.mass
        return self._colorings.signs, self._colorings.share

    def uncolor(self) -> float:
        """Multiply the weights of wrong classes by the factors of an update; their new total."""
        assert self._colorings is not None
        values = np.abs(self.weights.label_values()[:, 0])
        return self._colorings.update(values / self._colored)

    def keep_initial(self) -> None:
        """Copy the initial weights, for `resample`; call it before any update or `restore`."""
        values = self.weights.values
        self._initial = matrix_of_rows(values, self.n_examples, self.n_labels).copy()

    def resample(self, seed: Sequence[int]) -> None:
        """Set the initial weights times the numbers of a bootstrap sample; O(N K)."""
        weights, n = self.weights, self.n_examples
        assert self._initial is not None
        numbers = np.bincount(np.random.default_rng(seed).integers(n, size=n), minlength=n)
        signed = self._initial * numbers[:, None].astype(np.float32)
        # The sign of a weight is the label: examples that are not drawn keep it by a floor.
        weights.set_values(np.copysign(np.maximum(np.abs(signed), WEIGHT_FLOOR), self._initial))

    def raw_threshold(self, feature: int, threshold: int) -> float:
        """Raw threshold of a stump."""
        return self.bank.threshold(feature, threshold)

    def facts(self) -> dict[str, object]:
        """Checksums of labels, rows, user weights and bank; reads them once."""
        user, colorings = self._example_weight, self._colorings
        labels: NDArray[Any] = self.weights.labels()
        n_labels = self.n_labels
        if colorings is not None:
            labels, n_labels = colorings.codes, colorings.signs.size
        facts = row_facts(
            (self.n_examples, n_labels, self.bank.n_examples),
            sha256_of_arrays(labels),
            sha256_of_arrays(self.weights.bank_columns()),
            None if user is None else sha256_of_arrays(user),
            self.bank.digest(),
        )
        if self._pairs is not None:
            queries = sha256_of_arrays(self._pairs.query_classes)
            facts["queries of the training examples"] = f"sha256:{queries}"
        return facts

    def state(self) -> dict[str, object]:
        """The weights, a copy."""
        colorings = self._colorings
        return self.weights.state() | ({} if colorings is None else colorings.state())

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore a `state()` of a run on the same rows, bit for bit."""
        self.weights.restore(state)
        if self._colorings is not None:
            self._colorings.restore(state)

    def small_state(self) -> dict[str, object]:
        """The SHA-256 of the weights."""
        state: dict[str, Any] = self.state()
        checksum = sha256_of_arrays(*(np.atleast_1d(state[name]) for name in sorted(state)))
        return {"weights": checksum}

    def replayed(self, state: Mapping[str, object]) -> bool:
        """Whether the weights are those of a `small_state()`."""
        return self.small_state()["weights"] == state["weights"]


def row_facts(
    counts: tuple[int, int, int],
    labels: str,
    rows: str,
    example_weight: str | None,
    bank: Mapping[str, str],
) -> dict[str, object]:
    """The facts of rows from their checksums and numbers: N, K, and the examples of the bank."""
    n_examples, n_labels, n_bank = counts
    return {
        "training examples": n_examples,
        "labels": n_labels,
        "labels of the training examples": f"sha256:{labels}",
        "rows of the training examples": f"sha256:{rows}",
        "weights of the training examples": f"sha256:{example_weight}"
        if example_weight
        else "none",
        "examples of the bank": n_bank,
        **{f"{name} in the bank": f"sha256:{digest}" for name, digest in bank.items()},
    }


def compile_rows(
    n_labels: int,
    several_threads: bool,
    one_search: bool,
    lists: bool = False,
    races: bool = False,
    two_sided: bool = False,
    classes: bool = False,
) -> None:
    """Compile all kernels of draws, searches and updates, once for each number of labels.

    `lists` is whether the bank makes lists of rare rows, `races` whether it has tiles; the last two
    are as of `SearchRules`.
    """
    if COMPILED:
        of_rules = two_sided, classes
        _compile(n_labels, several_threads, tuple(SCHEMES), one_search, lists, races, *of_rules)


@cache
def _compile(
    n_labels: int,
    several_threads: bool,
    schemes: tuple[str, ...],
    one_search: bool,
    lists: bool,
    races: bool,
    two_sided: bool,
    classes: bool,
) -> None:
    """Do on three examples of one feature what a run can do, with arrays of the same types."""
    Y, columns, feature = np.ones((3, n_labels), np.int8), np.arange(3), np.zeros(1, np.int64)
    threads = CompilingThreads() if several_threads else None
    weights = SignedWeights(Y, np.ones(Y.shape), columns, threads, InitialWeights("uniform"))
    bins = np.ones((1, 3), np.uint8)
    rng, drawn = np.random.default_rng(0), [weights.exact()]
    for scheme in schemes:
        how = UNPROMISED.get(scheme, PROMISED)
        drawn.append(weights.draw(2, known_scheme(scheme), rng, how))
        weights.draw_nested((1, 2), nested_scheme(scheme), rng, how)
    search = BinSearch(n_labels, weights.threads, classes)
    output = found_room(1, n_labels, two_sided)
    for rows in drawn:
        search.write(bins, feature, np.full(1, 2, np.int16), rows, FINE, output)
    if lists:
        rare_search = RareSearch(n_labels, weights.threads, 3, weights.columns)
        rare_search.write(empty_lists(1, 1), feature, weights.exact(), 0.0, output)
    if races:
        place, n_bins = np.zeros(1, np.int64), np.full(1, 2, np.int16)
        of_tiles = np.ones(3 * TILE, np.uint8), 3, place, np.empty(8, np.int32)
        tiles = RaceTiles(*of_tiles, n_bins, bins)
        race = Race([(1, 2)], 3, n_labels, two_sided, classes)
        race.run(weights.for_race(), feature, tiles, search, rng)
    votes, sums, edges = np.ones((1, n_labels), np.int8), np.empty(weights.width), np.empty(1)
    cut = np.ones(1, np.int16), votes
    row_kernels(*row_layout(n_labels)).signed_edges(bins, feature, *cut, drawn[0], sums, edges)
    weights.label_sums(bins[0], 1)
    factors = FULL_STEP.factors(0.5, weights.mass)
    weights.update(bins[0], 1, votes[0], factors)
    table = np.full((2, 2, n_labels), 0.5)
    if two_sided:
        weights.side_sums(bins[0], 1)
        weights.update_sides(bins[0], 1, table)
    if not one_search:
        node_features(rng, NodeFeatures(1), 2)
        nodes = NodeRows(weights, lambda feature, threshold: (bins[0], np.int16(threshold)))
        stump = Stumps(feature, np.ones(1, np.int64), votes, edges).best()
        nodes.read(nodes.whole, [stump])
        below, above = nodes.split(nodes.whole, stump)
        nodes.read((0, 1), [])
        leaves = [Leaf(stretch, (), votes[0]) for stretch in (below, above)]
        nodes.update(leaves, factors)
        nodes.update([Leaf(nodes.whole, (stump,), votes[0])], factors)
        if two_sided:
            nodes.update_cells(leaves, table)
