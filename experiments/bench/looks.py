"""Nanoseconds per look, beside two lower bounds: storing the vectors of a row, and reading a bin.

A look adds the vectors of a row to a histogram: each is loaded, added and stored, and a processor
stores at most one vector per cycle. On few of many examples, as in the first stages of laminating,
nearly every read of a bin is a cache miss. Searches of all kinds take turns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostsample.experiments.bench.bounds import store_bound, time_read_bound
from boostsample.experiments.bench.problem import (
    BenchProblem,
    bench_problem_weights,
    relabelled_bench_problem,
)
from boostsample.experiments.bench.timing import (
    TimingResult,
    TimingSizes,
    timed_ratio,
    timed_seconds,
    timing_table,
)
from boostsample.experiments.common.progress import Progress
from boostsample.experiments.tables.tables import Table
from boostsample.kernels.array_layout import Rows, row_layout
from boostsample.rows.searcher import Searcher


@dataclass(frozen=True)
class LookTimes:
    """Seconds of searches of one kind, and of the same number of stores and reads, (n,) each.

    `looks` int64 (n,) are those of each search: Q times the different examples of its sample.
    """

    n_labels: int
    n_features: int
    n_examples: int
    exact: bool
    looks: NDArray[np.int64]
    search: NDArray[np.float64]
    stores: NDArray[np.float64]
    reads: NDArray[np.float64]

    def nanoseconds(self, part: str) -> NDArray[np.float64]:
        """Nanoseconds per look of `search`, `stores`, `reads` or the larger bound, (n,)."""
        if part == "bound":
            return np.maximum(self.nanoseconds("stores"), self.nanoseconds("reads"))
        seconds: NDArray[np.float64] = getattr(self, part)
        return 1e9 * seconds / self.looks

    def numbers(self) -> dict[str, Any]:
        """Sizes, and the least and median nanoseconds of a look; `share` is that of its bound."""
        ns = {}
        for part in ("search", "stores", "reads", "bound"):
            values = self.nanoseconds(part)
            ns[f"{part}_ns"] = {"least": float(values.min()), "median": float(np.median(values))}
        larger = max(ns["stores_ns"]["median"], ns["reads_ns"]["median"])
        return {
            "classes": max(2, self.n_labels),
            "vectors": look_vectors(self.n_labels),
            "features": self.n_features,
            "examples": self.n_examples,
            "exact": self.exact,
            **ns,
            "share": larger / ns["search_ns"]["median"],
        }

    @property
    def ratio(self) -> float:
        """A look in units of its stores on all examples, of its reads on a sample."""
        return timed_ratio(self.search, self.stores if self.exact else self.reads)

    @property
    def name(self) -> str:
        """The name of the ratio; the same whatever the sizes."""
        return f"{max(2, self.n_labels)} classes, {'all examples' if self.exact else 'a sample'}"


class _Case:
    """Searches of one kind, and the stores and reads that bound them.

    The reads are of other features than the search, so that neither finds the bins of the other in
    a cache. All searches of a turn come before their bounds: directly after the stores, a search is
    10 % slower on an Intel Xeon.
    """

    def __init__(self, problem: BenchProblem, n_features: int, n_examples: int) -> None:
        self._bank = problem.bank
        self._n_features = n_features
        self._n_examples = n_examples
        self._exact = n_examples == len(problem.rows)
        self._weights = bench_problem_weights(problem)
        self._searcher = Searcher(problem.bank, self._weights)
        self._store = store_bound(problem.Y.shape[1])
        self._rng = np.random.default_rng(1)
        self._timed: list[tuple[float, ...]] = []
        self.run(1)  # compiles
        self._timed.clear()

    def run(self, searches: int) -> None:
        """Time some searches, then their bounds."""
        for rows, n, seconds in [self._search() for _ in range(searches)]:
            looks = self._n_features * n
            stores = timed_seconds(self._store, looks)
            reads = time_read_bound(self._bank, self._features(), rows, n)
            self._timed.append((looks, seconds, stores, reads))
        self._weights.release()

    def _search(self) -> tuple[Rows, int, float]:
        """The rows of a search, their number and its seconds."""
        rows = self._searcher.draw(self._n_examples, "iid", self._rng)
        seconds = timed_seconds(self._searcher.search, self._features(), rows, self._exact)
        return rows, self._n_examples if self._exact else rows.examples.size, seconds

    def _features(self) -> NDArray[np.int64]:
        return self._rng.choice(self._bank.n_features, self._n_features, replace=False)

    def found(self) -> LookTimes:
        looks, *seconds = np.array(self._timed).T
        sizes = self._weights.n_labels, self._n_features, self._n_examples, self._exact
        return LookTimes(*sizes, looks.astype(np.int64), *seconds)


def time_looks(
    cases: Sequence[tuple[BenchProblem, int, int]],
    searches: int,
    progress: Progress,
    turn: int = 10,
) -> list[LookTimes]:
    """Time searches of fresh features, `turn` of each case in turn.

    A case is data, Q, and T; T = N is all examples, otherwise each search draws a new sample.
    """
    made = []
    for number, case in enumerate(cases):
        progress("compiling", number, len(cases))
        made.append(_Case(*case))
    for done in range(0, searches, turn):
        progress("looks", done, searches)
        for one in made:
            one.run(min(turn, searches - done))
    return [one.found() for one in made]


def look_vectors(n_labels: int) -> str:
    """The vectors of a row of K labels.

    >>> look_vectors(10), look_vectors(26), look_vectors(8)
    ('8 + 2', '3 x 8 + 2', '8')
    """
    blocks, tail = row_layout(n_labels)
    full = f"{blocks} x 8" if blocks > 1 else "8" * blocks
    return " + ".join(part for part in (full, str(tail) if tail else "") if part)


def bench_looks_table(times: Sequence[LookTimes]) -> Table:
    """Nanoseconds per look, its two bounds, and the share of the larger one."""
    return timing_table(
        "a look, threshold search included: least and median nanoseconds; the bounds: storing the "
        "vectors of a row, reading a bin (medians); the share of the larger one",
        {
            "classes": "{classes}",
            "vectors": "{vectors}",
            "features": "{features:,}",
            "examples": "{examples:,}",
            "least": "{search_ns[least]:.2f}",
            "median": "{search_ns[median]:.2f}",
            "stores": "{stores_ns[median]:.2f}",
            "reads": "{reads_ns[median]:.2f}",
            "share": "{share:.0%}",
        },
        [one.numbers() for one in times],
    )


def bench_looks(problem: BenchProblem, sizes: TimingSizes, progress: Progress) -> TimingResult:
    """Looks for several numbers of classes, on all examples and on a sample."""
    on_all, on_sample = (min(q, problem.bank.n_features) for q in sizes.look_features)
    cases, n = [], len(problem.rows)
    for k in sizes.look_classes:
        labelled = relabelled_bench_problem(problem, k)
        cases.append((labelled, on_all, n))
        if sizes.look_sample < n:
            cases.append((labelled, on_sample, sizes.look_sample))
    times = time_looks(cases, sizes.searches, progress)
    return TimingResult(
        (bench_looks_table(times),),
        {"looks": [one.numbers() for one in times]},
        {one.name: one.ratio for one in times},
        {**problem.sizes(), "search": [list(sizes.look_features), sizes.look_sample]},
    )
