"""The command `boostsample validate`: chooses rounds and settings on held-out training rows."""

from __future__ import annotations

import click

from boostsample.experiments.commands.shared import options
from boostsample.experiments.commands.shared.printing import deliver, table_file

_FORMATS = ("text", "markdown", "csv")


@click.command()
@click.argument("validation", metavar="VALIDATION")
@click.argument("test", metavar="[TEST]", required=False)
@click.option(
    "--format",
    "form",
    metavar="|".join(_FORMATS),
    help="text, markdown, or csv (a line a strategy, with all digits).  [default: by the ending of "
    "-o, else text]",
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

    name, path = table_file(form, output, "the table", _FORMATS, overwrite=overwrite)
    folder = read_results(validation)
    choices = choose(folder)
    tests = None if test is None else score_choices(choices, folder, read_results(test))
    if name == "csv":
        text = validation_csv(choices, tests)
    else:
        text = FORMATS[name].render(validation_tables(choices, tests))
    deliver(text, path, "the table")
