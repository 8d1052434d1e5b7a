"""The rules of a race, and what its runs came to."""

from __future__ import annotations

import math
from dataclasses import dataclass

from boostsample.checks import check_integer
from boostsample.errors import SettingError

__all__ = ["Race", "Rules", "Run"]


@dataclass(frozen=True)
class Rules:
    """When a run ends.

    Parameters
    ----------
    error : float
        Test error in percent that is to be reached.
    limit : float
        Seconds on the clock after which a run is given up.
    repeats : int
        Runs of each method's best settings.
    seed : int
        Seed of the methods; the repeats add 0, 1, ... to it.
    """

    error: float = 1.5
    limit: float = 120.0
    repeats: int = 3
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.error <= 100:
            raise SettingError(f"error must be between 0 and 100 percent, got {self.error}")
        if not (math.isfinite(self.limit) and self.limit > 0):
            raise SettingError(f"limit must be a number of seconds above 0, got {self.limit}")
        check_integer("repeats", self.repeats, 1)
        check_integer("seed", self.seed, 0)


@dataclass(frozen=True)
class Run:
    """One method with one choice of settings.

    Attributes
    ----------
    method, settings : str
        As tables call them.
    final : bool
        Whether it is one of the repeats of the best settings rather than a try.
    seed : int
    ended : str
        Why: "reached", the error was; "limit", of seconds; "best", another choice of settings of
        the method had reached the error in less; "rounds", all iterations that were allowed;
        "nothing left", to learn.
    prepared : float
        Seconds until the first iteration: bins, data set, initial weights. NaN where a fit does
        not tell.
    seconds : float
        On the clock at the end; for "reached", at the first point with an error low enough.
    iterations : int
        Until then.
    curve : tuple of (int, float, float)
        Iterations, seconds and test error in percent at each point.
    others : float
        Share of all cores that other processes took meanwhile; NaN where the system does not tell.
        Threads that wait for each other suffer from them far more than in proportion.
    """

    method: str
    settings: str
    final: bool
    seed: int
    ended: str
    prepared: float
    seconds: float
    iterations: int
    curve: tuple[tuple[int, float, float], ...]
    others: float = math.nan

    @property
    def reached(self) -> bool:
        """Whether it reached the error."""
        return self.ended == "reached"

    @property
    def lowest(self) -> float:
        """The lowest test error of all points, in percent."""
        return min((error for _, _, error in self.curve), default=math.nan)


@dataclass(frozen=True)
class Race:
    """All runs of a race.

    Attributes
    ----------
    rules : Rules
    methods : tuple of str
        In the order in which they were given; the first is what ratios are to.
    runs : tuple of Run
        In the order in which they were run.
    """

    rules: Rules
    methods: tuple[str, ...]
    runs: tuple[Run, ...]

    def of(self, method: str, *, final: bool) -> list[Run]:
        """Runs of one method."""
        return [run for run in self.runs if run.method == method and run.final == final]

    def result(self, method: str) -> Run:
        """The median of the final runs by their time, one that did not reach the error last.

        Of a method without final runs, the try with the lowest error.
        """
        final = sorted(self.of(method, final=True), key=lambda run: (not run.reached, run.seconds))
        if final:
            return final[(len(final) - 1) // 2]
        return min(self.of(method, final=False), key=lambda run: run.lowest)
