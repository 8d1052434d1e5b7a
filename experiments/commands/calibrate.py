"""The command `boostsample calibrate`: compares edges that searches find with predictions."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import click

from boostsample.errors import SettingError
from boostsample.experiments.commands.shared import options
from boostsample.experiments.commands.shared.printing import print_line, print_table

if TYPE_CHECKING:
    from boostsample.experiments.calibration.edge_study import EdgeStudy


@click.command(context_settings={"show_default": True})
@options.data_option
@options.data_dir_option
@click.option(
    "--strategy",
    default="mas-naive",
    metavar="NAME:SETTING=VALUE",
    help="The strategy of the run (boostsample list strategies), with its predictions if it makes "
    "any.",
)
@options.learner_option
@options.families_option
@click.option(
    "--bank",
    default="auto",
    metavar="auto|memory|disk|columns|lazy",
    help="Storage of the features, as in boostsample compare.",
)
@click.option(
    "--rounds",
    default="3,30,100,300",
    metavar="N,N,...",
    help="The rounds to calibrate; the run ends with the last one.",
)
@click.option(
    "--repeats",
    default=200,
    metavar="N",
    help="Searches of each point (Q, T), and replays of each round.",
)
@options.budget_option
@click.option(
    "--scheme",
    default="iid",
    metavar="NAME",
    help="Scheme by which examples are drawn at the points; the strategy follows its settings.",
)
@options.weights_option
@options.seed_option
@options.plot_option
@options.layout_options
@click.option("--csv", metavar="FILE", help="Write a row for each point into a .csv file.")
@click.option(
    "--figure2",
    metavar="FILE",
    help="Draw Figure 2 of [DF11], the closed form for Gaussian edges, without a run.",
)
@options.overwrite_option
@options.quiet_option
@click.pass_context
def calibrate(
    context: click.Context,
    /,
    plot: str | None,
    csv: str | None,
    overwrite: bool,
    quiet: bool,
    **settings: Any,
) -> None:
    """Compare the edges that searches find with predictions.

    At chosen rounds of a run, searches points (Q, T) within the budget repeatedly, and compares
    their mean true edges with the strategy's prediction, choice and result. With --learner product
    or tree, the first search of each round is measured: that of its first term or its root.
    """
    if settings["figure2"] is not None:
        _draw_figure_2(context, settings["figure2"], overwrite)
        return
    from boostsample.experiments.common.progress import ProgressDisplay

    with ExitStack() as stack:
        display = stack.enter_context(ProgressDisplay(quiet))
        display("starting", 0, 0)
        from boostsample.experiments.calibration import edge_study, study_tables
        from boostsample.experiments.data.datasets import load_dataset
        from boostsample.experiments.plan.plan import Plan, parse_marks
        from boostsample.experiments.plan.variants import Variant, parse_names
        from boostsample.experiments.plots.drawing import check_picture, save_picture
        from boostsample.files.atomic import check_writable_file

        families = settings["families"]
        plan = Plan(
            strategies=parse_names(settings["strategy"]),
            families=parse_names(families) if families else None,
            marks=parse_marks(settings["rounds"]),
            repeats=1,
            bank=Variant.parse(settings["bank"]),
            **{name: settings[name] for name in ("learner", "budget", "weights", "seed")},
        )
        measuring = {name: settings[name] for name in ("repeats", "scheme")}
        edge_study.check_request(plan, **measuring)
        picture = None if plot is None else check_picture(plot, overwrite=overwrite)
        rows = None
        if csv is not None:
            rows = check_writable_file(csv, ".csv", "rows", overwrite=overwrite)
        data = load_dataset(settings["data"], data_dir=settings["data_dir"], seed=plan.seed)
        study = edge_study.calibrate(data, plan, **measuring, progress=display)
        display.close()
        _print_study(study)
        if rows is not None:
            study_tables.write_calibration_rows(study, rows)
            print_line(f"rows: {rows}")
        if picture is not None:
            save_picture(study_tables.calibration_figure(study), picture)
            print_line(f"plot: {picture}")


def _print_study(study: EdgeStudy) -> None:
    from boostsample.experiments.calibration import study_tables

    prepared = study.prepared
    families = ", ".join(f"{f.name} {f.n_features:,}" for f in prepared.families)
    print_line(
        f"{prepared.data.name}: {study.n_examples:,} training examples, {prepared.n_features:,} "
        f"features ({families}), {prepared.plan.weights} initial weights; {study.repeats:,} "
        f"searches a point, examples drawn {study.scheme}\n"
    )
    if prepared.plan.learner != "stump":
        print_line(
            f"learner {prepared.learner_in_use}: measured are the first searches of the rounds, "
            "those of the first terms or roots\n"
        )
    for table in study_tables.study_tables(study):
        print_table(table)
    mean, error = study.mean_share
    print_line(
        f"share of the best point, mean over rounds: {100 * mean:.1f} ({100 * error:.1f}) %\n"
    )
    for note in study.notes:
        print_line(f"note: {note}\n")


def _draw_figure_2(context: click.Context, path: str, overwrite: bool) -> None:
    others = ("figure2", "overwrite", "quiet", *options.LAYOUT)
    given = [
        f"--{name.replace('_', '-')}"
        for name in context.params
        if name not in others and options.given_options(context, name)
    ]
    if given:
        raise SettingError(
            f"--figure2 is drawn from a formula and runs nothing, but {', '.join(given)} is for a "
            "run; leave it out, or draw the figure with a separate command"
        )
    from boostsample.experiments.calibration.study_tables import figure_2, figure_2_table
    from boostsample.experiments.plots.drawing import check_picture, save_picture

    picture = check_picture(path, overwrite=overwrite)
    print_table(figure_2_table())
    save_picture(figure_2(), picture)
    print_line(f"plot: {picture}")
