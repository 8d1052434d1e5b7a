"""Runs over shards of one process, and transports that lose shards, for their tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from boostsample.banks.bank import FeatureBank
from boostsample.loop.shard_booster import ShardBooster
from boostsample.shards.shard_source import array_sources
from boostsample.shards.transport import LocalShards, Lost
from tests.problems import bank_of, noisy_labels, table


def small_sources(n_shards: int = 3, n: int = 120, n_labels: int = 3, weight: Any = None) -> Any:
    """Sources of a table of 8 features in 2 families."""
    bank: FeatureBank = bank_of(table(n), groups=2)
    return array_sources(bank, noisy_labels(n, n_labels), n_shards, weight)


def shard_booster(
    strategy: Any = "laminating",
    learner: Any = "stump",
    shards: Any = None,
    **settings: Any,
) -> ShardBooster:
    """A booster over small shards."""
    of_run: dict[str, Any] = {"n_rounds": 7, "rng": 0, **settings}
    made = LocalShards(small_sources()) if shards is None else shards
    return ShardBooster(made, strategy, learner, **of_run)


def bits(rounds: Sequence[Any]) -> list[str]:
    """All that rounds are, without seconds, as texts that hold each bit."""
    texts = []
    for finished in rounds:
        texts.append(repr([{**row, "seconds": 0.0} for row in finished.rows]))
        texts.append(float(finished.edge).hex())
        for term in finished.terms:
            votes = [
                None if votes is None else votes.tolist() for votes in (term.votes, term.below)
            ]
            cut = term.feature, term.threshold, float(term.value).hex(), float(term.alpha).hex()
            texts.append(repr((*cut, votes, term.search, term.parent, term.side)))
    return texts


class LosingShards(LocalShards):
    """Loses shards after messages of given numbers: before they are handled, or with the answer."""

    def __init__(self, sources: Any, losses: Mapping[int, Sequence[int]], late: bool) -> None:
        super().__init__(sources)
        self._losses, self._late, self._n = losses, late, 0
        self.lost = 0

    def exchange(self, messages: Mapping[int, Sequence[bytes]]) -> dict[int, bytes | Lost]:
        lost = [k for k in self._losses.get(self._n, ()) if k in messages]
        self._n += 1
        self.lost += len(lost)
        asked = {k: of_shard for k, of_shard in messages.items() if self._late or k not in lost}
        answers = super().exchange(asked)
        for k in lost:
            self._servers[k] = None  # type: ignore[call-overload]  # nobody may ask it
            answers[k] = Lost("a test")
        return {k: answers[k] for k in messages}


def random_losses(seed: int, n_exchanges: int, n_shards: int) -> dict[int, list[int]]:
    """One shard or more lost at about a tenth of the exchanges."""
    rng = np.random.default_rng(seed)
    chosen = rng.random((n_exchanges, n_shards)) < 0.05
    return {k: np.flatnonzero(row).tolist() for k, row in enumerate(chosen)}
