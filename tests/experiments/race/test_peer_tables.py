"""What a race is told as, and its file."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from boostsample.errors import DataError, SettingError
from boostsample.experiments.common.files import check_file
from boostsample.experiments.race import tables as peer_tables
from boostsample.experiments.race.runs import Race, Rules, Run
from boostsample.experiments.tables.tables import to_text


def run_of(seconds: float, ended: str = "reached", **named: Any) -> Run:
    values: dict[str, Any] = {
        "method": "a",
        "settings": "",
        "final": True,
        "seed": 0,
        "prepared": 0.5,
        "iterations": 3,
        "curve": ((1, seconds / 2, 7.0), (3, seconds, 1.25)),
    }
    return Run(ended=ended, seconds=seconds, **{**values, **named})


def test_the_result_is_the_median_run() -> None:
    runs = (run_of(9.0), run_of(2.0, "limit"), run_of(4.0))
    assert Race(Rules(), ("a",), runs).result("a").seconds == 9.0
    assert Race(Rules(), ("a",), runs[1:]).result("a").seconds == 4.0
    assert Race(Rules(), ("a",), (*runs, run_of(1.0), run_of(3.0))).result("a").seconds == 4.0


def made_race() -> Race:
    runs = (
        run_of(2.0, others=0.01),
        run_of(30.0, "best", method="b", settings="x=1", final=False),
        run_of(20.0, method="b", settings="x=2", final=False),
        run_of(25.0, method="b", settings="x=2", prepared=math.nan, others=0.3),
        run_of(60.0, "limit", method="c"),
        run_of(7.0, "rounds", method="d"),
    )
    return Race(Rules(error=1.25, limit=60.0), ("a", "b", "c", "d"), runs)


def test_tables() -> None:
    found = made_race()
    assert peer_tables.result_table(found).rows == (
        ("a", "0.50", "2.00", "1", "3", "1.25", "1.00"),
        ("b", "-", "25.00", "1", "3", "1.25", "12.50"),
        ("c", "0.50", "> 60.00 (limit)", "1", "3", "1.25", "> 30.00"),
        ("d", "0.50", "never (rounds)", "1", "3", "1.25", "-"),
    )
    settings = peer_tables.settings_table(found)
    assert settings is not None
    assert settings.rows == (("b", "2", "1", "x=2"),)
    (grid,) = peer_tables.grid_tables(found)
    assert [row[::2] for row in grid.rows] == [
        ("x=2", "20.00", "1.25"),
        ("x=1", "> 30.00 (best)", "1.25"),
    ]
    curve = {row[0]: row[1:] for row in peer_tables.curve_table(found).rows}
    assert curve["1"] == ("7.00", "-", "-", "-")
    assert curve["5"] == ("end", "-", "-", "7.00")
    assert curve["20"] == ("end", "7.00", "-", "end")
    assert list(curve)[-1] == "50"
    assert "1.25 %" in to_text(peer_tables.result_table(found))


def test_a_busy_machine_is_told() -> None:
    note = peer_tables.busy_note(made_race())
    assert "30 % of all cores while b ran" in note
    assert peer_tables.busy_note(Race(Rules(), ("a",), (run_of(1.0, others=0.04),))) == ""
    assert peer_tables.busy_note(Race(Rules(), ("a",), (run_of(1.0),))) == ""


def test_no_grid_no_table_of_settings() -> None:
    found = Race(Rules(), ("a",), (run_of(1.0),))
    assert peer_tables.settings_table(found) is None
    assert peer_tables.grid_tables(found) == []


# --------------------------------------------------------------------------------------- the file


def test_files_are_read_as_they_were_written(tmp_path: Path) -> None:
    found, path = made_race(), tmp_path / "runs.json"
    facts = peer_tables.facts_of(found, data="made", columns=7)
    peer_tables.write_race(facts, check_file(path, ".json", "runs"))
    again, read = peer_tables.read_race(path)
    assert repr(again) == repr(found)  # NaN differs from itself
    assert read == json.loads(json.dumps(facts))
    assert read["settings"] == {"data": "made", "columns": 7}
    assert json.loads(path.read_text())["runs"][3]["prepared"] is None


def test_files_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match=r"must end in \.json, got '.*runs\.txt'"):
        check_file(tmp_path / "runs.txt", ".json", "runs")
    (tmp_path / "old.json").write_text("{}")
    with pytest.raises(SettingError, match=r"must be new, but '.*old\.json' is there"):
        check_file(tmp_path / "old.json", ".json", "runs")
    with pytest.raises(DataError, match=r"no/runs\.json' cannot be written: No such file"):
        check_file(tmp_path / "no" / "runs.json", ".json", "runs")
    with pytest.raises(DataError, match="cannot be written"):
        peer_tables.write_race({}, tmp_path / "no" / "runs.json")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{}", "is no file of a race"),
        ("not json", "is no file of a race"),
        ('{"format": 99}', "is in format 99, this version of boostsample reads format 1"),
        ('{"format": 1, "rules": {}, "methods": [], "runs": [{}]}', "is no file of a race"),
    ],
)
def test_files_that_cannot_be_read(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "runs.json"
    path.write_text(text)
    with pytest.raises(DataError, match=message):
        peer_tables.read_race(path)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is no file"):
        peer_tables.read_race(tmp_path / "runs.json")
