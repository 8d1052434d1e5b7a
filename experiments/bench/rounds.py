"""Milliseconds a round and its parts for every strategy, as ratios of one run.

Timings of shared machines wander, so strategies take turns, and everything is given beside
`uniform-naive` of the same run. A turn has several rounds, since a run has the caches for itself.
What a strategy does of its own (models, plans, policies) is told apart from its draws, its searches
and the loop's finish.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from boostsample.experiments.bench.problem import Problem, Progress
from boostsample.experiments.bench.ratios import Ratio, Section, scatter
from boostsample.experiments.tables.tables import Table
from boostsample.loop.booster import Booster
from boostsample.registry import make_strategy
from boostsample.step import Step
from boostsample.strategy import Pool, Strategy, Stump

__all__ = [
    "BASELINE",
    "PARTS",
    "RoundTimes",
    "Timed",
    "rounds_section",
    "rounds_table",
    "time_rounds",
]

BASELINE = "uniform-naive"
PARTS = ("own", "draw", "search", "modelling", "finish")
"""Of a round: the strategy's own work, its draws, its searches for each purpose, and the rest."""

_WARM_UP = 3


class _Clock(Strategy):
    """A strategy whose draws and searches are timed; everything else is its own."""

    def __init__(self, strategy: Strategy) -> None:
        self.strategy = strategy

    def default_budget(self, pool: Pool) -> int:
        return self.strategy.default_budget(pool)

    def start(self, pool: Pool, budget: int, n_rounds: int, rng: np.random.Generator) -> None:
        self.seconds_ = dict.fromkeys(PARTS, 0.0)
        self.strategy.start(pool, budget, n_rounds, rng)

    def choose(self, step: Step) -> Stump:
        before = time.perf_counter()
        self.seconds_ = dict.fromkeys(PARTS, 0.0)
        stump = self.strategy.choose(_TimedStep(step, self.seconds_))  # type: ignore[arg-type]  # quacks
        spent = time.perf_counter() - before
        self.seconds_["own"] = spent - sum(self.seconds_.values())
        return stump

    def learn(self, outcome: Any) -> None:
        before = time.perf_counter()
        self.strategy.learn(outcome)
        self.seconds_["own"] += time.perf_counter() - before


class _TimedStep:
    """A step that remembers how long its methods took."""

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

    def search(self, features: Any, sample: Any, purpose: str = "search") -> Any:
        return self._timed(purpose, self._step.search, features, sample, purpose)

    def edges(self, stumps: Any, sample: Any, purpose: str = "search") -> Any:
        return self._timed(purpose, self._step.edges, stumps, sample, purpose)


@dataclass
class RoundTimes:
    """Seconds of each round, and of its parts, of one strategy, and the looks that it took."""

    strategy: str
    seconds: list[float] = field(default_factory=list)
    looks: list[int] = field(default_factory=list)
    parts: dict[str, list[float]] = field(default_factory=lambda: {part: [] for part in PARTS})

    def share(self, part: str) -> float:
        """Share of all the time that went into a part."""
        return sum(self.parts[part]) / sum(self.seconds)

    def ratio(self, base: RoundTimes) -> float:
        """Of the mean times of the rounds that both have done."""
        n = min(len(self.seconds), len(base.seconds))
        return sum(self.seconds[:n]) / sum(base.seconds[:n])

    def ratio_of_medians(self, base: RoundTimes, turn: int) -> Ratio:
        """The same of the median times, and how those of single turns scatter."""
        n = min(len(self.seconds), len(base.seconds))
        mine, other = np.array(self.seconds[:n]), np.array(base.seconds[:n])
        return Ratio(
            float(np.median(mine) / np.median(other)),
            scatter(
                [
                    np.median(mine[first : first + turn]) / np.median(other[first : first + turn])
                    for first in range(0, n, turn)
                ]
            ),
        )


