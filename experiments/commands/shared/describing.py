"""Prints descriptions of strategies, families and learners, and tables of their settings."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from boostsample.errors import SettingError
from boostsample.experiments.commands.shared.printing import print_line, print_table

if TYPE_CHECKING:
    from boostsample.experiments.plan.descriptions import Description

DESCRIBED = {"strategy": "strategies", "family": "families", "learner": "learners"}
"""What can be described by name, with the list that has the names."""

_WIDTH = 100


def print_description(kind: str | None, name: str | None) -> None:
    """Print the description of one strategy, family or learner (`kind`)."""
    from boostsample.experiments.plan.descriptions import describe

    if kind not in DESCRIBED:
        raise SettingError(
            f"list {kind} takes no name, got {name!r}; describe one with list strategy NAME or "
            "list family NAME"
        )
    if name is None:
        raise SettingError(
            f"list {kind} needs a name; boostsample list {DESCRIBED[kind]} lists them"
        )
    print_line("\n".join(_description(describe(kind, name))))


def _description(found: Description) -> Iterator[str]:
    yield f"{found.name}: {found.place}\n"
    yield f"{found.text}\n"
    yield "settings:" if found.settings else "settings: none"
    for one in found.settings:
        yield f"  {one.name} = {one.default}"
        about = [": ".join(filter(None, (one.type, one.text)))]
        if one.tried:
            about.append(f"--tune tries {_values(one.tried)}")
        for text in filter(None, about):
            yield textwrap.fill(text, _WIDTH, initial_indent=" " * 6, subsequent_indent=" " * 6)
    if found.papers:
        yield "\npapers:"
        yield from (
            textwrap.fill(paper, _WIDTH, initial_indent="  ", subsequent_indent="    ")
            for paper in found.papers
        )


def print_settings(kind: str | None) -> None:
    """Print the settings of all strategies, families or learners; None prints all of them."""
    from boostsample.experiments.plan.descriptions import describe
    from boostsample.experiments.tables.tables import Table
    from boostsample.registry import registered_names

    if kind not in (None, *DESCRIBED.values()):
        raise SettingError(
            f"--settings needs list {', list '.join(DESCRIBED.values())}, got list {kind}"
        )
    for one, plural in DESCRIBED.items():
        if kind in (None, plural):
            rows, broken = list[tuple[str, ...]](), []
            for name in registered_names(one):
                try:
                    found = describe(one, name)
                except SettingError as error:  # a fault of another distribution
                    broken.append(f"broken: {error}")
                    continue
                rows += [
                    (name, setting.name, setting.default, _values(setting.tried) or "-")
                    for setting in found.settings
                ]
            columns = 4 if one == "strategy" else 3  # nothing else is tuned
            header = (one, "setting", "default", "--tune tries")[:columns]
            shown = tuple(row[:columns] for row in rows)
            print_table(Table(f"settings of {plural}", header, shown))
            print_line(
                "\n".join([*broken, f"boostsample list {one} NAME describes each setting.\n"])
            )


def _values(tried: Sequence[Any]) -> str:
    return ", ".join(map(str, tried))
