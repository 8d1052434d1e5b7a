"""The commands in documents have the options of the command line, and modules that exist."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import click
import pytest

from boostsample.experiments.commands.cli import cli
from tests.documents.pages import PAGES, commands, name_of

WITH_COMMANDS = [page for page in PAGES if any(commands(page))]


def parse(words: list[str]) -> None:
    """Raise UsageError if a command of click, or an option or its value, does not exist."""
    command: click.Command = cli
    with click.Context(cli, info_name="boostsample", **cli.context_settings) as context:
        while isinstance(command, click.Group) and words and not words[0].startswith("-"):
            subcommand = command.get_command(context, words[0])
            if subcommand is None:
                raise click.UsageError(f"no command {words[0]}")
            command, words = subcommand, words[1:]
    with click.Context(command, info_name=command.name, **command.context_settings) as context:
        try:
            values, _, _ = command.make_parser(context).parse_args(list(words))
        except click.BadOptionUsage:  # `compare --grid` names an option without a value
            return
        for parameter in command.get_params(context):
            choices = str(parameter.metavar or "").split("|")
            if len(choices) > 1 and all(re.fullmatch(r"[a-z0-9-]+", choice) for choice in choices):
                for value in str(values.get(parameter.name or "") or choices[0]).split(","):
                    if value.partition(":")[0] not in choices:
                        raise click.UsageError(f"no {value} of {parameter.metavar}")


@pytest.mark.parametrize("page", WITH_COMMANDS, ids=name_of)
def test_commands_can_be_read(page: Path) -> None:
    for words in commands(page):
        if words[:1] == ["boostsample"]:
            parse(words[1:])
        elif words[:2] == ["python", "-m"] and words[2].startswith(("tests.", "benchmarks.")):
            assert importlib.util.find_spec(words[2]), words


def test_pages_with_commands_are_found() -> None:
    names = {page.name for page in WITH_COMMANDS}
    assert {"README.md", "install.md", "tutorial_comparison.md", "comparing.md"} <= names
    assert len(names) >= 12


@pytest.mark.parametrize(
    "words", [["compare", "--no-such"], ["no-such"], ["plot", "x", "--what", "no-such"]]
)
def test_what_does_not_exist_is_found(words: list[str]) -> None:
    with pytest.raises(click.UsageError):
        parse(words)
