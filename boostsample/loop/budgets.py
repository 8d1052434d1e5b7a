"""Budgets of rounds, and limits of a run at which it ends, with the rounds trained so far.

A growing budget of mean B rises linearly from B/2 in the first of n rounds to 3/2 B in the last, a
shrinking one is the same backwards. The sum of the first t of the unrounded budgets is

    C_t = B t (n + t - 2) / (2 (n - 1)),

and round t has floor(C_t) - floor(C_{t-1}) looks: integers whose sum is n B.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from boostsample.checks import check_integer, check_known, check_number, parse_budget
from boostsample.errors import SettingError
from boostsample.records import Round

EQUAL = "equal"
BUDGET_KINDS = (EQUAL, "growing", "shrinking")
"""Each round has the mean budget, or more than the round before, or less."""
_VERBS = {"growing": "grow", "shrinking": "shrink"}


def split_budget(budget: str | int) -> tuple[str | int, str]:
    """The mean of a budget and its kind, one of `BUDGET_KINDS`; SettingError for another kind.

    >>> split_budget("10N:growing"), split_budget("10N")
    (('10N', 'growing'), ('10N', 'equal'))
    """
    if not isinstance(budget, str) or ":" not in budget:
        return budget, EQUAL
    mean, _, kind = budget.partition(":")
    check_known("kind of a budget", kind, _VERBS)
    return mean, kind


def round_budget(mean: int, kind: str, number: int, n_rounds: int) -> int:
    """The looks of each search of a round, counted from 1; those of all rounds have this mean.

    >>> [round_budget(10, "growing", number, 4) for number in (1, 2, 3, 4)]
    [5, 8, 12, 15]
    """
    if kind == EQUAL:
        return mean
    t = number if kind == "growing" else n_rounds + 1 - number
    first, last = (mean * end * (n_rounds + end - 2) // (2 * (n_rounds - 1)) for end in (t - 1, t))
    return last - first


def least_budget(mean: int, kind: str, n_rounds: int) -> int:
    """The smallest budget of a round; SettingError if the mean or the rounds are too few."""
    check_known("kind of a budget", kind, BUDGET_KINDS)
    if kind != EQUAL and (mean < 2 or n_rounds < 2):
        raise SettingError(
            f"a {kind} budget must have a mean of at least 2 looks and 2 rounds, got {mean:,} and "
            f"{n_rounds:,}; give more, or the same budget in each round"
        )
    return round_budget(mean, kind, 1 if kind == "growing" else n_rounds, n_rounds)


def round_budgets_note(budget: str | int) -> str:
    """A sentence on how a budget varies; empty if it does not.

    >>> round_budgets_note("10N:growing")
    'budget 10N:growing: budgets grow from 5 N to 15 N over the rounds; the total is that of 10 N'
    """
    mean, kind = split_budget(budget)
    if kind == EQUAL:
        return ""
    number, times_n = parse_budget(mean)
    low, mid, high = (
        f"{float(number * part / 2):,g} {'N' if times_n else 'looks'}" for part in (1, 2, 3)
    )
    ends = (low, high) if kind == "growing" else (high, low)
    return (
        f"budget {budget}: budgets {_VERBS[kind]} from {' to '.join(ends)} over the rounds; the "
        f"total is that of {mid}"
    )


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
