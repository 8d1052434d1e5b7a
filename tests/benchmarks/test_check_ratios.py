"""Ratios of a run beside kept ones: better, worse, new, missing; and the files of references."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks import check_ratios
from benchmarks.check_ratios import (
    REFERENCES,
    compare_ratios,
    kept_ratio,
    main,
    read_run,
    reference_for,
    reference_of,
    verdict,
)


def run_file(path: Path, ratios: dict[str, float], **conditions: Any) -> Path:
    """A file as of `--benchmark-json`, with a benchmark without a ratio."""
    records: list[dict[str, Any]] = [{"extra_info": {}}]
    for name, ratio in ratios.items():
        more = {"section": "rounds", "ratio_name": name, "ratio": ratio, "conditions": conditions}
        records.append({"extra_info": more})
    path.write_text(json.dumps({"datetime": "2011-12-12T10:00:00", "benchmarks": records}))
    return path


def test_each_ratio_is_worse_better_the_same_new_or_missing(tmp_path: Path) -> None:
    old = {"grown": 2.0, "shrunk": 2.0, "near": 2.0, "gone": 2.0}
    new = {"near": 2.2, "grown": 2.5, "shrunk": 1.5, "fresh": 1.0}
    reference = reference_of([read_run(run_file(tmp_path / "old.json", old, examples=10))])
    now = read_run(run_file(tmp_path / "new.json", new, examples=10))
    rows, notes = compare_ratios(now["sections"], reference["sections"])
    assert rows == [
        ("rounds: grown", "2.50", "2.00", "+25%", "15%", "worse"),
        ("rounds: shrunk", "1.50", "2.00", "-25%", "15%", "better"),
        ("rounds: near", "2.20", "2.00", "+10%", "15%", ""),
        ("rounds: gone", "", "2.00", "", "15%", "missing"),
        ("rounds: fresh", "1.00", "", "", "", "new"),
    ]
    assert not notes


def test_ratios_that_scatter_are_allowed_more() -> None:
    assert kept_ratio([3.0]) == kept_ratio([3.0, 3.0]) == {"value": 3.0, "tolerance": 0.15}
    reference = kept_ratio([1.8, 2.2, 2.0])
    assert reference == {"value": 2.0, "tolerance": 0.4}
    assert [verdict(now, reference) for now in (2.7, 2.9, 1.3, 1.1)] == [
        "same",
        "worse",
        "same",
        "better",
    ]


def test_only_equal_conditions_are_compared(tmp_path: Path) -> None:
    def sections(**conditions: Any) -> Any:
        return read_run(run_file(tmp_path / "r.json", {"ucb": 2.0}, **conditions))["sections"]

    reference = reference_of([{"created": "", "sections": sections(examples=10)}])["sections"]
    assert len(compare_ratios(sections(examples=10), reference)[0]) == 1
    note = "rounds: not compared, examples is 20 here and 10 in the reference"
    assert compare_ratios(sections(examples=20), reference) == ([], [note])
    note = "rounds: the reference has no such section"
    assert compare_ratios(sections(examples=20), {}) == ([], [note])
    # Sections that did not run are not missed.
    assert compare_ratios({}, reference) == ([], [])


def test_a_reference_is_kept_and_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(check_ratios, "REFERENCES", tmp_path)
    passes = [
        str(run_file(tmp_path / f"{at}.txt", {"ucb": ratio}, examples=10))
        for at, ratio in enumerate((2.0, 2.0, 3.0))
    ]
    assert main([*passes, "--keep", "abacus"]) == 0
    assert capsys.readouterr().out == f"reference: {tmp_path / 'abacus.json'}\n"
    assert main([passes[0]]) == 0
    assert "no ratios of 1 worse than the reference of 2011-12-12" in capsys.readouterr().out
    monkeypatch.setattr(check_ratios, "machine", lambda: {"processor": "An abacus"})
    worse = run_file(tmp_path / "worse.txt", {"ucb": 9.0}, examples=10)
    assert main([str(worse)]) == 1
    printed = capsys.readouterr().out
    assert "1 ratio of 1 worse than the reference of 2011-12-12" in printed
    assert "note: the reference is not of this processor (An abacus)" in printed


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot be read: No such file or directory"),
        ('{"benchmarks": [{}]}', "was not written by --benchmark-json"),
    ],
)
def test_files_that_are_no_runs_are_refused(
    content: str | None, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "run.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(SystemExit):
        main([str(path)])
    assert f"the run '{path}' {message}" in capsys.readouterr().err


@pytest.mark.parametrize("path", sorted(REFERENCES.glob("*.json")), ids=lambda path: path.stem)
def test_the_shipped_references(path: Path) -> None:
    reference = json.loads(path.read_text("utf-8"))
    assert reference_for(reference["processor"]) == reference
    assert {"looks", "bounds", "rounds", "growth"} <= set(reference["sections"])
    for section in reference["sections"].values():
        assert section["ratios"]
        for ratio in section["ratios"].values():
            assert ratio["value"] > 0
            assert ratio["tolerance"] >= 0.15
