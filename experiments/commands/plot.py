"""The command `boostsample plot`: draws pictures of results folders."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from boostsample.errors import DataError, SettingError, unknown
from boostsample.experiments.commands.shared import options
from boostsample.experiments.commands.shared.printing import print_line, print_note

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from boostsample.experiments.results.read_folder import Results

_WHAT = ("curves", "families", "features", "sampling", "edges", "margins", "ranks")
_PICTURES = {
    "metric": ("curves", "ranks"),
    "against": ("curves", "ranks"),
    "at": ("curves",),
    "uncharged": ("curves",),
    "stumps": ("ranks", "features"),
    "data": ("curves", "families", "features", "sampling", "edges", "margins"),
}
"""The pictures for which an option is allowed."""


@click.command()
@click.argument("results", metavar="RESULTS...", nargs=-1, required=True)
@click.option(
    "--what",
    "picture",
    default="curves",
    show_default=True,
    metavar="|".join(_WHAT),
    help="curves: loss and test error; families: families that the stumps come from; "
    "features: how often each of at most 50 features is chosen; sampling: numbers of features and "
    "examples searched; edges: expected, estimated and true edges; margins: of training and test "
    "examples; ranks: critical-difference diagram over data sets.",
)
@click.option(
    "--metric",
    metavar="loss|loss-area|error|balanced-accuracy|f1|log-loss|smoothed-error|regret|FILE:NAME",
    help="What curves (default: loss and error) and ranks (default: loss) show; smoothed-error is "
    "for curves, loss-area for ranks and axes of the grid. A function of a file, as in "
    "my_file.py:my_metric, scores the stored runs.",
)
@options.data_dir_option
@click.option(
    "--against",
    metavar="stumps|looks|values_computed|cost|seconds|AXIS",
    help="Axis of curves, or on which ranks are equal; or an axis of the grid, as in budget or "
    "learner, on which the last mark or --at is drawn.  [default: stumps]",
)
@click.option(
    "--at",
    metavar="stumps|looks|values_computed|cost|seconds=LEVEL",
    help="With an axis of the grid in --against: where the values of its curves are taken.",
)
@options.uncharged_option
@click.option(
    "--stumps",
    type=int,
    help="Number of stumps for ranks and features.  [default: the last mark]",
)
@click.option("--data", metavar="NAME", help="Data set to draw, if the results have several.")
@click.option(
    "--rename",
    metavar="OLD=NEW,...",
    help="Names of strategies in the picture, as in laminating=Ours.",
)
@options.layout_options
@click.option(
    "-o", "--output", required=True, metavar="FILE", help="The .svg, .png or .pdf file to write."
)
@options.overwrite_option
@click.pass_context
def plot(
    context: click.Context,
    /,
    results: tuple[str, ...],
    picture: str,
    metric: str | None,
    data_dir: str | None,
    against: str | None,
    at: str | None,
    uncharged: bool,
    stumps: int | None,
    data: str | None,
    rename: str | None,
    output: str,
    overwrite: bool,
) -> None:
    """Draw a picture of results folders that compare has written.

    Setups of a folder, or folders of different budgets, learners and so on, share the picture of a
    data set: names then end with what differs.
    Pictures of families, features, sampling, edges and margins need the cells of the folder. Those
    of features have a panel for each data set, the others show one data set.
    """
    from boostsample.experiments.metrics import MAIN_METRICS
    from boostsample.experiments.plots.curves import axis_figure, curves_figure
    from boostsample.experiments.plots.drawing import check_picture, save_picture
    from boostsample.experiments.plots.ranks import ranks_figure
    from boostsample.experiments.plots.run_figures import (
        RUN_FIGURES,
        features_figure,
        mean_sampling_figure,
    )
    from boostsample.experiments.results.joined import joined_results
    from boostsample.experiments.results.read_folder import metric_of_folders
    from boostsample.experiments.results.run_curves import AXES, curves_of_results, parse_levels
    from boostsample.experiments.results.scored_runs import read_scored
    from boostsample.experiments.tables.renamed import parse_new_names, renamed_results

    if picture not in _WHAT:
        raise unknown("picture", picture, _WHAT)
    for option, pictures in _PICTURES.items():
        if options.given_options(context, option) and picture not in pictures:
            raise SettingError(f"--{option} needs --what {' or '.join(pictures)}, got {picture}")
    names = {} if rename is None else parse_new_names(rename)
    path = check_picture(output, overwrite=overwrite)
    measure = None if metric is None else metric_of_folders(metric, results)
    options.check_data_dir(data_dir, measure is not None and measure.own is not None)
    folders = [read_scored(folder, measure, data_dir) for folder in results]
    with_cells = picture not in ("curves", "ranks")
    if with_cells:
        try:
            folders = _with_runs(folders, results)
        except DataError as error:
            if picture != "sampling":
                raise
            print_note(f"{error}; the picture shows means over all searches so far")
            with_cells = False
    if not with_cells and (missing := sum(folder.missing for folder in folders)):
        print_note(f"{missing:,} runs are missing, the results are incomplete")
    folders = renamed_results(joined_results(folders), names)
    if data is not None or picture in RUN_FIGURES:  # which show one data set
        data = _chosen(dict.fromkeys(name for folder in folders for name in folder.names), data)
        folders = [folder.part(data) for folder in folders if data in folder.names]
    runs = {name: folder.part(name).runs for folder in folders for name in folder.names}
    if picture == "curves":
        axis = "stumps" if against in (None, "rounds") else against
        metrics = MAIN_METRICS if measure is None else (measure.name,)
        if axis not in AXES:
            level = ("stumps", None) if at is None else parse_levels(at)
            figure = axis_figure(folders, axis, metrics, *level)
        elif at is not None:
            raise SettingError(f"--at needs an axis of the grid in --against, got {axis}")
        else:
            figure = curves_figure(folders, axis, metrics, not uncharged)
    elif picture == "ranks":
        name = "loss" if measure is None else measure.name
        figure = ranks_figure(folders, name, stumps, axis=against or "stumps")
    elif picture == "features":
        figure = features_figure(runs, stumps)
    elif with_cells:
        figure = RUN_FIGURES[picture](*runs.popitem())
    else:
        figure = mean_sampling_figure(*curves_of_results(folders[0]))
    save_picture(figure, path)
    print_line(f"plot: {path}")


def _with_runs(folders: Sequence[Results], places: Sequence[str]) -> list[Results]:
    from boostsample.experiments.results.read_folder import lost_runs, with_runs

    filled = [with_runs(*pair) for pair in zip(folders, places, strict=True)]
    for folder, place in zip(filled, places, strict=True):
        if lost := lost_runs(folder):
            print_note(
                f"'{place}' is incomplete: the cells of {lost:,} runs are missing or cannot be "
                "used; the picture shows the others"
            )
    return filled


def _chosen(names: Collection[str], data: str | None) -> str:
    """The data set to draw: `data`, else the only one of `names`."""
    if data is None:
        if len(names) > 1:
            raise SettingError(
                f"this picture shows one data set, but the results have {', '.join(names)}; "
                "choose one with --data"
            )
        return next(iter(names))
    if data not in names:
        raise unknown("data set of these results", data, names)
    return data
