"""The interface of the rows of a run, in this process (`LocalRows`) or over shards (`ShardRows`).

Features are bank features, except in a target of some members: there they are 0, 1, ...
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from boostsample.family import Family
from boostsample.records import NO_FEATURES, Stumps
from boostsample.rows.tree_growth import ObliviousGrowth, Searches, TreeGrowth
from boostsample.rows.weights import CellTable, Factors

#: First and end position of the examples of a node, in the order that the splits of a round make.
Stretch: TypeAlias = tuple[int, int]
#: Nested dicts of arrays, scalars and strings.
State: TypeAlias = Mapping[str, object]


class StumpCut(Protocol):
    """A stump: votes where the bin of the feature is at least the threshold, else -votes."""

    @property
    def feature(self) -> int:
        """Number in the bank."""
        ...

    @property
    def threshold(self) -> int:
        """Bin index."""
        ...

    @property
    def votes(self) -> NDArray[np.int8]:
        """int8 (K,), -1 or +1."""
        ...


class Leaf(NamedTuple):
    """Examples for which a base classifier is votes_l times the outputs of the stumps."""

    stretch: Stretch
    stumps: Sequence[StumpCut]
    votes: NDArray[np.int8]


class SampleRows(Protocol):
    """A drawn sample, or all rows, of a target."""

    def search(
        self, features: NDArray[np.int64], labels: NDArray[np.int64] | None = None
    ) -> Stumps:
        """The best stump of each feature; on some labels, whose edges and votes alone are known."""
        ...

    def signed_edges(self, stumps: Stumps) -> NDArray[np.float64]:
        """Edges of given stumps: float64 (Q,)."""
        ...


class TargetRows(Protocol):
    """Some examples, their labels multiplied by the outputs of stumps: what one search reads.

    `looks` counts the feature values that searches and edges of their samples have read.
    """

    looks: int
    n_examples: int
    n_labels: int
    n_features: int
    largest_threshold: int

    @property
    def bounds_edges(self) -> bool:
        """Whether edges are bounded as in `SearchRules.bounds_edges`."""
        ...

    @property
    def mass(self) -> float:
        """Sum of the weights."""
        ...

    @property
    def sums(self) -> NDArray[np.float64]:
        """Sum of the signed weights of each label: float64 (K,)."""
        ...

    def sample(self, size: int, scheme: str, rng: np.random.Generator) -> SampleRows:
        """A draw of `size` examples; all with exact weights if `size` is n."""
        ...

    def nested_samples(
        self, sizes: Sequence[int], scheme: str, rng: np.random.Generator
    ) -> Sequence[SampleRows]:
        """Samples of ascending sizes, each of which contains the one before."""
        ...

    def race(
        self,
        features: NDArray[np.int64],
        stages: Sequence[tuple[int, int]],
        rng: np.random.Generator,
        again: NDArray[np.int64] = NO_FEATURES,
        join: int = 0,
    ) -> Stumps | None:
        """The stumps of all stages of a race on samples drawn by order, in one call.

        A stage searches the best Q features so far on T examples; features to search `again` take
        up to half of the places of stage `join`. The stumps are those of one stage after the other.
        None, and nothing is drawn, if these rows cannot: then the same is done search by search.
        """
        ...

    def shuffled(self, rng: np.random.Generator) -> SampleRows:
        """All rows, each with the features of another."""
        ...

    def n_heaviest(self, mass: float) -> int:
        """The least number of examples with this share of the weight, heaviest first."""
        ...

    def label_masses(self) -> NDArray[np.float64]:
        """Weight of each label: float64 (K,), in the units of the weights; O(n)."""
        ...

    def bin_totals(self, features: NDArray[np.int64]) -> NDArray[np.float64]:
        """Numbers of the rows in each bin: how many, their weight, and their label sums.

        Float64 (Q, 256, 2 + K), in the units of the weights.
        """
        ...

    def cut_totals(self, feature: int, threshold: int) -> NDArray[np.float64]:
        """Numbers of the rows with phi = -1, then +1: float64 (2, 2 + K), see `bin_totals`."""
        ...

    def threshold_of(self, feature: int, b: int) -> int:
        """The threshold below bin b of `bin_totals`."""
        ...

    def label_sums(self, feature: int, threshold: int) -> NDArray[np.float64]:
        """sum_i w_il y_il phi(x_i) for each label: float64 (K,), in units of `mass`; O(n)."""
        ...

    def side_sums(
        self, feature: int, threshold: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """`label_sums`, and the weight of each label with phi = -1, then +1: float64 (2, K); O(n).

        Both in units of `mass`.
        """
        ...

    def release(self) -> None:
        """Invalidate all samples drawn so far; later ones reuse their memory."""


class RunRows(Protocol):
    """All rows of a run, with their weights. `round` counts the rounds that began."""

    families: tuple[Family, ...]
    on_demand: bool
    n_examples: int
    n_labels: int
    n_features: int
    round: int

    @property
    def mass(self) -> float:
        """Sum of the weights."""
        ...

    @property
    def values_computed(self) -> int:
        """Feature values that lazy banks have computed."""
        ...

    def begin(self, log_loss: float) -> None:
        """Begin a round, with the log of the loss so far: the weights have changed."""

    def target(
        self,
        stretch: Stretch,
        stumps: Sequence[StumpCut],
        two_sided: bool = False,
        members: NDArray[np.int64] | None = None,
    ) -> TargetRows:
        """The rows of a stretch, labels multiplied by the outputs of the stumps.

        Searches are of stumps with one side or two, of all features or of these members. Valid
        until the next call.
        """
        ...

    def split(self, stretch: Stretch, cut: StumpCut) -> tuple[Stretch, Stretch]:
        """The examples with phi = -1 and those with phi = +1; O(n)."""
        ...

    def growth(self, searches: Searches, scheme: str) -> TreeGrowth | None:
        """How to grow trees by such searches on samples of the scheme in one call, if possible."""
        ...

    def level_growth(self, searches: Searches) -> ObliviousGrowth | None:
        """How to grow oblivious trees by such searches in one call, if possible."""
        ...

    def update(self, cut: StumpCut, factors: Factors) -> None:
        """Update the weights by a stump; O(N)."""

    def update_leaves(self, leaves: Sequence[Leaf], factors: Factors) -> None:
        """Update the weights by the base classifier with these leaves; O(N)."""

    def update_sides(self, cut: StumpCut, table: CellTable) -> None:
        """Multiply the weights by the factors of the side of a stump; O(N)."""

    def update_cells(self, leaves: Sequence[Leaf], table: CellTable) -> None:
        """Multiply the weights by the factors of their leaf; O(N)."""

    def raw_threshold(self, feature: int, threshold: int) -> float:
        """Raw threshold of a stump whose label sums were asked for last."""
        ...

    def facts(self) -> dict[str, object]:
        """What identifies the rows, by name, as JSON values."""
        ...

    def state(self) -> dict[str, object]:
        """State for `restore`."""
        ...

    def restore(self, state: State) -> None:
        """Restore a `state()` of a run on the same rows, bit for bit."""

    def small_state(self) -> dict[str, object]:
        """State for `replayed`, without the N * K weights: a checksum `weights` instead."""
        ...

    def replayed(self, state: State) -> bool:
        """Whether the weights are those of a `small_state()`; takes what else it holds."""
        ...
