"""Rows of the targets of products and trees: some examples, their labels multiplied by stumps.

One copy of the weights is reused for all searches of a run, and no array of size N is allocated in
a round. A node of a tree is a stretch of `order`, a permutation of the examples; a split partitions
its stretch, and a search reads only its rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostsample.kernels.array_layout import Floats, row_layout
from boostsample.kernels.targets import TargetFactors, partition, target_kernels
from boostsample.rows.protocol import Factors, Leaf, Stretch, StumpCut
from boostsample.rows.weighted_rows import WeightedRows
from boostsample.rows.weights import SignedWeights


class NodeRows(WeightedRows):
    """A copy of the rows of one target at a time.

    Parameters
    ----------
    weights : SignedWeights
        The weights of the run.
    column : callable
        The bins of a feature for every example of the bank.
    """

    def __init__(self, weights: SignedWeights, column: Callable[[int], NDArray[np.uint8]]) -> None:
        self.n_labels = weights.n_labels
        self._weights = weights
        self._column = column
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
        self._own = target_kernels(*row_layout(weights.n_labels))
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
        weights, column = self._weights, self._column(stump.feature)
        threshold: Any = np.int16(stump.threshold)
        place = weights.start, weights.columns, self._order, first, end, self._spare
        middle = int(partition(column, threshold, *place))
        self._parted.add(stretch)
        self._stretch = None
        return (first, middle), (middle, end)

    def read(self, stretch: Stretch, stumps: Sequence[StumpCut]) -> WeightedRows:
        """The rows of a stretch, labels multiplied by the outputs of the stumps.

        Valid until the next call. Rows that are read already are changed, not copied again.
        """
        if stretch == self.whole and not stumps:
            return self._weights
        self._read(stretch, stumps)
        return self

    def _read(self, stretch: Stretch, stumps: Sequence[StumpCut]) -> None:
        self._make_room()
        if stretch != self._stretch:
            self._copy(stretch)
        if self._stumps or stumps:
            for stump in _different(self._stumps, stumps):
                self._flip(stump)
            self._stumps = list(stumps)

    def _copy(self, stretch: Stretch) -> None:
        """Copy the rows of a stretch."""
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
        """Multiply the labels by the outputs of a stump."""
        self._sides[: self.n_labels] = -stump.votes
        self._sides[self.width : self.width + self.n_labels] = stump.votes
        cut = self._column(stump.feature), np.int16(stump.threshold)
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

    def update(self, leaves: Iterable[Leaf], factors: Factors) -> None:
        """Update the weights of the run by the base classifier with these leaves; O(N).

        Leaves and their rows are added up in one order, whatever else was split before: `replay`
        splits only what the model holds.
        """
        self._make_room()
        weights = self._weights
        sums, masses, nothing = [], [], (np.empty(0, np.int32), np.empty(0, np.float32))
        for leaf in sorted(leaves, key=lambda leaf: leaf.stretch):
            if leaf.stretch[0] == leaf.stretch[1]:
                continue
            positions, targets = self._order[slice(*leaf.stretch)], nothing[1]
            if leaf.stretch != self.whole and leaf.stretch in self._parted:
                positions.sort()
                self._stretch = None
            if leaf.stretch == self.whole or leaf.stumps:
                self._read(leaf.stretch, leaf.stumps)
                targets = self.values
                positions = nothing[0] if leaf.stretch == self.whole else positions
            else:
                self.resize(leaf.stretch[1] - leaf.stretch[0])
            votes = np.ones(self.width, np.float32)
            votes[: self.n_labels] = leaf.votes
            of_leaf = TargetFactors(votes, *factors, weights.floor)
            reads = weights.values, positions, targets, of_leaf
            self.share(self._own.update, reads, (self.part_sums, self.part_masses))
            sums.append(self.part_sums.copy())
            masses.append(self.part_masses.copy())
        weights.set_sums(np.concatenate(sums), np.concatenate(masses))


def _different(some: Sequence[StumpCut], others: Sequence[StumpCut]) -> list[StumpCut]:
    """The stumps that are in one of two sequences only."""
    ids, other_ids = {id(stump) for stump in some}, {id(stump) for stump in others}
    only_some = [stump for stump in some if id(stump) not in other_ids]
    return only_some + [stump for stump in others if id(stump) not in ids]
