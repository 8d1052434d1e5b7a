"""The guide to adding a strategy describes the interface as its docstrings do."""

from __future__ import annotations

import re

from boostsample.strategies import Outcome, Pool, Step, Stumps
from tests.guide import interface
from tests.paths import ROOT


def test_the_page_has_the_interface_of_the_code() -> None:
    page = (ROOT / "docs" / "adding_a_strategy.md").read_text("utf-8")
    (text,) = re.findall(r"<!-- interface -->\n\n(.*?)\n\n<!-- end -->", page, re.DOTALL)
    assert text == interface(), "paste what python -m tests.guide prints"


def test_every_public_name_is_described() -> None:
    text = interface()
    for kind in (Step, Pool, Outcome, Stumps):
        for name in vars(kind):
            if not name.startswith("_"):
                assert f"`{kind.__name__.lower()}.{name}" in text, name
    assert "\n\n\n" not in text
    assert max(map(len, text.splitlines())) <= 100
