"""The tables of the defaults and of the classifiers are those of the kept figures."""

from __future__ import annotations

import re

import pytest

from tests.experiments import classifier_table, default_choice
from tests.paths import RESULTS, ROOT, needs_results

pytestmark = needs_results


def block(page: str, name: str) -> list[str]:
    """The lines of a page between a mark and the end of its table."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    tables = re.findall(rf"<!-- {name} -->\n\n(.*?)\n\n<!-- end -->", text, re.DOTALL)
    assert len(tables) == 1
    return str(tables[0]).split("\n")


@pytest.mark.parametrize("name", ["narrow", "wide", "very wide"])
def test_the_tables_of_the_defaults(name: str) -> None:
    assert block("default.md", name) == default_choice.tables(RESULTS / "defaults.csv")[name]


def test_the_tables_of_the_classifiers() -> None:
    path = RESULTS / "classifiers.csv"
    assert block("classifiers.md", "classifiers") == classifier_table.tables(path)


def test_the_table_of_early_stopping() -> None:
    path = RESULTS / "classifiers.csv"
    assert block("early_stopping.md", "stopping") == classifier_table.stopping_table(path)
