"""The command `boostsample predict`: predicts the rows of a table with a saved model."""

from __future__ import annotations

import sys

import click

from boostsample.experiments.commands.shared import options
from boostsample.experiments.commands.shared.printing import print_data, print_line, print_note


@click.command()
@click.argument("model", metavar="MODEL")
@click.argument("table", metavar="TABLE")
@click.option("-o", "--output", metavar="FILE", help="The .csv file to write.  [default: print it]")
@click.option("--proba", is_flag=True, help="Add the probability of each class.")
@click.option(
    "--target",
    metavar="COLUMN",
    help="The column of TABLE with the true classes: print how many are wrong on standard error.",
)
@click.option(
    "--keep",
    multiple=True,
    metavar="COLUMN",
    help="Copy a column of TABLE, such as an id, to the output, before the prediction; may be "
    "repeated.",
)
@options.overwrite_option
def predict(
    model: str,
    table: str,
    output: str | None,
    proba: bool,
    target: str | None,
    keep: tuple[str, ...],
    overwrite: bool,
) -> None:
    """Predict the rows of TABLE with MODEL, a file that fit has written.

    Columns are found by name; those that the model does not know are passed over.
    """
    from pandas.api.types import infer_dtype

    from boostsample.estimator import BoostSampleClassifier
    from boostsample.experiments.fitting.table_models import predictions
    from boostsample.experiments.tables.formats import guarded_text
    from boostsample.files.atomic import check_writable_file, write_file

    place = None
    if output is not None:
        place = check_writable_file(output, ".csv", "the predictions", overwrite=overwrite)
    loaded = BoostSampleClassifier.load(model)
    found, error = predictions(loaded, table, target, chances=proba, keep=keep)
    texts = [name for name in found.columns if infer_dtype(found[name]) == "string"]
    guarded = found.assign(**{name: found[name].map(guarded_text, "ignore") for name in texts})
    guarded.columns = [guarded_text(name) for name in found.columns]
    if not guarded.equals(found):
        print_note("texts that a spreadsheet would take for formulas begin with ' now")
    text = guarded.to_csv(index=False, lineterminator="\n")
    if place is None:
        print_data(text)
    else:
        write_file(place, text, "the predictions")
        print_line(f"predictions: {place}, {len(found):,} rows")
    if error is not None:
        sys.stderr.write(f"wrong: {error:.2f} % of {len(found):,} rows\n")
