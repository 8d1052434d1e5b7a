"""One strategy trained in one repetition, and the result rows that are made of it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from boostsample.booster import Round
from boostsample.experiments.variants import CHARGED, Variant

__all__ = ["LOOKS", "RESULT_COLUMNS", "Run", "Tuning"]

RESULT_COLUMNS = (
    "data",
    "strategy",
    "settings",
    "learner",
    "repetition",
    "stumps",
    "log10_loss",
    "test_error",
    "looks",
    "seconds",
)
LOOKS = ("search", "modelling", "finish")
"""What looks are spent on; the finish stands outside the budget."""


@dataclass(frozen=True)
class Tuning:
    """The search that a kept run comes from: all runs of its strategy in its repetition.

    Attributes
    ----------
    losses : tuple of float
        log10 loss of each run at its end, in the order of the grid; the smallest is the kept run's.
    budget : int
        Looks a search, summed over the runs.
    looks : dict of str to int
        Looks of all runs in all rounds, for each of `LOOKS`.
    seconds : float
        Training time of all runs.
    spent : dict of int to (int, float)
        Looks (search and modelling) and seconds of all runs by number of stumps, each run with that
        number, at the points that `charged_stumps` may ask for.
    """

    losses: tuple[float, ...]
    budget: int
    looks: dict[str, int]
    seconds: float
    spent: dict[int, tuple[int, float]]


@dataclass
class Run:
    """One strategy in one repetition.

    Attributes
    ----------
    variant, repetition
        Which one.
    budget : int
        Looks a search.
    trained : Variant
        The strategy as it was trained: `variant` itself, or one of its grid.
    n_rounds : int
        Rounds done.
    rows : list of dict
        One result row a mark, with `RESULT_COLUMNS`; for a tuned strategy a second one with the
        search charged to it.
    loss : list of float
        log10 of the exponential loss after each round.
    errors : dict of int to float
        Test error in percent by number of stumps, at the marks and the points of the curve.
    looks : dict of str to int
        Looks in all rounds, for each of `LOOKS`.
    seconds : float
        Training time, evaluation apart.
    spent : dict of int to (int, float)
        Looks (search and modelling) and seconds by number of stumps, where they were asked for and
        at the end.
    stopped : str
        Why training ended before the last mark; empty if it did not.
    history : list of dict
        History rows, if the plan asked for them.
    tuning : Tuning or None
        For the kept run of a tuned strategy, the search that it comes from.
    """

    variant: Variant
    repetition: int
    budget: int
    trained: Variant
    n_rounds: int = 0
    rows: list[dict[str, Any]] = field(default_factory=list)
    loss: list[float] = field(default_factory=list)
    errors: dict[int, float] = field(default_factory=dict)
    looks: dict[str, int] = field(default_factory=lambda: dict.fromkeys(LOOKS, 0))
    seconds: float = 0.0
    spent: dict[int, tuple[int, float]] = field(default_factory=dict)
    stopped: str = ""
    history: list[dict[str, Any]] = field(default_factory=list)
    tuning: Tuning | None = None

    @property
    def row_names(self) -> dict[str, Any]:
        """What says in a row which run it belongs to."""
        name = self.variant.label if self.variant.grid else self.variant.name
        return {"strategy": name, "settings": self.trained.settings_text}

    def add(self, done: Round, keep_history: bool) -> None:
        """Take in one more round."""
        for row in done.rows:
            for purpose in LOOKS:
                self.looks[purpose] += row[f"looks_{purpose}"]
            self.seconds += row["seconds"]
        self.n_rounds += 1
        self.loss.append(done.rows[-1]["log10_loss"])
        self.stopped = done.rows[-1]["stopped"]
        if keep_history:
            self.history.extend(done.rows)

    def note_spent(self) -> None:
        """Remember what was spent up to the present number of stumps."""
        self.spent[self.n_rounds] = (
            self.looks["search"] + self.looks["modelling"],
            self.seconds,
        )

    def spent_at(self, stumps: int) -> tuple[int, float]:
        """Looks and seconds up to a number of stumps; to its end for a run that ended before."""
        return self.spent[min(stumps, self.n_rounds)] if stumps else (0, 0.0)

    def make_rows(self, data: str, marks: tuple[int, ...]) -> None:
        """Fill in the result rows; a run that ended early repeats its last state."""
        self.rows = [self._row(data, mark, mark, self.spent_at(mark)) for mark in marks]
        if self.tuning is not None:
            for mark in marks:
                stumps = charged_stumps(mark, len(self.tuning.losses))
                row = self._row(data, mark, stumps, self.tuning.spent[stumps])
                self.rows.append({**row, "strategy": row["strategy"] + CHARGED})

    def _row(self, data: str, mark: int, stumps: int, spent: tuple[int, float]) -> dict[str, Any]:
        at = min(stumps, self.n_rounds)
        looks, seconds = spent
        return {
            "data": data,
            **self.row_names,
            "learner": "stump",
            "repetition": self.repetition,
            "stumps": mark,
            "log10_loss": self.loss[at - 1] if at else math.nan,
            "test_error": self.errors[at] if at else math.nan,
            "looks": looks,
            "seconds": seconds,
        }


def charged_stumps(mark: int, n_runs: int) -> int:
    """Stumps of each of the runs of a search when together they have as many as one has at a mark.

    >>> charged_stumps(100, 24), charged_stumps(10, 24)
    (4, 0)
    """
    return mark // n_runs
