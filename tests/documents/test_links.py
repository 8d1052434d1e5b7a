"""Links lead to files and headings, pages are arranged once, and commands exist."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import click
import pytest

from boostsample.experiments.commands.cli import cli
from boostsample.registry import STRATEGIES
from tests.documents.pages import DOCS, PAGES, anchors, commands, links, name_of, read
from tests.paths import RESULTS, ROOT

SECTIONS = ("tutorials", "howto", "explanation", "reference", "published")
_TOCTREE = re.compile(r"```\{toctree\}\n(?::\w+:.*\n)*\n(.*?)```", re.DOTALL)
ELSEWHERE = {"contributing": "../CONTRIBUTING.md", "changelog": "../CHANGELOG.md"}
"""Pages of the site that show files of the root."""


def toctree(page: Path) -> list[str]:
    return [name for block in _TOCTREE.findall(read(page)) for name in block.split()]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_to_files_and_headings(page: Path) -> None:
    for path, anchor in links(page):
        target = (page.parent / path).resolve() if path else page
        if target.is_relative_to(RESULTS) and not RESULTS.is_dir():
            continue  # in an sdist
        assert target.is_file(), f"{path} is no file"
        if anchor:
            assert anchor in anchors(target), f"{path}#{anchor} is no heading"


@pytest.mark.parametrize("section", SECTIONS)
def test_a_section_lists_its_pages_as_the_site_does(section: str) -> None:
    page = DOCS / f"{section}.md"
    expected = [ELSEWHERE.get(name, f"{name}.md") for name in toctree(page)]
    assert [path for path, _ in links(page)] == expected


def test_every_page_is_arranged_once() -> None:
    listed = toctree(DOCS / "index.md")
    listed += [name for section in SECTIONS for name in toctree(DOCS / f"{section}.md")]
    pages = [name for name in listed if not name.startswith("generated/")]
    assert sorted([*pages, "index"]) == sorted(page.stem for page in DOCS.glob("*.md"))
    assert {*SECTIONS} < {*listed}


def test_anchors_are_those_of_the_headings(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# A `b`: c, d\n\n```\n# no\n```\n\n## Two words\n\n[x](y.md#z)\n", "utf-8")
    assert anchors(page) == {"a-b-c-d", "two-words"}
    assert links(page) == [("y.md", "z")]


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


README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_it_fits_on_two_screens() -> None:
    assert len(README.splitlines()) <= 110


def test_table_lists_every_strategy() -> None:
    table = (ROOT / "docs" / "strategies.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `([a-z0-9-]+)` \| \[", table, flags=re.MULTILINE)
    assert listed == list(STRATEGIES)
    section = README.split("## Strategies")[1].split("[The list]")[0]
    assert sorted(re.findall(r"`([a-z0-9-]+)`", section)) == sorted(STRATEGIES)


def test_own_strategy_takes_twenty_lines() -> None:
    example = (ROOT / "docs" / "examples" / "own_strategy.py").read_text(encoding="utf-8")
    body = example.split("class TwoStage")[1].split("# %%")[0]
    assert len(("class TwoStage" + body).strip().splitlines()) <= 20
