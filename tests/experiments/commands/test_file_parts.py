"""Strategies, learners and families in files on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from boostsample.errors import SettingError
from boostsample.experiments.cells.tasks import task_groups
from boostsample.experiments.cells.training import TrainingSplit, TrainingWatch, train_cell
from boostsample.experiments.results.read_folder import read_results
from tests.experiments import small_runs
from tests.experiments.conftest import CommandLine
from tests.test_file_names import STRATEGY

OPTIONS = ["--data", "chess(d=3,n=60)", "--rounds", "2", "--repeats", "1", "--quiet"]
FAMILY = """
from boostsample.families import Columns
from boostsample.learners import Stump

class Shifted(Columns):
    def __init__(self, n_columns: int, name: str) -> None:
        super().__init__(range(n_columns), n_columns=n_columns, name=name)

    def settings(self):
        return {"n_columns": self.n_features, "name": self.name}

class Twin(Stump):
    pass
"""


@pytest.fixture(autouse=True)
def _files() -> None:
    Path("folder").mkdir()
    Path("folder/my_file.py").write_text(STRATEGY.replace("= 4", "= 2"), "utf-8")
    Path("parts.py").write_text(FAMILY, "utf-8")


def _row(folder: str) -> dict[str, object]:
    (row,) = read_results(folder).rows
    return {**row, "seconds": 0}


def test_all_commands_know_their_names(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = "folder/my_file.py:Mine:n_features=1"
    out = cli("compare", *OPTIONS, "--strategies", f"full,{mine}", "--results", "new")
    assert "\nmy_file.py:Mine:n_features=1\n" in out
    assert "my_file.py:Mine:n_features=1" in out.splitlines()[3], "a column"
    for name in ("my_file.py:Mine", "my_file.py:Mine:n_features=1"):
        assert "full" not in cli("table", "new", "--strategies", name)
    cli("report new -o report.html")
    assert "my_file.py:Mine, a class in a file" in Path("report.html").read_text("utf-8")
    cli("plot new --what sampling -o sampling.svg")

    cli("compare --grid new/plan.json --results again --quiet")
    names = [list(read_results(folder).table["strategy"]) for folder in ("new", "again")]
    assert names[0] == names[1]
    cells = sorted(path.name for path in Path("new/cells").iterdir())
    monkeypatch.chdir("folder")  # keys, seeds and labels are without the folder
    cli("compare", *OPTIONS, "--strategies", f"full,{Path(mine).name}", "--results", "../new")
    assert sorted(path.name for path in Path("../new/cells").iterdir()) == cells
    monkeypatch.chdir("..")
    with Path("folder/my_file.py").open("a", encoding="utf-8") as stream:
        stream.write("# edited\n")
    line = cli.refused("compare", *OPTIONS, "--strategies", f"full,{mine}", "--results", "new")
    assert "has other rows, families, values to tune or code" in line


def test_learners_and_families_in_files(cli: CommandLine) -> None:
    parts = ["--learner", "parts.py:Twin", "--families", "parts.py:Shifted"]
    args = [*OPTIONS, *parts, "--strategies", "folder/my_file.py:Mine"]
    out = cli("compare", *args, "--results", "new")
    assert "(Shifted 3), balanced initial weights, learner parts.py:Twin" in out
    Path("grid.toml").write_text(
        'learner = "parts.py:Twin"\nfamilies = ["parts.py:Shifted"]\n'
        'strategies = [{ name = "folder/my_file.py:Mine", n_features = 2 }]\n',
        "utf-8",
    )
    processes = ["--grid", "grid.toml", "--backend", "loky", "--jobs", "1"]
    cli("compare", *OPTIONS, *processes, "--results", "loky")
    row = _row("loky")
    assert row["settings"] == "n_features=2"
    assert _row("new")["learner"] == row["learner"] == "parts.py:Twin"
    entries = json.loads(Path("loky/plan.json").read_bytes())["entries"]
    assert entries["strategies"] == ["folder/my_file.py:Mine:n_features=2"]


def test_calibrate_and_fit(cli: CommandLine) -> None:
    args = ["--data", "chess(d=3,n=60)", "--rounds", "1,2", "--quiet"]
    cli("calibrate", *args, "--strategy", "folder/my_file.py:Mine")
    Path("x.csv").write_text("a,b,y\n" + "".join(f"{i},{-i % 7},{i > 9}\n" for i in range(20)))
    cli("fit x.csv --target y --strategy folder/my_file.py:Mine --rounds 3 -o m.bsm --quiet")
    Path("folder/my_file.py").unlink()
    assert len(cli("predict m.bsm x.csv").splitlines()) == 21


def test_faults_name_file_and_line(cli: CommandLine) -> None:
    args = ["compare", *OPTIONS, "--results", "new", "--strategies"]
    assert "No such file" in cli.refused(*args, "gone.py:Mine")
    Path("broken.py").write_text("\n1 / 0\n", "utf-8")
    assert "line 2: ZeroDivisionError" in cli.refused(*args, "broken.py:Mine")
    faulty = STRATEGY.replace("step.rng", "step.no_rng").replace("choose(self, step)", "start(*_)")
    Path("faulty.py").write_text(faulty, "utf-8")
    assert not Path("new").exists()


def test_a_file_that_is_edited_during_a_comparison_ends_it() -> None:
    name = "folder/my_file.py:Mine"
    prepared = small_runs.prepared("chess(d=3,n=60)", name, marks=(2,), repeats=1)
    ((task,),) = task_groups(prepared)
    split = TrainingSplit(prepared, 0)
    train_cell(split, task, TrainingWatch())
    Path("folder/my_file.py").write_text(STRATEGY, "utf-8")
    with pytest.raises(SettingError, match="the code of the strategy Mine has changed since"):
        train_cell(split, task, TrainingWatch())
