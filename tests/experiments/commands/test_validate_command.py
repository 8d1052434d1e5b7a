"""`boostsample validate`: from two comparisons to a table, and what it refuses."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from boostsample.experiments.commands.cli import main
from boostsample.experiments.results.read_folder import read_results

STRATEGIES = "uniform-naive:n_features=1,uniform-naive:n_features=2,laminating:n_features=2"


def run(*args: str) -> int:
    return main([str(one) for one in args])


def compare(folder: Path, *args: str) -> int:
    plain = ("--strategies", STRATEGIES, "--rounds", "20", "--repeats", "2", "--quiet")
    return run("compare", *plain, "--results", str(folder), *args)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    made = tmp_path_factory.mktemp("validate")
    held, tested = made / "held", made / "tested"
    data = "chess(d=3,n=80)"
    assert compare(held, "--data", f"{data}:validation=0.2", "--score-every", "1") == 0
    assert compare(tested, "--data", data) == 0
    return held, tested


def test_the_table_has_a_row_for_each_strategy(
    folders: tuple[Path, Path], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    held, tested = map(str, folders)
    assert run("validate", held, tested) == 0
    text = capsys.readouterr().out
    assert text.startswith(
        "chess(d=3,J=3,L=3,n=80):validation=0.2: smoothed errors in percent, mea"
    )
    assert [line.split()[0] for line in text.splitlines()[3:5]] == ["uniform-naive", "laminating"]
    assert run("validate", held) == 0
    assert "test error" not in capsys.readouterr().out.partition("\n\n")[0]
    assert run("validate", held, tested, "-o", str(tmp_path / "x.csv")) == 0
    with (tmp_path / "x.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert [row["variants"] for row in rows] == ["2", "1"]
    assert all(float(row["test_mean"]) >= 0 for row in rows)
    assert run("validate", held, tested, "-o", str(tmp_path / "x.csv")) == 2
    assert run("validate", held, tested, "-o", str(tmp_path / "x.csv"), "--overwrite") == 0


def test_more_scores_are_added_to_a_finished_folder_without_training(
    folders: tuple[Path, Path], tmp_path: Path
) -> None:
    folder = tmp_path / "again"
    few = ("--data", "chess(d=3,n=80)", "--rounds", "200")
    assert compare(folder, *few) == 0
    before = read_results(folder)
    assert compare(folder, *few, "--score-every", "1") == 0
    after = read_results(folder)
    assert repr(after.rows) == repr(before.rows)
    kept = {row["stumps"] for row in before.curves}
    assert len({row["stumps"] for row in after.curves}) > 3 * len(kept)
    assert repr([r for r in after.curves if r["stumps"] in kept]) == repr(before.curves)
    assert after.settings["score_every"] == 1.0


@pytest.mark.parametrize(
    ("args", "code", "says"),
    [
        (("{tested}", "{tested}"), 2, "must be of a data set with the option validation"),
        (
            ("{held}", "{held}"),
            2,
            "the test results must have the data set chess(d=3,J=3,L=3,n=80)",
        ),
        (("{held}", "--format", "latex"), 2, "; known: text, markdown, csv\n"),
    ],
)
def test_faults_are_one_line(
    args: tuple[str, ...],
    code: int,
    says: str,
    folders: tuple[Path, Path],
    capsys: pytest.CaptureFixture[str],
) -> None:
    held, tested = map(str, folders)
    assert run("validate", *(one.format(held=held, tested=tested) for one in args)) == code
    told = capsys.readouterr().err
    assert says in told
    assert told.count("\n") == 1
