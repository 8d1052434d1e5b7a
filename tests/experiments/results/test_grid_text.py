"""A grid's file that is made of a record asks for the very cells of the record."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from boostsample.experiments.cells.tasks import families_digest
from boostsample.experiments.plan.grid import Grid, grid_of
from boostsample.experiments.plan.grid_file import read_grid_file, shipped_grids
from boostsample.experiments.plan.plan import Prepared
from boostsample.experiments.results.grid_text import grid_text, usual_families
from boostsample.experiments.results.record import grid_record
from boostsample.experiments.results.results import FORMAT
from boostsample.registry import default_families

CHESS = "chess(d=3,J=3,L=3,n=60)"
GRIDS = {
    "defaults": 'data = ["chess(d=3,n=60)"]',
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
        weights = "balanced"
        seed = 3
        bank = "lazy:reference=64"
        history = true
        """,
}


def prepared(text: str, folder: Path) -> list[Prepared]:
    path = folder / "grid.toml"
    path.write_text(text, encoding="utf-8")
    found: Grid = grid_of(read_grid_file(path), {})
    return found.prepare()


def settings_as_told(parts: list[Prepared], title: str = "") -> dict[str, Any]:
    """What `settings.json` tells of a grid, as far as it does not need results."""
    record = grid_record(parts)
    data_sets = [
        {
            "name": one.data.name,
            "shape": list(one.data.X.shape),
            "families": [
                {"name": f.name, "n_features": f.n_features, "settings": f.settings()}
                for f in one.families
            ],
            "strategies": [
                {
                    "strategy": variant.label if variant.grid else variant.name,
                    "settings": variant.settings_text,
                    "grid": [each.settings_text for each in variant.grid],
                }
                for variant in one.variants
            ],
        }
        for one in parts
    ]
    return {**record, "title": title, "data_sets": data_sets}


@pytest.mark.parametrize("typed", [True, False], ids=["grid.json", "settings.json alone"])
@pytest.mark.parametrize("name", ["defaults", "everything"])
def test_the_file_asks_for_the_same_cells(name: str, typed: bool, tmp_path: Path) -> None:
    before = prepared(GRIDS[name], tmp_path)
    record = grid_record(before)
    title = tomllib.loads(GRIDS[name]).get("title", "")
    grid = {"format": FORMAT, **record} if typed else None
    text = grid_text(settings_as_told(before, title), grid)
    assert tomllib.loads(text).get("title", "") == title
    assert grid_record(prepared(text, tmp_path)) == record


def test_an_incomplete_record_is_enough(tmp_path: Path) -> None:
    before = prepared('data = ["digits", "chess(d=3,n=60)"]', tmp_path)
    record = grid_record(before)
    names = {one.data.name: None for one in before}
    text = grid_text(record, None, names)
    assert "only complete results tell" in text
    own = [[family.name for family in one.families] for one in before]
    text = grid_text(record, None, dict(zip(names, own, strict=True)))
    assert "only complete results tell" not in text
    entries = tomllib.loads(text)["data"]
    assert [entry["families"] for entry in entries] == own


@pytest.mark.parametrize("name", list(shipped_grids()))
def test_shipped_grids_come_back(name: str, tmp_path: Path) -> None:
    entries = dict(read_grid_file(name).entries)
    told = {
        "rounds": list(entries["rounds"]),
        "repeats": entries["repeats"],
        "budget": entries.get("budget"),
        "weights": entries["weights"],
        "learner": entries["learner"],
        "seed": entries["seed"],
        "data_sets": [
            {
                "name": data.name,
                "searches": [
                    {
                        "name": one.name,
                        "settings": one.settings,
                        "grid": [{"settings": each.settings} for each in one.grid],
                    }
                    for one in entries["strategies"]
                ],
            }
            for data in entries["data"]
        ],
    }
    path = tmp_path / "again.toml"
    path.write_text(grid_text(told), encoding="utf-8")
    again = read_grid_file(path).entries
    assert again["strategies"] == entries["strategies"]
    assert {key: again[key] for key in told if key in again} == {
        key: entries[key] for key in told if key in again
    }


def test_a_yardstick_left_out_of_one_data_set_stays_out(tmp_path: Path) -> None:
    settings = settings_as_told(prepared(GRIDS["defaults"], tmp_path))
    first = settings["data_sets"][0]
    rest = [one for one in first["strategies"] if one["strategy"] != "full"]
    settings["data_sets"] = [first, {**first, "name": "digits", "strategies": rest}]
    found = tomllib.loads(grid_text(settings))
    assert "strategies" not in found
    settings["data_sets"][0]["strategies"][1]["settings"] = "n_features=3"
    assert "uniform-naive:n_features=3" in tomllib.loads(grid_text(settings))["strategies"]


def test_the_path_of_own_data_comes_from_the_command(tmp_path: Path) -> None:
    settings = settings_as_told(prepared(GRIDS["defaults"], tmp_path))
    settings["data_sets"][0]["name"] = "mine"
    text = grid_text(settings)
    assert "# a file of your own: its path goes here" in text
    assert tomllib.loads(text)["data"] == ["mine"]
    settings["command"] = ["boostsample", "compare", "--data", "../some where/mine.csv.gz"]
    text = grid_text(settings)
    assert "#" not in text
    assert tomllib.loads(text)["data"] == ["../some where/mine.csv.gz"]


def test_usual_families_are_known() -> None:
    usual = default_families((8, 8), seed=5)
    told = [(family.name, family.n_features) for family in usual]
    names = [name for name, _ in told]
    digest = families_digest(usual)
    assert usual_families((100, 8, 8), 5, told, digest) == names
    assert usual_families((100, 8, 8), 6, told, digest) is None  # other members, as many
    assert usual_families((100, 4), 5, [("columns", 4)], "") == ["columns"]
    assert usual_families((100, 4), 5, [("columns", 3)], "") is None
