"""`boostsample list` describes strategies, families and their settings."""

from __future__ import annotations

import inspect
import re

import pytest

from boostsample.experiments.commands.listing import PAPERS, describe
from boostsample.registry import (
    FAMILIES,
    STRATEGIES,
    make_strategy,
    registered_class,
    strategy_names,
)
from tests.experiments.conftest import CommandLine
from tests.paths import ROOT


@pytest.mark.parametrize("name", strategy_names())
def test_each_setting_of_a_strategy_is_described(name: str) -> None:
    description = describe("strategy", name)
    strategy = make_strategy(name)
    assert {setting.name: setting.default for setting in description.settings} == {
        key: str(value) for key, value in strategy.get_params().items()
    }
    assert {setting.name: setting.tried for setting in description.settings if setting.tried} == {
        key: tuple(values) for key, values in strategy.tuning_grid().items()
    }
    for setting in description.settings:
        assert setting.type, setting.name
        assert setting.text, setting.name
        assert not setting.text.startswith("See"), setting.name
    assert description.text.startswith(str(inspect.getdoc(inspect.getmodule(type(strategy)))))


@pytest.mark.parametrize("name", FAMILIES)
def test_each_setting_of_a_family_is_described(name: str) -> None:
    description = describe("family", name)
    parameters = inspect.signature(registered_class("family", name)).parameters
    named = [key for key, setting in parameters.items() if setting.kind is not setting.VAR_KEYWORD]
    assert [setting.name for setting in description.settings] == named
    assert all(setting.type for setting in description.settings)


def test_a_strategy_is_described(cli: CommandLine) -> None:
    out = cli("list strategy ucb")
    for text in (
        "ucb: boostsample.strategies.bandits.ucb.UCB\n",
        "Cost per iteration: one search",
        "  exploration = 2.0\n      float: Factor of log t",
        "--tune tries 0.002, 0.02, 0.2, 2\n",
        "  n_features = None\n",
        f"  [DF11] {PAPERS['DF11']}\n",
    ):
        assert text in out
    assert "[SS99]" not in out
    assert "settings: none\n" in cli("list strategy full")
    row = r"^ucb +exploration +2\.0 +0\.002, 0\.02, 0\.2, 2$"
    assert re.search(row, cli("list strategies --settings"), re.MULTILINE)


def test_a_family_is_described(cli: CommandLine) -> None:
    out = cli("list family haar-like")
    for text in ("  image_shape = from the data\n", "  n_members = 2500 for 28 x 28\n"):
        assert text in out
    assert "family = none, must be given" in cli("list family hog-opponent")
    assert "stump: boostsample.learners.stump.StumpLearner\n" in cli("list learner stump")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ("strategy", "list strategy needs a name; boostsample list strategies lists them"),
        ("strategy ucc", "unknown strategy 'ucc' (did you mean 'ucb'?)"),
        (
            "data --settings",
            "learners, list objectives, got list data",
        ),
        ("strategy ucb --seed 1", "--seed needs --picture FILE of list families"),
    ],
)
def test_what_is_refused(cli: CommandLine, args: str, message: str) -> None:
    assert message in cli.refused(f"list {args}")


def test_the_glossary_has_these_papers() -> None:
    page = (ROOT / "docs" / "glossary.md").read_text("utf-8")
    sources = " ".join(page.partition("## Sources")[2].replace("*", "").split())
    for tag, paper in PAPERS.items():
        assert f"- [{tag}] {paper}" in sources


def test_the_page_of_strategies_has_file_and_papers_of_each_strategy() -> None:
    page = (ROOT / "docs" / "strategies.md").read_text("utf-8")
    for name in STRATEGIES:
        (row,) = re.findall(rf"^\| `{name}` \| .*$", page, re.MULTILINE)
        path = describe("strategy", name).place.rpartition(".")[0].split(".", 1)[1]
        assert f"[file](../{path.replace('.', '/')}.py)" in row
        for tag in re.findall(r"\[([A-Z]+\d\d)\]", row):
            assert tag in describe("strategy", name).text
