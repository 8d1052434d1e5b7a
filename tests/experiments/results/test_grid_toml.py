"""The grid that is written as TOML asks for the same cells when it is read again."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from boostsample.experiments.commands.cli import main
from boostsample.experiments.data.datasets import load_dataset
from boostsample.experiments.plan.grid import (
    Grid,
    GridFileData,
    combined_grid,
    read_grid_file,
    shipped_grids,
)
from boostsample.experiments.plan.prepared import Prepared, prepare
from boostsample.experiments.results.folder.grid_toml import grid_toml, to_toml
from boostsample.experiments.results.folder.write_folder import grid_record

GRIDS = {
    "defaults": 'data = ["chess(d=3,n=60)"]',
    "two": 'data = ["digits", "chess(d=3,n=60)"]',
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


def read(text: str, folder: Path) -> tuple[Grid, list[Prepared]]:
    path = folder / "grid.toml"
    path.write_text(text, encoding="utf-8")
    grid = combined_grid(read_grid_file(path), {})
    return grid, grid.prepare()


@pytest.mark.parametrize("name", GRIDS)
def test_the_file_asks_for_the_same_cells(name: str, tmp_path: Path) -> None:
    grid, prepared = read(GRIDS[name], tmp_path)
    text = grid_toml(grid, prepared)
    again, prepared_again = read(text, tmp_path)
    assert again.title == grid.title
    assert grid_record(prepared_again) == grid_record(prepared)
    assert grid_toml(again, prepared_again) == text
    found = tomllib.loads(text)
    assert found.keys() >= {"data", "strategies", "rounds", "repeats", "learner", "seed"}
    assert found["weight_init"] == grid.plan.weights
    given = {key: found[key] for key in ("learning_rate", "smoothing") if key in found}
    assert given == ({"learning_rate": 0.25, "smoothing": 1.0} if name == "everything" else {})
    assert all(len(line) <= 100 for line in text.splitlines() if "families" not in line)


def test_families_of_data_sets_are_written_out(tmp_path: Path) -> None:
    grid, prepared = read(GRIDS["two"], tmp_path)
    entries = tomllib.loads(grid_toml(grid, prepared))["data"]
    own = [[family.name for family in one.families] for one in prepared]
    assert [entry["families"] for entry in entries] == own
    assert entries[1]["name"] == "chess(d=3,J=3,L=3,n=60)"


@pytest.mark.parametrize("name", list(shipped_grids()))
def test_shipped_grids_come_back(name: str, tmp_path: Path) -> None:
    file = read_grid_file(name)
    grid = combined_grid(file, {})
    small = prepare(load_dataset("chess(d=3,n=60)"), replace(grid.plan, strategies=None))
    prepared = [
        replace(small, data=replace(small.data, name=one.name), variants=grid.plan.variants)
        for one in grid.data
    ]
    path = tmp_path / "again.toml"
    path.write_text(grid_toml(grid, prepared), encoding="utf-8")
    again = read_grid_file(path).entries
    assert {key: again[key] for key in file.entries if key != "tune"} == {
        key: file.entries[key] for key in file.entries if key != "tune"
    }


def test_a_yardstick_left_out_of_one_data_set_stays_out(tmp_path: Path) -> None:
    grid, prepared = read(GRIDS["two"], tmp_path)
    without = replace(prepared[0], variants=prepared[0].variants[1:])
    assert "full" in tomllib.loads(grid_toml(grid, prepared))["strategies"]
    assert "strategies" not in tomllib.loads(grid_toml(grid, [without, prepared[1]]))


def test_the_path_of_own_data_is_written_as_it_was_given(tmp_path: Path) -> None:
    grid, prepared = read(GRIDS["defaults"], tmp_path)
    own = replace(grid, data=(GridFileData("../some where/mine.csv.gz"),))
    mine = replace(prepared[0], data=replace(prepared[0].data, name="mine"))
    assert tomllib.loads(grid_toml(own, [mine]))["data"] == ["../some where/mine.csv.gz"]
    options = {"label": "y", "drop": ["ID", 2], "header": True, "name": "mine"}
    own = replace(grid, data=(GridFileData("mine.csv", None, options),))
    text = grid_toml(own, [mine])
    assert tomllib.loads(text)["data"] == [{"path": "mine.csv", **options}]
    (tmp_path / "own.toml").write_text(text, "utf-8")
    assert combined_grid(read_grid_file(tmp_path / "own.toml"), {}).data == own.data


def test_values_come_back_from_toml() -> None:
    entries = {
        "text": 'a "b" \\ \x7f\n\té😀',
        "numbers": [1, -2, 0.1, 1e-05, 1e22, float("inf")],
        "words": [True, False],
        "long": [{"name": "x" * 60, "values": [1, 2]}, "y" * 60],
    }
    assert tomllib.loads(to_toml(entries)) == entries
    assert tomllib.loads(to_toml({"none": None})) == {"none": "none"}


def test_the_command_writes_a_grid_that_repeats_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    args = ["--data", "chess(d=3,n=60)", "--rounds", "1,2", "--repeats", "1", "--quiet"]
    tuned = ["--tune", "--strategies", "uniform-naive:n_features=1|2,laminating"]
    assert main(["compare", *args, *tuned, "--results", "first"]) == 0
    assert main(["compare", "--grid", "first/grid.toml", "--results", "second", "--quiet"]) == 0
    first, second = (Path(name) for name in ("first", "second"))
    assert (second / "grid.json").read_bytes() == (first / "grid.json").read_bytes()
    assert (second / "grid.toml").read_bytes() == (first / "grid.toml").read_bytes()
