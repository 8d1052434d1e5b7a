"""Tuning as in [DF11] 5.2: every setting of a grid is trained in full, the best run is kept.

"We tune the meta-parameters of these techniques [...] by training them multiple times over a large
range of parameters and keeping only the results of the run with the smallest final Boosting loss."
This is done in each repetition, on the same training examples and with each setting's own stream,
so that the kept run is the very run that its settings give without tuning. The final loss is the
training loss at the last mark; test examples play no part. The first setting of the grid wins a
tie. Each run is a cell of its own: which one is kept is found out when all of them are there.

A search over M settings costs M times the looks of one run, "around one order of magnitude" in the
paper, and two sets of result rows tell of both sides:

- ``ucb*``: the kept run at the marks, as in the paper's Table 2; its looks are its own.
- ``ucb* charged``: in the row of mark m the kept run after m // M stumps, with the looks and the
  seconds that all M runs together have spent on as many stumps each: about the looks that a
  strategy without tuning has spent after m stumps. No numbers (NaN) where that is less than one
  stump. Chosen by its loss at the end, the kept run need not be the best one of that moment.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from boostsample.experiments.cells.tasks import curve_points
from boostsample.experiments.plan.variants import Variant
from boostsample.experiments.results.runs import LOOKS, Run, Tuning, charged_stumps

__all__ = ["explanation", "keep", "tuning_record"]


def keep(runs: Iterable[Run], n_runs: int, marks: tuple[int, ...]) -> Run:
    """The run with the smallest loss at its end, with the search that it comes from.

    Parameters
    ----------
    runs : iterable of Run
        One for each setting of the grid, in its order; they are taken one by one, and no more than
        two are held at once.
    n_runs : int
        How many these are; a single one is no search.
    marks : tuple of int
        Numbers of stumps at which results are taken.
    """
    kept: Run | None = None
    losses: list[float] = []
    budget, seconds = 0, 0.0
    looks = dict.fromkeys(LOOKS, 0)
    asked = {*(charged_stumps(mark, n_runs) for mark in marks), *curve_points(marks[-1])}
    spent = {stumps: (0, 0.0) for stumps in asked if n_runs * stumps <= marks[-1]}
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
        kept.tuning = Tuning(tuple(losses), budget, looks, seconds, spent)
    return kept


def explanation(variants: Sequence[Variant], n_rounds: int) -> str:
    """How to read the results of tuned strategies; empty if there is none."""
    tuned = [variant for variant in variants if variant.grid]
    if not tuned:
        return ""
    sizes = ", ".join(f"{len(variant.grid)} for {variant.label}" for variant in tuned)
    return (
        "strategies with a * were tuned: each of the M settings of their grid "
        f"({sizes}) was trained in each repetition, and the run with the smallest training loss "
        f"after {n_rounds:,} stumps was kept. In a column 'charged' the search is paid for: in the "
        "row of m stumps it has the kept run after m / M stumps, when all M runs together have "
        "spent the looks of m stumps; '-' where that is less than one stump"
    )


def tuning_record(variant: Variant, runs: Sequence[Run]) -> dict[str, Any]:
    """Grid, choice and every run's final loss of a tuned strategy, as JSON takes it.

    Parameters
    ----------
    variant : Variant
        With a grid.
    runs : sequence of Run
        Its kept runs, by repetition.
    """
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
