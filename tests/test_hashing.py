"""Checksums of bytes, JSON values and arrays."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from boostsample.hashing import code_of, sha256_of_arrays
from boostsample.strategies import UniformNaive


def test_of_texts() -> None:
    texts = [np.array(t, object) for t in (["ab", "c"], ["a", "bc"], ["abc", ""], ["ab", "\ud800"])]
    assert len({sha256_of_arrays(text) for text in texts}) == 4
    assert sha256_of_arrays(["ab", "c"]) == sha256_of_arrays(np.array(["ab", "c"]))
    with pytest.raises(TypeError, match="expected text, got int"):
        sha256_of_arrays(np.array([1, "a"], object))


def test_the_code_of_a_class_is_that_of_its_file_and_of_its_base_classes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    base = (
        "from boostsample.strategies import UniformNaive\n\nclass Base(UniformNaive):\n    n = 3\n"
    )
    (tmp_path / "code_base.py").write_text(base)
    (tmp_path / "code_mine.py").write_text("import code_base\n\nclass Mine(code_base.Base): ...\n")
    kind = importlib.import_module("code_mine").Mine
    before = code_of(kind)
    assert len(before) == 64
    for file in ("code_base.py", "code_mine.py"):
        text = (tmp_path / file).read_text()
        (tmp_path / file).write_text(f"{text}# another helper\n")
        assert code_of(kind) != before
        (tmp_path / file).write_text(text)
    assert code_of(kind) == before
    assert code_of(UniformNaive) == ""


def test_the_code_of_a_class_in_a_script_is_the_class(tmp_path: Path) -> None:
    def code(default: int, rounds: int) -> bytes:
        (tmp_path / "script.py").write_text(
            "from boostsample.hashing import code_of\n"
            f"class Mine: n = {default}\n"
            f"rounds = {rounds}\nprint(code_of(Mine))\n"
        )
        command = [sys.executable, str(tmp_path / "script.py")]
        return subprocess.run(command, capture_output=True, check=True).stdout

    before = code(1, 10)
    assert code(1, 20) == before
    assert code(2, 10) != before
