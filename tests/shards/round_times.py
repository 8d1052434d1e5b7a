"""Times of rounds over shards: the overhead of exchanges, and the gain of a second worker.

    python -m tests.shards.round_times overhead
    python -m tests.shards.round_times speedup

`overhead` trains two strategies on tiny shards: in one process without shards, over
four shards of this process, and over four shards on two workers of a `LocalCluster`. `speedup`
trains them on 2 million made rows over one worker with one shard, and over two workers with one
each. Blocks of rounds take turns, so that all see the same load; the table has the median of the
blocks in ms a round, and ratios.
"""

from __future__ import annotations

import argparse
import importlib
import statistics
import sys
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from boostsample.banks.bank import FeatureBank
from boostsample.dask import DaskShards, LocalShards, ShardBooster, ShardData, array_sources
from boostsample.families import Columns
from boostsample.loop.booster import Booster
from tests.problems import bank_of, noisy_labels, table

STRATEGIES = "uniform-naive", "laminating"


@dataclass(frozen=True)
class MadeSource:
    """Rows first, ..., end - 1 of a made table of two classes, in blocks of 50,000 rows."""

    first: int
    end: int
    n_features: int = 50

    def load(self) -> ShardData:
        """Make the rows."""
        few = FeatureBank.build([Columns([0], "x")], np.arange(255, dtype=np.float32)[:, None])
        cuts = np.repeat(few.cuts, self.n_features, axis=0)
        n_bins = np.repeat(few.n_bins, self.n_features)
        bins = np.empty((self.n_features, self.end - self.first), np.uint8)
        Y = np.empty((self.end - self.first, 1), np.int8)
        for block in range(self.first, self.end, 50_000):
            rng = np.random.default_rng(block)
            own = slice(block - self.first, block - self.first + 50_000)
            Y[own, 0] = np.where(rng.random(50_000) < 0.5, 1, -1)
            near = rng.integers(1, 236, (self.n_features, 50_000))
            bins[:, own] = near + 20 * (Y[own, 0] > 0) * (rng.random(near.shape) < 0.3)
        families = [Columns(range(self.n_features), "x")]
        return ShardData(FeatureBank(families, bins, cuts, n_bins), Y)


def compare(boosters: dict[str, Any], n_blocks: int, n_rounds: int) -> dict[str, float]:
    """Median ms a round of each booster, in blocks that take turns."""
    times: dict[str, list[float]] = {name: [] for name in boosters}
    for block in range(n_blocks + 1):
        for name, booster in boosters.items():
            started = time.perf_counter()
            for _ in range(n_rounds):
                booster.next_round()
            if block:  # the first one warms up
                times[name].append((time.perf_counter() - started) / n_rounds * 1e3)
    return {name: statistics.median(one) for name, one in times.items()}


def _tell(strategy: str, found: dict[str, float]) -> None:
    first = next(iter(found.values()))
    for name, ms in found.items():
        sys.stdout.write(f"{strategy:14} {name:32} {ms:9.2f} ms  {first / ms:6.2f}\n")
    sys.stdout.flush()


def overhead(client: Any, n_blocks: int) -> None:
    """Rounds on 2,000 rows."""
    bank, Y = bank_of(table(2000, 20), groups=2), noisy_labels(2000)
    sources = array_sources(bank, Y, 4)
    for strategy in STRATEGIES:
        with DaskShards(client, sources) as shards:
            boosters = {
                "without shards": Booster(bank, None, Y, strategy, rng=0),
                "4 shards, this process": ShardBooster(LocalShards(sources), strategy, rng=0),
                "4 shards, 2 workers": ShardBooster(shards, strategy, rng=0),
            }
            _tell(strategy, compare(boosters, n_blocks, 20))


def speedup(client: Any, n_blocks: int, n: int) -> None:
    """Rounds on n rows, over one worker and over two."""
    workers = sorted(client.scheduler_info(n_workers=-1)["workers"])
    one, two = [MadeSource(0, n)], [MadeSource(0, n // 2), MadeSource(n // 2, n)]
    with (
        DaskShards(client, one, workers=workers[:1], patience=300) as single,
        DaskShards(client, two, workers=workers, patience=300) as double,
    ):
        for strategy in STRATEGIES:
            boosters = {
                "1 worker": ShardBooster(single, strategy, rng=0),
                "2 workers": ShardBooster(double, strategy, rng=0),
            }
            _tell(strategy, compare(boosters, n_blocks, 5))


def _main() -> int:
    how = argparse.RawTextHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=how)
    parser.add_argument("what", choices=["overhead", "speedup"])
    parser.add_argument("--blocks", type=int, default=9)
    parser.add_argument("--rows", type=int, default=2_000_000)
    given = parser.parse_args()
    distributed: Any = importlib.import_module("distributed")
    Client, LocalCluster = distributed.Client, distributed.LocalCluster
    settings: Any = {"dashboard_address": None, "memory_limit": 0}
    with LocalCluster(2, threads_per_worker=1, **settings) as cluster, Client(cluster) as client:
        if given.what == "overhead":
            overhead(client, given.blocks)
        else:
            speedup(client, given.blocks, given.rows)
    return 0


if __name__ == "__main__":
    raise SystemExit(_main())
