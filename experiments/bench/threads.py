"""What several threads gain: rounds of the same run, bits included, in turns with one thread.

And what they gain where nothing is shared or handed over but the start: cores may be less than
whole ones, if others on the machine use their parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from boostsample.experiments.bench.kernels import stores_of
from boostsample.experiments.bench.looks import seconds_of
from boostsample.experiments.bench.problem import Problem, Progress
from boostsample.experiments.bench.ratios import Ratio, Section
from boostsample.experiments.bench.rounds import RoundTimes, Timed
from boostsample.experiments.tables.tables import Table
from boostsample.registry import make_strategy
from boostsample.threads.threads import Threads

__all__ = ["Stores", "ThreadTimes", "threads_section", "threads_table", "time_threads"]

_WARM_UP = 3
#: Looks of a piece of stores, about as long as the half of a search.
_LOOKS = 500_000


class Stores:
    """The stores of looks, each thread in a histogram of its own; seconds of the same work.

    Attributes
    ----------
    one, many : list of float
        Of pieces done by one thread after each other, and by `n_jobs` threads at once.
    """

    def __init__(self, n_labels: int, n_jobs: int) -> None:
        self.one: list[float] = []
        self.many: list[float] = []
        self._pieces = [stores_of(n_labels) for _ in range(n_jobs)]
        self._threads = Threads(n_jobs)
        self._done = False

    def run(self, times: int) -> None:
        """Do the pieces so many times in either way."""
        kernel = self._pieces[0][0]

        def arguments(first: int, end: int) -> tuple[Any, ...]:
            return *self._pieces[first][1:], _LOOKS * (end - first)

        def in_turn() -> None:
            for first in range(len(self._pieces)):
                kernel(*arguments(first, first + 1))

        def at_once() -> None:
            self._threads.share(kernel, arguments, range(len(self._pieces) + 1))

        if not self._done:
            in_turn()
            at_once()
            self._done = True
        for work, seconds in ((in_turn, self.one), (at_once, self.many)):
            seconds += [seconds_of(work) for _ in range(times)]

    @property
    def gain(self) -> float:
        """How many times faster the threads are together, by the medians."""
        return float(np.median(self.one) / np.median(self.many))


@dataclass(frozen=True)
class ThreadTimes:
    """Rounds of one strategy with one thread and with `n_jobs`."""

    n_jobs: int
    one: RoundTimes
    many: RoundTimes
    stores: Stores

    def gain(self, part: str | None = None) -> float:
        """How many times faster the median round is, or a part of it."""
        one, many = (
            np.median(times.seconds if part is None else times.parts[part])
            for times in (self.one, self.many)
        )
        return float(one / many)

    def cost(self, turn: int) -> Ratio:
        """The median round with `n_jobs` threads in units of that with one."""
        return self.many.ratio_of_medians(self.one, turn)


def time_threads(
    problem: Problem,
    strategy: str,
    n_jobs: int,
    n_rounds: int,
    progress: Progress | None = None,
    *,
    turn: int = 20,
) -> ThreadTimes:
    """Train twice, some rounds with one thread and some with `n_jobs` in turn, and some stores."""
    runs, stores = [], Stores(problem.n_classes, n_jobs)
    for jobs in (1, n_jobs):
        made = Timed(problem, make_strategy(strategy), n_rounds + _WARM_UP, n_jobs=jobs)
        made.run(_WARM_UP, RoundTimes(strategy))
        runs.append((made, RoundTimes(strategy)))
    for done in range(0, n_rounds, turn):
        if progress is not None:
            progress(f"threads: {strategy}", done, n_rounds)
        for made, times in runs:
            made.run(min(turn, n_rounds - done), times)
        stores.run(min(turn, n_rounds - done))
    return ThreadTimes(n_jobs, runs[0][1], runs[1][1], stores)


def threads_table(found: Sequence[ThreadTimes]) -> Table:
    """Milliseconds of rounds with one thread and with several, and how many times faster."""
    return Table(
        "threads: median milliseconds of a round with one and with several, bits the same; how "
        "many times faster it is, its searches, its finish, and bare stores in turns with it",
        ("strategy", "threads", "one", "several", "round", "search", "finish", "stores"),
        tuple(
            (
                times.one.strategy,
                str(times.n_jobs),
                f"{1e3 * np.median(times.one.seconds):.2f}",
                f"{1e3 * np.median(times.many.seconds):.2f}",
                f"{times.gain():.2f}",
                f"{times.gain('search'):.2f}",
                f"{times.gain('finish'):.2f}",
                f"{times.stores.gain:.2f}",
            )
            for times in found
        ),
    )


def threads_section(
    problem: Problem,
    strategies: Sequence[str],
    n_jobs: int,
    n_rounds: int,
    progress: Progress | None = None,
    *,
    turn: int = 20,
) -> Section:
    """Rounds of some strategies with one thread and with several."""
    found = [
        time_threads(problem, name, n_jobs, n_rounds, progress, turn=turn) for name in strategies
    ]
    return Section(
        (threads_table(found),),
        {
            "threads": [
                {
                    "strategy": times.one.strategy,
                    "threads": times.n_jobs,
                    "one_ms": 1e3 * float(np.median(times.one.seconds)),
                    "several_ms": 1e3 * float(np.median(times.many.seconds)),
                    "gain": times.gain(),
                    "gain_of_search": times.gain("search"),
                    "gain_of_finish": times.gain("finish"),
                    "gain_of_stores": times.stores.gain,
                }
                for times in found
            ]
        },
        {times.one.strategy: times.cost(turn) for times in found},
        {**problem.sizes(), "threads": n_jobs, "rounds": n_rounds},
    )
