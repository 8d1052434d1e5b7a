"""The command `boostsample report`: writes one HTML report on results folders."""

from __future__ import annotations

import click

from boostsample.experiments.commands.shared import options
from boostsample.experiments.commands.shared.printing import print_line


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
