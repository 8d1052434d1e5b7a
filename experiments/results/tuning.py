"""Tuning as in [DF11] 5.2: trains every setting of the tuning grid in full and keeps the best run.

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

from collections.abc import Iterable, Sequence
from typing import Any

from boostsample.experiments.cells.tasks import task_points
from boostsample.experiments.plan.variants import Variant
from boostsample.experiments.results.runs import LOOKS, Run, TuningRuns

__all__ = ["keep_tuned_run", "tuning_record"]


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
