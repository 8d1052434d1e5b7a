"""Milliseconds per round and per part of a round for every strategy, and ratios to `uniform-naive`.

Strategies run in blocks of 20 rounds, in turns, so that each finds a warm cache and the load of the
machine affects all of them alike.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from boostsample.experiments.bench.problem import BenchProblem, bench_problem_weights
from boostsample.experiments.bench.timing import TimingResult, TimingSizes, timing_table
from boostsample.experiments.common.progress import Progress
from boostsample.experiments.tables.tables import Table
from boostsample.loop.booster import Booster
from boostsample.registry import make_strategy
from boostsample.rows.searcher import Searcher
from boostsample.step import Step
from boostsample.strategy import Pool, Strategy, Stump

ROUND_BASELINE = "uniform-naive"
ROUND_PARTS = ("own", "draw", "search", "modelling", "finish")
"""The parts of a round: the strategy's own work, its draws, its searches for each purpose, and the
loop's finish on all examples."""


class _Clock(Strategy):
    """A strategy with its draws and searches timed; the wrapped one makes all choices."""

    def __init__(self, strategy: Strategy) -> None:
        self.strategy = strategy

    def default_budget(self, pool: Pool) -> int:
        return self.strategy.default_budget(pool)

    def start(self, pool: Pool, budget: int, n_rounds: int, rng: np.random.Generator) -> None:
        self.strategy.start(pool, budget, n_rounds, rng)

    def choose(self, step: Step) -> Stump:
        before = time.perf_counter()
        self.seconds_ = dict.fromkeys(ROUND_PARTS, 0.0)
        stump = self.strategy.choose(_TimedStep(step, self.seconds_))  # type: ignore[arg-type]  # duck-typed
        spent = time.perf_counter() - before
        self.seconds_["own"] = spent - sum(self.seconds_.values())
        return stump

    def learn(self, outcome: Any) -> None:
        before = time.perf_counter()
        self.strategy.learn(outcome)
        self.seconds_["own"] += time.perf_counter() - before


class _TimedStep:
    """A step that adds up the seconds of its methods."""

    def __init__(self, step: Step, seconds: dict[str, float]) -> None:
        self._step = step
        self._seconds = seconds

    def __getattr__(self, name: str) -> Any:
        return getattr(self._step, name)

    def _timed(self, part: str, method: Callable[..., Any], *args: Any, **named: Any) -> Any:
        before = time.perf_counter()
        result = method(*args, **named)
        self._seconds[part] += time.perf_counter() - before
        return result

    def draw(self, *args: Any, **named: Any) -> Any:
        return self._timed("draw", self._step.draw, *args, **named)

    def draw_nested(self, *args: Any, **named: Any) -> Any:
        return self._timed("draw", self._step.draw_nested, *args, **named)

    def sample_features(self, *args: Any, **named: Any) -> Any:
        return self._timed("draw", self._step.sample_features, *args, **named)

    def sample_members(self, *args: Any, **named: Any) -> Any:
        return self._timed("draw", self._step.sample_members, *args, **named)

    def search(self, features: Any, sample: Any, purpose: str = "search") -> Any:
        return self._timed(purpose, self._step.search, features, sample, purpose)

    def edges(self, stumps: Any, sample: Any, purpose: str = "search") -> Any:
        return self._timed(purpose, self._step.edges, stumps, sample, purpose)


@dataclass
class RoundTimes:
    """Seconds of each round and of its parts, and the looks of each round, for one strategy."""

    strategy: str
    seconds: list[float] = field(default_factory=list)
    looks: list[int] = field(default_factory=list)
    parts: dict[str, list[float]] = field(default_factory=lambda: {one: [] for one in ROUND_PARTS})

    def ratio(self, base: RoundTimes, middle: Callable[..., Any] = np.mean) -> float:
        """The mean (or median) round in units of another's, over the rounds that both have."""
        n = min(len(self.seconds), len(base.seconds))
        return float(middle(self.seconds[:n]) / middle(base.seconds[:n]))

    def numbers(self, base: RoundTimes) -> dict[str, Any]:
        """Looks, milliseconds, ratios to the base, and the share of each part in all seconds."""
        ms = 1e3 * np.array(self.seconds)
        return {
            "strategy": self.strategy,
            "rounds": ms.size,
            "looks": float(np.mean(self.looks)),
            "least_ms": float(ms.min()),
            "median_ms": float(np.median(ms)),
            "mean_ms": float(ms.mean()),
            "ratio": self.ratio(base),
            "ratio_of_medians": self.ratio(base, np.median),
            "shares": {part: sum(self.parts[part]) / sum(self.seconds) for part in ROUND_PARTS},
        }


