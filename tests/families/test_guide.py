"""The guide to adding a family: its code runs, and its families are as short as it says."""

from __future__ import annotations

import re

from tests.paths import ROOT

GUIDE = (ROOT / "docs" / "adding_a_family.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", GUIDE, flags=re.DOTALL)


def test_a_family_fits_on_a_screen() -> None:
    assert len(BLOCKS) == 4
    for block in BLOCKS[:2]:
        assert len(block.splitlines()) <= 45
        assert max(map(len, block.splitlines())) <= 100


def test_files_that_the_guide_names_are_there() -> None:
    root = ROOT
    named = re.findall(r"`((?:families|tests|boostsample)/[\w/]+\.py)`", GUIDE)
    assert named
    assert [name for name in named if not (root / name).is_file()] == []
