"""Strategies, families and learners in files and of other distributions, in commands."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, SupportsIndex

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray

from boostsample.errors import SettingError
from boostsample.experiments.cells.tasks import task_groups
from boostsample.experiments.cells.training import TrainingSplit, TrainingWatch, train_cell
from boostsample.experiments.plan.variants import parse_names
from boostsample.experiments.results.read_folder import read_results
from boostsample.family import Family, check_examples
from boostsample.learner import Learner, Targets
from boostsample.step import Step
from boostsample.strategy import Strategy, Stump
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


class Negatives(Family):
    """Columns with the other sign. A second sentence."""

    def __init__(self, n_columns: int, factor: int = 1, name: str = "negatives") -> None:
        self.n_columns, self.factor, self.name = n_columns, factor, name
        self.n_features = n_columns

    def feature_name(self, feature: SupportsIndex) -> str:
        return f"minus column {self.check_feature(feature)}"

    def compute(self, X: Any, features: ArrayLike) -> NDArray[np.float32]:
        columns = check_examples(X, (self.n_columns,), self.name)
        values: NDArray[np.float32] = columns[:, self.check_features(features)].astype(np.float32)
        values *= -self.factor
        return values


class BestOf(Learner):
    """The best of several searches."""

    name = "best-of"

    def __init__(self, n_searches: int = 2) -> None:
        self.n_searches = n_searches

    def learn(self, targets: Targets) -> list[Targets]:
        searches = [targets.search() for _ in range(self.n_searches)]
        return [targets.times(max(searches, key=lambda search: search.edge))]


class First(Strategy):
    """Searches the first feature."""

    def choose(self, step: Step) -> Stump:
        return step.search([0], step.draw(step.n_examples)).best()


class Faulty(First):
    """Fails in a method that is called before training."""

    def __init__(self, where: str = "start") -> None:
        self.where = where

    def start(self, *_: Any, **__: Any) -> None:
        self.fail("start")

    def tuning_grid(self) -> dict[str, Any]:
        self.fail("tuning_grid")
        return {"where": np.array(["choose", "search"])}

    def fail(self, method: str) -> None:
        if self.where == method:
            raise KeyError(method)


@pytest.fixture(autouse=True)
def _foreign(monkeypatch: pytest.MonkeyPatch) -> None:
    places = {
        "boostsample.strategies": {
            "first": f"{__name__}:First",
            "faulty": f"{__name__}:Faulty",
            "gone": "no_such_module:X",
            "ucb": f"{__name__}:First",
        },
        "boostsample.families": {"minus": f"{__name__}:Negatives"},
        "boostsample.learners": {"best-of": f"{__name__}:BestOf"},
    }
    small_runs.with_entry_points(monkeypatch, places)


def test_compare_takes_them(cli: CommandLine) -> None:
    names = ["--strategies", "first", "--families", "minus:factor=2,columns"]
    learner = ["--learner", "best-of:n_searches=3"]
    out = cli("compare", *OPTIONS, *names, *learner, "--results", "new")
    assert "(minus 3, columns 3), balanced initial weights" in out
    (row,) = read_results("new").rows
    assert (row["strategy"], row["learner"]) == ("first", "best-of:n_searches=3")
    entries = json.loads(Path("new/plan.json").read_bytes())["entries"]
    assert entries["learner"] == "best-of:n_searches=3"
    cli("compare --grid new/plan.json --results again --quiet")
    (again,) = read_results("again").rows
    assert {**again, "seconds": 0} == {**row, "seconds": 0}


def test_a_shared_name_is_refused(cli: CommandLine) -> None:
    line = cli.refused("compare", *OPTIONS, "--strategies", "first,ucb", "--results", "new")
    assert "the name of the strategy 'ucb' is taken by boostsample" in line
    assert not Path("new").exists()


@pytest.mark.parametrize(
    ("kind", "line"),
    [
        ("families", "[my-desk] Columns with the other sign\n"),
        ("learners", "[my-desk] The best of several searches\n"),
        ("strategies", "[my-desk] broken: the name of the strategy 'ucb' is taken by boostsample"),
        ("strategies", "[my-desk] broken: strategy 'gone' of my-desk cannot be loaded from"),
    ],
)
def test_they_are_listed(cli: CommandLine, kind: str, line: str) -> None:
    assert line in cli(f"list {kind}")


@pytest.mark.parametrize("method", ["start", "tuning_grid"])
def test_faults_of_foreign_code_are_named(cli: CommandLine, method: str) -> None:
    args = ["--strategies", f"faulty:where={method}", "--tune", "--results", "new"]
    line = cli.refused("compare", *OPTIONS, *args, code=1)
    assert f"KeyError: {method!r}; correct it" in line.replace('"', "")
    assert re.search(rf"{re.escape(__name__)}, line \d+, fail\(\) raised", line)
    assert "bug in boostsample" not in line
    assert not Path("new").exists()


def test_cells_know_foreign_code() -> None:
    def facts(**settings: Any) -> Any:
        setup = small_runs.prepared("chess(d=3,n=60)", "first", repeats=1, **settings)
        return task_groups(setup)[0][0].facts

    foreign = facts(learner="best-of", families=parse_names("minus"))
    assert foreign["learner_class"]["class"] == f"{__name__}.BestOf"
    assert len(foreign["learner_class"]["code"]) == 64
    assert foreign["families"] != facts(learner="best-of")["families"]
