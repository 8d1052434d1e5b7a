"""All runs of a plan on one data set, with the rows that follow from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from boostsample.experiments.plan.plan import Prepared
from boostsample.experiments.results.curves import curve_rows
from boostsample.experiments.results.runs import Run
from boostsample.experiments.results.tuning import explanation

__all__ = ["Comparison"]


@dataclass(frozen=True)
class Comparison:
    """All runs of a plan.

    Attributes
    ----------
    prepared : Prepared
        The plan and what it meant for the data.
    runs : list of Run
        By strategy, then repetition; of a tuned strategy those that were kept.
    """

    prepared: Prepared
    runs: list[Run]

    @property
    def rows(self) -> list[dict[str, Any]]:
        """All result rows, by strategy, repetition and mark."""
        return [row for one in self.runs for row in one.rows]

    @property
    def curves(self) -> list[dict[str, Any]]:
        """All curve rows, see `boostsample.experiments.results.curves`."""
        name, marks = self.prepared.data.name, self.prepared.plan.marks
        return [row for one in self.runs for row in curve_rows(one, name, marks)]

    @property
    def history(self) -> list[dict[str, Any]]:
        """All history rows, with the strategy and repetition that each belongs to."""
        return [
            {
                "data": self.prepared.data.name,
                **one.row_names,
                "repetition": one.repetition,
                **row,
            }
            for one in self.runs
            for row in one.history
        ]

    @property
    def notes(self) -> tuple[str, ...]:
        """What a table must not hide: strategies left out, tuning, runs that ended early."""
        early = []
        for variant in self.prepared.variants:
            ended = [
                one
                for one in self.runs
                if one.variant is variant and one.n_rounds < self.prepared.plan.n_rounds
            ]
            places = ", ".join(f"{one.n_rounds:,} in repetition {one.repetition}" for one in ended)
            reasons = "; ".join(dict.fromkeys(one.stopped for one in ended))
            if ended:
                early.append(
                    f"{variant.label}: training ended early, number of stumps: {places} "
                    f"({reasons}); later rows repeat the last state"
                )
        tuning = explanation(self.prepared.variants, self.prepared.plan.n_rounds)
        return (*self.prepared.notes, *([tuning] if tuning else []), *early)
