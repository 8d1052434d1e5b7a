"""Items of a report: texts, tables, pictures, code and notes."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from boostsample.experiments.plots.drawing.picture_files import describe, picture_bytes
from boostsample.experiments.tables.tables import Table

if TYPE_CHECKING:
    from markupsafe import Markup
    from matplotlib.figure import Figure

_NOT_SHOWN = re.compile(r"<\?xml[^>]*>|<!DOCTYPE[^>]*>|<metadata>.*?</metadata>", re.DOTALL)


@dataclass(frozen=True)
class TextItem:
    """A paragraph."""

    kind: ClassVar[str] = "text"
    text: str


@dataclass(frozen=True)
class ListingItem(Table):
    """A table of words, whose entries keep their line breaks."""

    kind: ClassVar[str] = "listing"


@dataclass(frozen=True)
class ScoresItem:
    """A table of results as HTML, with the numbers of its notes."""

    kind: ClassVar[str] = "table"
    name: str
    html: Markup
    notes: tuple[int, ...] = ()


@dataclass(frozen=True)
class PictureItem:
    """A picture as a data URL; sizes in CSS pixels."""

    kind: ClassVar[str] = "picture"
    source: str
    width: int
    height: int
    alt: str
    caption: str


@dataclass(frozen=True)
class CodeItem:
    """Text in a fixed width; readers can save the data URL `source` under the name `file`."""

    kind: ClassVar[str] = "code"
    name: str
    text: str
    file: str = ""
    source: str = ""


@dataclass
class NotesItem:
    """Numbered notes without repeats."""

    kind: ClassVar[str] = "notes"
    notes: list[str] = field(default_factory=list)

    def numbers(self, texts: Iterable[str]) -> tuple[int, ...]:
        """Return the numbers of these notes, from 1; adds new ones."""
        found = []
        for text in texts:
            if text not in self.notes:
                self.notes.append(text)
            found.append(self.notes.index(text) + 1)
        return tuple(found)


Item = TextItem | ListingItem | ScoresItem | PictureItem | CodeItem | NotesItem


def picture_item(figure: Figure, caption: str) -> PictureItem:
    """A figure as a separate SVG image, so that its ids cannot clash with those of others."""
    text = _NOT_SHOWN.sub("", picture_bytes(figure, "svg").decode("utf-8"))
    width, height = (round(96 * inches) for inches in figure.get_size_inches())
    source = f"data:image/svg+xml;base64,{base64.b64encode(text.encode()).decode('ascii')}"
    return PictureItem(source, width, height, describe(figure), caption)
