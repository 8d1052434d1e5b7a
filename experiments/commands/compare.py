"""The command `boostsample compare`: compares strategies on data sets."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from boostsample.errors import SettingError
from boostsample.experiments.commands.shared import options
from boostsample.experiments.commands.shared.printing import print_line, print_note, print_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from boostsample.experiments.plan.plan import Plan
    from boostsample.experiments.plan.prepared import Prepared
    from boostsample.experiments.results.read_folder import Results
    from boostsample.experiments.results.write_folder import ResultsFolder
    from boostsample.experiments.tables.tables import Table


_bank_option = click.option(
    "--bank",
    default="auto",
    metavar="auto|memory|disk|columns|lazy",
    help="Where to keep features: in memory; in memory-mapped files, cached for later runs "
    "(boostsample cache); columns that are binned when they are searched, of which the last are "
    "kept; or computed on demand. auto is columns for large sparse and very wide files, else "
    "memory. lazy takes the bin edges of a search from the values that it reads, others from all "
    "training rows; with reference=2048, all take them from 2,048 rows and give the same results. "
    "memory:tile_bytes=0 takes half of the memory, but searches of few examples are slower.",
)


@click.command(context_settings={"show_default": True})
@click.option(
    "--grid",
    metavar="NAME|FILE",
    help="A grid of the package (boostsample list grids) or a TOML file; options may add to it but "
    "not contradict it.",
)
@click.option(
    "--data",
    multiple=True,
    metavar="NAME|FILE:OPTION=VALUE",
    help="A named data set (boostsample list data), a function as in my_file.py:points, or a CSV, "
    "TSV, Parquet, .npz or svmlight file with options as in x.csv:label=target:drop=ID; any "
    "takes validation=0.2, to score held-out training rows; may be repeated.  [default: digits]",
)
@options.data_dir_option
@click.option(
    "--strategies",
    multiple=True,
    metavar="A,B:SETTING=VALUE",
    help="Strategies, with settings if need be (boostsample list strategies), or classes in "
    "files, as in my_file.py:Mine.  [default: full unless it takes too long, uniform-naive, "
    "uniform-1q, uniform-q1, laminating]",
)
@click.option(
    "--tune",
    is_flag=True,
    help="Tune strategies that have a tuning grid (the bandits) or alternatives, as in "
    "'ucb:exploration=0.1|1|2'; tuning is charged to them.",
)
@click.option(
    "--draws",
    type=int,
    metavar="N",
    help="With --tune, try N random settings from the ranges of each tuning grid instead of the "
    "whole grid.",
)
@options.axis(options.learner_option)
@options.families_option
@options.axis(_bank_option)
@click.option(
    "--rounds",
    default="10,100,300",
    metavar="N,N,...",
    help="Rounds to report, ascending; training runs to the largest. A round of stumps adds one.",
)
@click.option(
    "--score-every",
    type=float,
    metavar="PERCENT",
    help="Also score whenever the number of stumps has grown by this much; 1 for smoothed errors.",
)
@click.option("--repeats", default=3, metavar="N", help="Repetitions.")
@options.axis(options.budget_option)
@options.axis(options.weights_option)
@options.axis(options.learning_rate_option)
@options.axis(options.smoothing_option)
@options.axis(options.objective_option)
@options.code_option
@options.decoding_option
@options.max_seconds_option
@options.max_looks_option
@options.max_cost_option
@options.seed_option
@click.option(
    "--results",
    metavar="DIR",
    help="Folder for the results: a new one, or one of the same settings, to be completed.  "
    "[default: results/<data>-<date and time>]",
)
@click.option(
    "--backend",
    default="threading",
    metavar="NAME",
    help="Where to train: threading, serial, loky (processes), dask (a cluster on this machine) or "
    "dask://HOST:PORT; the rows do not depend on it. Lost workers cost seconds.",
)
@click.option(
    "--jobs",
    type=int,
    metavar="N",
    help="Runs trained at once, -1 for all cores; the rows do not depend on it.  [default: all "
    "cores for features, then one run at a time for undisturbed seconds; loky and dask: all cores]",
)
@click.option(
    "--shard",
    metavar="I/N",
    help="Train only the I-th of N shares of the runs, for job arrays that share a folder.",
)
@options.plot_option
@options.overwrite_option
@options.layout_options
@click.option(
    "--regret",
    type=int,
    is_flag=False,
    flag_value=0,
    metavar="[EVERY]",
    help="Also measure the best edge of all features, at the scored numbers of rounds and every so "
    "many rounds; its searches are not charged.",
)
@click.option(
    "--metric",
    "metrics",
    multiple=True,
    metavar="FILE:NAME",
    help="Also score the runs by a function, as in my_file.py:f, and keep its values with the "
    "results; may be repeated.",
)
@click.option("--history", is_flag=True, help="Also write a row for each search.")
@options.quiet_option
@click.pass_context
def compare(
    context: click.Context,
    /,
    data_dir: str | None,
    results: str | None,
    jobs: int | None,
    backend: str,
    shard: str | None,
    plot: str | None,
    overwrite: bool,
    quiet: bool,
    **_: Any,
) -> None:
    """Compare strategies by loss, test error and looks.

    Prints tables and writes the rows behind them. By default compares five strategies on
    scikit-learn's digits: 300 rounds, three repetitions. --budget, --learner, --objective,
    --learning-rate, --smoothing, --weight-init and --bank take several values, separated by
    commas: all combinations are compared. Every run is saved when it is trained; the same command
    with the same --results trains only missing runs.
    """
    from boostsample.experiments.common.progress import ProgressDisplay

    with ExitStack() as stack:
        display = stack.enter_context(ProgressDisplay(quiet))
        display("starting", 0, 0)  # before the slow imports
        from boostsample.experiments.plan.grid import grid_entries
        from boostsample.experiments.plan.prepared import prepare_all
        from boostsample.experiments.plots.curves import curves_figure
        from boostsample.experiments.plots.drawing import check_picture, save_picture
        from boostsample.experiments.results.joined import joined_results
        from boostsample.experiments.run import comparison as job
        from boostsample.experiments.run.backends import check_backend

        plan = replace(_plan(context), n_jobs=jobs)
        share = None if shard is None else job.parse_shard(shard)
        if share is not None and results is None:
            raise SettingError("--shard needs the folder that all shares fill; add --results DIR")
        check_backend(backend, jobs)
        picture = None if plot is None else check_picture(plot, overwrite=overwrite)
        if picture is not None and len(plan.data) > 1:
            raise SettingError(
                f"--plot draws one data set, but the grid has {len(plan.data)}; leave it out"
            )
        folder = stack.enter_context(_folder(results, plan))
        prepared = prepare_all(plan, data_dir)
        said: set[str] = set()
        for data in prepared:
            for note in data.notes:
                if note not in said:
                    display.say(note)
                said.add(note)
        about = {
            "command": ["boostsample", *context.obj],
            "title": plan.title,
            "entries": grid_entries(plan, prepared),
        }
        store = folder.begin(prepared, about)
        n_runs = sum(len(tasks) for _, tasks in job.tasks_by_bank(prepared))
        if any(variant.grid for setup in prepared for variant in setup.variants):
            display.say(f"tuning: {n_runs:,} runs of {plan.n_rounds:,} rounds")
        try:
            workers = stack.enter_context(job.open_backend(backend, jobs))
            comparison = job.compare_all(prepared, store, workers, display, display.left, share)
        except BaseException:
            if n_cells := folder.cells_of_grid():
                display.say(
                    f"{n_cells:,} of {n_runs:,} runs are saved; the same command with "
                    f"--results {folder.path} trains the others"
                )
            raise
        display.close()
        if comparison is None:
            done = f"share {shard} is done; {folder.cells_of_grid():,} of {n_runs:,} runs are saved"
            print_line(f"{done}\nresults: {folder.path}")
            if picture is not None:
                print_note(f"{picture} is not drawn; the share that completes the grid draws it")
            return
        try:
            folder.write(comparison)
        finally:  # tables are printed even if the folder cannot be written
            for name in comparison.names:
                setups = [setup for setup in prepared if setup.data.name == name]
                _print_comparison(comparison.part(name), setups)
        print_line(f"results: {folder.path}")
        if picture is not None:
            save_picture(curves_figure(joined_results([comparison])), picture)
            print_line(f"plot: {picture}")


def _plan(context: click.Context) -> Plan:
    from boostsample.experiments.plan.grid import GRID_ENTRIES, combined_grid, read_grid_file
    from boostsample.experiments.plan.plan import DataSource, parse_marks
    from boostsample.experiments.plan.variants import Variant, parse_names

    parsers: dict[str, Any] = {
        "data": lambda names: tuple(
            part for name in names for part in DataSource.parse(name).parts()
        ),
        "strategies": parse_names,
        "families": parse_names,
        "metrics": tuple,
        "rounds": parse_marks,
        "bank": lambda names: tuple(map(Variant.parse, names)),
    }
    chosen = {}
    for entry, setting in GRID_ENTRIES.items():
        name = setting if setting == "weights" else entry
        if name != "title" and options.given_options(context, name):
            value = context.params[name]
            chosen[entry] = parsers[name](value) if name in parsers else value
    file = context.params["grid"]
    return combined_grid(None if file is None else read_grid_file(file), chosen)


def _folder(results: str | None, plan: Plan) -> ResultsFolder:
    from pathlib import Path

    from boostsample.experiments.results.write_folder import ResultsFolder

    if results is not None:
        return ResultsFolder(results)
    names = [
        entry.options.get("name", Path(entry.name).name.partition(".")[0]) for entry in plan.data
    ]
    return ResultsFolder.new("results", "-".join(names))


def _score_table(comparison: Results, metric: str) -> Table | None:
    """The table of a metric at the marks; with a row for each strategy if there are several setups.

    None if no run has the metric.
    """
    from boostsample.experiments.metrics import METRICS
    from boostsample.experiments.tables.score_tables import plain_table, result_table

    rows = comparison.table[comparison.table["stumps"].isin(comparison.settings["rounds"])]
    marks = rows.loc[rows[METRICS[metric].column].notna(), "stumps"].unique().tolist()
    if not marks:
        return None
    if "axes" not in comparison.settings:
        return plain_table(comparison, metric, levels=marks)
    (table,) = result_table([comparison], metric, levels=marks)
    return replace(table.transposed(), notes=())


def _print_comparison(results: Results, prepared: Sequence[Prepared]) -> None:
    from boostsample.experiments.results.joined import joined_results, setup_label, values_of
    from boostsample.experiments.results.titles import STUMP
    from boostsample.experiments.tables.comparison_tables import (
        looks_table,
        settings_in_use_text,
        tuning_table,
    )

    (comparison,) = joined_results([results])
    first, data = prepared[0], prepared[0].data
    sizes = sorted({(len(train), len(test)) for train, test in first.splits})
    families = ", ".join(f"{f.name} {f.n_features:,}" for f in first.families)
    learners = [learner for learner in comparison.learners if learner != STUMP]
    weights = dict.fromkeys(setup.plan.weights for setup in prepared)
    print_line(
        f"{data.name}: {sizes[0][0]:,} training and {sizes[0][1]:,} test examples, "
        f"{data.n_classes} {'labels' if data.is_multilabel else 'classes'}, "
        f"{first.n_features:,} features ({families}), {' or '.join(weights)} initial weights"
        f"{f', learner {learners[0]}' if len(prepared) == 1 and learners else ''}\n"
    )
    metrics = ["loss", "error"]
    if data.n_classes == 2 and not data.is_multilabel:  # one may be rare
        metrics.append("balanced-accuracy")
        metrics.append("auc")
    if first.plan.regret is not None:
        metrics.append("regret")
    metrics += [facts["name"] for facts in comparison.settings.get("metrics", ())]
    for metric in metrics:
        print_table(_score_table(comparison, metric))
    print_table(looks_table(comparison))
    print_table(tuning_table(comparison))
    for setup, of_setup in zip(prepared, results.setups, strict=True):
        if len(prepared) > 1:
            print_line(setup_label(values_of(of_setup), comparison.settings["axes"]))
        print_line(f"{settings_in_use_text(of_setup, setup.learner_in_use)}\n")
    for note in comparison.settings_of(data.name)["notes"]:
        print_line(f"note: {note}\n")
