"""Lower bounds of a search: vector stores, and reads of bins; laminating beside its bare reads.

The micro-kernels are compiled anew in each process: `boostsample.jit.compile_kernels` caches the
kernels of its own folders only.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from boostsample.banks.bank import Bank
from boostsample.experiments.bench.problem import BenchProblem, bench_problem_weights
from boostsample.experiments.bench.rounds import RoundTimes, TimedRounds, warm_up_rounds
from boostsample.experiments.bench.timing import (
    TimingResult,
    TimingSizes,
    timed_ratio,
    timed_seconds,
)
from boostsample.experiments.common.progress import Progress
from boostsample.experiments.tables.tables import Table
from boostsample.jit.prefetch import prefetch
from boostsample.jit.vectors import LANES, vec_add_into, vec_load
from boostsample.kernels.array_layout import Rows, aligned, row_layout
from boostsample.rows.searcher import Searcher
from boostsample.strategies.laminating import laminating_stages

N_BINS = 256
"""Bins of a feature's histogram."""
_AT_ONCE = 4
"""Places that a kernel visits in turn, so that no access depends on the previous one."""
_SPARSE = 55
"""If fewer than one example of 55 is read, most of them are alone in a cache line of 64 bytes."""


def _compiled(function: Any) -> Any:
    return numba.njit(nogil=True, error_model="numpy")(function)


def store_bound(n_labels: int) -> Any:
    """A function of a number of looks that does their stores in a histogram, bin after bin.

    A look loads the vectors of a bin, adds those of a row and stores them; all looks do so with
    their first vectors, then with their second ones, so that the bins in use stay in the first
    cache. Bins are visited in turn.
    """
    blocks, tail = row_layout(n_labels)
    row = aligned(LANES * (blocks + 1), np.float32)
    row[: LANES * blocks + tail] = 1e-3
    planes = aligned((blocks + 1) * N_BINS * LANES, np.float32)
    return functools.partial(store_bound_kernel(blocks, tail), row, planes)


@functools.cache
def store_bound_kernel(blocks: int, tail: int) -> Any:
    """The compiled kernel of `store_bound` for rows of `blocks` full vectors and a tail."""
    has_tail, last = tail > 0, max(tail, 1)

    def store(row: NDArray[np.float32], planes: NDArray[np.float32], looks: int) -> None:
        """Reads row float32 (P,); adds to planes float32 (vectors * 256 * 8). O(looks P / 8)."""
        for k in range(blocks):
            value = vec_load(row, k * LANES, LANES)
            for t in range(0, looks, _AT_ONCE):
                at = (k * N_BINS + (t & (N_BINS - 1))) * LANES
                vec_add_into(planes, at, value)
                vec_add_into(planes, at + LANES, value)
                vec_add_into(planes, at + 2 * LANES, value)
                vec_add_into(planes, at + 3 * LANES, value)
        if has_tail:
            rest = vec_load(row, blocks * LANES, last)
            for t in range(0, looks, _AT_ONCE):
                at = blocks * N_BINS * LANES + (t & (N_BINS - 1)) * last
                vec_add_into(planes, at, rest)
                vec_add_into(planes, at + last, rest)
                vec_add_into(planes, at + 2 * last, rest)
                vec_add_into(planes, at + 3 * last, rest)

    return _compiled(store)


@_compiled
def read_bound_kernel(
    bins: NDArray[np.uint8],
    features: NDArray[np.int64],
    start: int,
    examples: NDArray[np.int32],
    n: int,
) -> Any:
    """The sum of the bins of some features at `examples`, or at start .. start + n - 1; O(Q T).

    Reads bins uint8 (any, any), features int64 (Q,), the row of `bins` of each, examples int32
    (T,), or empty. Many cache misses overlap: for sparse examples, the next three features are
    prefetched into the second cache (three times, since the processor drops some requests); for
    dense ones, four features are read in turn.
    """
    total: Any = 0
    n_features = features.size
    if examples.size == 0:
        for q in range(n_features):
            whole = bins[features[q], start : start + n]
            for t in range(n):
                total += np.int64(whole[t])
        return total
    few = examples.size < bins.shape[1] // _SPARSE
    last = 0 if few else n_features - n_features % _AT_ONCE
    for q in range(0, last, _AT_ONCE):
        column0, column1 = bins[features[q]], bins[features[q + 1]]
        column2, column3 = bins[features[q + 2]], bins[features[q + 3]]
        for t in range(examples.size):
            i = examples[t]
            total += np.int64(column0[i]) + np.int64(column1[i])
            total += np.int64(column2[i]) + np.int64(column3[i])
    for q in range(last, n_features):
        column, next1 = bins[features[q]], bins[features[min(q + 1, n_features - 1)]]
        next2 = bins[features[min(q + 2, n_features - 1)]]
        next3 = bins[features[min(q + 3, n_features - 1)]]
        for t in range(examples.size):
            i = examples[t]
            if few:
                prefetch(next3, i)
                prefetch(next2, i)
                prefetch(next1, i)
            total += np.int64(column[i])
    return total


