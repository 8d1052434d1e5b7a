"""The reference of the command line, from the help texts of click.

Replaces ``<!-- commands -->`` in a page by a section for each command.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import click

from boostsample.experiments.commands.cli import cli

MARK = "<!-- commands -->"


def command_reference() -> str:
    """All commands in Markdown: usage, help, arguments and options."""
    return "\n\n".join(
        text
        for name in sorted(cli.commands)
        for text in _command(f"boostsample {name}", cli.commands[name])
    )


def _command(path: str, command: click.Command) -> Iterator[str]:
    with click.Context(command, info_name=path, **command.context_settings) as context:
        yield f"## {path}"
        usage = " ".join(command.collect_usage_pieces(context))
        yield f"```text\n{path} {usage}\n```"
        yield from _paragraphs(command.help or "")
        records = [one.get_help_record(context) for one in command.get_params(context)]
    yield from (f"`{name}`\n: {_cell(text)}" for name, text in filter(None, records))
    if isinstance(command, click.Group):
        for name, inner in sorted(command.commands.items()):
            yield from _command(f"{path} {name}", inner)


def _paragraphs(help_text: str) -> Iterator[str]:
    r"""Paragraphs of a help text; those after ``\b`` keep their lines."""
    for part in help_text.replace("\f", "").split("\n\n"):
        text = part.strip()
        kept = text.startswith("\b")
        text = text.removeprefix("\b").strip("\n")
        if text:
            yield f"```text\n{text}\n```" if kept else _escaped(" ".join(text.split()))


def _cell(text: str) -> str:
    return _escaped(" ".join(text.split()))


def _escaped(text: str) -> str:
    return re.sub(r"([*_<>\[\]$`])", r"\\\1", text)


def _insert(app: Any, page: str, source: list[str]) -> None:
    if MARK in source[0]:
        source[0] = source[0].replace(MARK, command_reference())


def setup(app: Any) -> dict[str, bool]:
    """Listen to pages as they are read."""
    app.connect("source-read", _insert)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
