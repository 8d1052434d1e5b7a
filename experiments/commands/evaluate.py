"""The command `boostsample evaluate`: says how well a saved model predicts a table."""

from __future__ import annotations

import click

from boostsample.experiments.commands.shared import options
from boostsample.experiments.commands.shared.printing import print_data, print_line, print_table

_FORMATS = ("text", "markdown", "csv")


@click.command()
@click.argument("model", metavar="MODEL")
@click.argument("table", metavar="TABLE")
@click.option(
    "--target", required=True, metavar="COLUMN", help="The column of TABLE with the true classes."
)
@click.option(
    "--format",
    "form",
    metavar="|".join(_FORMATS),
    help="text, markdown, or csv (a line a number, with all digits).  [default: by the ending of "
    "-o, else text]",
)
@click.option("-o", "--output", metavar="FILE", help="Write to a .txt, .md or .csv file.")
@click.option(
    "--picture", metavar="FILE", help="Draw the calibration to an .svg, .png or .pdf file."
)
@options.overwrite_option
def evaluate(
    model: str,
    table: str,
    target: str,
    form: str | None,
    output: str | None,
    picture: str | None,
    overwrite: bool,
) -> None:
    """Compare the predictions of MODEL for the rows of TABLE with their true classes.

    Prints the error, the balanced error, log loss, AUC and Brier score, a confusion table, and a
    calibration table: how often the classes of a probability are true, in ten bins. For an honest
    judgement, give rows that fit has not seen.
    """
    from boostsample.errors import SettingError
    from boostsample.estimator import BoostSampleClassifier
    from boostsample.experiments.fitting.table_models import evaluation
    from boostsample.experiments.plots.drawing.picture_files import check_picture, save_picture
    from boostsample.experiments.plots.reliability import reliability_figure
    from boostsample.experiments.tables.formats import FORMATS, chosen_format
    from boostsample.files.atomic import check_writable_file, write_file

    name = chosen_format(form, output, _FORMATS)
    if output is None and picture is None and overwrite:
        raise SettingError("--overwrite needs a file to replace; add -o FILE or --picture FILE")
    place = None
    if output is not None:
        place = check_writable_file(output, FORMATS[name].ending, "the tables", overwrite=overwrite)
    drawing = None if picture is None else check_picture(picture, overwrite=overwrite)
    judged = evaluation(BoostSampleClassifier.load(model), table, target)
    text = judged.csv() if name == "csv" else f"{FORMATS[name].render(judged.tables())}\n"
    if place is not None:
        write_file(place, text, "the tables")
        print_line(f"tables: {place}")
    elif name == "text":
        for part in judged.tables():
            print_table(part)
    else:
        print_data(text)
    if drawing is not None:
        figure = reliability_figure(judged.calibration, judged.rows, judged.event)
        save_picture(figure, drawing)
        print_line(f"picture: {drawing}")
