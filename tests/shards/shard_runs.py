"""Runs over shards of one process, and transports that lose shards, for their tests."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from boostsample.banks.bank import FeatureBank
from boostsample.families import Columns
from boostsample.loop.shard_booster import ShardBooster
from boostsample.shards.exchange import LocalShards, Lost
from boostsample.shards.server import FileSource, array_sources
from tests.problems import bank_of, noisy_labels, table


def small_sources(n_shards: int = 3, n: int = 120, n_labels: int = 3, weight: Any = None) -> Any:
    """Sources of a table of 8 features in 2 families."""
    bank: FeatureBank = bank_of(table(n), groups=2)
    return array_sources(bank, noisy_labels(n, n_labels), n_shards, weight)


def file_sources(folder: Path, n: int, n_shards: int) -> list[FileSource]:
    """Sources of a table of 20 columns and 3 classes in files."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, n)
    X = rng.integers(0, 200, (n, 20)) + 9 * codes[:, None] * (rng.random((n, 20)) < 0.5)
    Y = np.where(np.arange(3) == codes[:, None], 1, -1).astype(np.int8)
    bank = FeatureBank.build([Columns(range(20), "columns")], X.astype(np.float32))
    np.save(folder / "bins.npy", np.ascontiguousarray(bank.bins.T))
    np.save(folder / "labels.npy", Y)
    cuts, n_bins = np.array(bank.cuts), np.array(bank.n_bins)
    ends = np.arange(n_shards + 1) * n // n_shards
    files = str(folder / "bins.npy"), str(folder / "labels.npy")
    return [
        FileSource(bank.families, files[0], cuts, n_bins, files[1], low, high)
        for low, high in itertools.pairwise(ends.tolist())
    ]


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