class Timed:
    """A run whose rounds are timed, in parts."""

    def __init__(
        self,
        problem: Problem,
        strategy: Strategy,
        n_rounds: int,
        weights: str = "uniform",
        *,
        n_jobs: int = 1,
    ) -> None:
        self._booster = Booster(
            problem.bank,
            problem.rows,
            problem.Y,
            _Clock(strategy),
            n_rounds=n_rounds,
            weights=weights,
            rng=0,
            n_jobs=n_jobs,
        )

    @property
    def strategy(self) -> Strategy:
        """The strategy itself, as far as it has learned."""
        return self._clock.strategy

    @property
    def _clock(self) -> _Clock:
        clock = self._booster.strategy
        assert isinstance(clock, _Clock)
        return clock

    def run(self, n_rounds: int, times: RoundTimes) -> None:
        """Do some rounds, or fewer if training ends, and add what they took to `times`."""
        for _ in range(n_rounds):
            if self._booster.finished:
                return
            before = time.perf_counter()
            done = self._booster.next_round()
            seconds = time.perf_counter() - before
            parts = self._clock.seconds_
            parts["finish"] = seconds - sum(parts[part] for part in PARTS if part != "finish")
            times.seconds.append(seconds)
            times.looks.append(sum(r["looks_search"] + r["looks_modelling"] for r in done.rows))
            for part in PARTS:
                times.parts[part].append(parts[part])


def time_rounds(
    problem: Problem,
    strategies: Sequence[str],
    n_rounds: int,
    progress: Progress | None = None,
    weights: str = "uniform",
    *,
    turn: int = 20,
) -> list[RoundTimes]:
    """Train all strategies at once, some rounds of each in turn; the baseline is among them.

    Compiling is done before; the first rounds of every strategy are timed like all others.
    """
    names = list(dict.fromkeys([BASELINE, *strategies]))
    for number, name in enumerate(names):
        if progress is not None:
            progress("compiling", number, len(names))
        Timed(problem, make_strategy(name), n_rounds, weights).run(
            min(_WARM_UP, n_rounds), RoundTimes(name)
        )
    runs = [
        (RoundTimes(name), Timed(problem, make_strategy(name), n_rounds, weights)) for name in names
    ]
    for done in range(0, n_rounds, turn):
        if progress is not None:
            progress("rounds", done, n_rounds)
        for times, one in runs:
            one.run(min(turn, n_rounds - done), times)
    return [times for times, _ in runs]


def rounds_table(times: Sequence[RoundTimes]) -> Table:
    """Milliseconds a round, ratios to the baseline, looks, and the share of each part."""
    base = times[0]
    rows = []
    for one in times:
        ms = np.array(one.seconds) * 1e3
        rows.append(
            (
                one.strategy,
                f"{np.mean(one.looks):,.0f}",
                f"{ms.min():.2f}",
                f"{np.median(ms):.2f}",
                f"{ms.mean():.2f}",
                f"{one.ratio(base):.2f}",
                f"{one.ratio_of_medians(base, len(ms)).value:.2f}",
                *(f"{100 * one.share(part):.1f}" for part in PARTS),
            )
        )
    return Table(
        f"a round: mean looks; least, median and mean milliseconds of {len(base.seconds):,} rounds;"
        f" ratios of means and medians to {base.strategy}; the parts in percent",
        ("strategy", "looks", "least", "median", "mean", "ratio", "of medians", *PARTS),
        tuple(rows),
    )


def rounds_section(
    problem: Problem,
    strategies: Sequence[str],
    n_rounds: int,
    progress: Progress | None = None,
    *,
    turn: int = 20,
) -> Section:
    """Rounds of several strategies."""
    times = time_rounds(problem, strategies, n_rounds, progress, turn=turn)
    base = times[0]
    return Section(
        (rounds_table(times),),
        {
            "rounds": [
                {
                    "strategy": one.strategy,
                    "rounds": len(one.seconds),
                    "looks": float(np.mean(one.looks)),
                    "least_ms": 1e3 * min(one.seconds),
                    "median_ms": 1e3 * float(np.median(one.seconds)),
                    "mean_ms": 1e3 * float(np.mean(one.seconds)),
                    "ratio": one.ratio(base),
                    "ratio_of_medians": one.ratio_of_medians(base, turn).value,
                    "shares": {part: one.share(part) for part in PARTS},
                }
                for one in times
            ]
        },
        {one.strategy: one.ratio_of_medians(base, turn) for one in times[1:]},
        {**problem.sizes(), "rounds": n_rounds},
    )
