"""Ratios of a run beside kept ones: better, worse, new, missing; and the file that keeps them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from boostsample.errors import DataError, SettingError
from boostsample.experiments.bench.reference import (
    BENCH_REFERENCES,
    FORMAT,
    changes_table,
    check_against_reference,
    read_reference,
    reference_facts,
    reference_ratio,
    reference_record,
    shipped_reference,
    write_reference,
)
from boostsample.experiments.bench.timing import TimingResult
from boostsample.files.atomic import check_writable_file
from boostsample.hashing import sha256_of_json

FACTS: dict[str, Any] = {
    "created": "2011-12-12T10:00:00+00:00",
    "machine": {"processor": "An abacus"},
    "versions": {"numba": "0"},
}


def section(ratios: dict[str, float], **conditions: Any) -> TimingResult:
    return TimingResult((), {}, ratios, conditions)


def kept_as(path: Path, **sections: TimingResult) -> Path:
    write_reference(reference_record([sections], FACTS), path)
    return path


def test_each_ratio_is_worse_better_the_same_new_or_missing(tmp_path: Path) -> None:
    kept = section({"grown": 2.0, "shrunk": 2.0, "near": 2.0, "gone": 2.0}, examples=10)
    reference = read_reference(kept_as(tmp_path / "kept.json", rounds=kept))
    now = section({"near": 2.2, "grown": 2.5, "shrunk": 1.5, "fresh": 1.0}, examples=10)
    changes, notes = check_against_reference({"rounds": now}, reference)
    assert {one.name: one.verdict for one in changes} == {
        "grown": "worse",
        "shrunk": "better",
        "near": "same",
        "gone": "missing",
        "fresh": "new",
    }
    assert not notes
    assert changes_table(changes).rows == (
        ("rounds: grown", "2.50", "2.00", "+25%", "15%", "worse"),
        ("rounds: shrunk", "1.50", "2.00", "-25%", "15%", "better"),
        ("rounds: near", "2.20", "2.00", "+10%", "15%", ""),
        ("rounds: gone", "", "2.00", "", "15%", "missing"),
        ("rounds: fresh", "1.00", "", "", "", "new"),
    )


def test_ratios_that_scatter_are_allowed_more(tmp_path: Path) -> None:
    assert reference_ratio([3.0]) == reference_ratio([3.0, 3.0]) == (3.0, 0.15)
    assert tuple(reference_ratio([1.8, 2.2, 2.0])) == (2.0, 0.4)
    passes = [{"rounds": section({"ucb": value})} for value in (1.8, 2.2, 2.0)]
    write_reference(reference_record(passes, FACTS), tmp_path / "kept.json")
    reference = read_reference(tmp_path / "kept.json")
    assert reference.ratios["rounds"]["ucb"] == (2.0, 0.4)
    for value, verdict in ((2.7, "same"), (2.9, "worse"), (1.3, "same"), (1.1, "better")):
        ((change,), _) = check_against_reference({"rounds": section({"ucb": value})}, reference)
        assert change.verdict == verdict


def test_only_equal_conditions_are_compared(tmp_path: Path) -> None:
    path = kept_as(tmp_path / "kept.json", rounds=section({"ucb": 2.0}, examples=10, sizes=(1, 2)))
    reference = read_reference(path)
    same, _ = check_against_reference(
        {"rounds": section({"ucb": 2.0}, examples=10, sizes=[1, 2])}, reference
    )
    assert len(same) == 1
    other, notes = check_against_reference(
        {"rounds": section({"ucb": 9.0}, examples=20, sizes=[1, 2])}, reference
    )
    assert not other
    assert notes == ["rounds: not compared, examples is 20 here and 10 in the reference"]
    _, notes = check_against_reference({"looks": section({"10 classes": 2.0})}, reference)
    assert notes == ["looks: the reference has no such section"]
    # Sections that did not run are not missed.
    assert check_against_reference({}, reference) == ([], [])


def test_a_reference_is_written_and_read_again(tmp_path: Path) -> None:
    path = kept_as(tmp_path / "kept.json", looks=section({"a": 1.23456}), rounds=section({"b": 1}))
    reference = read_reference(path)
    assert reference.created == FACTS["created"]
    assert reference.machine == FACTS["machine"]
    assert reference.ratios["looks"]["a"].value == 1.235
    assert list(reference.ratios) == ["looks", "rounds"]
    # It may be written over: it is kept under version control.
    kept_as(path, looks=section({"a": 3.0}))
    assert list(read_reference(path).ratios) == ["looks"]
    assert [entry.name for entry in tmp_path.iterdir()] == ["kept.json"]


def without_sections(record: dict[str, Any]) -> dict[str, Any]:
    rest = {key: value for key, value in record.items() if key not in ("sections", "sha256")}
    return {**rest, "sha256": sha256_of_json(rest)}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda record: {**record, "created": "today"}, "is damaged or was edited"),
        (lambda record: {**record, "format": 2}, "has format 2, .* reads format 1"),
        (lambda record: [record], "was not written by --keep"),
        (without_sections, r"was not written by --keep .*sections"),
    ],
)
def test_damaged_references_are_refused(
    tmp_path: Path, change: Callable[[dict[str, Any]], Any], message: str
) -> None:
    path = kept_as(tmp_path / "kept.json", looks=section({"a": 1.0}))
    path.write_text(json.dumps(change(json.loads(path.read_text()))))
    with pytest.raises(DataError, match=f"the reference '{re.escape(str(path))}' {message}"):
        read_reference(path)


def test_missing_references_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"none\.json' cannot be read: No such file"):
        read_reference(tmp_path / "none.json")


def test_files_are_checked_before_any_work(tmp_path: Path) -> None:
    there = tmp_path / "there.json"
    there.write_text("mine")
    assert check_writable_file(there, ".json", "results", overwrite=True) == there
    with pytest.raises(SettingError, match=r"must be new, but .* or replace it with --overwrite"):
        check_writable_file(there, ".json", "results")
    assert there.read_text() == "mine"
    with pytest.raises(SettingError, match=r"must end in \.json, got 'x\.txt'"):
        check_writable_file("x.txt", ".json", "results")
    with pytest.raises(DataError, match=r"cannot be written: .*name another file"):
        check_writable_file(tmp_path / "no" / "x.json", ".json", "results")
    assert check_writable_file(tmp_path / "x.json", ".json", "results") == tmp_path / "x.json"
    assert [entry.name for entry in tmp_path.iterdir()] == ["there.json"]


def test_records_have_everything_with_versions_and_a_checksum(tmp_path: Path) -> None:
    found = TimingResult((), {"looks": [1]}, {"a": 2.0}, {"examples": 10})
    path = tmp_path / "record.json"
    write_reference(reference_record([{"looks": found}], reference_facts()), path)
    record = json.loads(path.read_text())
    assert record["sections"] == {
        "looks": {
            "conditions": {"examples": 10},
            "found": {"looks": [1]},
            "ratios": {"a": {"value": 2.0, "tolerance": 0.15}},
        }
    }
    assert record["format"] == FORMAT
    assert record["machine"]["processor"]
    assert {"boostsample", "python", "numba"} <= set(record["versions"])
    assert record.pop("sha256") == sha256_of_json(record)


@pytest.mark.parametrize(
    "path", sorted(BENCH_REFERENCES.glob("*.json")), ids=lambda path: path.stem
)
def test_the_references_of_the_package_can_be_read(path: Path) -> None:
    reference = read_reference(path)
    assert {"looks", "bounds", "rounds", "growth"} <= set(reference.ratios)
    for ratios in reference.ratios.values():
        assert all(0.15 <= one.tolerance < 1.0 and one.value > 0 for one in ratios.values())
    shipped = shipped_reference(reference.machine["processor"])
    assert shipped is not None
    assert shipped.machine == reference.machine


def test_a_processor_has_its_own_reference_or_the_newest(tmp_path: Path) -> None:
    assert shipped_reference("An abacus", tmp_path) is None
    for year, processor in ((1642, "Pascaline"), (1837, "Analytical Engine"), (1617, "Bones")):
        made = {**FACTS, "created": f"{year}-01-01", "machine": {"processor": processor}}
        kept = reference_record([{"rounds": section({"ucb": 1.0})}], made)
        write_reference(kept, tmp_path / f"{processor}.json")
    for processor, year in (("Pascaline", 1642), ("Bones", 1617), ("An abacus", 1837)):
        found = shipped_reference(processor, tmp_path)
        assert found is not None
        assert found.created[:4] == str(year)
