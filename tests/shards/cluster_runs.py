"""Runs over the workers of a Dask cluster of real processes, which are killed and stopped.

    python -m tests.shards.cluster_runs --times 20 kill
    python -m tests.shards.cluster_runs --times 20 stop scheduler all

starts a Dask scheduler and four workers on the loopback address, trains 300 rounds
of `laminating` undisturbed, and then `--times` times for each of the given disturbances, which come
at random moments between the start and the end of the run, loading included:

- kill, stop: one worker, by SIGKILL or SIGSTOP
- all: all workers are killed
- scheduler: the scheduler is killed

After the first two, the run must end with the rounds of the undisturbed run, to the bit and seconds
apart, at most 30 s later; after the others it may end in a ShardError by then, and its state must
continue on another cluster to the same rounds. Exit code 1 means that some did not.
"""

from __future__ import annotations

import argparse
import importlib
import itertools
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from boostsample.banks.bank import FeatureBank
from boostsample.errors import ShardError
from boostsample.families import Columns
from boostsample.loop.shard_booster import ShardBooster
from boostsample.shards.shard_source import FileSource
from tests.experiments.cluster import Cluster
from tests.shards.shard_runs import bits

LATEST, PATIENCE = 30.0, 5.0
"""Seconds that a run may take longer than the undisturbed one, and of `DaskShards`."""


def file_sources(folder: Path, n: int = 40_000, n_shards: int = 4) -> list[FileSource]:
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


class Ending(NamedTuple):
    """How a run has ended: bits of its rounds, an error or None, seconds, and lost shards."""

    bits: list[str]
    error: ShardError | None
    seconds: float
    n_lost: int


def straight(
    cluster: Cluster,
    sources: Any,
    n_rounds: int = 300,
    disturb: Callable[[], None] | None = None,
    at: float = 0.0,
    strategy: str = "laminating",
    learner: str = "stump",
) -> Ending:
    """Train; `disturb` is called after `at` seconds, in another thread."""
    from boostsample.dask.cluster import DaskShards

    distributed: Any = importlib.import_module("distributed")
    rounds: list[Any] = []
    timer = threading.Timer(at, disturb or (lambda: None))
    settings: Any = {"n_rounds": n_rounds, "rng": 0}
    with distributed.Client(cluster.address, set_as_default=False) as client:
        started = time.monotonic()
        timer.start()
        error, state, n_lost = None, None, 0
        booster: Any = None
        try:
            with DaskShards(client, sources, patience=PATIENCE) as shards:
                booster = ShardBooster(shards, strategy, learner, **settings)
                while not booster.finished:
                    rounds.append(booster.next_round())
        except ShardError as reason:
            error = reason
        seconds = time.monotonic() - started
        if booster is not None:
            state, n_lost = booster.small_state(), booster.exchange.n_lost
        timer.join()
    if error is not None:
        cluster.complete()
        client = distributed.Client(cluster.address, set_as_default=False)
        with client, DaskShards(client, sources) as shards:
            booster = ShardBooster(shards, strategy, learner, **settings)
            if state is not None:
                terms, edges = (
                    [done.terms for done in rounds],
                    [done.edge for done in rounds],
                )
                booster.replay(terms, edges, state)
            while not booster.finished:
                rounds.append(booster.next_round())
    return Ending(bits(rounds), error, seconds, n_lost)


def disturbed(
    name: str, cluster: Cluster, sources: Any, plain: Ending, rng: Any, **settings: Any
) -> tuple[Ending, str]:
    """A run with one disturbance; what is wrong with its ending, or an empty text."""
    cluster.complete()
    victim = cluster.workers[int(rng.integers(len(cluster.workers)))]

    def disturb() -> None:
        if name in ("kill", "stop"):
            victim.send_signal(signal.SIGKILL if name == "kill" else signal.SIGSTOP)
        for process in cluster.workers if name == "all" else ():
            process.kill()
        if name == "scheduler":
            cluster.scheduler.kill()

    at = float(rng.uniform(0.0, plain.seconds))
    ending = straight(cluster, sources, disturb=disturb, at=at, **settings)
    wrong = []
    if ending.bits != plain.bits:
        wrong.append("other rounds")
    most = plain.seconds + LATEST + (60.0 if name in ("all", "scheduler") else 0.0)
    if ending.seconds > most:
        wrong.append(f"{ending.seconds - plain.seconds:.1f} s later")
    if ending.error is not None and name in ("kill", "stop"):
        wrong.append(str(ending.error))
    return ending, ", ".join(wrong)


def _main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("names", nargs="*", default=["kill", "stop", "all", "scheduler"])
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--learner", default="stump")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    settings: Any = {"n_rounds": options.rounds, "learner": options.learner}
    rng, n_wrong = np.random.default_rng(options.seed), 0
    with tempfile.TemporaryDirectory() as name, Cluster(Path(name), 4) as cluster:
        cluster.complete()
        sources = file_sources(Path(name))
        straight(cluster, sources, **settings)  # compiles
        plain = straight(cluster, sources, **settings)
        sys.stdout.write(f"undisturbed: {plain.seconds:.1f} s\n")
        for disturbance in options.names:
            for number in range(options.times):
                ending, wrong = disturbed(disturbance, cluster, sources, plain, rng, **settings)
                n_wrong += bool(wrong)
                error = "" if ending.error is None else f", then: {ending.error}"
                sys.stdout.write(
                    f"{disturbance} {number + 1}: {ending.seconds:.1f} s, lost {ending.n_lost}, "
                    f"{wrong or 'the same rounds'}{error}\n"
                )
                sys.stdout.flush()
    sys.stdout.write(f"wrong: {n_wrong}\n")
    return int(n_wrong > 0)


if __name__ == "__main__":
    raise SystemExit(_main())
