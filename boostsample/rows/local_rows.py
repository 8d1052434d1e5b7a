"""The rows of a run in this process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostsample.banks.bank import Bank
from boostsample.hashing import sha256_of_arrays
from boostsample.rows.node_rows import NodeRows
from boostsample.rows.protocol import Factors, Leaf, Stretch, StumpCut
from boostsample.rows.searcher import Searcher, compile_rows
from boostsample.rows.weights import SignedWeights


class LocalRows:
    """All rows of a run in this process: implements `RunRows`.

    Parameters
    ----------
    bank : Bank
        A reader of these rows.
    weights : SignedWeights
    example_weight : ndarray of float64, shape (n,), or None
        User weights, for `facts`.
    """

    def __init__(
        self,
        bank: Bank,
        weights: SignedWeights,
        example_weight: NDArray[np.float64] | None = None,
    ) -> None:
        self.bank, self.weights = bank, weights
        self.families = bank.families
        self.searcher = Searcher(bank, weights)
        self.nodes = NodeRows(weights, bank.column)
        self.n_examples, self.n_labels = weights.n_examples, weights.n_labels
        self.n_features = int(bank.n_features)
        self.round = 0
        self._example_weight = example_weight

    def compile(self, one_search: bool) -> None:
        """Compile all kernels of a run. Reads no example, and changes nothing of the run."""
        compile_rows(self.n_labels, self.weights.threads.n > 1, one_search)
        self.bank.compile()

    @property
    def mass(self) -> float:
        """Sum of the weights."""
        return self.weights.mass

    @property
    def values_computed(self) -> int:
        """Feature values that a lazy bank has computed."""
        return self.bank.values_computed

    def begin(self, log_loss: float) -> None:
        """Begin a round, with the log of the loss so far: the weights have changed."""
        self.round += 1
        self.weights.log_loss = log_loss
        self.nodes.begin()

    def target(
        self,
        stretch: Stretch,
        stumps: Sequence[StumpCut],
        two_sided: bool = False,
        members: NDArray[np.int64] | None = None,
    ) -> Searcher:
        """As of `RunRows`."""
        return self.searcher.over(self.nodes.read(stretch, stumps), two_sided, members)

    def split(self, stretch: Stretch, cut: StumpCut) -> tuple[Stretch, Stretch]:
        """As of `RunRows`."""
        return self.nodes.split(stretch, cut)

    def update(self, cut: StumpCut, factors: Factors) -> None:
        """Update the weights by a stump; O(N)."""
        self.weights.update(self.bank.column(cut.feature), cut.threshold, cut.votes, factors)

    def update_leaves(self, leaves: Sequence[Leaf], factors: Factors) -> None:
        """Update the weights by the base classifier with these leaves; O(N)."""
        self.nodes.update(leaves, factors)

    def raw_threshold(self, feature: int, threshold: int) -> float:
        """Raw threshold of a stump."""
        return self.bank.threshold(feature, threshold)

    def facts(self) -> dict[str, object]:
        """Checksums of labels, rows, user weights and bank; reads them once."""
        user = self._example_weight
        return row_facts(
            (self.n_examples, self.n_labels, self.bank.n_examples),
            sha256_of_arrays(self.weights.labels()),
            sha256_of_arrays(self.weights.bank_columns()),
            None if user is None else sha256_of_arrays(user),
            self.bank.digest(),
        )

    def state(self) -> dict[str, object]:
        """The weights, a copy."""
        return self.weights.state()

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore a `state()` of a run on the same rows, bit for bit."""
        self.weights.restore(state)

    def small_state(self) -> dict[str, object]:
        """The SHA-256 of the weights."""
        state = self.weights.state()
        checksum = sha256_of_arrays(*(np.atleast_1d(state[name]) for name in sorted(state)))
        return {"weights": checksum}

    def before_replay(self) -> dict[str, object]:
        """A copy of the weights."""
        return self.weights.state()

    def replayed(self, state: Mapping[str, object]) -> bool:
        """Whether the weights are those of a `small_state()`."""
        return self.small_state()["weights"] == state["weights"]

    def undo_replay(self, before: Mapping[str, Any]) -> None:
        """The weights before the replay."""
        self.weights.restore(before)


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
