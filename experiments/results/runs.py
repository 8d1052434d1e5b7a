"""Runs: one strategy in one repetition; of a tuned strategy, the best of its tuning grid.

Tuning as in [DF11] 5.2 trains every setting of the tuning grid in full and keeps the best run:
"We tune the meta-parameters of these techniques [...] by training them multiple times over a large
range of parameters and keeping only the results of the run with the smallest final Boosting loss."
This is done in each repetition, with each setting's own stream, so that the kept run equals a run
with its settings without tuning. The final loss is the training loss at the last mark. The first
setting wins a tie. Each run is a separate cell.

Tuning over M settings costs M times the looks of one run, "around one order of magnitude" in the
paper. Two sets of result rows show both sides:

- ``ucb*``: the kept run at the marks, as in the paper's Table 2, with its own looks.
- ``ucb* charged``: at mark m the kept run after m // M stumps, with the looks and seconds of all M
  runs after this number of stumps, about the looks of m stumps without tuning. NaN if that is less
  than one stump. The run is chosen by its final loss and need not be the best one at each mark.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from boostsample.errors import DataError
from boostsample.experiments.cells.cell_file import LOOKS, Cell
from boostsample.experiments.cells.tasks import task_points
from boostsample.experiments.plan.variants import CHARGED_VARIANT, Variant
from boostsample.experiments.results.labels import label_of, learner_label


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
    def learner(self) -> str:
        """Name of the learner, with its settings as they were given, and its step size."""
        return learner_label(self.cell.facts)

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
        runs of its tuning; loss, error and the other metrics are NaN for 0. The other metrics are
        also NaN if the cell lacks them.
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
            "learner": self.learner,
            "repetition": self.repetition,
            "stumps": stumps,
            "log10_loss": self.cell.loss_at[at] if at else math.nan,
            "test_error": self.errors[at] if at else math.nan,
            "looks": looks,
            "seconds": seconds,
            **{name: by.get(at, math.nan) for name, by in self.cell.class_metrics.items()},
        }


def runs_by_strategy(runs: Iterable[Run]) -> dict[str, list[Run]]:
    """The runs of each strategy by its label, in order of appearance; DataError without runs."""
    found: dict[str, list[Run]] = {}
    for run in runs:
        found.setdefault(label_of(run.row_names), []).append(run)
    if not found:
        raise DataError("the results must have runs, got none; run it again into a new folder")
    return found


def keep_tuned_run(runs: Iterable[Run], n_runs: int, marks: Sequence[int]) -> Run:
    """The run with the smallest final loss, with the totals over all runs as its `tuning`.

    `runs` has one run for each of the `n_runs` settings of the tuning grid, in its order; at most
    two are held at a time. A single run is not tuned.
    """
    kept: Run | None = None
    losses: list[float] = []
    budget, seconds = 0, 0.0
    looks: dict[str, int] = dict.fromkeys(LOOKS, 0)
    points = {*(mark // n_runs for mark in marks), *task_points(marks[-1])}
    spent = {stumps: (0, 0.0) for stumps in points if n_runs * stumps <= marks[-1]}
    for one in runs:
        if kept is None or one.final_loss < kept.final_loss:
            kept = one
        losses.append(one.final_loss)
        budget += one.budget
        seconds += one.seconds
        looks = {purpose: looks[purpose] + one.looks[purpose] for purpose in LOOKS}
        for stumps, so_far in spent.items():
            mine = one.spent_at(stumps)
            spent[stumps] = (so_far[0] + mine[0], so_far[1] + mine[1])
    assert kept is not None, "a strategy has at least one run"
    if n_runs > 1:
        kept.tuning = TuningRuns(tuple(losses), budget, looks, seconds, spent)
    return kept


def tuning_record(variant: Variant, runs: Sequence[Run]) -> dict[str, Any]:
    """The tuning grid of a strategy, its kept runs and all final losses, as JSON takes it."""
    return {
        "grid": [one.settings_text for one in variant.grid],
        "tuning": [
            {
                "repetition": one.repetition,
                "kept": one.trained.settings_text,
                "final_log10_loss": list(one.tuning.losses),
                "looks": one.tuning.looks["search"] + one.tuning.looks["modelling"],
                "seconds": one.tuning.seconds,
            }
            for one in runs
            if one.tuning is not None
        ],
    }
