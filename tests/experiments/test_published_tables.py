"""The tables of docs/default.md and docs/classifiers.md are those of the kept figures."""

from __future__ import annotations

import re

import pytest

from tests.experiments import classifier_table, default_choice
from tests.paths import ROOT

RESULTS = ROOT / "docs" / "results"


def block(page: str, name: str) -> list[str]:
    """The lines of a page between a mark and the end of its table."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    found = re.findall(rf"<!-- {name} -->\n\n(.*?)\n\n<!-- end -->", text, re.DOTALL)
    assert len(found) == 1
    return str(found[0]).split("\n")


@pytest.mark.parametrize("name", ["narrow", "wide", "very wide"])
def test_the_tables_of_the_defaults(name: str) -> None:
    assert block("default.md", name) == default_choice.tables(RESULTS / "defaults.csv")[name]


def test_the_tables_of_the_classifiers() -> None:
    path = RESULTS / "classifiers.csv"
    assert block("classifiers.md", "classifiers") == classifier_table.tables(path)
