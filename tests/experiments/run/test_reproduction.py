"""docs/RESULTS.md and docs/comparing.md show what the small result files say, to the letter."""

from __future__ import annotations

import pytest

from boostsample.experiments.results.read_folder import read_results
from tests.experiments.reproduction import (
    DATA,
    FOLDER,
    MARKS,
    Score,
    blocks,
    comparing_tables,
    paper,
    runs,
)
from tests.paths import ROOT, needs_results

pytestmark = needs_results


def test_the_paper_s_tables_are_complete() -> None:
    assert len(paper()) == 2 * 2 * 4 * 10
    assert paper()["mnist", "loss", 10000, "laminating"] == Score(-6.14, 0.01)
    assert paper()["cifar10", "error", 10, "mas-q1"] == Score(70.63, 0.34)


@pytest.mark.parametrize("data", DATA)
def test_ten_methods_ten_repetitions(data: str) -> None:
    found = runs(data)
    for _, metric, mark, strategy in paper():
        assert len(found[metric, mark, strategy]) == 10
    settings = read_results(FOLDER / f"df11-{data}").settings
    assert (settings["rounds"], settings["weights"]) == (list(MARKS), "uniform")


def test_the_page_has_the_tables_as_they_are_printed() -> None:
    page = (ROOT / "docs" / "RESULTS.md").read_text("utf-8")
    for title, table in blocks().items():
        assert table in page, title


def test_the_page_on_comparing_has_its_part_of_them() -> None:
    page = (ROOT / "docs" / "comparing.md").read_text("utf-8")
    for table in comparing_tables():
        assert table in page


def test_two_standard_deviations_of_a_difference() -> None:
    one, other = Score(0.0, 0.3), Score(1.0, 0.4)
    assert not one.differs_from(other)  # 2 * 0.5 = 1, which is not exceeded
    assert Score(-0.01, 0.3).differs_from(other)
