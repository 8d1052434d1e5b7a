"""The table of a race, and its file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from boostsample.errors import DataError
from boostsample.experiments.race.race import FORMAT, RaceRules, RaceRun, race_table, write_race
from boostsample.experiments.tables.formats import to_text


def run_of(seconds: float, ended: str = "reached", **named: Any) -> RaceRun:
    values: dict[str, Any] = {"method": "a", "settings": "", "seed": 0, "prepared": 0.5}
    run = RaceRun(ended=ended, **{**values, **named})
    run.add(1, seconds / 2, 7.0)
    run.add(3, seconds, 1.25)
    return run


def test_the_table_shows_the_median_run() -> None:
    def shown(*runs: RaceRun) -> str:
        return race_table(runs, RaceRules()).rows[0][2]

    runs = (run_of(9.0), run_of(2.0, "limit"), run_of(4.0))
    assert shown(*runs) == "9.00"
    assert shown(*runs[1:]) == "4.00"
    assert shown(*runs, run_of(1.0), run_of(3.0)) == "4.00"


def made_runs() -> list[RaceRun]:
    return [
        run_of(2.0),
        run_of(25.0, method="b", settings="x=2", prepared=None),
        run_of(60.0, "limit", method="c"),
        run_of(7.0, "rounds", method="d"),
    ]


def test_the_table() -> None:
    table = race_table(made_runs(), RaceRules(error=1.25, limit=60.0))
    assert table.rows == (
        ("a", "0.50", "2.00", "1", "3", "1.25", "1.00"),
        ("b", "-", "25.00", "1", "3", "1.25", "12.50"),
        ("c", "0.50", "> 60.00 (limit)", "1", "3", "1.25", "> 30.00"),
        ("d", "0.50", "> 7.00 (rounds)", "1", "3", "1.25", "> 3.50"),
    )
    assert "1.25 %" in to_text(table)


def test_the_file_has_all_runs(tmp_path: Path) -> None:
    path, rules = tmp_path / "runs.json", RaceRules()
    write_race(made_runs(), rules, path, data="made", columns=7)
    read = json.loads(path.read_text())
    assert read["format"] == FORMAT
    assert read["settings"] == {"data": "made", "columns": 7}
    assert read["rules"] == {"error": 1.5, "limit": 120.0, "repeats": 3, "seed": 0}
    assert read["methods"] == ["a", "b", "c", "d"]
    assert [run["method"] for run in read["runs"]] == ["a", "b", "c", "d"]
    assert read["runs"][1]["prepared"] is None
    assert read["runs"][1]["settings"] == "x=2"
    assert read["runs"][2]["curve"] == [[1, 30.0, 7.0], [3, 60.0, 1.25]]
    assert {"boostsample", "python"} <= set(read["versions"])
    assert read["machine"]["cores"]


def test_files_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be written"):
        write_race([], RaceRules(), tmp_path / "no" / "runs.json")
