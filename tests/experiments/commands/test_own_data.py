"""Commands on the user's own files: options in --data, in grid files, and wrong ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from boostsample.experiments.commands.cli import main
from boostsample.experiments.results.read_folder import read_results


@pytest.fixture(autouse=True)
def _in_a_folder_with_two_equal_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    u = np.random.default_rng(0).random((60, 2)).round(3)
    lines = [f"r{i},{'ab'[a > b]},{a},{b}" for i, (a, b) in enumerate(u.tolist())]
    for name in ("one.csv", "two.csv"):
        Path(name).write_text("\n".join(["ID,target,u,v", *lines]), "utf-8")


def rows(folder: str, *args: str) -> list[dict[str, Any]]:
    few = ["--rounds", "2", "--repeats", "2", "--strategies", "uniform-naive", "--quiet"]
    assert main(["compare", *args, *few, "--results", folder]) == 0
    return [{**row, "data": "", "seconds": 0} for row in read_results(folder).rows]


def test_options_work_on_the_command_line_and_in_grids_and_names_do_not_matter() -> None:
    given = rows("first", "--data", "one.csv:label=target:drop=ID")
    Path("grid.toml").write_text(
        'data = [{ path = "two.csv", label = "target", drop = ["ID"] }]', "utf-8"
    )
    assert rows("second", "--grid", "grid.toml") == given
    assert rows("third", "--grid", "second/plan.json") == given
