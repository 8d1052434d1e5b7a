"""Options of the layout of pictures, for every command that draws one."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import click

from boostsample.errors import SettingError

_FILES = ("output", "plot", "figure2")
"""Parameters that name the file of a picture."""
_OPTIONS = (
    click.option(
        "--size",
        metavar="WxH|one-column|two-columns",
        help="Size in inches, as in 3.3x2.4, or the width alone; one-column is 3.25 inches, "
        "two-columns 6.75.  [default: fits a screen]",
    ),
    click.option(
        "--font-size", type=float, metavar="POINTS", help="[default: 10, or 8 with --size]"
    ),
    click.option("--dpi", type=int, metavar="N", help="Resolution of a .png file.  [default: 150]"),
    click.option("--title", metavar="TEXT", help="Title of the picture."),
    click.option(
        "--without",
        metavar="title,labels,legend,notes",
        help="Leave out the title, the titles of axes, the legend or the notes below.",
    ),
)
LAYOUT = ("size", "font_size", "dpi", "title", "without")
"""Names of the parameters."""


def layout_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options to a command, which then runs under the layout that they describe."""

    @functools.wraps(command)
    def run(*args: Any, **given: Any) -> Any:
        own = {name: value for name in LAYOUT if (value := given.pop(name)) is not None}
        if not own:
            return command(*args, **given)
        if not any(given.get(name) for name in _FILES):
            option = next(iter(own)).replace("_", "-")
            raise SettingError(f"--{option} is for a picture, but none is drawn; add --plot FILE")
        from boostsample.experiments.plots.drawing.layout import (
            Layout,
            parse_parts,
            parse_size,
            using_layout,
        )

        for name, parse in (("size", parse_size), ("without", parse_parts)):
            if name in own:
                own[name] = parse(own[name])
        with using_layout(Layout(**own)):
            return command(*args, **given)

    for option in reversed(_OPTIONS):
        run = option(run)
    return run
