"""The command `boostsample explain`: says which families and features a saved model uses."""

from __future__ import annotations

import click

from boostsample.experiments.commands.shared import options
from boostsample.experiments.commands.shared.printing import print_line, print_table


@click.command()
@click.argument("model", metavar="MODEL")
@click.option("-n", "n_features", default=20, metavar="N", help="Features and columns to list.")
@click.option(
    "--data",
    metavar="TABLE",
    help="Rows that the model has not seen: list the columns by what they are worth there.",
)
@click.option("--target", metavar="COLUMN", help="The column of --data with the true classes.")
@click.option("-o", "--output", metavar="FILE", help="Draw them to an .svg, .png or .pdf file.")
@options.overwrite_option
def explain(
    model: str,
    n_features: int,
    data: str | None,
    target: str | None,
    output: str | None,
    overwrite: bool,
) -> None:
    """Say in words, and as a picture, which families and features MODEL uses.

    Shares are those in the fall of the log loss of the training rows, to which noise contributes,
    too. With --data, a table has the importance of each column on these rows: the rise of their log
    loss when the values of the column are shuffled, mean of five shuffles. Columns of noise have
    about 0. The indicators of a column of categories and the parts of a date count as one column.
    """
    from boostsample.checks import check_integer
    from boostsample.classifier.prediction.held_importances import held_importances
    from boostsample.errors import SettingError
    from boostsample.estimator import BoostSampleClassifier
    from boostsample.experiments.fitting.importance_table import importance_table
    from boostsample.experiments.fitting.table_models import read_known_rows
    from boostsample.experiments.plots.drawing.picture_files import check_picture, save_picture
    from boostsample.experiments.plots.explained import explain_figure
    from boostsample.models.explain import explain as explained

    check_integer("-n", n_features, 1)
    if (data is None) != (target is None):
        raise SettingError("--data TABLE and --target COLUMN must be given together")
    place = None if output is None else check_picture(output, overwrite=overwrite)
    loaded = BoostSampleClassifier.load(model)
    held = None
    if data is not None and target is not None:
        held = held_importances(loaded, *read_known_rows(loaded, data, target))
    found = explained(
        loaded.model_,
        loaded.classes_.tolist(),
        n_features=n_features,
        importances=getattr(loaded, "term_importances_", None),
    )
    print_line(f"{found}\n")
    print_table(importance_table(loaded, held, n_features))
    if place is not None:
        save_picture(explain_figure(found, held), place)
        print_line(f"picture: {place}")
