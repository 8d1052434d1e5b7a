"""Layout of a picture: its size, fonts and resolution, and the parts that it leaves out.

Pictures drawn and written inside ``with using_layout(layout)`` follow `layout`. This module does
not import matplotlib.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING

from boostsample.errors import SettingError, unknown

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTHS = {"one-column": 3.25, "two-columns": 6.75}
"""Widths of pictures by name, in inches; they fit the columns and pages of most journals."""
PARTS = ("title", "labels", "legend", "notes")
"""Parts that a picture can leave out: title, titles of axes, legend, and notes below it."""
_SCREEN_FONT, _PAPER_FONT = 10.0, 8.0
_SMALLEST, _LARGEST = 1.0, 100.0  # inches


@dataclass(frozen=True)
class Layout:
    """The layout of a picture; the default one is for screens.

    `size` is width and height in inches; a height of None fits the content. `font_size` is in
    points, by default 10, or 8 if a size is given. `dpi` is the resolution of .png files. `title`
    replaces the title. Raises SettingError if a value is out of range.
    """

    size: tuple[float, float | None] | None = None
    font_size: float | None = None
    dpi: int | None = None
    title: str | None = None
    without: tuple[str, ...] = ()  # of `PARTS`

    def __post_init__(self) -> None:
        if self.font_size is not None and not 4 <= self.font_size <= 40:
            raise SettingError(f"font-size must be between 4 and 40 points, got {self.font_size:g}")
        if self.dpi is not None and not 30 <= self.dpi <= 2400:
            raise SettingError(f"dpi must be between 30 and 2400, got {self.dpi}")
        if self.title is not None and "title" in self.without:
            raise SettingError("--title and --without title exclude each other; give one of them")

    @property
    def points(self) -> float:
        """Size of the font in points."""
        return self.font_size or (_PAPER_FONT if self.size else _SCREEN_FONT)

    @property
    def scale(self) -> float:
        """Size of the font relative to that for screens; lines and heights follow it."""
        return self.points / _SCREEN_FONT

    def finish(self, figure: Figure) -> None:
        """Replace the title, remove the parts that are left out, and wrap long lines."""
        if self.title is not None:
            figure.suptitle(self.title)
        if "title" in self.without and figure.get_suptitle():
            figure.suptitle("").set_in_layout(False)
        if "notes" in self.without and figure.get_supxlabel():
            figure.supxlabel("").set_in_layout(False)
        if "legend" in self.without:
            for legend in list(figure.legends):
                legend.remove()
        if "labels" in self.without:
            for axes in figure.axes:
                axes.set(xlabel="", ylabel="")
        if title := figure.get_suptitle():
            figure.suptitle(wrapped_text(title, figure.get_figwidth(), 1.2 * self.points))


_USUAL = Layout()
_CURRENT: ContextVar[Layout] = ContextVar("layout", default=_USUAL)


def current_layout() -> Layout:
    """The layout of the pictures that are drawn and written now."""
    return _CURRENT.get()


@contextmanager
def using_layout(layout: Layout) -> Iterator[None]:
    """Draw and write pictures with `layout`."""
    token = _CURRENT.set(layout)
    try:
        yield
    finally:
        _CURRENT.reset(token)


def wrapped_text(text: str, width: float, points: float) -> str:
    """Break lines that are longer than `width` inches in a font of this size."""
    letters = max(12, int(72 * width / (0.55 * points)))
    wrapper = textwrap.TextWrapper(letters, break_long_words=False, break_on_hyphens=False)
    return "\n".join(map(wrapper.fill, text.splitlines()))


def parse_size(text: str) -> tuple[float, float | None]:
    """Read width and height in inches, a width alone, or a name of `WIDTHS`.

    >>> parse_size("3.3x2.4"), parse_size("5.5"), parse_size("one-column")
    ((3.3, 2.4), (5.5, None), (3.25, None))
    """
    if text in WIDTHS:
        return WIDTHS[text], None
    try:
        sides = [float(part) for part in text.lower().split("x")]
    except ValueError:
        sides = []
    if len(sides) not in (1, 2) or not all(math.isfinite(side) for side in sides):
        raise SettingError(
            "size must be width and height in inches as in 3.3x2.4, a width alone as in 5.5, "
            f"{' or '.join(WIDTHS)}; got {text!r}"
        )
    if not all(_SMALLEST <= side <= _LARGEST for side in sides):
        raise SettingError(
            f"size must be between {_SMALLEST:g} and {_LARGEST:g} inches on each side, got {text}"
        )
    return sides[0], sides[1] if len(sides) == 2 else None


def parse_parts(text: str) -> tuple[str, ...]:
    """Read parts to leave out.

    >>> parse_parts("title, legend")
    ('title', 'legend')
    """
    parts = tuple(part.strip() for part in text.split(","))
    for part in parts:
        if part not in PARTS:
            raise unknown("part of a picture", part, PARTS)
    return parts
