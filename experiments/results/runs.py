"""One strategy in one repetition as a comparison shows it: its cell, and the result rows of it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from boostsample.experiments.cells.cell import LOOKS, Cell
from boostsample.experiments.plan.variants import CHARGED, Variant

__all__ = ["LOOKS", "RESULT_COLUMNS", "Run", "Tuning", "charged_stumps"]

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
        number: at those that `charged_stumps` asks for, and at the points of the charged curve.
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
    cell : Cell
        What was measured.
    rows : list of dict
        One result row a mark, with `RESULT_COLUMNS`; for a tuned strategy a second one with the
        search charged to it.
    tuning : Tuning or None
        For the kept run of a tuned strategy, the search that it comes from.
    """

    variant: Variant
    repetition: int
    budget: int
    trained: Variant
    cell: Cell = field(repr=False)
    rows: list[dict[str, Any]] = field(default_factory=list)
    tuning: Tuning | None = None

    @property
    def row_names(self) -> dict[str, Any]:
        """What says in a row which run it belongs to."""
        name = self.variant.label if self.variant.grid else self.variant.name
        return {"strategy": name, "settings": self.trained.settings_text}

    @property
    def n_rounds(self) -> int:
        """Rounds done."""
        return self.cell.n_rounds

    @property
    def loss(self) -> list[float]:
        """log10 of the exponential loss after each round."""
        losses: list[float] = self.cell.loss.tolist()
        return losses

    @property
    def final_loss(self) -> float:
        """log10 of the exponential loss at the end."""
        return self.cell.loss_at[self.n_rounds]

    @property
    def errors(self) -> dict[int, float]:
        """Test error in percent by number of stumps, at the marks and the points of the curve."""
        return self.cell.errors

    @property
    def looks(self) -> dict[str, int]:
        """Looks in all rounds, for each of `LOOKS`."""
        return {purpose: int(self.cell.looks(purpose)[-1]) for purpose in LOOKS}

    @property
    def seconds(self) -> float:
        """Training time, evaluation apart."""
        return float(self.cell.seconds[-1])

    @property
    def stopped(self) -> str:
        """Why training ended before the last mark; empty if it did not."""
        return str(self.cell.about["stopped"])

    @property
    def history(self) -> list[dict[str, Any]]:
        """History rows, if the plan asked for them."""
        return self.cell.history or []

    def spent_at(self, stumps: int) -> tuple[int, float]:
        """Looks (search and modelling) and seconds up to a number of stumps, or to the end."""
        if not stumps:
            return 0, 0.0
        at = min(stumps, self.n_rounds) - 1
        looks = sum(int(self.cell.looks(purpose)[at]) for purpose in LOOKS if purpose != "finish")
        return looks, float(self.cell.seconds[at])

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
            "learner": self.cell.facts["learner"],
            "repetition": self.repetition,
            "stumps": mark,
            "log10_loss": self.cell.loss_at[at] if at else math.nan,
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
