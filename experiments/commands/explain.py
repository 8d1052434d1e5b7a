"""The command `boostsample explain`: says which families and features a saved model uses."""

from __future__ import annotations

import click

from boostsample.experiments.commands.shared import options
from boostsample.experiments.commands.shared.printing import print_line

__all__ = ["explain"]


@click.command()
@click.argument("model", metavar="MODEL")
@click.option("-n", "n_features", default=20, metavar="N", help="Features to list.")
@click.option("-o", "--output", metavar="FILE", help="Draw them to an .svg, .png or .pdf file.")
@options.overwrite_option
def explain(model: str, n_features: int, output: str | None, overwrite: bool) -> None:
    """Say in words, and as a picture, which families and features MODEL uses."""
    from boostsample.checks import check_integer
    from boostsample.estimator import BoostSampleClassifier
    from boostsample.experiments.plots.drawing.picture_files import check_picture, save_picture
    from boostsample.experiments.plots.explained import explain_figure
    from boostsample.models.explain import explain as explained

    check_integer("-n", n_features, 1)
    place = None if output is None else check_picture(output, overwrite=overwrite)
    loaded = BoostSampleClassifier.load(model)
    found = explained(
        loaded.model_,
        loaded.classes_.tolist(),
        n_features=n_features,
        importances=getattr(loaded, "term_importances_", None),
    )
    print_line(str(found))
    if place is not None:
        save_picture(explain_figure(found), place)
        print_line(f"picture: {place}")
