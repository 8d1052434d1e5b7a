"""`boostsample calibrate`: true edges that searches find, and the predictions of planning."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from boostsample.errors import SettingError
from boostsample.experiments.commands.output import print_table, say

if TYPE_CHECKING:
    from boostsample.experiments.calibration.calibration import Calibration

__all__ = ["calibrate"]


@click.command(context_settings={"show_default": True})
@click.option(
    "--data",
    default="digits",
    metavar="NAME|PATH",
    help="A named data set (boostsample list data) or an .npz, .csv or .svmlight file.",
)
@click.option(
    "--data-dir", metavar="DIR", help="Folder of original data files; missing ones are downloaded."
)
@click.option(
    "--strategy",
    default="mas-naive",
    metavar="NAME:SETTING=VALUE",
    help="The strategy of the run (boostsample list strategies), with its predictions if it makes "
    "any.",
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
    metavar="memory|disk|lazy",
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
@click.option(
    "--budget",
    metavar="LOOKS|10N",
    help="Looks per search; N is the number of training examples.  [default: 10N; for full, what "
    "it needs]",
)
@click.option(
    "--scheme",
    default="iid",
    metavar="NAME",
    help="Scheme by which examples are drawn at the points; the strategy follows its settings.",
)
@click.option(
    "--weights", default="uniform", metavar="uniform|balanced", help="Initial label weights."
)
@click.option("--seed", default=0, metavar="N", help="Seed of all random choices.")
@click.option("--plot", metavar="FILE", help="Plot the curves to an .svg, .png or .pdf file.")
@click.option("--csv", metavar="FILE", help="Write a row for each point into a new .csv file.")
@click.option(
    "--figure2",
    metavar="FILE",
    help="Draw Figure 2 of [DF11], the closed form for Gaussian edges, without a run.",
)
@click.option("--quiet", is_flag=True, help="Print results and errors only.")
@click.pass_context
def calibrate(
    context: click.Context, /, plot: str | None, csv: str | None, quiet: bool, **options: Any
) -> None:
    """Measure the true edge of the winner of Q features on T examples, as planning predicts it.

    At chosen rounds of a run, searches points (Q, T) within the budget repeatedly, and compares
    their mean true edges with the strategy's prediction, choice and result.
    """
    if options["figure2"] is not None:
        _draw_figure_2(context, options["figure2"])
        return
    from boostsample.experiments.common.progress import Display

    with ExitStack() as stack:
        display = stack.enter_context(Display(quiet))
        display("starting", 0, 0)
        from boostsample.experiments.calibration import calibration
        from boostsample.experiments.calibration.figures import calibration_figure
        from boostsample.experiments.calibration.tables import write_rows
        from boostsample.experiments.common.files import check_file
        from boostsample.experiments.data.datasets import load_dataset
        from boostsample.experiments.plan.plan import Plan, parse_marks, parse_names
        from boostsample.experiments.plan.variants import Variant
        from boostsample.experiments.plots.pictures import check_picture, save_picture

        families = options["families"]
        plan = Plan(
            strategies=parse_names(options["strategy"]),
            families=parse_names(families) if families else None,
            marks=parse_marks(options["rounds"]),
            repeats=1,
            bank=Variant.parse(options["bank"]),
            **{name: options[name] for name in ("budget", "weights", "seed")},
        )
        measuring = {name: options[name] for name in ("repeats", "scheme")}
        calibration.check_request(plan, **measuring)
        picture = None if plot is None else check_picture(plot)
        rows = None if csv is None else check_file(csv, ".csv", "rows")
        data = load_dataset(options["data"], data_dir=options["data_dir"], seed=options["seed"])
        found = calibration.calibrate(data, plan, **measuring, progress=display)
        display.close()
        _print_calibration(found)
        if rows is not None:
            write_rows(found, rows)
            say(f"rows: {rows}")
        if picture is not None:
            save_picture(calibration_figure(found), picture)
            say(f"plot: {picture}")


def _print_calibration(found: Calibration) -> None:
    from boostsample.experiments.calibration import tables

    prepared = found.prepared
    families = ", ".join(f"{f.name} {f.n_features:,}" for f in prepared.families)
    say(
        f"{prepared.data.name}: {found.n_examples:,} training examples, {prepared.n_features:,} "
        f"features ({families}), {prepared.plan.weights} initial weights; {found.repeats:,} "
        f"searches a point, examples drawn {found.scheme}\n"
    )
    for choice in found.choices:
        print_table(tables.points_table(found, choice["round"]))
        print_table(tables.budget_table(found, choice["round"]))
    noise = tables.noise_table(found)
    if noise is not None:
        print_table(noise)
    print_table(tables.choices_table(found))
    mean, error = found.mean_share
    say(f"share of the best point, mean over rounds: {100 * mean:.1f} ({100 * error:.1f}) %\n")
    for note in found.notes:
        say(f"note: {note}\n")


def _draw_figure_2(context: click.Context, path: str) -> None:
    """Draw the closed form; SettingError if options of a run are given."""
    given = [
        name
        for name in context.params
        if name not in ("figure2", "quiet")
        and context.get_parameter_source(name) is not ParameterSource.DEFAULT
    ]
    if given:
        options = ", ".join(f"--{name.replace('_', '-')}" for name in given)
        raise SettingError(
            f"--figure2 is drawn from a formula and runs nothing, but {options} is for a run; "
            "leave it out, or draw the figure with a separate command"
        )
    from boostsample.experiments.calibration.figures import figure_2
    from boostsample.experiments.calibration.tables import figure_2_table
    from boostsample.experiments.plots.pictures import check_picture, save_picture

    picture = check_picture(path)
    print_table(figure_2_table())
    save_picture(figure_2(), picture)
    say(f"plot: {picture}")
