"""The generated part of docs/adding_a_strategy.md: the interface, from the docstrings.

    python -m tests.guide

prints it.
"""

from __future__ import annotations

import inspect
import sys
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

from boostsample.experiments.commands.listing import (
    Setting,
    docstring_entries,
    docstring_sections,
)
from boostsample.strategies import (
    FamilyInfo,
    Outcome,
    Pool,
    Sample,
    Step,
    Strategy,
    Stump,
    Stumps,
)

_CLASSES = {
    "step": Step,
    "sample": Sample,
    "stumps": Stumps,
    "stump": Stump,
    "pool": Pool,
    "family": FamilyInfo,
    "outcome": Outcome,
    "strategy": Strategy,
}
"""What a strategy meets, by the name of an instance."""


def interface() -> str:
    """The section in Markdown."""
    return "\n\n".join(text for name, kind in _CLASSES.items() for text in _class(name, kind))


def _class(name: str, kind: type) -> Iterator[str]:
    sections = docstring_sections(kind.__doc__)
    yield f"### {kind.__name__}"
    yield _paragraphs(sections[""])
    attributes = docstring_entries(sections.get("Attributes", ""))
    for key, member in vars(kind).items():
        if isinstance(member, property) and not key.startswith("_"):
            text = docstring_sections(member.__doc__)[""]
            attributes.append(Setting(key, _annotation(member.fget), text))
    if attributes:
        yield "\n".join(
            _item(f"`{name}.{entry.name}`", entry.type, entry.text) for entry in attributes
        )
    for key, member in vars(kind).items():
        if inspect.isfunction(member) and (not key.startswith("_") or key == "__getitem__"):
            yield from _method(name, key, member)


def _method(name: str, key: str, method: Callable[..., Any]) -> Iterator[str]:
    arguments = ", ".join(
        str(entry.replace(annotation=entry.empty))
        for entry in list(inspect.signature(method).parameters.values())[1:]
    )
    call = f"{name}[{arguments}]" if key == "__getitem__" else f"{name}.{key}({arguments})"
    yield f"#### `{call}` -> {_annotation(method)}"
    sections = docstring_sections(method.__doc__)
    yield _paragraphs(sections[""])
    items = [
        _item(f"`{entry.name}`", entry.type, entry.text)
        for entry in docstring_entries(sections.get("Parameters", ""))
    ]
    for verb in ("Returns", "Raises"):
        for entry in docstring_entries(sections.get(verb, "")):
            items.append(_item(f"{verb.lower()} {entry.name}", "", entry.text))
    if items:
        yield "\n".join(items)


def _annotation(function: Callable[..., Any] | None) -> str:
    """The type that a function returns, as it is written there."""
    assert function is not None
    return str(inspect.signature(function).return_annotation).replace("np.", "")


def _paragraphs(text: str) -> str:
    return "\n\n".join(
        textwrap.fill(" ".join(paragraph.split()), 100) for paragraph in text.split("\n\n")
    )


def _item(name: str, kind: str, text: str) -> str:
    about = f"{name} ({kind})" if kind else name
    line = f"{about}: {' '.join(text.split())}" if text else about
    return textwrap.fill(line, 100, initial_indent="- ", subsequent_indent="  ")


if __name__ == "__main__":
    sys.stdout.write(f"<!-- interface -->\n\n{interface()}\n\n<!-- end -->\n")
