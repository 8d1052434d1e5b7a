"""The guide to adding a family: its code runs, and its families are as short as it says."""

from __future__ import annotations

import re
import sys
import types

import numpy as np
import pytest

from tests.paths import ROOT

GUIDE = (ROOT / "docs" / "adding_a_family.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", GUIDE, flags=re.DOTALL)


def test_the_code_of_the_guide_runs_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib", reason="pictures need the extra 'report'")
    module = types.ModuleType("family_guide_blocks")  # importable: its classes are pickled
    monkeypatch.setitem(sys.modules, module.__name__, module)
    for block in BLOCKS:
        exec(compile(block, "adding_a_family.md", "exec"), vars(module))
    values = module.Differences(3).compute([[1, 2, 4]], [0, 1, 2])
    np.testing.assert_array_equal(values, [[1, 3, 2]])
    assert module.Mirror((2, 4)).feature_name(3) == "row 1, column 1 minus its mirror image"
    assert sum(module.shares.values()) == pytest.approx(1)
    assert min(module.shares.values()) > 0
    assert len(module.figure.axes) >= 2 * 8


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
