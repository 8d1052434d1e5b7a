"""The pages of docs have the tables that scripts print from the kept figures, to the letter."""

from __future__ import annotations

import re
from collections.abc import Callable

import pandas as pd
import pytest

from boostsample.experiments.results.read_folder import read_results
from tests.experiments import (
    classifier_table,
    contest,
    default_choice,
    figure3,
    objective_results,
    on_demand,
    reproduction,
    table1,
    wide_table,
)
from tests.paths import RESULTS, ROOT, needs_results

pytestmark = needs_results

CLASSIFIERS = RESULTS / "classifiers.csv"
OF_OBJECTIVES = RESULTS / "classifiers-objectives.csv"
OF_CONTEST = RESULTS / "classifiers-contest.csv"
PAGES: dict[str, Callable[[], dict[str, list[str]]]] = {
    "default.md": lambda: default_choice.tables(RESULTS / "defaults.csv"),
    "classifiers.md": lambda: {
        "classifiers": classifier_table.tables(CLASSIFIERS),
        "objectives": classifier_table.objectives_table(OF_OBJECTIVES),
        "contest": classifier_table.contest_table(OF_CONTEST),
    },
    "early_stopping.md": lambda: {"stopping": classifier_table.stopping_table(CLASSIFIERS)},
    "objective_results.md": objective_results.tables,
    "WIDE.md": lambda: wide_table.tables(RESULTS / "wide.csv"),
    "CONTEST.md": contest.tables,
    "BK10.md": lambda: {
        "table 1": table1.table1(),
        "costs": table1.costs(),
        "mnist": table1.mnist(),
        **{name: figure3.table(name) for name in figure3.USEFUL},
    },
}


def words(page: str) -> str:
    return (ROOT / "docs" / page).read_text("utf-8")


@pytest.mark.parametrize("page", PAGES)
def test_marked_tables(page: str) -> None:
    tables = re.findall(r"<!-- (.+) -->\n\n((?:\|.*\n|\n)+?)\n<!-- end -->", words(page))
    printed = [(name, "\n".join([*lines, ""])) for name, lines in PAGES[page]().items()]
    assert sorted(tables) == sorted(printed)
    assert words(page).count("<!-- end -->") == len(printed), "no other table is marked"


def test_the_reproduction() -> None:
    for title, table in {**reproduction.blocks(), **on_demand.blocks()}.items():
        assert table in words("RESULTS.md"), title
    for table in reproduction.comparing_tables():
        assert table in words("comparing.md")


def test_the_figures_of_the_reproduction_are_complete() -> None:
    paper, ours = reproduction.paper(), reproduction.ours()
    assert len(paper) == 2 * 2 * 4 * 10
    assert tuple(paper.loc["mnist", "loss", 10000, "laminating"]) == (-6.14, 0.01)
    assert tuple(paper.loc["cifar10", "error", 10, "mas-q1"]) == (70.63, 0.34)
    assert (ours["count"].reindex(paper.index) == 10).all()
    for data in reproduction.DATA:
        settings = read_results(RESULTS / f"df11-{data}").settings
        assert (settings["rounds"], settings["weights"]) == (list(reproduction.MARKS), "uniform")


def test_two_standard_deviations_of_a_difference() -> None:
    low, high = pd.Series({"mean": 0.0, "std": 0.3}), pd.Series({"mean": 1.0, "std": 0.4})
    assert not reproduction.differ(low, high)  # 2 * 0.5 = 1, which is not exceeded
    assert reproduction.differ(low.replace(0.0, -0.01), high)


def test_what_the_page_of_the_contest_says() -> None:
    """Each sentence that has a figure, and what is said of the rule of adaptive halving."""
    page = " ".join(words("CONTEST.md").split())
    said = [
        *contest.claims(),
        "in the stage before the last of the next round, or in the last one if there are two",
        "unless $x_t$ is the first reward of its $S$, which leaves $v$ unchanged",
    ]
    for sentence in said:
        assert sentence in page


def test_the_contest_is_complete() -> None:
    rows = contest.kept()
    ranked = rows[rows["strategy"].isin(contest.STRATEGIES)]
    assert (ranked.groupby("data")["strategy"].nunique() == len(contest.STRATEGIES)).all()
    assert ranked["data"].nunique() >= 30
