"""The commands `table`, `validate` and `report`: what results folders hold, in words."""

from __future__ import annotations

import sys
from functools import partial

import click

from boostsample.errors import SettingError
from boostsample.experiments.commands.shared import options
from boostsample.experiments.commands.shared.printing import (
    deliver,
    print_line,
    print_note,
    print_table,
    table_file,
)


@click.command()
@click.argument("results", metavar="RESULTS...", nargs=-1, required=True)
@click.option(
    "--metric",
    default="loss",
    show_default=True,
    metavar="loss|loss-area|error|balanced-accuracy|f1|log-loss|auc|one-error|coverage|"
    "average-precision|pairwise-loss|ndcg|smoothed-error|regret|looks|values_computed|cost|seconds|"
    "features|examples|FILE:NAME",
    help="Training loss (log10), the area under its curve so far, a metric of the test examples, "
    "their error smoothed over a window of stumps, looks, computed values or seconds spent so far, "
    "or the mean numbers of features and examples of a search so far; or a function of a file, as "
    "in my_file.py:my_metric, which scores the stored runs.",
)
@click.option(
    "--at",
    default="stumps",
    metavar="stumps|looks|values_computed|cost|seconds[=A,B]",
    help="Axis on which strategies are compared, and levels, as in looks=6e6,6e7.  [default: "
    "stumps, at the marks of the results; the others at the fewest spent there]",
)
@options.format_option(
    "text|markdown|latex|csv",
    "text, markdown, latex (with booktabs) or csv (a line an entry, with all digits and p-values)",
)
@options.uncharged_option
@click.option(
    "--strategies",
    metavar="A,B",
    help="Strategies to show, in this order, by label or by name for all its variants.  [default: "
    "all]",
)
@click.option(
    "--data",
    multiple=True,
    metavar="X,Y",
    help="Data sets to show, in this order; may be repeated.  [default: all]",
)
@click.option(
    "--rows",
    metavar="AXIS",
    help="What rows are: an axis of the grid as in budget, learner or learning_rate, or strategy; "
    "columns are the others, and values those of the last mark or of --at.  [default: the levels "
    "of --at]",
)
@click.option("--rename", metavar="OLD=NEW,...", help="New names of strategies.")
@click.option(
    "--width",
    metavar="LENGTH",
    help="Text width for latex, as in 240pt, 3.5in, 8.4cm or 84mm; wider tables are cut between "
    "columns.  [default: 345pt]",
)
@options.data_dir_option
@click.option("--transpose", is_flag=True, help="Make a row for each strategy; no effect on csv.")
@click.option("-o", "--output", metavar="FILE", help="Write to a .txt, .md, .tex or .csv file.")
@options.overwrite_option
def table(
    results: tuple[str, ...],
    metric: str,
    at: str,
    form: str | None,
    uncharged: bool,
    strategies: str | None,
    data: tuple[str, ...],
    rows: str | None,
    rename: str | None,
    width: str | None,
    data_dir: str | None,
    transpose: bool,
    output: str | None,
    overwrite: bool,
) -> None:
    """Print tables of results folders that compare has written, one for each data set.

    Setups of a folder, or folders of different budgets, learners and so on, share the table of a
    data set: names then end with what differs.
    Entries are mean (std) over repetitions. Each row marks the best entry and those that a paired
    test cannot tell from it; a note below the table describes the test.
    """
    from boostsample.experiments.results.joined import joined_results
    from boostsample.experiments.results.read_folder import metric_of_folders
    from boostsample.experiments.results.run_curves import parse_levels
    from boostsample.experiments.results.scored_runs import read_scored
    from boostsample.experiments.tables.formats import FORMATS, one_by_one
    from boostsample.experiments.tables.latex import parse_width, to_latex
    from boostsample.experiments.tables.renamed import parse_new_names, renamed_tables
    from boostsample.experiments.tables.score_tables import result_table, split_names

    measure = metric_of_folders(metric, results)
    options.check_data_dir(data_dir, measure.own is not None)
    axis, levels = parse_levels(at)
    name, path = table_file(form, output, "tables", FORMATS, overwrite=overwrite)
    render = FORMATS[name].render
    if width is not None:
        if name != "latex":
            raise SettingError(f"--width is a width of latex, got the format {name}; leave it out")
        render = one_by_one(partial(to_latex, width=parse_width(width)))
    folders = [read_scored(folder, measure, data_dir) for folder in results]
    tables = result_table(
        joined_results(folders),
        measure.name,
        axis,
        levels,
        not uncharged,
        strategies=None if strategies is None else split_names([strategies]),
        data=split_names(data) or None,
        rows=rows,
    )
    if rename is not None:
        tables = renamed_tables(tables, parse_new_names(rename))
    if transpose:
        tables = [score_table.transposed() for score_table in tables]
    for place, folder in zip(results, folders, strict=True):
        if folder.missing:
            print_note(
                f"'{place}' is not complete, {folder.missing:,} runs are missing; the tables go as "
                "far as the results"
            )
    if path is None and name == "text" and sys.stdout.isatty():
        for score_table in tables:
            print_table(score_table)
    else:
        deliver(render(tables), path, "tables")


