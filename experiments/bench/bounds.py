"""What memory takes at least: streams of bytes for large N, cache misses for small samples.

A search of all of N examples reads one byte a look, and the row of an example once for each group
of features whose histograms are filled together; where neither stays in a cache, that is what the
memory delivers. Laminating's first stages read a few hundred bytes of each of a few hundred
columns: nearly each one is a cache miss, whatever is done with it then.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from boostsample.experiments.bench.kernels import read_words, store_rows
from boostsample.experiments.bench.looks import seconds_of, time_reads
from boostsample.experiments.bench.problem import Problem, Progress, layout_of, weights_of
from boostsample.experiments.bench.ratios import Section, paired_ratio
from boostsample.experiments.bench.rounds import RoundTimes, Timed
from boostsample.experiments.tables.tables import Table
from boostsample.jit.vectors import LANES
from boostsample.kernels.layout import GROUP, vectors_of
from boostsample.loop.sampling import SCHEMES
from boostsample.registry import make_strategy

__all__ = [
    "GatherTimes",
    "bounds_section",
    "bounds_table",
    "bytes_a_look",
    "bytes_of_row",
    "gathers_table",
    "last_cache",
    "time_gathers",
    "time_stores",
    "time_stream",
]

_UNITS = {"K": 2**10, "M": 2**20, "G": 2**30}
_USUAL_CACHE = 32 * 2**20


def last_cache() -> int:
    """Bytes of the largest cache that the system tells of, 32 MiB where it tells nothing."""
    sizes = [0]
    for path in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size"):
        found = re.fullmatch(r"(\d+)([KMG]?)", path.read_text().strip())
        if found:
            sizes.append(int(found[1]) * _UNITS.get(found[2], 1))
    return max(sizes) or _USUAL_CACHE


def time_stream(size: int | None = None, repeats: int = 8) -> list[float]:
    """Bytes a second of one thread that reads `size` bytes, eight last caches by default."""
    words = np.ones((max(8 * last_cache(), 2**28) if size is None else size) // 8, np.uint64)
    read_words(words)
    return [words.nbytes / seconds_of(lambda: read_words(words)) for _ in range(repeats)]


def time_stores(n_labels: int, looks: int = 600_000, repeats: int = 20) -> list[float]:
    """Seconds a look to load, add and store the vectors of a row of K labels."""
    store = store_rows(n_labels)
    store(looks)
    return [seconds_of(lambda: store(looks)) / looks for _ in range(repeats)]


def bytes_a_look(n_labels: int) -> float:
    """Bytes that an exact search reads: a bin, and its part of a row.

    >>> bytes_a_look(10)  # ten float32 for each group of five features
    9.0
    """
    return 1.0 + bytes_of_row(n_labels) / GROUP


def bytes_of_row(n_labels: int) -> int:
    """Bytes of the weights of an example, padding included."""
    blocks, tail = vectors_of(n_labels)
    return 4 * (LANES * blocks + tail)


def bounds_table(
    n_classes: Sequence[int], stores: Sequence[Sequence[float]], stream: Sequence[float]
) -> Table:
    """Nanoseconds a look of stores, and of memory where no cache holds anything."""
    bandwidth = float(np.median(stream))
    return Table(
        f"bounds of a look on all examples, nanoseconds: storing the vectors of a row; reading "
        f"bins and rows from memory at {bandwidth / 1e9:.1f} GB/s, where no cache holds them",
        ("classes", "vectors", "stores", "bytes", "memory"),
        tuple(
            (
                str(k),
                layout_of(1 if k == 2 else k),
                f"{1e9 * np.median(one):.2f}",
                f"{bytes_a_look(1 if k == 2 else k):.1f}",
                f"{1e9 * bytes_a_look(1 if k == 2 else k) / bandwidth:.2f}",
            )
            for k, one in zip(n_classes, stores, strict=True)
        ),
    )


class GatherTimes(NamedTuple):
    """Of laminating: (features, examples) of its stages, seconds a round to read their bins.

    `reads` is (rounds, stages); `rounds` has those of the strategy itself, in turns with them.
    """

    stages: list[list[int]]
    reads: np.ndarray[Any, np.dtype[np.float64]]
    rounds: RoundTimes


def time_gathers(problem: Problem, n_rounds: int, progress: Progress | None = None) -> GatherTimes:
    """Rounds of laminating, and between them the bare reads that its stages cannot do without.

    As in a round, each stage reads half of the features of the stage before at fresh examples; the
    features of the first are drawn anew, so that they are as cold as in a round.
    """
    run = Timed(problem, make_strategy("laminating"), n_rounds + 1)
    times = RoundTimes("laminating")
    run.run(1, RoundTimes("laminating"))
    stages: list[list[int]] = vars(run.strategy)["stages_"]
    weights = weights_of(problem)
    rng = np.random.default_rng(2)
    reads = np.zeros((n_rounds, len(stages)))
    for number in range(-1, n_rounds):  # the first one compiles
        if progress is not None:
            progress("bounds", max(number, 0), n_rounds)
        run.run(int(number >= 0), times)
        features = rng.choice(problem.bank.n_features, stages[0][0], replace=False)
        for at, (n_features, n_examples) in enumerate(stages):
            if n_examples < len(problem.rows):
                rows = weights.draw(n_examples, SCHEMES["iid"], rng)
                n = rows.examples.size
            else:
                rows, n = weights.exact(), len(problem.rows)
            seconds = time_reads(problem.bank, features[:n_features], rows, n)
            weights.release()
            if number >= 0:
                reads[number, at] = seconds
    return GatherTimes(stages, reads, times)


def gathers_table(times: GatherTimes) -> Table:
    """Milliseconds to read the bins of each stage, and what laminating takes beside."""
    rows = [
        (f"stage {at + 1}", f"{q:,}", f"{t:,}", *_least_and_median(times.reads[:, at]))
        for at, (q, t) in enumerate(times.stages)
    ]
    rows.append(("all reads", "", "", *_least_and_median(times.reads.sum(axis=1))))
    rows.append(("its searches", "", "", *_least_and_median(times.rounds.parts["search"])))
    rows.append(("its draws", "", "", *_least_and_median(times.rounds.parts["draw"])))
    rows.append(("its round", "", "", *_least_and_median(times.rounds.seconds)))
    return Table(
        "laminating: least and median milliseconds to read the bins of its stages and do nothing "
        "with them, and of its own rounds in turns with that",
        ("", "features", "examples", "least", "median"),
        tuple(rows),
    )


def _least_and_median(seconds: Any) -> tuple[str, str]:
    ms = 1e3 * np.asarray(seconds)
    return f"{ms.min():.2f}", f"{np.median(ms):.2f}"


def bounds_section(
    problem: Problem,
    n_classes: Sequence[int],
    stream_bytes: int | None,
    n_rounds: int,
    progress: Progress | None = None,
) -> Section:
    """Stores, memory, and laminating's reads."""
    if progress is not None:
        progress("bounds", 0, 0)
    stream = time_stream(stream_bytes)
    stores = [time_stores(1 if k == 2 else k) for k in n_classes]
    gathers = time_gathers(problem, n_rounds, progress)
    reads = gathers.reads.sum(axis=1)
    n = min(len(reads), len(gathers.rounds.seconds))
    return Section(
        (bounds_table(n_classes, stores, stream), gathers_table(gathers)),
        {
            "last_cache_bytes": last_cache(),
            "memory_bytes_a_second": {
                "most": max(stream),
                "median": float(np.median(stream)),
            },
            "stores_ns": {
                str(k): {"least": 1e9 * min(one), "median": 1e9 * float(np.median(one))}
                for k, one in zip(n_classes, stores, strict=True)
            },
            "laminating": {
                "stages": gathers.stages,
                "reads_ms": [1e3 * float(ms) for ms in np.median(gathers.reads, axis=0)],
                "search_ms": 1e3 * float(np.median(gathers.rounds.parts["search"])),
                "round_ms": 1e3 * float(np.median(gathers.rounds.seconds)),
            },
        },
        {
            "laminating, searches to reads": paired_ratio(
                gathers.rounds.parts["search"][:n], reads[:n]
            )
        },
        problem.sizes(),
    )