class TimedRounds:
    """A run of a `strategy` whose rounds are timed, in parts, into `times`."""

    def __init__(
        self, problem: BenchProblem, strategy: str, n_rounds: int, n_jobs: int = 1
    ) -> None:
        self.times = RoundTimes(strategy)
        clock = _Clock(make_strategy(strategy))
        data = problem.bank, problem.rows, problem.Y
        named: dict[str, Any] = {"n_rounds": n_rounds, "weight_init": "uniform", "n_jobs": n_jobs}
        self._booster = Booster(*data, clock, rng=0, **named)
        self._clock: Any = self._booster.strategy
        self.strategy: Strategy = self._clock.strategy

    def run(self, n_rounds: int) -> float:
        """Time some rounds, or fewer if training ends; the seconds of the last one."""
        for _ in range(n_rounds):
            if self._booster.finished:
                break
            before = time.perf_counter()
            rows = self._booster.next_round().rows
            seconds = time.perf_counter() - before
            parts = self._clock.seconds_
            parts["finish"] = seconds - sum(parts.values())
            self.times.seconds.append(seconds)
            self.times.looks.append(sum(r["looks_search"] + r["looks_modelling"] for r in rows))
            for part in ROUND_PARTS:
                self.times.parts[part].append(parts[part])
        return self.times.seconds[-1]


def warm_up_rounds(problem: BenchProblem, strategy: str, n_jobs: int = 1) -> None:
    """Compile the kernels of a strategy's rounds, and of the edges that break ties."""
    TimedRounds(problem, strategy, 3, n_jobs).run(3)
    weights = bench_problem_weights(problem)
    searcher, rows = Searcher(problem.bank, weights), weights.exact()
    searcher.signed_edges(searcher.search(np.arange(1), rows, True), rows)


def time_rounds(problem: BenchProblem, sizes: TimingSizes, progress: Progress) -> list[RoundTimes]:
    """Train several strategies at once, `sizes.turn` rounds of each in turn.

    `ROUND_BASELINE` comes first; last comes the baseline with several threads, to the same bits.
    Its rounds run in one piece, since threads fall asleep between turns.
    """
    names = list(dict.fromkeys([ROUND_BASELINE, *sizes.strategies]))
    made = [(name, 1) for name in names] + [(ROUND_BASELINE, sizes.threads)]
    for number, (name, n_jobs) in enumerate(made):
        progress("compiling", number, len(made))
        warm_up_rounds(problem, name, n_jobs)
    runs = [TimedRounds(problem, name, sizes.rounds, n_jobs) for name, n_jobs in made]
    runs[-1].times.strategy += f", {sizes.threads} threads"
    for done in range(0, sizes.rounds, sizes.turn):
        progress("rounds", done, sizes.rounds)
        for run in runs[:-1]:
            run.run(min(sizes.turn, sizes.rounds - done))
    runs[-1].run(sizes.rounds)
    return [run.times for run in runs]


def bench_rounds_table(times: Sequence[RoundTimes]) -> Table:
    """Milliseconds a round, ratios to the first strategy, looks, and the share of each part."""
    base = times[0]
    return timing_table(
        f"a round: mean looks; least, median and mean milliseconds of {len(base.seconds):,} rounds;"
        f" ratios of means and medians to {base.strategy}; the share of each part",
        {
            "strategy": "{strategy}",
            "looks": "{looks:,.0f}",
            "least": "{least_ms:.2f}",
            "median": "{median_ms:.2f}",
            "mean": "{mean_ms:.2f}",
            "ratio": "{ratio:.2f}",
            "of medians": "{ratio_of_medians:.2f}",
            **{part: f"{{shares[{part}]:.1%}}" for part in ROUND_PARTS},
        },
        [one.numbers(base) for one in times],
    )


def bench_rounds(problem: BenchProblem, sizes: TimingSizes, progress: Progress) -> TimingResult:
    """Rounds of several strategies, and of the baseline with several threads."""
    times = time_rounds(problem, sizes, progress)
    base = times[0]
    return TimingResult(
        (bench_rounds_table(times),),
        {"rounds": [one.numbers(base) for one in times]},
        {one.strategy: one.ratio(base, np.median) for one in times[1:-1]},
        {**problem.sizes(), "rounds": sizes.rounds},
    )
