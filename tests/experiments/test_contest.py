"""The page of the contest holds what its command prints from the shipped results."""

from __future__ import annotations

import pytest

from tests.experiments import contest
from tests.experiments.test_published_tables import block
from tests.paths import ROOT, needs_results


@needs_results
def test_the_tables_of_the_contest() -> None:
    tables = contest.blocks()
    for name, table in tables.items():
        assert block("CONTEST.md", name) == table.split("\n"), name
    page = (ROOT / "docs" / "CONTEST.md").read_text(encoding="utf-8")
    assert page.count("<!-- end -->") == len(tables), "no other table is marked"


@pytest.mark.parametrize(
    "words",
    [
        "The constants were chosen by the losses on MNIST, CIFAR-10, USPS and the wide table",
        "in the stage before the last of the next round, or in the last one if there are two",
        "unless $x_t$ is the first reward of its $S$, which leaves $v$ unchanged",
    ],
)
def test_what_the_page_says_of_adaptive_halving(words: str) -> None:
    page = (ROOT / "docs" / "CONTEST.md").read_text(encoding="utf-8")
    assert words in " ".join(page.split())
