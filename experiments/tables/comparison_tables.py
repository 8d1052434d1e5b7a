"""Tables of looks and tuning that `boostsample compare` prints."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING

from boostsample.experiments.cells.cell_file import LOOKS
from boostsample.experiments.plan.variants import CHARGED_VARIANT, Variant
from boostsample.experiments.results.runs import Run, TuningRuns
from boostsample.experiments.results.titles import STUMP, counted
from boostsample.experiments.tables.tables import Table, mean_std

if TYPE_CHECKING:
    from boostsample.experiments.results.read_folder import Results


def looks_table(results: Results) -> Table:
    """Mean looks and milliseconds a round of each strategy, over all rounds and repetitions.

    A tuned strategy has a second row with the cost of all runs of its tuning. If the learner is not
    the stump, columns have the mean numbers of searches and terms of a round, too.
    """
    rows = []
    several = results.settings["learner"] != STUMP
    for label, runs in _runs_by_strategy(results).items():
        n_rounds = sum(run.n_rounds for run in runs)
        rows.append(
            (label, *(searches_and_terms(runs) if several else ()), *_spent(runs, n_rounds))
        )
        searches = [run.tuning for run in runs if run.tuning is not None]
        if searches:
            unknown = ("-", "-") if several else ()
            rows.append((label + CHARGED_VARIANT, *unknown, *_spent(searches, n_rounds)))
    if several:
        return Table(
            "searches, terms and looks per round, of all searches, used or not; the budget is that "
            "of one search of all examples, the finish outside it; milliseconds",
            ("strategy", "searches", "terms", "budget", *LOOKS, "ms"),
            tuple(rows),
        )
    return Table(
        "looks per round, the finish outside the budget; milliseconds",
        ("strategy", "budget", *LOOKS, "ms"),
        tuple(rows),
    )


def _runs_by_strategy(results: Results) -> dict[str, list[Run]]:
    """The runs of a comparison on one data set that has just run, by label."""
    runs: dict[str, list[Run]] = {}
    for run in results.runs:
        runs.setdefault(run.variant.label, []).append(run)
    return runs


def searches_and_terms(runs: Sequence[Run]) -> tuple[str, str]:
    """Mean numbers of searches, used or not, and of terms of the model a round."""
    n_rounds = sum(run.n_rounds for run in runs)
    totals = (sum(run.cell.n_searches for run in runs), sum(run.cell.n_terms for run in runs))
    searches, terms = (f"{total / n_rounds:.1f}" for total in totals)
    return searches, terms


def _spent(runs: Sequence[Run | TuningRuns], n_rounds: int) -> tuple[str, ...]:
    return (
        f"{statistics.fmean(run.budget for run in runs):,.0f}",
        *(f"{sum(run.looks[purpose] for run in runs) / n_rounds:,.0f}" for purpose in LOOKS),
        f"{1000 * sum(run.seconds for run in runs) / n_rounds:.2f}",
    )


def settings_in_use_text(results: Results, learner: str) -> str:
    """The settings of each strategy with the values in use, a line each, as --strategies reads.

    Settings that tuning chooses are left out; `learner` is that in use.
    """
    (data,) = results.settings["data_sets"]
    variants = dict.fromkeys(run.variant.label for run in results.runs)
    labels = [
        Variant(label.partition(":")[0], strategy["settings_in_use"]).label
        for label, strategy in zip(variants, data["strategies"], strict=True)
    ]
    return "\n".join(
        [
            "settings in use",
            *labels,
            *([] if learner == STUMP else [f"learner {learner}"]),
        ]
    )


def tuning_table(results: Results) -> Table | None:
    """The settings that tuning kept, with how often, and the losses; None if nothing was tuned.

    The losses are those after the last mark: of the kept settings, and of the worst in the tuning
    grid of the same repetition.
    """
    rows = []
    for label, runs in _runs_by_strategy(results).items():
        chosen: dict[str, list[TuningRuns]] = {}
        for run in runs:
            if run.tuning is not None:
                chosen.setdefault(run.trained.settings_text, []).append(run.tuning)
        for settings, searches in sorted(chosen.items(), key=lambda item: -len(item[1])):
            rows.append(
                (
                    label,
                    str(len(runs[0].variant.grid)),
                    settings,
                    str(len(searches)),
                    mean_std([min(search.losses) for search in searches]),
                    mean_std([max(search.losses) for search in searches]),
                )
            )
    if not rows:
        return None
    n_rounds, repeats = results.settings["rounds"][-1], results.settings["repeats"]
    word = counted([results.settings["learner"]])
    return Table(
        f"settings kept by their training loss after {n_rounds:,} {word}, "
        f"in {repeats} repetition{'s' if repeats > 1 else ''}",
        ("strategy", "tried", "kept", "times", "loss", "worst of the grid"),
        tuple(rows),
    )
