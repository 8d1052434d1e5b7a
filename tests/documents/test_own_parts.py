"""The commands of docs/own_parts.md run, in order, on the files that the page shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from boostsample.experiments.commands.cli import main
from boostsample.experiments.results.read_folder import read_results
from tests.documents.pages import DOCS, commands, python_blocks

PAGE = DOCS / "own_parts.md"


def test_the_commands_of_the_page_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = [block.code for block in python_blocks(PAGE)]
    in_file = [code for code in blocks if "# my_file.py" in code]
    Path("my_file.py").write_text("\n".join(in_file), "utf-8")
    points = "".join(f"{i % 7},{i % 5},{'ab'[i % 7 > 3]}\n" for i in range(90))
    Path("points.csv").write_text(f"u,v,kind\n{points}", "utf-8")
    for words in commands(PAGE):
        if words[0] == "boostsample" and len(words) > 2:  # not a name in a sentence
            assert main([*words[1:], *(["--quiet"] if words[1] == "compare" else [])]) == 0
    assert Path("ece.svg").is_file()
    assert {row["strategy"] for row in read_results("mine").rows} == {
        "laminating",
        "my_file.py:Mine",
    }
