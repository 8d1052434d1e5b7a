"""`boostsample race`: what it prints, what it writes, what it refuses."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from boostsample.experiments.commands.cli import main
from boostsample.experiments.race import peers

QUICK = [
    *("race", "--data", "chess(d=3,n=200)", "--error", "49", "--limit", "300", "--repeats", "1"),
    *("--strategies", "uniform-naive,full", "--jobs", "1", "--rounds", "60"),
]


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("BOOSTSAMPLE_DEBUG", raising=False)


def error_of(capsys: pytest.CaptureFixture[str]) -> str:
    captured = capsys.readouterr()
    (line,) = [line for line in captured.err.splitlines() if "error: " in line]
    assert captured.out == ""
    return line.removeprefix("boostsample: error: ")


def test_a_race_and_its_file(capsys: pytest.CaptureFixture[str]) -> None:
    args = [*QUICK, "--peers", "adaboost:learning_rate=0.5", "--json", "runs.json"]
    assert main(args) == 0
    captured = capsys.readouterr()
    out = captured.out
    assert out.startswith(
        "chess(d=3,J=3,L=3,n=200): 150 training and 50 test examples, 2 classes, 3 columns;"
    )
    assert "seconds to a test error of 49 %" in out
    assert re.search(r"^uniform-naive +[\d.]+ +[\d.]+ +1 +\d+ +[\d.]+ +1\.00$", out, re.M)
    assert re.search(r"^full +[\d.]+ ", out, re.M)
    assert "adaboost:learning_rate=0.5" in out
    assert out.rstrip().endswith("runs: runs.json")
    assert "boostsample: warming up" in captured.err
    facts = json.loads(Path("runs.json").read_text())
    assert facts["settings"]["columns"] == 3
    assert [run["method"] for run in facts["runs"]].count("uniform-naive") == 1


def test_quiet_without_peers(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*QUICK, "--peers", "none", "--quiet"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    assert "adaboost" not in captured.out


def test_peers_that_are_not_installed_are_told(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peers, "find_spec", lambda package: package == "nothing" or None)
    assert main([*QUICK, "--quiet"]) == 0
    out = capsys.readouterr().out
    for name in peers.PEERS:
        assert f"note: {name} is not installed and left out; pip install" in out
    assert main([*QUICK, "--peers", "xgboost"]) == 2
    assert error_of(capsys).startswith("xgboost is not installed; install it with")


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (["--peers", "foo"], 2, "unknown peer 'foo'; known: lightgbm, xgboost, hist-gradient-"),
        (["--peers", "adaboost:depth=2"], 2, "unknown setting of adaboost 'depth' (did you mean"),
        (["--peers", "adaboost,adaboost"], 2, "each of the names must be given once"),
        (["--strategies", "foo"], 2, "unknown strategy 'foo'; known: full"),
        (
            ["--strategies", "ucb:exploration=1|2"],
            2,
            "ucb: exploration=1|2 are alternatives, but a race does not tune",
        ),
        (["--peers", "adaboost:max_depth=1|2"], 2, "adaboost: max_depth=1|2 are alternatives, but"),
        (["--error", "-1"], 2, "error must be at least 0 and at most 100, got -1"),
        (["--limit", "0"], 2, "limit must be above 0 and finite, got 0"),
        (["--repeats", "0"], 2, "repeats must be an integer at least 1, got 0"),
        (["--rounds", "0"], 2, "each of the rounds must be an integer at least 1, got 0"),
        (["--jobs", "0"], 2, "n_jobs must be 1 or more, or -1 for all cores, got 0"),
        (["--columns", "9"], 2, "columns must be at most the 3 features of the families of chess"),
        (["--budget", "x"], 2, "budget must be a whole number"),
        (["--weights", "x"], 2, "unknown initial weights 'x'; known: "),
        (["--json", "runs.txt"], 2, "the file of runs must end in .json, got 'runs.txt'"),
        (["--data", "nowhere.csv"], 1, ""),
    ],
)
def test_what_is_refused(
    capsys: pytest.CaptureFixture[str], args: list[str], code: int, message: str
) -> None:
    assert main([*QUICK, *args]) == code
    assert error_of(capsys).startswith(message)
