"""The command `boostsample select`: features that hold up on halves of the rows."""

from __future__ import annotations

from typing import Any

import click

from boostsample.errors import SettingError
from boostsample.experiments.commands.shared import options
from boostsample.experiments.commands.shared.printing import print_line, table_file


def _correlation(_context: Any, _option: Any, value: str) -> float | None:
    try:
        return None if value == "none" else float(value)
    except ValueError:
        raise SettingError(f"--correlated must be a number or none, got {value!r}") from None


@click.command(context_settings={"show_default": True})
@click.argument("table", metavar="TABLE")
@click.option(
    "--target",
    metavar="COLUMN",
    help="The column of the classes; the file of labels of an .npz file without any.",
)
@click.option("-o", "--output", metavar="FILE", help="Write all candidates to a .csv file.")
@options.drop_option
@options.category_option
@options.column_groups_option
@options.class_weight_option
@click.option(
    "--max-false",
    type=click.FloatRange(min=0.0, min_open=True),
    default=1.0,
    metavar="V",
    help="Bound on the expected number of features that are selected by chance.",
)
@click.option(
    "--chosen",
    "n_chosen",
    type=click.IntRange(min=1),
    metavar="Q",
    help="Features that each half of the rows chooses.  [default: up to 20]",
)
@click.option(
    "--pairs",
    "n_pairs",
    type=click.IntRange(min=2),
    default=50,
    metavar="N",
    help="Pairs of halves of the rows.",
)
@click.option(
    "--correlated",
    default="0.8",
    callback=_correlation,
    metavar="R|none",
    help="Correlation from which features count as one; none looks at each for itself.",
)
@click.option(
    "--bound",
    default="worst-case",
    metavar="worst-case|r-concave",
    help="What --max-false bounds; r-concave assumes more and asks for smaller shares.",
)
@click.option(
    "--strategy",
    default="full",
    metavar="NAME:SETTING=VALUE",
    help="Searches the stumps of a half; screening takes a fifth of the time on very wide tables.",
)
@options.seed_option
@click.option(
    "--jobs", "n_jobs", default=1, metavar="N", help="Threads, -1 for all cores; same results."
)
@options.overwrite_option
def select(
    table: str,
    target: str | None,
    output: str | None,
    drop: tuple[str, ...],
    category: tuple[str, ...],
    seed: int,
    overwrite: bool,
    **chosen: Any,
) -> None:
    """Select the features of TABLE that most halves of its rows choose.

    TABLE is a file as for fit. Prints the selected features with the shares of the halves that have
    chosen them, or that there is none, and how many are expected by chance (docs/selection.md).
    """
    from boostsample.estimator import BoostSampleClassifier
    from boostsample.experiments.fitting.table_models import read_training_table
    from boostsample.experiments.tables.formats import guarded_text
    from boostsample.files.atomic import write_file

    _, place = table_file("csv", output, "the features", ("csv",), overwrite=overwrite)
    names = ("n_chosen", "n_pairs", "max_false", "correlated", "bound", "strategy")
    search = {name: chosen.pop(name) for name in names}
    groups = chosen["families"]
    rows = read_training_table(table, target, drop=drop, category=category, groups=groups)
    if rows.families is not None:
        chosen["families"] = list(rows.families)
    print_line("\n".join(rows.lines()))
    model = BoostSampleClassifier(**chosen, random_state=seed)
    result = model.selected_features(rows.X, rows.y, **search)
    print_line(str(result))
    if place is not None:
        frame = result.to_frame()
        frame["correlated"] = ["; ".join(names) for names in frame["correlated"]]
        for column in ("name", "correlated"):
            frame[column] = [guarded_text(text) for text in frame[column]]
        write_file(place, frame.to_csv(index=False, lineterminator="\n"), "the features")
        print_line(f"features: {place}, {len(frame):,} candidates")
