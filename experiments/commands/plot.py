"""The command `boostsample plot`: draws pictures of results folders."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from boostsample.errors import DataError, SettingError, unknown
from boostsample.experiments.commands.shared import options
from boostsample.experiments.commands.shared.printing import print_line, print_note

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from matplotlib.figure import Figure

    from boostsample.experiments.metrics import Metric
    from boostsample.experiments.results.read_folder import Results
    from boostsample.experiments.results.runs import Run

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
@click.option(
    "--uncharged", is_flag=True, help="Leave out tuned strategies that pay for their tuning."
)
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
    from boostsample.experiments.plots.run_figures import features_figure
    from boostsample.experiments.results.read_folder import metric_of_folders
    from boostsample.experiments.results.run_curves import AXES, parse_levels
    from boostsample.experiments.tables.renamed import parse_new_names

    if picture not in _WHAT:
        raise unknown("picture", picture, _WHAT)
    for option, pictures in _PICTURES.items():
        if options.given_options(context, option) and picture not in pictures:
            raise SettingError(f"--{option} needs --what {' or '.join(pictures)}, got {picture}")
    names = {} if rename is None else parse_new_names(rename)
    path = check_picture(output, overwrite=overwrite)
    measure = None if metric is None else metric_of_folders(metric, results)
    score = None if measure is None or measure.own is None else (measure, data_dir)
    options.check_data_dir(data_dir, score is not None)
    if picture == "curves":
        axis = "stumps" if against in (None, "rounds") else against
        metrics = MAIN_METRICS if measure is None else (measure.name,)
        folders = _results(results, data, names, score=score)
        if axis not in AXES:
            level = ("stumps", None) if at is None else parse_levels(at)
            figure = axis_figure(folders, axis, metrics, *level)
        elif at is not None:
            raise SettingError(f"--at needs an axis of the grid in --against, got {axis}")
        else:
            figure = curves_figure(folders, axis, metrics, not uncharged)
    elif picture == "ranks":
        folders = _results(results, None, names, score=score)
        name = "loss" if measure is None else measure.name
        figure = ranks_figure(folders, name, stumps, axis=against or "stumps")
    elif picture == "features":
        runs = _runs(results, names)
        if data is not None:
            runs = {data: runs[_chosen(runs, data)]}
        figure = features_figure(runs, stumps)
    else:
        figure = _of_runs(results, picture, data, names)
    save_picture(figure, path)
    print_line(f"plot: {path}")


def _results(
    folders: Sequence[str],
    data: str | None,
    names: Mapping[str, str],
    *,
    runs: bool = False,
    score: tuple[Metric, str | None] | None = None,
) -> list[Results]:
    """The results of the folders with new names, or the part of them on one data set.

    `score` is a metric of the user to score them by, and the folder of original data.
    """
    from boostsample.experiments.results.joined import joined_results
    from boostsample.experiments.results.read_folder import lost_runs, read_results, with_runs
    from boostsample.experiments.results.scored_runs import read_scored
    from boostsample.experiments.tables.renamed import renamed_results

    read = read_results if score is None else lambda folder: read_scored(folder, *score)
    results = [read(folder) for folder in folders]
    missing = sum(folder.missing for folder in results)
    if runs:
        results = [with_runs(*pair) for pair in zip(results, folders, strict=True)]
        for folder, place in zip(results, folders, strict=True):
            if lost := lost_runs(folder):
                print_note(
                    f"'{place}' is incomplete: the cells of {lost:,} runs are missing or cannot be "
                    "used; the picture shows the others"
                )
    elif missing:
        print_note(f"{missing:,} runs are missing, the results are incomplete")
    renamed = renamed_results(joined_results(results), names)
    if data is None:
        return renamed
    _chosen(dict.fromkeys(name for folder in renamed for name in folder.names), data)
    return [folder.part(data) for folder in renamed if data in folder.names]


def _runs(folders: Sequence[str], names: Mapping[str, str]) -> dict[str, list[Run]]:
    """The runs in all folders by data set, with new names."""
    from boostsample.experiments.results.run_curves import check_disjoint_curves

    parts = [
        (name, folder.part(name).runs)
        for folder in _results(folders, None, names, runs=True)
        for name in folder.names
    ]
    check_disjoint_curves(name for name, _ in parts)
    return dict(parts)


def _of_runs(
    folders: Sequence[str], picture: str, data: str | None, names: Mapping[str, str]
) -> Figure:
    """A picture of all runs on one data set."""
    from boostsample.experiments.plots.run_figures import RUN_FIGURES, mean_sampling_figure
    from boostsample.experiments.results.run_curves import curves_of_data

    try:
        runs = _runs(folders, names)
    except DataError as error:
        if picture != "sampling":
            raise
        print_note(f"{error}; the picture shows means over all searches so far")
        curves = curves_of_data(_results(folders, None, names))
        return mean_sampling_figure(curves[_chosen(curves, data)])
    name = _chosen(runs, data)
    return RUN_FIGURES[picture](name, runs[name])


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
