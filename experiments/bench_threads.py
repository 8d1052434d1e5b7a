"""What several threads gain: rounds of the same run, bits included, in turns with one thread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from boostsample.experiments.bench_problem import Problem, Progress
from boostsample.experiments.bench_ratios import Ratio, Section
from boostsample.experiments.bench_rounds import RoundTimes, Timed
from boostsample.experiments.tables import Table
from boostsample.registry import make_strategy

__all__ = ["ThreadTimes", "threads_section", "threads_table", "time_threads"]

_WARM_UP = 3


@dataclass(frozen=True)
class ThreadTimes:
    """Rounds of one strategy with one thread and with `n_jobs`."""

    n_jobs: int
    one: RoundTimes
    many: RoundTimes

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
    """Train twice, some rounds with one thread and some with `n_jobs` in turn."""
    runs = []
    for jobs in (1, n_jobs):
        made = Timed(problem, make_strategy(strategy), n_rounds + _WARM_UP, n_jobs=jobs)
        made.run(_WARM_UP, RoundTimes(strategy))
        runs.append((made, RoundTimes(strategy)))
    for done in range(0, n_rounds, turn):
        if progress is not None:
            progress(f"threads: {strategy}", done, n_rounds)
        for made, times in runs:
            made.run(min(turn, n_rounds - done), times)
    return ThreadTimes(n_jobs, runs[0][1], runs[1][1])


def threads_table(found: Sequence[ThreadTimes]) -> Table:
    """Milliseconds of rounds with one thread and with several, and how many times faster."""
    return Table(
        "threads: median milliseconds of a round with one and with several, bits the same, and "
        "how many times faster the round is, its searches, and its finish",
        ("strategy", "threads", "one", "several", "round", "search", "finish"),
        tuple(
            (
                times.one.strategy,
                str(times.n_jobs),
                f"{1e3 * np.median(times.one.seconds):.2f}",
                f"{1e3 * np.median(times.many.seconds):.2f}",
                f"{times.gain():.2f}",
                f"{times.gain('search'):.2f}",
                f"{times.gain('finish'):.2f}",
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
                }
                for times in found
            ]
        },
        {times.one.strategy: times.cost(turn) for times in found},
        {**problem.sizes(), "threads": n_jobs, "rounds": n_rounds},
    )
