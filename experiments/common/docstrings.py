"""Reads docstrings in numpydoc's style: their sections, and the entries of a section."""

from __future__ import annotations

import inspect
import itertools
import re
from dataclasses import dataclass

_HEADING = re.compile(r"^(\S.*)\n-{3,}\n", re.MULTILINE)


@dataclass(frozen=True)
class DocEntry:
    """A parameter or attribute: its name, its type (may be empty), and a text of one line."""

    name: str
    type: str
    text: str


def docstring_sections(docstring: str | None) -> dict[str, str]:
    """The sections by title; the text before the first one has the title ""."""
    sections = {}
    parts = _HEADING.split(inspect.cleandoc(docstring or ""))
    for title, text in zip(["", *parts[1::2]], parts[::2], strict=True):
        sections[title] = text.strip()
    return sections


def docstring_entries(section: str) -> list[DocEntry]:
    """The entries of a section; names that share an entry have one each.

    >>> [entry.name for entry in docstring_entries("low, high : int")]
    ['low', 'high']
    """
    entries = []
    lines = [line for line in section.splitlines() if line]
    starts = [at for at, line in enumerate(lines) if not line.startswith(" ")]
    for start, end in itertools.pairwise([*starts, len(lines)]):
        names, _, kind = lines[start].partition(" : ")
        text = " ".join(line.strip() for line in lines[start + 1 : end])
        entries += [DocEntry(name.strip(), kind, text) for name in names.split(",")]
    return entries


def class_entries(kind: type, section: str) -> dict[str, DocEntry]:
    """The entries of a class by name; those that say "See `Base`" are replaced by the base's."""
    entries: dict[str, DocEntry] = {}
    for base in kind.__mro__:
        for entry in docstring_entries(docstring_sections(base.__doc__).get(section, "")):
            if entry.name not in entries or entries[entry.name].text.startswith("See `"):
                entries[entry.name] = entry
    return entries
