"""Limits of a run: looks, cost and seconds at which it ends, with the rounds trained so far."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from boostsample.checks import check_integer, check_number
from boostsample.errors import SettingError
from boostsample.records import Round

_NONE = "None is no limit"


class RunLimits:
    """Counts looks, cost and seconds of a run; the loop ends after the round that reaches a limit.

    The rounds of a run that is continued count, too. Any run trains a round. A round that passes
    `max_cost` is left out unless it is the first, see `passed`.

    Parameters
    ----------
    max_seconds : float or None
        Above 0; those of rounds are counted in whole microseconds, as they are stored.
    max_looks : int or None
        Looks of search and modelling, at least 1; the finish is outside, as of budgets. The rounds
        that are trained depend on nothing else than the run.
    max_cost : float or None
        Nominal seconds above 0, see `boostsample.planning.costs`; counted in whole nanoseconds, as
        they are stored.
    clock : callable or None
        Seconds by some clock: all from now on count. None: those of the rounds count.

    Raises
    ------
    SettingError
        If a limit is no number, or out of range.
    """

    def __init__(
        self,
        max_seconds: float | None = None,
        max_looks: int | None = None,
        clock: Callable[[], float] | None = None,
        max_cost: float | None = None,
    ) -> None:
        if max_seconds is not None:
            max_seconds = check_number("max_seconds", max_seconds, 0.0, above=True, hint=_NONE)
        if max_looks is not None:
            max_looks = check_integer("max_looks", max_looks, 1, hint=_NONE)
        if max_cost is not None:
            max_cost = check_number("max_cost", max_cost, 0.0, above=True, hint=_NONE)
        self.max_seconds, self.max_looks, self.max_cost = max_seconds, max_looks, max_cost
        self._clock = clock
        self._began = 0.0 if clock is None else clock()
        self._n_rounds = self._looks = self._nanoseconds = self._microseconds = 0

    def count(self, done: Round) -> None:
        """Count a round that was trained now."""
        self._count(done, self._clock is None)

    def resume(self, rounds: Sequence[Round], turn: int = 1) -> None:
        """Count the rounds of a run that is continued.

        SettingError if `max_looks` was reached before the last turn of so many rounds: the run
        would not have the bits of one that was trained at once.
        """
        for at, done in enumerate(rounds):
            if at % turn == 0 and self._no_looks_left():
                raise SettingError(
                    f"max_looks must be more than the looks of the first {at:,} of the "
                    f"{len(rounds):,} rounds that are trained already, {self._looks:,}, got "
                    f"{self.max_looks:,}; raise it, or train a new run"
                )
            self._count(done, True)

    def _count(self, done: Round, timed: bool) -> None:
        self._n_rounds += 1
        self._looks += sum(row["looks_search"] + row["looks_modelling"] for row in done.rows)
        if self.max_cost is not None:
            self._nanoseconds += sum(round(1e3 * row["cost"]) for row in done.rows)
        if timed:
            self._microseconds += sum(round(1e6 * row["seconds"]) for row in done.rows)

    def _no_looks_left(self) -> bool:
        return self.max_looks is not None and self._looks >= self.max_looks

    @property
    def _cost(self) -> float:
        """Nominal seconds, as `Cell.cost`."""
        return self._nanoseconds / 1e9

    @property
    def passed(self) -> bool:
        """Whether the last round has passed `max_cost`, and is not the only one."""
        return self.max_cost is not None and self._n_rounds > 1 and self._cost > self.max_cost

    @property
    def reached(self) -> str:
        """The limit that is reached, as text; empty if none is, and before the first round."""
        if not self._n_rounds:
            return ""
        if self._no_looks_left():
            return f"max_looks={self.max_looks:,} is reached"
        if self.max_cost is not None and self._cost >= self.max_cost:
            return f"max_cost={self.max_cost:g} is reached"
        if self.max_seconds is not None:
            now = 0.0 if self._clock is None else self._clock() - self._began
            if self._microseconds / 1e6 + now >= self.max_seconds:
                return f"max_seconds={self.max_seconds:g} is reached"
        return ""
