"""Milliseconds per round: of every strategy, of several threads, and with products and trees."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from benchmarks.problem import BenchProblem
from benchmarks.timing import (
    BASELINE,
    BenchSizes,
    median_ratio,
    record_ratio,
    seconds_of,
    time_in_turns,
)
from boostsample.loop.booster import Booster
from boostsample.step import Step

_DRAWS = ("draw", "draw_nested", "sample_features", "sample_members")


class RoundClock:
    """Seconds of the parts of rounds, by replaced methods of `Step` and of a strategy.

    `own` is the strategy's own work, `search` and `modelling` are its searches for each purpose;
    the rest of a round is the loop's finish on all examples.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.parts: dict[str, float] = dict.fromkeys(("own", "draw", "search", "modelling"), 0.0)
        self._patch = monkeypatch
        for name in _DRAWS:
            self._time(Step, name, lambda *_, **__: "draw")
        for name in ("search", "edges"):
            self._time(Step, name, lambda *args, **named: named.get("purpose", "search"))

    def add(self, strategy: Any) -> None:
        """Time the methods of this strategy, too."""
        for name in ("choose", "learn"):
            self._time(type(strategy), name, lambda *_, **__: "own")

    def _time(self, owner: Any, name: str, part_of: Callable[..., str]) -> None:
        method, parts = getattr(owner, name), self.parts

        def timed(*args: Any, **named: Any) -> Any:
            before, inside = time.perf_counter(), sum(parts.values())
            try:
                return method(*args, **named)
            finally:  # seconds of calls inside belong to their own parts
                inside = sum(parts.values()) - inside
                parts[part_of(*args, **named)] += time.perf_counter() - before - inside

        self._patch.setattr(owner, name, timed)

    def shares(self, seconds: float) -> dict[str, float]:
        """The share of each part in the seconds of all rounds."""
        shares = {part: spent / seconds for part, spent in self.parts.items()}
        return {**shares, "finish": 1.0 - sum(shares.values())}


def booster_of(problem: BenchProblem, strategy: str, n_rounds: int, n_jobs: int = 1) -> Booster:
    """A run that has compiled its kernels in three rounds."""
    named: dict[str, Any] = {"n_rounds": n_rounds + 3, "weight_init": "uniform", "n_jobs": n_jobs}
    booster = Booster(problem.bank, problem.rows, problem.Y, strategy, rng=0, **named)
    for _ in range(3):
        booster.next_round()
    return booster


def test_round(
    benchmark: Any,
    problem: BenchProblem,
    sizes: BenchSizes,
    n_rounds: int,
    monkeypatch: pytest.MonkeyPatch,
    strategy: str,
) -> None:
    """The median round in units of the median round of the baseline, at equal looks.

    Both run in blocks of 20 rounds so that each finds a warm cache.
    """
    booster = booster_of(problem, strategy, n_rounds)
    baseline = booster_of(problem, BASELINE, n_rounds)
    clock, looks = RoundClock(monkeypatch), 0
    clock.add(booster.strategy)
    parts = dict(clock.parts)

    def next_round() -> None:
        nonlocal looks
        rows = booster.next_round().rows
        looks += sum(row["looks_search"] + row["looks_modelling"] for row in rows)

    def unit() -> float:
        parts.update(clock.parts)
        seconds = seconds_of(baseline.next_round)
        clock.parts.update(parts)  # the parts are those of the strategy alone
        return seconds

    seconds, units = time_in_turns(benchmark, next_round, unit, n_rounds, block=sizes.block)
    shares = clock.shares(seconds.sum())
    assert 0 < looks <= 10 * len(problem.rows) * seconds.size
    assert min(shares.values()) >= 0
    assert shares["modelling"] > 0 or strategy not in ("mas-1q", "mas-q1")
    record_ratio(
        benchmark,
        "rounds",
        strategy,
        float(np.median(seconds) / np.median(units)),
        {**problem.sizes(), "rounds": n_rounds},
        ratio_of_means=float(seconds.mean() / units.mean()),
        baseline_ms=1e3 * float(np.median(units)),
        looks=looks / seconds.size,
        shares=shares,
    )


def test_threads(benchmark: Any, problem: BenchProblem, sizes: BenchSizes, n_rounds: int) -> None:
    """Rounds of the baseline with several threads, in one piece: threads fall asleep meanwhile."""
    booster = booster_of(problem, BASELINE, n_rounds, sizes.threads)
    alone = booster_of(problem, BASELINE, n_rounds)
    benchmark.pedantic(booster.next_round, rounds=n_rounds)
    benchmark.extra_info["threads"] = sizes.threads
    units = [seconds_of(alone.next_round) for _ in range(booster.round - alone.round)]
    benchmark.extra_info["baseline_ms"] = 1e3 * float(np.median(units))
    assert booster.next_round().rows[0]["edge"] == alone.next_round().rows[0]["edge"]


class LearnerTurns:
    """Rounds with a learner, in turns of equal looks; the run begins again if it ends."""

    def __init__(self, problem: BenchProblem, strategy: str, learner: str, looks: int) -> None:
        self._data = problem.bank, problem.rows, problem.Y, strategy, learner
        self._looks = looks
        self._booster = Booster(*self._data, rng=0)
        self.costs: list[float] = []
        self.searches: list[float] = []
        self.turn(1)
        self.costs.clear()
        self.searches.clear()

    def turn(self, looks: int | None = None) -> float:
        """Seconds of rounds until the looks are spent; `costs` gains the seconds per look."""
        spent, seconds, n_rounds, n_searches = 0, 0.0, 0, 0
        while spent < (looks or self._looks):
            if self._booster.stopped:  # at an edge of 1
                self._booster = Booster(*self._data, rng=0)
            before = time.perf_counter()
            rows = self._booster.next_round().rows
            seconds += time.perf_counter() - before
            spent += sum(row["looks_search"] + row["looks_modelling"] for row in rows)
            n_rounds, n_searches = n_rounds + 1, n_searches + len(rows)
        self.costs.append(seconds / spent)
        self.searches.append(n_searches / n_rounds)
        return seconds


@pytest.mark.parametrize("learner", ["product:n_terms=3", "tree:n_leaves=16"])
@pytest.mark.parametrize("chooser", ["uniform-naive", "laminating"])
def test_learner(
    benchmark: Any, problem: BenchProblem, sizes: BenchSizes, chooser: str, learner: str
) -> None:
    """A look of a round with products or trees in units of one with stumps.

    A look has its share of everything else in its round: draws, the finish of each search, the
    update of the weights, and the strategy's own work.
    """
    looks = sizes.block * 10 * len(problem.rows)
    turns = LearnerTurns(problem, chooser, learner, looks)
    stumps = LearnerTurns(problem, chooser, "stump", looks)
    time_in_turns(benchmark, turns.turn, stumps.turn, max(1, sizes.rounds // sizes.block))
    record_ratio(
        benchmark,
        "learners",
        f"{chooser}, {learner}",
        median_ratio(turns.costs, stumps.costs),
        {**problem.sizes(), "rounds": sizes.rounds},
        searches=float(np.mean(turns.searches)),
        look_ns=1e9 * float(np.median(turns.costs)),
    )