def time_read_bound(bank: Bank, features: NDArray[np.int64], rows: Rows, n: int) -> float:
    """Seconds to read the bins of some features in the `n` examples of `rows`."""
    view = bank.view(features, rows.examples if rows.examples.size else None)
    start, examples = (0, rows.examples[:0]) if view.compact else (rows.start, rows.examples)
    return timed_seconds(lambda: read_bound_kernel(view.bins, view.at, start, examples, n))


def time_bounds(
    problem: BenchProblem, n_rounds: int, progress: Progress
) -> tuple[list[list[int]], NDArray[np.float64], RoundTimes]:
    """Time rounds of laminating, and after each one the bare reads of its stages.

    As in a round, each stage reads half of the features of the stage before; the features of the
    first are drawn anew, so that they are as cold as in a round. The samples of the stages are
    drawn one by one, those of a round are nested. Returns the (features, examples) of the stages,
    the seconds of their reads, float64 (n_rounds, n_stages), and the rounds.
    """
    warm_up_rounds(problem, "laminating")
    run = TimedRounds(problem, "laminating", n_rounds)
    n, n_features = len(problem.rows), problem.bank.n_features
    stages = laminating_stages(None, n, n_features, 10 * n)
    weights = bench_problem_weights(problem)
    searcher = Searcher(problem.bank, weights)
    rng = np.random.default_rng(2)
    time_read_bound(problem.bank, np.arange(1), weights.exact(), 1)  # compiles
    reads = np.zeros((n_rounds, len(stages)))
    for number in range(n_rounds):
        progress("bounds", number, n_rounds)
        run.run(1)
        features = rng.choice(problem.bank.n_features, stages[0][0], replace=False)
        for at, (n_features, n_examples) in enumerate(stages):
            n = min(n_examples, len(problem.rows))
            rows = searcher.draw(n, "iid", rng)
            n = rows.examples.size or n  # the different ones
            reads[number, at] = time_read_bound(problem.bank, features[:n_features], rows, n)
            weights.release()
    return stages, reads, run.times


def bench_bounds_table(
    stages: Sequence[Sequence[int]], reads: NDArray[np.float64], rounds: RoundTimes
) -> Table:
    """Milliseconds to read the bins of each stage, and of the searches, draws and rounds."""
    timed: list[tuple[str, str, str, Any]] = [
        *(
            (f"stage {at + 1}", f"{q:,}", f"{t:,}", reads[:, at])
            for at, (q, t) in enumerate(stages)
        ),
        ("all reads", "", "", reads.sum(axis=1)),
        ("its searches", "", "", rounds.parts["search"]),
        ("its draws", "", "", rounds.parts["draw"]),
        ("its round", "", "", rounds.seconds),
    ]
    return Table(
        "laminating: least and median milliseconds to read the bins of its stages, without any "
        "search, and of its rounds, timed in turns",
        ("", "features", "examples", "least", "median"),
        tuple(
            (*names, f"{1e3 * np.min(seconds):.2f}", f"{1e3 * np.median(seconds):.2f}")
            for *names, seconds in timed
        ),
    )


def bench_bounds(problem: BenchProblem, sizes: TimingSizes, progress: Progress) -> TimingResult:
    """The bare reads of laminating beside its searches."""
    stages, reads, rounds = time_bounds(problem, sizes.gathers, progress)
    searches = rounds.parts["search"]
    laminating = {
        "stages": stages,
        "reads_ms": (1e3 * np.median(reads, axis=0)).tolist(),
        "search_ms": 1e3 * float(np.median(searches)),
        "round_ms": 1e3 * float(np.median(rounds.seconds)),
    }
    return TimingResult(
        (bench_bounds_table(stages, reads, rounds),),
        {"laminating": laminating},
        {"laminating, searches to reads": timed_ratio(searches, reads.sum(1)[: len(searches)])},
        problem.sizes(),
    )
