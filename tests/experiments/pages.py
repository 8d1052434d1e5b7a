"""A strict reader of HTML pages that need nothing but themselves."""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from itertools import pairwise
from xml.etree import ElementTree

VOID = {"br", "col", "hr", "img", "input", "link", "meta"}
FETCHED = {"src", "srcset", "data", "poster", "action", "background"}


@dataclass
class Table:
    """A table as text: chapter and caption, and rows of cells with the class of each."""

    chapter: str = ""
    caption: str = ""
    rows: list[list[tuple[str, str]]] = field(default_factory=list)

    def column(self, name: str) -> dict[str, tuple[str, str]]:
        at = [text for text, _ in self.rows[0]].index(name)
        return {row[0][0]: row[at] for row in self.rows[1:]}


class Page(HTMLParser):
    """A page that was read to its end; `faults` has whatever is wrong with it."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.faults: list[str] = []
        self.ids: list[str] = []
        self.headings: list[tuple[int, str]] = []
        self.links: list[tuple[str, dict[str, str]]] = []
        self.pictures: list[dict[str, str]] = []
        self.tables: list[Table] = []
        self.codes: list[str] = []
        self.words: list[str] = []
        self.title = ""
        self._open: list[str] = []
        self._attributes: list[dict[str, str]] = []
        self.feed(text)
        self.close()
        self._check_end(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        values = {name: value or "" for name, value in attrs}
        self._expect(len(set(names)) == len(names), f"<{tag}> has an attribute twice")
        self._expect(tag not in {"script", "iframe", "object", "embed", "base"}, f"<{tag}>")
        self._expect(not any(name.startswith("on") for name in names), f"<{tag}> has a handler")
        for name in names:
            self._expect(
                name not in FETCHED or values[name].startswith("data:"),
                f"{name}={values[name]:.60}",
            )
        if "id" in values:
            self.ids.append(values["id"])
        if tag == "html":
            self._expect(bool(values.get("lang")), "no language")
        if tag == "a":
            self.links.append((values.get("href", ""), values))
        if tag == "link":
            self._expect(values.get("href", "").startswith("data:"), "a <link> leads outside")
        if tag == "img":
            self._expect(len(values.get("alt", "")) > 20, "a picture without words")
            self._expect(values.get("width", "").isdecimal(), "a picture without its size")
            self.pictures.append(values)
        if tag == "th":
            self._expect(values.get("scope") in ("row", "col"), "a <th> without scope")
        if tag == "table":
            chapters = [text for level, text in self.headings if level == 2]
            self.tables.append(Table(chapters[-1]))
        if tag == "tr":
            self.tables[-1].rows.append([])
        if tag in ("td", "th"):
            self.tables[-1].rows[-1].append(("", values.get("class", "")))
        if tag == "code":
            self.codes.append("")
        if re.fullmatch("h[1-6]", tag):
            self.headings.append((int(tag[1]), ""))
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.faults.append(f"<{tag}/> is not HTML")

    def handle_endtag(self, tag: str) -> None:
        if not self._open or self._open[-1] != tag:
            self.faults.append(f"</{tag}> at {self.getpos()}, open: {self._open[-3:]}")
        else:
            self._open.pop()

    def handle_data(self, data: str) -> None:
        inner = self._open[-1] if self._open else ""
        self._expect(bool(self._open) or not data.strip(), f"text outside: {data[:40]!r}")
        if inner == "style":
            self._expect("url(" not in data and "@import" not in data, "a style leads outside")
            return
        self.words.append(data)
        if inner == "title":
            self.title += data
        if "caption" in self._open:
            self.tables[-1].caption += data
        if "td" in self._open or "th" in self._open:
            text, kind = self.tables[-1].rows[-1][-1]
            self.tables[-1].rows[-1][-1] = (text + data, kind)
        if "code" in self._open:
            self.codes[-1] += data
        if self.headings and re.fullmatch("h[1-6]", inner):
            level, text = self.headings[-1]
            self.headings[-1] = (level, text + data)

    def handle_decl(self, decl: str) -> None:
        self._expect(decl.lower() == "doctype html", f"<!{decl}>")

    def unknown_decl(self, data: str) -> None:
        self.faults.append(f"<![{data:.20}")

    def _expect(self, holds: bool, fault: str) -> None:
        if not holds:
            self.faults.append(fault)

    def _check_end(self, text: str) -> None:
        bare = re.search(r"&(?!#?\w+;)[^&]{0,20}", re.sub(r"(?s)<style>.*?</style>", "", text))
        self._expect(bare is None, f"a bare ampersand: {bare and bare[0]!r}")
        self._expect(not self._open, f"never closed: {self._open}")
        self._expect(text.startswith("<!DOCTYPE html>\n<html"), "no doctype at the top")
        self._expect(bool(self.title.strip()), "no title")
        self._expect(len(set(self.ids)) == len(self.ids), "an id is there twice")
        for target, _ in self.links:
            self._expect(
                target.startswith("data:") or target.removeprefix("#") in self.ids,
                f"a link leads to {target[:60]}",
            )
        self._expect([level for level, _ in self.headings].count(1) == 1, "not one <h1>")
        levels = [0, *(level for level, _ in self.headings)]
        for before, level in pairwise(levels):
            self._expect(level <= before + 1, f"<h{level}> after <h{before}>")
        for picture in self.pictures:
            self._check_picture(picture["src"])

    def _check_picture(self, source: str) -> None:
        kind, _, content = source.partition(",")
        self._expect(kind == "data:image/svg+xml;base64", f"a picture of {kind}")
        try:
            root = ElementTree.fromstring(base64.b64decode(content, validate=True))
        except (ElementTree.ParseError, ValueError) as error:
            self.faults.append(f"a picture cannot be read: {error}")
            return
        self._expect(root.tag == "{http://www.w3.org/2000/svg}svg", f"<{root.tag}>")
        for element in root.iter():
            self._expect(not element.tag.endswith(("script", "foreignObject")), element.tag)
            for name, value in element.attrib.items():
                outside = name.endswith("href") and not value.startswith(("#", "data:"))
                self._expect(not outside and "url(http" not in value, f"{name}={value[:60]}")

    def table(self, chapter: str, caption: str) -> Table:
        """The first table of a chapter with such a beginning of its caption."""
        captions = [(table.chapter, table.caption) for table in self.tables]
        for table in self.tables:
            if table.chapter == chapter and table.caption.startswith(caption):
                return table
        raise AssertionError(f"no table {caption!r} in {chapter!r}, there are {captions}")

    @property
    def text(self) -> str:
        return "".join(self.words)
