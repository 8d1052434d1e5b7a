"""The README fits on two screens and names every strategy; so does the table of strategies."""

from __future__ import annotations

import re

from boostsample.registry import STRATEGIES
from tests.paths import ROOT

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
