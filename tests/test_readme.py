"""The README's Python runs, its links lead somewhere, and its table lists every strategy."""

from __future__ import annotations

import re
import sys
import types

import pytest

from boostsample.registry import STRATEGIES
from tests.paths import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_python_blocks_run_in_order(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    blocks = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    assert len(blocks) == 3
    module = types.ModuleType("readme_blocks")  # importable, so that its classes can be pickled
    monkeypatch.setitem(sys.modules, module.__name__, module)
    for block in blocks:
        exec(compile(block, "README.md", "exec"), vars(module))
    accuracy, rows = capsys.readouterr().out.split()
    assert float(accuracy) > 0.85
    assert rows == "200"


def test_own_strategy_takes_twenty_lines() -> None:
    body = README.split("class TwoStage")[1].split("check_strategy(")[0]
    assert len(("class TwoStage" + body).strip().splitlines()) <= 20


def test_links_lead_to_files() -> None:
    targets = [t for t in re.findall(r"\]\(([^)#]+)\)", README) if "://" not in t]
    assert targets
    missing = [target for target in targets if not (ROOT / target).is_file()]
    assert missing == []


def test_table_lists_every_strategy() -> None:
    listed = re.findall(r"^\| `([a-z0-9-]+)` \| \[", README, flags=re.MULTILINE)
    assert listed == list(STRATEGIES)


def test_the_guide_to_adding_a_strategy_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    guide = (ROOT / "docs" / "adding_a_strategy.md").read_text(encoding="utf-8")
    module = types.ModuleType("guide_blocks")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    for block in re.findall(r"```python\n(.*?)```", guide, flags=re.DOTALL):
        exec(compile(block, "adding_a_strategy.md", "exec"), vars(module))
    assert module.Repeat().get_params() == {"n_features": 10}
