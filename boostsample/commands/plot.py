"""`boostsample plot`: pictures of a results folder."""

from __future__ import annotations

import click

from boostsample.commands.output import say
from boostsample.errors import unknown

__all__ = ["plot"]

_WHAT = ("curves", "families")


@click.command()
@click.argument("results", metavar="RESULTS")
@click.option(
    "--what",
    default="curves",
    show_default=True,
    metavar="|".join(_WHAT),
    help="curves: loss and test error against stumps; families: which families the stumps come "
    "from (needs compare --history).",
)
@click.option(
    "-o", "--output", required=True, metavar="FILE", help="An .svg, .png or .pdf file to write."
)
def plot(results: str, what: str, output: str) -> None:
    """Draw a picture of a results folder that compare has written."""
    if what not in _WHAT:
        raise unknown("picture", what, _WHAT)
    from boostsample.experiments.family_plots import shares_figure
    from boostsample.experiments.plots import check_picture, results_figure, save_picture
    from boostsample.experiments.results import read_results

    path = check_picture(output)
    found = read_results(results)
    save_picture({"curves": results_figure, "families": shares_figure}[what](found), path)
    if found.missing:
        say(f"note: {found.missing:,} runs are missing, the results are incomplete")
    say(f"plot: {path}")
