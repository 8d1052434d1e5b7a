"""The columns of a history row, and the page that documents them."""

from __future__ import annotations

from boostsample.history import HISTORY_COLUMNS, markdown_table
from boostsample.step import Step
from boostsample.strategy import Stump
from tests.paths import ROOT
from tests.problems import booster_of


def test_a_row_has_these_columns_in_this_order_and_of_these_types() -> None:
    def choose(step: Step) -> Stump:
        step.note(belief=1.5)
        return step.search([0], step.draw(5)).best()

    row = booster_of(choose).next_round().rows[0]
    assert list(row) == [*(column.name for column in HISTORY_COLUMNS), "belief"]
    for column in HISTORY_COLUMNS:
        assert type(row[column.name]) is column.kind, column.name


def test_the_documentation_lists_the_columns() -> None:
    assert markdown_table() in (ROOT / "docs" / "columns.md").read_text("utf-8")
