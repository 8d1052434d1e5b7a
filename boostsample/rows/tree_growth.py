"""Trees that are grown in one call: to the bits of single searches, or level by level."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from boostsample.banks.bank import Bank, FeatureBank
from boostsample.errors import SettingError
from boostsample.jit.compile_kernels import compiled_address
from boostsample.kernels.array_layout import found_room, row_layout
from boostsample.kernels.level_growth import GrownLevels, grow_levels, grown_levels, level_room
from boostsample.kernels.search import search_room
from boostsample.kernels.tree_growth import (
    MOST_SUMMED,
    DrawnFrom,
    GrownNodes,
    GrowthPlan,
    GrowthRoom,
    growth_kernels,
    nodes_room,
)
from boostsample.records import NodeFeatures
from boostsample.rows.searcher import FEW, ROUGH, ROUGH_TIE
from boostsample.rows.weights import PART, SignedWeights

#: The scheme of draws that growth knows.
SCHEME = "distinct"


class Searches(NamedTuple):
    """Searches of up to Q features for trees of some leaves: budgets of all N examples, the least.

    `masses` is whether nodes have the weights of their labels, `part` the most of the examples that
    are drawn, `of_nodes` whether roots are known. An oblivious tree has 2^D leaves.
    """

    n_leaves: int
    budget: int
    least_budget: int
    n_features: int
    masses: bool
    part: float = 1.0
    of_nodes: bool = False


class Root(NamedTuple):
    """A stump found for all examples: label sums (K,) of its output and of the examples.

    `masses` float64 (2, K) are the weights of the labels on both sides, if the objective reads
    them.
    """

    feature: int
    threshold: int
    sums: NDArray[np.float64]
    whole: NDArray[np.float64]
    masses: NDArray[np.float64] | None


def growth_possible(searches: Searches, scheme: str, bank: Bank, weights: SignedWeights) -> bool:
    """Whether columns are in memory, and a node of 2 examples or more searches Q on a part."""
    n_examples, n_features = weights.n_examples, searches.n_features
    n = np.arange(2, n_examples + 1)
    each, rest = divmod(searches.budget, n_examples)  # budget * n may exceed int64
    looks = each * n + rest * n // n_examples
    looks = np.maximum(looks, min(searches.budget, searches.least_budget))
    drawn = np.minimum(looks // n_features, (searches.part * n).astype(np.int64))
    part = (n_features <= looks) & (drawn < n)
    few = max(weights.n_labels, -(-n_examples // PART)) <= MOST_SUMMED
    possible = scheme == SCHEME and isinstance(bank, FeatureBank) and few
    return possible and n.size > 0 and bool(part.all())


class TreeGrowth:
    """Grows trees on the features of a bank in memory."""

    def __init__(
        self, bank: Bank, weights: SignedWeights, searches: Searches, room: GrowthRoom
    ) -> None:
        features, n_labels = np.arange(int(bank.n_features)), weights.n_labels
        bins, at, *_ = bank.view(features)
        self.bank, self._weights = bank, weights
        self._reads = bins, bank.n_bins[at]
        self._draws = 1 if searches.n_features == features.size else 2
        self._drawn = DrawnFrom(*NodeFeatures(0)[1:])
        self._plan = GrowthPlan(
            n_leaves=searches.n_leaves,
            budget=searches.budget,
            least_budget=searches.least_budget,
            n_features=searches.n_features,
            part=searches.part,
            few=FEW,
            rows_a_bin=ROUGH.rows_a_bin,
            rough_tie=ROUGH_TIE,
            part_size=PART,
        )
        self._grow = growth_kernels(*row_layout(n_labels), searches.masses).grow
        self._nodes = nodes_room(searches.n_leaves, n_labels, searches.masses)
        found = found_room(searches.n_features, 0, two_sided=True)
        self._room, self._writes = room, (search_room(n_labels), found, self._nodes)
        # Compiles the kernel without a call, so that seconds of rounds are those of their work.
        compiled_address(self._grow, self._arguments(self._seeds(np.random.default_rng(0), 1)))

    def _arguments(self, seeds: NDArray[np.int64]) -> tuple[Any, ...]:
        rows = self._weights.exact(), self._weights.mass
        of_searches = self._plan, seeds, self._drawn, self._room
        return (*self._reads, *rows, *of_searches, *self._writes)

    def grow(
        self,
        rng: np.random.Generator,
        root: Root | None = None,
        features: NodeFeatures | None = None,
    ) -> GrownNodes:
        """Grow a tree on all rows, or below a root that is known; valid until the next call."""
        nodes = self._nodes
        if features is not None:
            self._draw_from(features)
        nodes.counts[1] = n_known = 0 if root is None else 1
        if root is not None:
            nodes.feature[0], nodes.threshold[0], nodes.halves[0], nodes.wholes[0] = root[:4]
            nodes.share[0], nodes.gain[0] = 1.0, 0.0
            if root.masses is not None:
                nodes.sides[0] = root.masses
        # Seeds for as many searches as a tree can need; then only those of its searches are drawn,
        # so that the stream goes on as after single searches.
        stream = rng.bit_generator.state
        self._grow(*self._arguments(self._seeds(rng, 2 * self._plan.n_leaves - 3)))
        rng.bit_generator.state = stream
        self._seeds(rng, int(nodes.counts[1]) - n_known)
        return nodes

    def _draw_from(self, features: NodeFeatures) -> None:
        """Draw the features of nodes so, or search all; SettingError if there is no room."""
        if features.n > self._plan.n_features:
            raise SettingError(
                f"n of NodeFeatures must be at most the {self._plan.n_features:,} features of "
                f"Strategy.one_sample, got {features.n:,}; see Strategy.features_of_nodes"
            )
        self._drawn = DrawnFrom(*features[1:])
        n_all = features.pool.size or self._room.marks.size
        self._draws = 1 if features.n >= n_all else 2
        searched = np.empty(min(features.n, n_all), np.int64)
        if self._draws == 1:
            searched[:] = features.pool if features.pool.size else np.arange(n_all)
        n_bins = np.empty(searched.size, np.int16)
        self._room = self._room._replace(features=searched, n_bins=n_bins)

    def _seeds(self, rng: np.random.Generator, n: int) -> NDArray[np.int64]:
        """Those of n draws of features, unless all are searched, and of examples."""
        return rng.integers(1 << 63, size=(n, self._draws))


class ObliviousGrowth:
    """Grows oblivious trees on the features of a bank in memory.

    `order` is int32 (N,) to write.
    """

    def __init__(
        self,
        bank: FeatureBank,
        weights: SignedWeights,
        searches: Searches,
        order: NDArray[np.int32],
    ) -> None:
        n, n_labels, n_features = weights.n_examples, weights.n_labels, int(bank.n_features)
        bins, at, *_ = bank.view(np.arange(n_features))
        self.bank, self._weights = bank, weights
        self._reads = bins, bank.n_bins[at]
        self._draws = 1 if searches.n_features == n_features else 2
        self._n_levels = searches.n_leaves.bit_length() - 1
        most = min(searches.budget // searches.n_features, int(searches.part * n))
        self._sample_size = max(1, most)
        size = n, n_labels, self._n_levels, self._sample_size, searches.n_features
        self._room = level_room(*size)
        self._levels = grown_levels(n_labels, self._n_levels, n, order)
        # Compiles the kernel without a call, so that seconds of rounds are those of their work.
        compiled_address(grow_levels, self._arguments(np.random.default_rng(0)))

    def _arguments(self, rng: np.random.Generator) -> tuple[Any, ...]:
        rows = self._weights.exact(), self._weights.mass, self._weights.width
        seeds = rng.integers(1 << 63, size=(self._n_levels, self._draws))
        return (*self._reads, *rows, self._sample_size, seeds, self._room, self._levels)

    @property
    def n_searched(self) -> int:
        """Features of a search."""
        return int(self._room.features.size)

    def grow(self, rng: np.random.Generator) -> GrownLevels:
        """Grow a tree on all rows; valid until the next call."""
        grow_levels(*self._arguments(rng))
        return self._levels


def raw_thresholds(
    bank: Bank, features: NDArray[np.int64], thresholds: NDArray[np.int64]
) -> list[float]:
    """Raw thresholds of stumps on the features of a bank in memory."""
    # Threshold 1 reads a wrong cut, which is replaced.
    values = bank.cuts_of(features)[np.arange(features.size), thresholds - 2]
    values[thresholds == 1] = -np.inf
    numbers: list[float] = values.tolist()
    return numbers
