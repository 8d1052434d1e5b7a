"""Runs: one strategy in one repetition."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from boostsample.errors import DataError
from boostsample.experiments.cells.cell_store import LOOKS, Cell
from boostsample.experiments.plan.variants import CHARGED_VARIANT, Variant
from boostsample.experiments.results.labels import label_of

__all__ = ["LOOKS", "Run", "TuningRuns", "runs_by_strategy"]


@dataclass(frozen=True)
class TuningRuns:
    """Totals over all runs of a tuned strategy in one repetition.

    `spent` has looks (search and modelling) and seconds by the number of stumps that each run has,
    each mark divided by the number of runs, and the points of the charged curve.
    """

    losses: tuple[float, ...]  # final log10 losses, in the order of the tuning grid
    budget: int  # looks per search, summed over the runs
    looks: dict[str, int]  # in all rounds, for each of `LOOKS`
    seconds: float  # of training
    spent: dict[int, tuple[int, float]]


@dataclass
class Run:
    """One strategy in one repetition."""

    variant: Variant  # the strategy as in the plan
    repetition: int
    budget: int  # looks per search
    trained: Variant  # `variant`, or an element of its tuning grid
    cell: Cell = field(repr=False)  # the measurements
    tuning: TuningRuns | None = None  # of the kept run of a tuned strategy

    @property
    def row_names(self) -> dict[str, Any]:
        """The columns `strategy` and `settings` of its rows."""
        name = self.variant.label if self.variant.grid else self.variant.name
        return {"strategy": name, "settings": self.trained.settings_text}

    @property
    def n_rounds(self) -> int:
        """Rounds trained."""
        return self.cell.n_rounds

    @property
    def loss(self) -> list[float]:
        """log10 of the exponential loss after each round."""
        return list(self.cell.loss.tolist())

    @property
    def final_loss(self) -> float:
        """log10 of the exponential loss after the last round."""
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
        """Training time, without evaluation."""
        return float(self.cell.seconds[-1])

    @property
    def stopped(self) -> str:
        """Why training ended before the last mark; empty if it did not."""
        return str(self.cell.about["stopped"])

    def spent_at(self, stumps: int) -> tuple[int, float]:
        """Looks (search and modelling) and seconds for a number of stumps, or for all."""
        if not stumps:
            return 0, 0.0
        at = min(stumps, self.n_rounds) - 1
        looks = sum(int(self.cell.looks(purpose)[at]) for purpose in LOOKS if purpose != "finish")
        return looks, float(self.cell.seconds[at])

    def row(self, stumps: int, own: int | None = None) -> dict[str, Any]:
        """The result row of a number of stumps; a run that ended early repeats its last state.

        With `own`, a charged row: the run after `own` stumps, with the looks and seconds of all
        runs of its tuning; loss and error are NaN for 0.
        """
        names = self.row_names
        if own is None:
            at, (looks, seconds) = stumps, self.spent_at(stumps)
        else:
            assert self.tuning is not None, "only tuned strategies have charged rows"
            at, (looks, seconds) = own, self.tuning.spent[own]
            names["strategy"] += CHARGED_VARIANT
        at = min(at, self.n_rounds)
        return {
            "data": self.cell.facts["data"]["name"],
            **names,
            "learner": self.cell.facts["learner"],
            "repetition": self.repetition,
            "stumps": stumps,
            "log10_loss": self.cell.loss_at[at] if at else math.nan,
            "test_error": self.errors[at] if at else math.nan,
            "looks": looks,
            "seconds": seconds,
        }


def runs_by_strategy(runs: Iterable[Run]) -> dict[str, list[Run]]:
    """The runs of each strategy by its label, in order of appearance; DataError without runs."""
    found: dict[str, list[Run]] = {}
    for run in runs:
        found.setdefault(label_of(run.row_names), []).append(run)
    if not found:
        raise DataError("the results must have runs, got none; run it again into a new folder")
    return found
