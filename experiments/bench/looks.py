"""Nanoseconds a look, beside what no search can do without: its stores, and reading its bins.

A look adds the vectors of a row to a histogram: each is loaded, added and stored, and processors
store one vector a cycle or fewer. On few of many examples nearly every bin is a cache miss, and the
bins have to be read at least once. Some searches, and then their stores and reads, take turns with
those of other sizes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostsample.banks.bank import Bank
from boostsample.experiments.bench.kernels import read_bins, store_rows
from boostsample.experiments.bench.problem import (
    Problem,
    Progress,
    layout_of,
    relabelled,
    weights_of,
)
from boostsample.experiments.bench.ratios import Section, paired_ratio
from boostsample.experiments.tables.tables import Table
from boostsample.loop.sampling import SCHEMES
from boostsample.loop.searcher import Searcher
from boostsample.loop.weights import Rows

__all__ = ["LookTimes", "looks_section", "looks_table", "seconds_of", "time_looks", "time_reads"]


@dataclass(frozen=True)
class LookTimes:
    """Seconds of searches, and of as many stores and reads in the same rows, (n,) each.

    `looks` (n,) are those of each search: Q times the different examples that were drawn.
    """

    n_labels: int
    n_features: int
    n_examples: int
    exact: bool
    looks: NDArray[np.int64]
    search: NDArray[np.float64]
    stores: NDArray[np.float64]
    reads: NDArray[np.float64]

    @property
    def n_classes(self) -> int:
        """Two for one label."""
        return max(2, self.n_labels)

    @property
    def name(self) -> str:
        """Of the search, without numbers that another run might not have."""
        return f"{self.n_classes} classes, {'all examples' if self.exact else 'a sample'}"

    def nanoseconds(self, part: str) -> NDArray[np.float64]:
        """Of `search`, `stores`, `reads` or the `bound`: nanoseconds a look, (n,)."""
        if part == "bound":
            return np.maximum(self.nanoseconds("stores"), self.nanoseconds("reads"))
        seconds: NDArray[np.float64] = getattr(self, part)
        return 1e9 * seconds / self.looks

    @property
    def share(self) -> float:
        """The part of a search, of the median look, that the larger of its two bounds takes."""
        larger = max(float(np.median(self.nanoseconds(part))) for part in ("stores", "reads"))
        return larger / float(np.median(self.nanoseconds("search")))


def seconds_of(work: Callable[[], Any]) -> float:
    """Seconds that a call takes."""
    before = time.perf_counter()
    work()
    return time.perf_counter() - before


def time_reads(bank: Bank, features: NDArray[np.int64], rows: Rows, n: int) -> float:
    """Seconds to read the bins of some features of `n` rows and to do nothing with them."""
    view = bank.view(features, rows.examples if rows.examples.size else None)
    start, examples = (0, rows.examples[:0]) if view.compact else (rows.start, rows.examples)
    return seconds_of(lambda: read_bins(view.bins, view.at, start, examples, n))


class _Cell:
    """Searches of one kind, and the stores and reads that bound them.

    The reads are of other fresh features than the search, so that neither warms the caches for the
    other; a bank much larger than the last cache gives both what a run has. All searches of a turn
    come before their bounds: so many stores in a row, which no run does, slow a processor down for
    a while, the next search by a tenth on an Intel Xeon.
    """

    def __init__(self, problem: Problem, n_features: int, sample: int | None) -> None:
        self._problem = problem
        self._n_features = n_features
        self._sample = len(problem.rows) if sample is None else sample
        self._exact = self._sample >= len(problem.rows)
        self._weights = weights_of(problem)
        self._searcher = Searcher(problem.bank, self._weights)
        self._store = store_rows(problem.Y.shape[1])
        self._rng = np.random.default_rng(1)
        self._timed: list[tuple[float, ...]] = []

    def run(self, searches: int, *, timed: bool = True) -> None:
        searched = [self._search() for _ in range(searches)]
        times = [(looks, seconds, *self._bounds(rows, looks)) for rows, looks, seconds in searched]
        self._weights.release()
        if timed:
            self._timed += times

    def _search(self) -> tuple[Rows, int, float]:
        """The rows of a search, its looks and its seconds."""
        if self._exact:
            rows, n = self._weights.exact(), len(self._problem.rows)
        else:
            rows = self._weights.draw(self._sample, SCHEMES["iid"], self._rng)
            n = rows.examples.size
        features = self._features()
        seconds = seconds_of(lambda: self._searcher.search(features, rows, self._exact))
        return rows, self._n_features * n, seconds

    def _bounds(self, rows: Rows, looks: int) -> tuple[float, float]:
        """Seconds of as many stores, and of as many reads in the same rows."""
        stores = seconds_of(lambda: self._store(looks))
        n = looks // self._n_features
        return stores, time_reads(self._problem.bank, self._features(), rows, n)

    def _features(self) -> NDArray[np.int64]:
        return self._rng.choice(self._problem.bank.n_features, self._n_features, replace=False)

    def found(self) -> LookTimes:
        looks, search, stores, reads = np.array(self._timed).T
        return LookTimes(
            self._problem.Y.shape[1],
            self._n_features,
            min(self._sample, len(self._problem.rows)),
            self._exact,
            looks.astype(np.int64),
            search,
            stores,
            reads,
        )


def time_looks(
    cells: Sequence[tuple[Problem, int, int | None]],
    searches: int = 100,
    progress: Progress | None = None,
    *,
    turn: int = 10,
) -> list[LookTimes]:
    """Time searches of some fresh features on all examples (None), or each on a fresh sample.

    `cells` are problems with numbers of features and of examples; they take turns of some searches
    each. Compiling is done before.
    """
    made = [_Cell(*cell) for cell in cells]
    for number, cell in enumerate(made):
        if progress is not None:
            progress("compiling", number, len(made))
        cell.run(1, timed=False)
    for done in range(0, searches, turn):
        if progress is not None:
            progress("looks", done, searches)
        for cell in made:
            cell.run(min(turn, searches - done))
    return [cell.found() for cell in made]


def looks_table(times: Sequence[LookTimes]) -> Table:
    """Nanoseconds a look, its two bounds, and the share that the larger one is of it."""
    return Table(
        "a look, threshold search included: least and median nanoseconds; the bounds: storing the "
        "vectors of a row, reading a bin (medians); the share of the larger one in percent",
        (
            "classes",
            "vectors",
            "features",
            "examples",
            "least",
            "median",
            "stores",
            "reads",
            "share",
        ),
        tuple(
            (
                str(one.n_classes),
                layout_of(one.n_labels),
                f"{one.n_features:,}",
                f"{one.n_examples:,}",
                f"{one.nanoseconds('search').min():.2f}",
                *(
                    f"{np.median(one.nanoseconds(part)):.2f}"
                    for part in ("search", "stores", "reads")
                ),
                f"{100 * one.share:.0f}",
            )
            for one in times
        ),
    )


def looks_section(
    problem: Problem,
    n_classes: Sequence[int],
    n_features: tuple[int, int],
    sample: int,
    searches: int,
    progress: Progress | None = None,
) -> Section:
    """Looks for several numbers of classes, on all examples and on a sample."""
    most = problem.bank.n_features
    cells: list[tuple[Problem, int, int | None]] = []
    for k in n_classes:
        labelled = relabelled(problem, k)
        cells.append((labelled, min(n_features[0], most), None))
        if sample < len(problem.rows):
            cells.append((labelled, min(n_features[1], most), sample))
    times = time_looks(cells, searches, progress)
    return Section(
        (looks_table(times),),
        {
            "looks": [
                {
                    "classes": one.n_classes,
                    "features": one.n_features,
                    "examples": one.n_examples,
                    "exact": one.exact,
                    **{
                        f"{part}_ns": {
                            "least": float(one.nanoseconds(part).min()),
                            "median": float(np.median(one.nanoseconds(part))),
                        }
                        for part in ("search", "stores", "reads", "bound")
                    },
                    "share": one.share,
                }
                for one in times
            ]
        },
        {
            one.name: paired_ratio(
                one.nanoseconds("search"), one.nanoseconds("stores" if one.exact else "reads")
            )
            for one in times
        },
        {
            **problem.sizes(),
            "search": [list(n_features), sample],
        },
    )
