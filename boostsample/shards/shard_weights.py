"""Weights and targets of a run over shards, as the loop and the learners see them."""

from __future__ import annotations

import hashlib
import math
import struct
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostsample.errors import DataError
from boostsample.rows.target_rows import Leaf, Stretch
from boostsample.rows.weights import FULL_STEP
from boostsample.shards import messages as m
from boostsample.shards.exchange import Exchange


class ShardView:
    """The rows of a target in all shards: in place of `WeightedRows`.

    Bank columns are features here: `column` is the number of a feature.
    """

    def __init__(
        self,
        exchange: Exchange,
        target: m.Target,
        counts: NDArray[np.int64],
        masses: NDArray[np.float64] | None,
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
        if self._masses is None:
            self._ask()
        assert self._masses is not None
        return self._masses

    @property
    def mass(self) -> float:
        """Sum of the weights."""
        return math.fsum(self.masses.tolist())

    @property
    def sums(self) -> NDArray[np.float64]:
        """Sum of the signed weights of each label: float64 (K,)."""
        if self._sums is None:
            self._ask()
        assert self._sums is not None
        return self._sums

    def _ask(self) -> None:
        answers: list[m.Sums] = self.exchange.ask(m.Nodes((self.target,)))
        self._know([one.targets[0][1] for one in answers], [one.targets[0][2] for one in answers])

    def _know(self, masses: Sequence[float], sums: Sequence[NDArray[np.float64]]) -> None:
        self._masses, self._sums = np.array(masses), np.add.reduce(np.array(sums))

    @property
    def shares(self) -> NDArray[np.float64]:
        """Parts of the weight in the shards, of sum 1: float64 (M,)."""
        return np.asarray(self.masses / self.masses.sum())

    def label_sums(self, column: int, threshold: int) -> NDArray[np.float64]:
        """sum_i w_il y_il phi(x_i) for each label: float64 (K,), normalised. One exchange."""
        request = m.Finish(self.target, column, threshold)
        answers: list[m.Finished] = self.exchange.ask(request)
        self._know([one.target_mass for one in answers], [one.sums for one in answers])
        totals = np.array([one.totals for one in answers])
        self.exchange.finished(request, totals, answers)
        return np.asarray(np.add.reduce(totals) / self.mass)

    def release(self) -> None:
        """Samples drawn so far are no longer needed."""
        self.exchange.change(m.Release())


class ShardWeights(ShardView):
    """The weights of a run over shards: in place of `SignedWeights`.

    Attributes
    ----------
    log_loss, step_size : float, StepSize
        As of `SignedWeights`; the loop sets them.
    predicted : ndarray of float64, shape (M,), or None
        Masses of the shards after the last update by a stump, up to rounding: known from the sums
        of its finish, so that the next draw needs no message.
    digest : str
        Checksum of the examples and of all updates, whose factors depend on all weights.
    """

    def __init__(self, exchange: Exchange) -> None:
        counts = np.array([one.n_examples for one in exchange.loaded])
        super().__init__(exchange, m.Target(), counts, None)
        exchange.masses = np.array([one.mass for one in exchange.first])
        self.predicted: NDArray[np.float64] | None = exchange.masses.copy()
        self.log_loss, self.step_size = 0.0, FULL_STEP
        first = [(*one.targets[0][:2], *one.targets[0][2].tolist()) for one in exchange.first]
        self.digest = self._first = hashlib.sha256(repr(first).encode()).hexdigest()

    @property
    def masses(self) -> NDArray[np.float64]:
        """Masses of the shards: float64 (M,); one exchange if no shard has been asked since."""
        if self.exchange.masses is None:
            self._ask()
        assert self.exchange.masses is not None
        return self.exchange.masses

    @property
    def shares(self) -> NDArray[np.float64]:
        """Parts of the weight in the shards, of sum 1, for draws: float64 (M,)."""
        if self.predicted is None:
            self.predicted = self.masses.copy()
        return np.asarray(self.predicted / self.predicted.sum())

    @property
    def total(self) -> float:
        """Weight of all shards as `shares` has it."""
        return float((self.masses if self.predicted is None else self.predicted).sum())

    def factors(self, edge: float) -> tuple[float, float]:
        """As of `SignedWeights.factors`, with the weight of all shards."""
        return self.step_size.factors(edge, self.mass)

    def update(self, column: int, threshold: int, votes: NDArray[np.int8], edge: float) -> None:
        """As of `SignedWeights.update`; sent with the next request."""
        right, wrong = self.factors(edge)
        masses, totals = self.masses, self.exchange.totals_of(column, threshold)
        self.change(m.Update(column, threshold, votes.astype(np.int8), right, wrong))
        if totals is not None:
            agree = 0.5 * (masses + totals @ votes)
            self.predicted = right * agree + wrong * (masses - agree)

    def change(self, change: m.Update | m.UpdateLeaves) -> None:
        """Change all weights."""
        self.exchange.change(change)
        self._sums, self.predicted = None, None
        factors = struct.pack("<2d", change.right, change.wrong)
        self.digest = hashlib.sha256(self.digest.encode() + factors).hexdigest()

    def state(self) -> dict[str, Any]:
        """All weights of all shards, a copy: one exchange."""
        states = self.exchange.ask(m.Values())
        return {
            **self.small_state(),
            "shards": {str(number): one for number, one in enumerate(states)},
        }

    def small_state(self) -> dict[str, Any]:
        """The digest, and what the next draw needs."""
        nothing = np.empty(0)
        return {
            "digest": self.digest,
            "predicted": nothing if self.predicted is None else self.predicted.copy(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Restore a `state()` of a run on the same shards: one exchange."""
        states = state["shards"]
        if len(states) != self.exchange.n_shards:
            raise DataError(
                f"the saved weights must be those of {self.exchange.n_shards} shards, got "
                f"{len(states)}; restore into a booster on the same shards"
            )
        given = [m.Restore(states[str(number)]) for number in range(len(states))]
        self.exchange.replace_all(given)
        self.restore_small(state)

    def restore_small(self, state: dict[str, Any]) -> None:
        """Restore a `small_state()`, after its updates."""
        self._sums, self.digest = None, str(state["digest"])
        self.predicted = state["predicted"].copy() if state["predicted"].size else None

    def restart(self) -> None:
        """The weights before the first round, again."""
        self.exchange.replace_all([m.Restart()] * self.exchange.n_shards)
        self._sums, self.digest = None, self._first
        self.predicted = np.array([one.mass for one in self.exchange.first])


class ShardTargets:
    """The targets of products and trees over shards: in place of `TargetRows`.

    A stretch names a node by its place in the order that all splits of the round make; `nodes` has
    its number in the messages.
    """

    def __init__(self, weights: ShardWeights) -> None:
        self.n_labels = weights.n_labels
        self._weights = weights
        self._exchange = weights.exchange
        self.round = 0
        self._forget()

    def _forget(self) -> None:
        self._views: dict[Stretch, ShardView] = {self.whole: self._weights}
        self._stumps: dict[int, tuple[m.Stump, Any]] = {}
        self._n_nodes = 1

    @property
    def whole(self) -> Stretch:
        """The stretch of all examples."""
        return 0, self._weights.n_examples

    @property
    def whole_mass(self) -> float:
        """Sum of the weights of all examples."""
        return self._weights.mass

    def begin(self) -> None:
        """Begin a round: the weights have changed. `round` counts them."""
        self.round += 1
        self._exchange.begin()
        self._forget()

    def split(self, stretch: Stretch, stump: Any) -> tuple[Stretch, Stretch]:
        """The stretches of phi = -1 and of phi = +1. One exchange."""
        node, (below, above) = self._views[stretch].target.node, self._new_nodes()
        self._exchange.change(m.Split(node, self._wire(stump), below, above))
        targets = m.Target(below), m.Target(above)
        answers: list[m.Sums] = self._exchange.ask(m.Nodes(targets))
        views = []
        for at, target in enumerate(targets):
            counts = np.array([one.targets[at][0] for one in answers])
            masses = np.array([one.targets[at][1] for one in answers])
            views.append(ShardView(self._exchange, target, counts, masses))
        first, end = stretch
        middle = first + views[0].n_examples
        halves = (first, middle), (middle, end)
        self._views.update(zip(halves, views, strict=True))
        return halves

    def _new_nodes(self) -> tuple[int, int]:
        self._n_nodes += 2
        return self._n_nodes - 2, self._n_nodes - 1

    def _wire(self, stump: Any) -> m.Stump:
        """A stump as in messages; the same object has the same key in a round."""
        if id(stump) not in self._stumps:
            votes = np.asarray(stump.votes, np.int8)
            made = m.Stump(len(self._stumps), int(stump.feature), int(stump.threshold), votes)
            self._stumps[id(stump)] = made, stump  # the stump keeps its id while it is held
        return self._stumps[id(stump)][0]

    def read(self, stretch: Stretch, stumps: Sequence[Any]) -> ShardView:
        """The rows of a stretch, labels multiplied by the outputs of the stumps. No exchange."""
        view = self._views[stretch]
        if not stumps:
            return view
        target = m.Target(view.target.node, tuple(self._wire(stump) for stump in stumps))
        return ShardView(self._exchange, target, view.counts, view.masses)

    def update(self, leaves: Iterable[Leaf], edge: float) -> None:
        """Update the weights by a base classifier of this edge; sent with the next request."""
        right, wrong = self._weights.factors(edge)
        found = []
        for leaf in sorted(leaves, key=lambda leaf: leaf.stretch):
            if leaf.stretch[0] < leaf.stretch[1]:
                node = self._views[leaf.stretch].target.node
                stumps = tuple(self._wire(stump) for stump in leaf.stumps)
                found.append(m.LeafVotes(node, stumps, np.asarray(leaf.votes, np.int8)))
        self._weights.change(m.UpdateLeaves(tuple(found), right, wrong))
