"""A comparison: all runs of a plan on one data set, and the rows that follow from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from boostsample.experiments.plan.prepared import Prepared
from boostsample.experiments.plan.variants import Variant
from boostsample.experiments.results.frames import rows_to_frame
from boostsample.experiments.results.labels import counted
from boostsample.experiments.results.rows import curve_rows, history_rows, result_rows
from boostsample.experiments.results.runs import Run

if TYPE_CHECKING:
    import pandas as pd


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
        """All curve rows, see `boostsample.experiments.results.rows`."""
        marks = self.prepared.plan.marks
        return [row for one in self.runs for row in curve_rows(one, marks)]

    @property
    def history(self) -> list[dict[str, Any]]:
        """All history rows, with data set, strategy and repetition."""
        return [row for one in self.runs for row in history_rows(one)]

    def to_frame(self, what: str = "rows") -> pd.DataFrame:
        """The ``rows``, ``curves`` or ``history`` as a data frame, as `Results.to_frame`."""
        tables = {"rows": self.rows, "curves": self.curves, "history": self.history}
        return rows_to_frame(tables, what)

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for the reader of tables: strategies left out, tuning, runs that ended early."""
        n_rounds = self.prepared.plan.n_rounds
        word = counted([self.prepared.plan.learner])
        early = []
        for variant in self.prepared.variants:
            ended = [one for one in self.runs if one.variant is variant and one.n_rounds < n_rounds]
            places = ", ".join(f"{one.n_rounds:,} in repetition {one.repetition}" for one in ended)
            reasons = "; ".join(dict.fromkeys(one.stopped for one in ended))
            if ended:
                early.append(
                    f"{variant.label}: training ended early, number of {word}: {places} "
                    f"({reasons}); later rows repeat the last state"
                )
        tuning = _tuning_note(self.prepared.variants, n_rounds, word)
        return (*self.prepared.notes, *([tuning] if tuning else []), *early)


def _tuning_note(variants: Sequence[Variant], n_rounds: int, word: str) -> str:
    """A note on how to read the results of tuned strategies; empty if there are none."""
    tuned = [variant for variant in variants if variant.grid]
    if not tuned:
        return ""
    sizes = ", ".join(f"{len(variant.grid)} for {variant.label}" for variant in tuned)
    return (
        "strategies with a * were tuned: each of the M settings of their tuning grid "
        f"({sizes}) was trained in each repetition, and the run with the smallest training loss "
        f"after {n_rounds:,} {word} was kept. A column 'charged' includes the cost of tuning: its "
        f"row of m {word} shows the kept run after m / M {word}, when all M runs together have "
        f"spent the looks of m {word}; '-' if that is less than one {word.removesuffix('s')}"
    )
