"""`boostsample compare`: strategies on a data set, results as tables and rows."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from boostsample.commands.output import print_table, say

if TYPE_CHECKING:
    from boostsample.experiments.compare import Comparison

__all__ = ["compare"]


@click.command()
@click.option(
    "--data",
    default="digits",
    show_default=True,
    metavar="NAME|PATH",
    help="A named data set (boostsample list data) or an .npz, .csv or .svmlight file.",
)
@click.option(
    "--data-dir", metavar="DIR", help="Folder of original data files; what it lacks is downloaded."
)
@click.option(
    "--strategies",
    multiple=True,
    metavar="A,B:SETTING=VALUE",
    help="Names with settings, separated by commas (boostsample list strategies).  [default: full "
    "where it does not take too long, uniform-naive, uniform-1q, uniform-q1, laminating]",
)
@click.option(
    "--tune",
    is_flag=True,
    help="Search the settings of strategies that declare a grid (the bandits) or are given "
    "alternatives, as in 'ucb:exploration=0.1|1|2'; the search is charged to them.",
)
@click.option(
    "--families",
    multiple=True,
    metavar="A,B:SETTING=VALUE",
    help="Feature families (boostsample list families).  [default: all that fit the data]",
)
@click.option(
    "--bank",
    default="memory",
    show_default=True,
    metavar="memory|disk|lazy",
    help="Where the features are: in memory; in files that are mapped into it and kept for the "
    "next run (boostsample cache); or computed when they are looked at. lazy takes bin edges from "
    "2,048 training rows, the others from all: memory:reference=2048 has the same results.",
)
@click.option(
    "--rounds",
    default="10,100,300",
    show_default=True,
    metavar="N,N,...",
    help="Numbers of stumps at which results are taken; the largest is the number of rounds.",
)
@click.option("--repeats", default=3, show_default=True, metavar="N", help="Repetitions.")
@click.option(
    "--budget",
    metavar="LOOKS|10N",
    help="Looks a search may cost; N is the number of training examples.  [default: 10N, but "
    "for full what it needs]",
)
@click.option(
    "--weights",
    default="uniform",
    show_default=True,
    metavar="uniform|balanced",
    help="Initial label weights.",
)
@click.option(
    "--seed",
    default=0,
    show_default=True,
    metavar="N",
    help="Seed of splits, families and strategies.",
)
@click.option(
    "--results",
    metavar="DIR",
    help="A new or empty folder for the rows.  [default: results/<data>-<date and time>]",
)
@click.option(
    "--jobs",
    type=int,
    metavar="N",
    help="Threads, -1 for all cores; the rows do not depend on it.  [default: all cores for the "
    "features, then one run at a time so that its seconds are undisturbed]",
)
@click.option("--plot", metavar="FILE", help="Draw the curves into an .svg, .png or .pdf file.")
@click.option("--history", is_flag=True, help="Write a row for each search, too.")
@click.option("--quiet", is_flag=True, help="No progress and no messages but errors.")
@click.pass_context
def compare(
    context: click.Context,
    data: str,
    data_dir: str | None,
    strategies: tuple[str, ...],
    tune: bool,
    families: tuple[str, ...],
    bank: str,
    rounds: str,
    repeats: int,
    budget: str | None,
    weights: str,
    seed: int,
    results: str | None,
    jobs: int | None,
    plot: str | None,
    history: bool,
    quiet: bool,
) -> None:
    """Compare strategies on a data set: loss, test error and looks.

    Without options: scikit-learn's digits, five strategies, three repetitions, 300 rounds. Prints
    the tables and writes the rows that they are made of.
    """
    from boostsample.experiments.progress import Display

    with ExitStack() as stack:
        display = stack.enter_context(Display(quiet))
        display("starting", 0, 0)
        from boostsample.experiments.compare import run
        from boostsample.experiments.datasets import load_dataset
        from boostsample.experiments.plan import Plan, parse_marks, parse_names, prepare
        from boostsample.experiments.plots import check_picture, comparison_figure, save_picture
        from boostsample.experiments.results import ResultsFolder, settings_of
        from boostsample.experiments.variants import Variant

        plan = Plan(
            strategies=parse_names(strategies) if strategies else None,
            families=parse_names(families) if families else None,
            marks=parse_marks(rounds),
            repeats=repeats,
            budget=budget,
            weights=weights,
            seed=seed,
            n_jobs=jobs,
            history=history,
            curves=plot is not None,
            tune=tune,
            bank=Variant.parse(bank),
        )
        picture = None if plot is None else check_picture(plot)
        folder = stack.enter_context(
            ResultsFolder.new("results", Path(data).name.partition(".")[0])
            if results is None
            else ResultsFolder(results)
        )
        prepared = prepare(load_dataset(data, data_dir=data_dir, seed=seed), plan)
        for note in prepared.notes:
            display.say(note)
        n_runs = sum(len(variant.trained) for variant in prepared.variants) * repeats
        if n_runs > len(prepared.variants) * repeats:
            display.say(f"tuning: {n_runs:,} runs of {plan.n_rounds:,} rounds")
        comparison = run(prepared, display)
        display.close()
        settings = {"command": ["boostsample", *context.obj], **settings_of(comparison)}
        try:
            folder.write(comparison.rows, settings, comparison.history if history else None)
        finally:  # whatever becomes of the folder, the tables can be had
            _print_comparison(comparison)
        say(f"results: {folder.path}")
        if picture is not None:
            save_picture(comparison_figure(comparison), picture)
            say(f"plot: {picture}")


def _print_comparison(comparison: Comparison) -> None:
    from boostsample.experiments.tables import looks_table, score_table, tuning_table

    prepared, rows = comparison.prepared, comparison.rows
    sizes = sorted({(len(train), len(test)) for train, test in prepared.splits})
    families = ", ".join(f"{f.name} {f.n_features:,}" for f in prepared.families)
    say(
        f"{prepared.data.name}: {sizes[0][0]:,} training and {sizes[0][1]:,} test examples, "
        f"{prepared.data.n_classes} {'labels' if prepared.data.is_multilabel else 'classes'}, "
        f"{prepared.n_features:,} features ({families}), {prepared.plan.weights} initial weights\n"
    )
    tuned = tuning_table(comparison)
    for table in (
        score_table(rows, "loss"),
        score_table(rows, "error"),
        looks_table(comparison),
        *([] if tuned is None else [tuned]),
    ):
        print_table(table)
    for note in comparison.notes:
        say(f"note: {note}\n")
