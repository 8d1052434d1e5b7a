"""A comparison: all runs of a plan on one data set, and the rows that follow from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from boostsample.experiments.plan.prepared import Prepared
from boostsample.experiments.results.curves import curve_rows
from boostsample.experiments.results.runs import Run, history_rows, result_rows
from boostsample.experiments.results.tuning import tuning_explanation

__all__ = ["Comparison"]


@dataclass(frozen=True)
class Comparison:
    """All runs of a plan on one data set."""

    prepared: Prepared  # the plan, fitted to the data set
    runs: list[Run]  # by strategy, then repetition; of a tuned strategy the kept runs

    @property
    def rows(self) -> list[dict[str, Any]]:
        """All result rows, by strategy, repetition and mark."""
        marks = self.prepared.plan.marks
        return [row for one in self.runs for row in result_rows(one, marks)]

    @property
    def curves(self) -> list[dict[str, Any]]:
        """All curve rows, see `boostsample.experiments.results.curves`."""
        marks = self.prepared.plan.marks
        return [row for one in self.runs for row in curve_rows(one, marks)]

    @property
    def history(self) -> list[dict[str, Any]]:
        """All history rows, with data set, strategy and repetition."""
        return [row for one in self.runs for row in history_rows(one)]

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for the reader of tables: strategies left out, tuning, runs that ended early."""
        n_rounds = self.prepared.plan.n_rounds
        early = []
        for variant in self.prepared.variants:
            ended = [one for one in self.runs if one.variant is variant and one.n_rounds < n_rounds]
            places = ", ".join(f"{one.n_rounds:,} in repetition {one.repetition}" for one in ended)
            reasons = "; ".join(dict.fromkeys(one.stopped for one in ended))
            if ended:
                early.append(
                    f"{variant.label}: training ended early, number of stumps: {places} "
                    f"({reasons}); later rows repeat the last state"
                )
        tuning = tuning_explanation(self.prepared.variants, n_rounds)
        return (*self.prepared.notes, *([tuning] if tuning else []), *early)
