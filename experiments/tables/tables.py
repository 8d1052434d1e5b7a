"""Tables of text, and those of looks and tuning that `boostsample compare` prints."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from boostsample.experiments.cells.cell_file import LOOKS
from boostsample.experiments.plan.variants import CHARGED_VARIANT
from boostsample.experiments.results.labels import STUMP, counted
from boostsample.experiments.results.runs import Run, TuningRuns
from boostsample.experiments.tables.notebook import notebook_html
from boostsample.experiments.tables.number_formats import mean_std

if TYPE_CHECKING:
    from boostsample.experiments.results.comparison import Comparison


@dataclass(frozen=True)
class Table:
    """A table of text entries; the first column names the rows."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def _repr_html_(self) -> str:
        """The table as notebooks show it."""
        return notebook_html(self.title, self.header, self.rows)


def looks_table(comparison: Comparison) -> Table:
    """Mean looks and milliseconds a round of each strategy, over all rounds and repetitions.

    A tuned strategy has a second row with the cost of all runs of its tuning. If the learner is not
    the stump, columns have the mean numbers of searches and terms of a round, too.
    """
    rows = []
    several = comparison.prepared.plan.learner != STUMP
    for variant in comparison.prepared.variants:
        runs = [one for one in comparison.runs if one.variant is variant]
        n_rounds = sum(one.n_rounds for one in runs)
        rows.append(
            (variant.label, *(searches_and_terms(runs) if several else ()), *_spent(runs, n_rounds))
        )
        searches = [one.tuning for one in runs if one.tuning is not None]
        if searches:
            unknown = ("-", "-") if several else ()
            rows.append((variant.label + CHARGED_VARIANT, *unknown, *_spent(searches, n_rounds)))
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


def searches_and_terms(runs: Sequence[Run]) -> tuple[str, str]:
    """Mean numbers of searches, used or not, and of terms of the model a round."""
    n_rounds = sum(one.n_rounds for one in runs)
    totals = (sum(one.cell.n_searches for one in runs), sum(one.cell.n_terms for one in runs))
    searches, terms = (f"{total / n_rounds:.1f}" for total in totals)
    return searches, terms


def _spent(runs: Sequence[Run | TuningRuns], n_rounds: int) -> tuple[str, ...]:
    return (
        f"{statistics.fmean(one.budget for one in runs):,.0f}",
        *(f"{sum(one.looks[purpose] for one in runs) / n_rounds:,.0f}" for purpose in LOOKS),
        f"{1000 * sum(one.seconds for one in runs) / n_rounds:.2f}",
    )


def settings_in_use_text(comparison: Comparison) -> str:
    """The settings of each strategy with the values in use, a line each, as --strategies reads.

    Settings that tuning chooses are left out.
    """
    prepared = comparison.prepared
    labels = [
        replace(variant, settings=prepared.settings_in_use(variant)).label
        for variant in prepared.variants
    ]
    learner = prepared.learner_in_use
    return "\n".join(
        [
            "settings in use",
            *labels,
            *([] if learner == STUMP else [f"learner {learner}"]),
        ]
    )


def tuning_table(comparison: Comparison) -> Table | None:
    """The settings that tuning kept, with how often, and the losses; None if nothing was tuned.

    The losses are those after the last mark: of the kept settings, and of the worst in the tuning
    grid of the same repetition.
    """
    rows = []
    for variant in comparison.prepared.variants:
        kept: dict[str, list[TuningRuns]] = {}
        for one in comparison.runs:
            if one.variant is variant and one.tuning is not None:
                kept.setdefault(one.trained.settings_text, []).append(one.tuning)
        for settings, searches in sorted(kept.items(), key=lambda item: -len(item[1])):
            rows.append(
                (
                    variant.label,
                    str(len(variant.grid)),
                    settings,
                    str(len(searches)),
                    mean_std([min(search.losses) for search in searches]),
                    mean_std([max(search.losses) for search in searches]),
                )
            )
    if not rows:
        return None
    plan = comparison.prepared.plan
    n_rounds, repeats = plan.n_rounds, plan.repeats
    return Table(
        f"settings kept by their training loss after {n_rounds:,} {counted([plan.learner])}, "
        f"in {repeats} repetition{'s' if repeats > 1 else ''}",
        ("strategy", "tried", "kept", "times", "loss", "worst of the grid"),
        tuple(rows),
    )
