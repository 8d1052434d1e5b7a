"""Nanoseconds a look of rounds with products and trees, and ratios to rounds with stumps.

A look here has its share of everything else in its round: draws, the finish of each search, the
update of the weights, and the strategy's own work. Learners run in turns of equal looks.
"""

from __future__ import annotations

import functools
import time
from typing import Any

import numpy as np

from boostsample.experiments.bench.problem import BenchProblem
from boostsample.experiments.bench.timing import (
    TimingResult,
    TimingSizes,
    timed_ratio,
    timing_table,
)
from boostsample.experiments.common.progress import Progress
from boostsample.loop.booster import Booster

_STRATEGIES = ("uniform-naive", "laminating")
_LEARNERS = ("stump", "product:n_terms=3", "tree:n_leaves=16")


class _Run:
    """A run whose turns are timed."""

    def __init__(self, problem: BenchProblem, strategy: str, learner: str, n_rounds: int) -> None:
        self.names = {"strategy": strategy, "learner": learner}
        data = problem.bank, problem.rows, problem.Y
        self._new = functools.partial(Booster, *data, strategy, learner, n_rounds=n_rounds, rng=0)
        self._booster = self._new()
        self.rounds = self.searches = self.looks = 0
        self.costs: list[float] = []  # seconds a look of each turn
        self.turn(1)
        self.rounds, self.searches, self.looks, self.costs = 0, 0, 0, []

    def turn(self, looks: int) -> int:
        """Train rounds until these looks are spent; the looks that were."""
        spent, seconds = 0, 0.0
        while spent < looks:
            if self._booster.stopped:  # at an edge of 1: the run begins again
                self._booster = self._new()
            before = time.perf_counter()
            rows = self._booster.next_round().rows
            seconds += time.perf_counter() - before
            spent += sum(row["looks_search"] + row["looks_modelling"] for row in rows)
            self.rounds, self.searches = self.rounds + 1, self.searches + len(rows)
        self.looks += spent
        self.costs.append(seconds / spent)
        return spent

    def numbers(self, base: _Run) -> dict[str, Any]:
        """Means of a round, and the ratio to the base."""
        return {
            **self.names,
            "looks": self.looks / self.rounds,
            "searches": self.searches / self.rounds,
            "ns": 1e9 * float(np.median(self.costs)),
            "ratio": timed_ratio(self.costs, base.costs),
        }


def bench_learner_rounds(
    problem: BenchProblem, sizes: TimingSizes, progress: Progress
) -> TimingResult:
    """Rounds with each learner at equal looks."""
    numbers: list[dict[str, Any]] = []
    n_turns = max(1, sizes.rounds // sizes.turn)
    for number, strategy in enumerate(_STRATEGIES):
        runs = [_Run(problem, strategy, learner, sizes.rounds) for learner in _LEARNERS]
        for turn in range(n_turns):
            progress("learners", number * n_turns + turn, len(_STRATEGIES) * n_turns)
            looks = sizes.turn * 10 * len(problem.rows)
            for run in runs:
                run.turn(looks)
        numbers += [run.numbers(runs[0]) for run in runs]
    table = timing_table(
        "rounds with products and trees: mean looks and searches of a round, median nanoseconds a "
        "look, ratio to stumps",
        {
            "strategy": "{strategy}",
            "learner": "{learner}",
            "looks": "{looks:,.0f}",
            "searches": "{searches:.1f}",
            "ns a look": "{ns:.2f}",
            "ratio": "{ratio:.2f}",
        },
        numbers,
    )
    ratios = {
        f"{one['strategy']}, {one['learner']}": one["ratio"]
        for one in numbers
        if one["learner"] != _LEARNERS[0]
    }
    conditions = {**problem.sizes(), "rounds": sizes.rounds}
    return TimingResult((table,), {"learners": numbers}, ratios, conditions)
