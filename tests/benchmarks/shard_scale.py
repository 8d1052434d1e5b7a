"""Bytes, messages and seconds of rounds over 2 to 64 shards, predicted and counted.

    python -m tests.benchmarks.shard_scale --shards 2,4,8,16,32,64 --classes 2,10

Runs all shards in this process, one after another, and counts what `ShardBooster` sends. The
prediction is that of docs/shards.md, from the features and examples of each search alone. Seconds
of a round on a cluster are simulated: each exchange takes a latency, the bytes the bandwidth of the
driver, the slowest shard its measured time of the processor, and the driver its own. Prints a table
in Markdown.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from boostsample.banks.bank import FeatureBank
from boostsample.dask import LocalShards, ShardBooster, array_sources
from boostsample.families import Columns
from boostsample.labels import encode
from boostsample.strategies.laminating import laminating_stages

CALL = 550
"""Bytes of a message and its answer besides arrays, about: names and shapes."""
STRATEGIES = ("uniform-naive", "laminating", "full")


class Stage(NamedTuple):
    """A search: features, examples, and whether the sample begins with the one before."""

    n_features: int
    n_examples: int
    nested: bool = False


def stage_bytes(stages: Sequence[Stage], n: int, n_shards: int, n_labels: int, n_bins: int) -> int:
    """Bytes of the arrays of some searches of one draw, in one shard.

    A feature takes its rows, one byte for each new one, or the histogram of its bins: 4 bytes for
    each bin and label, 8 if the search is exact. Rows need their weights once, 4 bytes for each
    label, and are chosen if they save more than that. Rows that a sample draws twice are sent once.
    """
    total, of_rows, of_weights = 0.0, 0, 0
    for stage in stages:
        q, t = stage.n_features, stage.n_examples
        if t >= n:
            total += q * (8 * n_bins * n_labels + 8 + 1)  # 8: the number of the feature, asked for
            continue
        bins_before = of_rows if stage.nested else 0
        weights_before = of_weights if stage.nested else 0
        histogram = 4 * n_bins * n_labels * n_shards
        saved = q * max(histogram - (t - bins_before), 0)
        if saved > 4 * n_labels * (t - weights_before):
            bins = _different(t - bins_before, n)
            weights = _different(t - weights_before, n)
            total += q * (bins / n_shards + 8) + 4 * n_labels * weights / n_shards
            of_rows = of_weights = t
        else:
            total += q * (histogram / n_shards + 8 + 1)
    return round(total)


def _different(draws: int, n: int) -> float:
    """Expected number of different rows in some draws."""
    return n * (1.0 - (1.0 - 1.0 / n) ** draws)


def predicted_bytes(
    strategy: str, n: int, n_features: int, n_shards: int, n_labels: int, n_bins: int
) -> tuple[int, int]:
    """Bytes of a round of a stump in one shard, and exchanges."""
    budget = 10 * n
    stages = {
        "uniform-naive": [Stage(10, n)],
        "full": [Stage(n_features, n)],
        "laminating": [
            Stage(q, t, at > 0)
            for at, (q, t) in enumerate(laminating_stages(None, n, n_features, budget))
        ],
    }[strategy]
    finish = 8 * (2 * n_labels + 4)
    calls = len(stages) + 1
    return stage_bytes(stages, n, n_shards, n_labels, n_bins) + finish + calls * CALL, calls


class TimedShards(LocalShards):
    """Shards in this process; adds up the time of the slowest shard of each exchange."""

    slowest = 0.0
    all_shards = 0.0
    exchanges = 0

    def exchange(self, messages: Mapping[int, Sequence[bytes]]) -> Any:
        answers: dict[int, Any] = {}
        times = []
        for number, parts in messages.items():
            began = time.process_time()
            answers |= super().exchange({number: parts})
            times.append(time.process_time() - began)
        self.slowest += max(times)
        self.all_shards += sum(times)
        self.exchanges += 1
        return answers


def made(n: int, n_features: int, n_classes: int) -> tuple[FeatureBank, NDArray[np.int8]]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, n_features), np.float32)
    score = X[:, :n_classes] + 0.5 * X[:, n_classes : 2 * n_classes] ** 2
    y = score.argmax(axis=1)
    return FeatureBank.build([Columns(range(n_features))], X), encode(y, n_classes)


def say(cells: Sequence[Any]) -> None:
    """Print a line of the table at once."""
    sys.stdout.write(f"| {' | '.join(map(str, cells))} |\n")
    sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--examples", type=int, default=64_000)
    parser.add_argument("--features", type=int, default=100)
    parser.add_argument("--classes", default="2,10")
    parser.add_argument("--shards", default="2,4,8,16,32,64")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--strategies", default=",".join(STRATEGIES))
    parser.add_argument("--latency", default="0.0005,0.002", help="seconds of an exchange")
    parser.add_argument("--bandwidth", type=float, default=1.25e9, help="bytes a second")
    options = parser.parse_args()
    latencies = [float(text) for text in options.latency.split(",")]
    columns = ["strategy", "labels", "shards", "exchanges", "bytes", "predicted", "ratio"]
    columns += ["shard ms", "driver ms", *(f"ms at {1000 * latency:g} ms" for latency in latencies)]
    say(columns)
    say(["---", *["---:"] * (len(columns) - 1)])
    for n_classes in map(int, options.classes.split(",")):
        bank, Y = made(options.examples, options.features, n_classes)
        n_bins = int(bank.n_bins.max())
        for strategy in options.strategies.split(","):
            for n_shards in map(int, options.shards.split(",")):
                with TimedShards(array_sources(bank, Y, n_shards)) as shards:
                    booster = ShardBooster(shards, strategy, n_rounds=options.rounds + 1, rng=0)
                    booster.next_round()
                    before = booster.exchange.n_bytes
                    shards.slowest = shards.all_shards = 0.0
                    shards.exchanges = 0
                    began = time.process_time()
                    for _ in range(options.rounds):
                        booster.next_round()
                    seconds = time.process_time() - began
                sent = (booster.exchange.n_bytes - before) / options.rounds
                calls = shards.exchanges / options.rounds
                of_shard, _ = predicted_bytes(
                    strategy, options.examples, options.features, n_shards, Y.shape[1], n_bins
                )
                slowest = shards.slowest / options.rounds
                driver = (seconds - shards.all_shards) / options.rounds
                line = [
                    strategy,
                    Y.shape[1],
                    n_shards,
                    f"{calls:.1f}",
                    f"{sent / n_shards:,.0f}",
                    f"{of_shard:,}",
                    f"{sent / n_shards / of_shard:.2f}",
                    f"{1000 * slowest:.2f}",
                    f"{1000 * driver:.2f}",
                ]
                for latency in latencies:
                    total = calls * latency + sent / options.bandwidth + slowest + driver
                    line.append(f"{1000 * total:.1f}")
                say(line)


if __name__ == "__main__":
    main()
