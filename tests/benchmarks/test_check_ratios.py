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
    reference_for,
    reference_of,
    sections_of,
)


def run_of(ratios: dict[str, float], **conditions: Any) -> dict[str, Any]:
    """Content as of `--benchmark-json`, with a benchmark without a ratio."""
    records: list[dict[str, Any]] = [{"extra_info": {}}]
    for name, ratio in ratios.items():
        more = {"section": "rounds", "ratio_name": name, "ratio": ratio, "conditions": conditions}
        records.append({"extra_info": more})
    return {"datetime": "2011-12-12T10:00:00", "benchmarks": records}


def test_each_ratio_is_worse_better_the_same_new_or_missing() -> None:
    old = {"grown": 2.0, "shrunk": 2.0, "near": 2.0, "gone": 2.0}
    new = {"near": 2.2, "grown": 2.5, "shrunk": 1.5, "fresh": 1.0}
    reference = reference_of([run_of(old, examples=10)])
    now = sections_of(run_of(new, examples=10))
    rows, notes = compare_ratios(now, reference["sections"])
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
    passes = [run_of({"ucb": ratio}) for ratio in (1.8, 2.2, 2.0)]
    reference = reference_of(passes)["sections"]
    assert reference["rounds"]["ratios"]["ucb"] == {"value": 2.0, "tolerance": 0.4}
    for ratio, verdict in ((2.7, ""), (2.9, "worse"), (1.3, ""), (1.1, "better")):
        ((*_, found),), _ = compare_ratios(sections_of(run_of({"ucb": ratio})), reference)
        assert found == verdict


def test_only_equal_conditions_are_compared() -> None:
    reference = reference_of([run_of({"ucb": 2.0}, examples=10)])["sections"]
    rows, (note,) = compare_ratios(sections_of(run_of({"ucb": 2.0}, examples=20)), reference)
    assert rows == []
    assert note.startswith("rounds: not compared, run with {'examples': 20}, but the reference")
    _, (note,) = compare_ratios(sections_of(run_of({"ucb": 2.0}, examples=20)), {})
    assert note.endswith("the reference with None")
    # Sections that did not run are not missed.
    assert compare_ratios({}, reference) == ([], [])


def test_a_reference_is_kept_and_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(check_ratios, "REFERENCES", tmp_path)
    paths = [tmp_path / f"{at}.txt" for at in range(4)]
    for path, ratio in zip(paths, (2.0, 2.0, 3.0, 9.0), strict=True):
        path.write_text(json.dumps(run_of({"ucb": ratio}, examples=10)))
    passes = [str(path) for path in paths]
    assert main([*passes[:3], "--keep", "abacus"]) == 0
    assert capsys.readouterr().out == f"reference: {tmp_path / 'abacus.json'}\n"
    assert main(passes[:1]) == 0
    assert "no ratios of 1 worse than the reference of 2011-12-12" in capsys.readouterr().out
    monkeypatch.setattr(check_ratios, "machine", lambda: {"processor": "An abacus"})
    assert main(passes[3:]) == 1
    printed = capsys.readouterr().out
    assert "1 ratio of 1 worse than the reference of 2011-12-12" in printed
    assert "note: the reference is not of this processor (An abacus)" in printed


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
