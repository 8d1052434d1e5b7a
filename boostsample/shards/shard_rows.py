"""All rows of a run over shards."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostsample.errors import DataError
from boostsample.hashing import sha256_of_json
from boostsample.rows.local_rows import row_facts
from boostsample.rows.protocol import CellTable, Factors, Leaf, Searches, Stretch, StumpCut
from boostsample.shards.exchange import Exchange
from boostsample.shards.server import Target, WireStump
from boostsample.shards.shard_targets import DriverSearch, ShardNode, ShardTarget, WholeNode
from boostsample.threads import Threads


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