@click.command()
@click.argument("validation", metavar="VALIDATION")
@click.argument("test", metavar="[TEST]", required=False)
@options.format_option(
    "text|markdown|csv", "text, markdown, or csv (a line a strategy, with all digits)"
)
@click.option("-o", "--output", metavar="FILE", help="Write to a .txt, .md or .csv file.")
@options.overwrite_option
def validate(
    validation: str, test: str | None, form: str | None, output: str | None, overwrite: bool
) -> None:
    """Choose rounds and settings by validation, and print their test errors.

    VALIDATION is a results folder of a comparison on X:validation=0.2, with any number of variants
    of each strategy; TEST is one of the same strategies on X, which may be the same folder. For
    each strategy and learner, in each setup of a grid, the number of stumps T and the variant with
    the smallest smoothed validation error, mean over repetitions, are chosen ([BK10] 4.2: the mean
    over the window from 4T/5 to 6T/5). The table has the choice, its smoothed test error at T, and
    what it had spent. It says where the smallest error is at the end of the run, still falling.
    TEST is not read to choose; without it, the choices alone are printed.
    """
    from boostsample.experiments.results.read_folder import read_results
    from boostsample.experiments.results.validation import choose, score_choices
    from boostsample.experiments.tables.formats import FORMATS
    from boostsample.experiments.tables.validation_table import validation_csv, validation_tables

    name, path = table_file(
        form, output, "the table", ("text", "markdown", "csv"), overwrite=overwrite
    )
    folder = read_results(validation)
    choices = choose(folder)
    tests = None if test is None else score_choices(choices, folder, read_results(test))
    if name == "csv":
        text = validation_csv(choices, tests)
    else:
        text = FORMATS[name].render(validation_tables(choices, tests))
    deliver(text, path, "the table")


@click.command()
@click.argument("results", metavar="RESULTS...", nargs=-1, required=True)
@click.option("-o", "--output", required=True, metavar="FILE", help="The .html file to write.")
@click.option(
    "--title", metavar="TEXT", help="Its title.  [default: that of the grid, else the data sets]"
)
@options.overwrite_option
@options.quiet_option
def report(
    results: tuple[str, ...], output: str, title: str | None, overwrite: bool, quiet: bool
) -> None:
    """Make a report of results folders that compare has written: one self-contained HTML file.

    Several folders of different data sets or setups make one report. Folders may be incomplete.
    """
    from boostsample.experiments.common.progress import ProgressDisplay
    from boostsample.experiments.report.html_report import check_report, make_report, write_report

    path = check_report(output, overwrite=overwrite)
    with ProgressDisplay(quiet) as display:
        html = make_report(results, title, lambda stage: display(stage, 0, 0))
        write_report(html, path)
    print_line(f"report: {path}")
