"""The grid in plan.json asks for the same cells when it is read again."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from boostsample.experiments.commands.cli import main
from boostsample.experiments.data.datasets import load_dataset
from boostsample.experiments.plan.grid import (
    Grid,
    GridFileData,
    combined_grid,
    grid_entries,
    read_grid_file,
    shipped_grids,
)
from boostsample.experiments.plan.prepared import Prepared, prepare
from boostsample.experiments.results.plan_file import plan_record

GRIDS = {
    "defaults": 'data = ["chess(d=3,n=60)"]',
    "draws": """\
        data = ["chess(d=3,n=60)"]
        strategies = ["full", { name = "ucb", n_features = 2, exploration = 1, tune = true }]
        draws = 3
        """,
    "everything": """\
        title = "A \\"title\\" with \\\\ and ü"
        data = ["digits", { name = "chess(d=3,n=60)", families = ["columns"] }]
        strategies = [
          "uniform-naive:n_features=none",
          { name = "laminating", scheme = "distinct", n_features = 2 },
          { name = "ucb", reward_scale = [30, 1], exploration = [2, 0.02, 1e-05] },
          { name = "epsilon-greedy", epsilon = 0.1, tune = true },
        ]
        families = ["haar", "patches:n_members=9:min_side=1"]
        rounds = [1, 2]
        repeats = 2
        budget = "7.5N"
        weight_init = "uniform"
        learning_rate = 0.25
        smoothing = 1
        seed = 3
        bank = "lazy:reference=64"
        history = true
        """,
}


def written(entries: dict[str, Any], folder: Path) -> Path:
    path = folder / "plan.json"
    path.write_text(json.dumps({"entries": entries}))
    return path


def read_prepared(text: str, folder: Path) -> tuple[Grid, list[Prepared]]:
    path = folder / "grid.toml"
    path.write_text(text, encoding="utf-8")
    grid = combined_grid(read_grid_file(path), {})
    return grid, grid.prepare()


@pytest.mark.parametrize("name", GRIDS)
def test_the_file_asks_for_the_same_cells(name: str, tmp_path: Path) -> None:
    grid, prepared = read_prepared(GRIDS[name], tmp_path)
    entries = grid_entries(grid, prepared)
    again = combined_grid(read_grid_file(written(entries, tmp_path)), {})
    prepared_again = again.prepare()
    assert again.title == grid.title
    assert plan_record(prepared_again) == plan_record(prepared)
    assert grid_entries(again, prepared_again) == entries
    assert entries.keys() >= {"data", "strategies", "rounds", "repeats", "learner", "seed"}
    assert entries["weight_init"] == grid.plan.weights
    given = {key: entries[key] for key in ("learning_rate", "smoothing") if key in entries}
    assert given == ({"learning_rate": 0.25, "smoothing": 1.0} if name == "everything" else {})


@pytest.mark.parametrize("name", list(shipped_grids()))
def test_shipped_grids_come_back(name: str, tmp_path: Path) -> None:
    file = read_grid_file(name)
    grid = combined_grid(file, {})
    small = prepare(load_dataset("chess(d=3,n=60)"), replace(grid.plan, strategies=None))
    prepared = [
        replace(small, data=replace(small.data, name=one.name), variants=grid.plan.variants)
        for one in grid.data
    ]
    again = read_grid_file(written(grid_entries(grid, prepared), tmp_path)).entries
    assert {key: again[key] for key in file.entries if key != "tune"} == {
        key: file.entries[key] for key in file.entries if key != "tune"
    }


def test_a_yardstick_left_out_of_one_data_set_stays_out(tmp_path: Path) -> None:
    grid, prepared = read_prepared('data = ["digits", "chess(d=3,n=60)"]', tmp_path)
    without = replace(prepared[0], variants=prepared[0].variants[1:])
    assert "full" in grid_entries(grid, prepared)["strategies"]
    assert "strategies" not in grid_entries(grid, [without, prepared[1]])


def test_the_path_of_own_data_is_written_as_it_was_given(tmp_path: Path) -> None:
    grid, prepared = read_prepared(GRIDS["defaults"], tmp_path)
    own = replace(grid, data=(GridFileData("../some where/mine.csv.gz"),))
    mine = replace(prepared[0], data=replace(prepared[0].data, name="mine"))
    assert grid_entries(own, [mine])["data"] == ["../some where/mine.csv.gz"]
    options = {"label": "y", "drop": ["ID", 2], "header": True, "name": "mine"}
    own = replace(grid, data=(GridFileData("mine.csv", None, options),))
    entries = grid_entries(own, [mine])
    assert entries["data"] == [{"path": "mine.csv", **options}]
    assert combined_grid(read_grid_file(written(entries, tmp_path)), {}).data == own.data


def test_the_command_writes_a_grid_that_repeats_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    args = ["--data", "chess(d=3,n=60)", "--rounds", "1,2", "--repeats", "1", "--quiet"]
    tuned = ["--tune", "--strategies", "uniform-naive:n_features=1|2,laminating"]
    assert main(["compare", *args, *tuned, "--results", "first"]) == 0
    assert main(["compare", "--grid", "first/plan.json", "--results", "second", "--quiet"]) == 0
    first, second = (
        json.loads(Path(name, "plan.json").read_bytes()) for name in ("first", "second")
    )
    assert second["entries"] == first["entries"]
    searches = [
        [strategy["searches"] for strategy in plan["data_sets"][0]["strategies"]]
        for plan in (first, second)
    ]
    assert searches[0] == searches[1]
