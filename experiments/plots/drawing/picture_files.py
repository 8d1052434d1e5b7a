"""Check, describe and write files of pictures.

The label of a figure (`describe`) says in words what it shows, for readers who
cannot see it.
"""

from __future__ import annotations

import io
import os
import re
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from boostsample.errors import SettingError, printable
from boostsample.experiments.plots.drawing.figures import check_drawing, current_style
from boostsample.experiments.plots.drawing.layout import current_layout
from boostsample.files.atomic import check_writable_file, write_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = (".svg", ".png", ".pdf")
"""Endings of the file names of pictures."""

_DPI = 150
_PATH = re.compile(rb' d="[^"]*"')
_DIGITS = re.compile(rb"(\.\d\d)\d+")


def check_picture(path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
    """Check that a picture can be drawn and written, before any work is done; return its path.

    Raises SettingError if the file name has another ending, if the file exists and is not to
    `overwrite`, or if matplotlib is not installed, and DataError if the file cannot be written.
    """
    ending = Path(path).suffix.lower()
    if ending not in FORMATS:
        raise SettingError(
            f"a picture's file name must end in one of {', '.join(FORMATS)}, got '{Path(path)}'"
        )
    dpi = current_layout().dpi
    if dpi is not None and ending != ".png":
        raise SettingError(
            f"--dpi is for .png files, got {dpi} for '{Path(path)}', which has no pixels; leave it "
            "out"
        )
    check_drawing("pictures", "matplotlib")
    return check_writable_file(path, ending, "the picture", overwrite=overwrite)


def describe(figure: Figure) -> str:
    """What a figure shows, in a sentence or two."""
    return str(figure.get_label())


def picture_bytes(figure: Figure, kind: str = "svg") -> bytes:
    """The content of a picture file (`kind` svg, png or pdf), the same for the same data.

    Draw a figure only once: a second drawing may shift its layout slightly. SettingError if its
    texts leave no room for its axes.
    """
    import matplotlib as mpl
    from matplotlib.text import Text

    for text in figure.findobj(Text):  # XML may not hold control characters
        text.set_text(printable(text.get_text(), "\n"))
    shown = printable(describe(figure))
    title = " ".join(figure.get_suptitle().split()) or shown
    metadata: dict[str, dict[str, Any]] = {
        "svg": {"Date": None, "Title": title, "Description": shown},
        "pdf": {"CreationDate": None, "Title": title, "Subject": shown},
        "png": {"Title": title, "Description": shown},
    }
    stream = io.BytesIO()
    with mpl.rc_context(current_style()), warnings.catch_warnings():
        warnings.filterwarnings("error", message="constrained_layout not applied")
        try:
            dpi = current_layout().dpi or _DPI
            figure.savefig(stream, format=kind, dpi=dpi, metadata=metadata[kind])
        except UserWarning as error:
            width, height = figure.get_size_inches()
            raise SettingError(
                f"the texts of the picture leave no room for its axes in {width:g} x {height:g} "
                "inches; give a larger --size, a smaller --font-size, or leave parts out with "
                "--without"
            ) from error
    if kind != "svg":
        return stream.getvalue()
    # Rounding paths to a hundredth of a point halves the size.
    return _PATH.sub(lambda path: _DIGITS.sub(rb"\1", path[0]), stream.getvalue())


def save_picture(figure: Figure, path: Path) -> None:
    """Write a figure atomically; DataError if the file cannot be written."""
    content = picture_bytes(figure, path.suffix.lower().removeprefix("."))
    write_file(path, content, "the picture")
