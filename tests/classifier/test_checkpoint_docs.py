"""The code of docs/checkpoints.md runs as it stands there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from boostsample.loop.run_file import read_checkpoint
from tests.paths import ROOT

DOCUMENT = ROOT / "docs" / "checkpoints.md"


def test_the_code_of_the_document(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    blocks = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text("utf-8"), re.DOTALL)
    assert len(blocks) == 3
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for block in blocks:
        exec(compile(block, str(DOCUMENT), "exec"), names)
    (told,) = re.findall(r"# prints (.*)", blocks[2])
    assert capsys.readouterr().out == f"{told}\n"
    saved = read_checkpoint(tmp_path / "iris.checkpoint")
    assert saved is not None
    assert len(saved.rounds) == 200
