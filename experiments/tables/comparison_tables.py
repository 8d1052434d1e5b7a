"""Tables of looks and tuning that `boostsample compare` prints."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from boostsample.experiments.cells.cell_file import LOOKS
from boostsample.experiments.plan.variants import CHARGED_VARIANT, Variant
from boostsample.experiments.results.read_folder import Results
from boostsample.experiments.results.runs import Run, TuningRuns, runs_by_strategy
from boostsample.experiments.results.titles import STUMP, counted, label_of
from boostsample.experiments.tables.tables import Table, mean_std
from boostsample.names import split_name


def looks_table(results: Results) -> Table:
    """Mean looks and milliseconds a round of each strategy, over all rounds and repetitions.

    A tuned strategy has a second row with the cost of all runs of its tuning. If the learner is not
    the stump, columns have the mean numbers of searches and terms of a round, too.
    """
    rows = []
    several = results.settings["learner"] != STUMP
    on_demand = any(run.total.values for run in results.runs)
    for label, runs in runs_by_strategy(results.runs).items():
        n_rounds = sum(run.n_rounds for run in runs)
        totals = (sum(run.cell.n_searches for run in runs), sum(run.cell.n_terms for run in runs))
        of_round = [f"{total / n_rounds:.1f}" for total in totals] if several else []
        rows.append((label, *of_round, *_spent(runs, n_rounds, on_demand)))
        if tunings := [run.tuning for run in runs if run.tuning is not None]:
            of_round = ["-"] * len(of_round)  # those of the runs that were not kept are unknown
            spent = _spent(tunings, n_rounds, on_demand)
            rows.append((label + CHARGED_VARIANT, *of_round, *spent))
    title = "looks per round, the finish outside the budget; milliseconds"
    if several:
        title = (
            "searches, terms and looks per round, of all searches, used or not; the budget is that "
            "of one search of all examples, the finish outside it; milliseconds"
        )
    heads = ("searches", "terms") if several else ()
    spent = (*LOOKS, *(["values computed"] if on_demand else []), "ms")
    return Table(title, ("strategy", *heads, "budget", *spent), tuple(rows))


def _spent(runs: Sequence[Run | TuningRuns], n_rounds: int, on_demand: bool) -> tuple[str, ...]:
    totals = [run.total for run in runs]
    values = [f"{sum(of.values for of in totals) / n_rounds:,.0f}"] if on_demand else []
    kinds = {run.cell.facts.get("budget_kind", "") for run in runs if isinstance(run, Run)}
    return (
        " ".join([f"{statistics.fmean(run.budget for run in runs):,.0f}", *filter(None, kinds)]),
        *(f"{sum(getattr(of, p) for of in totals) / n_rounds:,.0f}" for p in LOOKS),
        *values,
        f"{1000 * sum(of.seconds for of in totals) / n_rounds:.2f}",
    )


def settings_in_use_text(results: Results, learner: str) -> str:
    """The settings of each strategy with the values in use, a line each, as --strategies reads.

    Settings that tuning chooses are left out; `learner` is that in use.
    """
    (data,) = results.settings["data_sets"]
    labels = [
        Variant(split_name(str(strategy["strategy"]))[0], strategy["settings_in_use"]).label
        for strategy in data["strategies"]
    ]
    learners = [] if learner == STUMP else [f"learner {learner}"]
    return "\n".join(["settings in use", *labels, *learners])


def tuning_table(results: Results) -> Table | None:
    """The settings that tuning kept, with how often, and the losses; None if nothing was tuned.

    The losses are those after the last mark: of the kept settings, and of the worst in the tuning
    grid of the same repetition. Settings that were kept most often come first.
    """
    rows = []
    (data,) = results.settings["data_sets"]
    for strategy in data["strategies"]:
        losses: dict[str, list[list[float]]] = {}
        for search in strategy.get("tuning", ()):
            losses.setdefault(search["kept"], []).append(search["final_log10_loss"])
        for settings, of_settings in sorted(losses.items(), key=lambda item: -len(item[1])):
            tried, times = len(strategy["grid"]), len(of_settings)
            spread = (mean_std([extreme(of) for of in of_settings]) for extreme in (min, max))
            rows.append((label_of(strategy), str(tried), settings, str(times), *spread))
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
