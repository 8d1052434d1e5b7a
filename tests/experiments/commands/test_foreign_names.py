"""Strategies, families and learners of other distributions on the command line."""

from __future__ import annotations

import json
import re
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any, SupportsIndex

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray

from boostsample import registry
from boostsample.experiments.cells.tasks import task_groups
from boostsample.experiments.plan.variants import parse_names
from boostsample.experiments.results.read_folder import read_results
from boostsample.family import Family, check_examples
from boostsample.learner import Learner, Targets
from boostsample.step import Step
from boostsample.strategy import Strategy, Stump
from tests.experiments import small_runs
from tests.experiments.conftest import CommandLine


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


class _Distribution:
    name = "my-desk"


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

    def entry_points(group: str) -> list[Any]:
        points = [EntryPoint(name, place, group) for name, place in places.get(group, {}).items()]
        for point in points:
            vars(point)["dist"] = _Distribution()
        return points

    monkeypatch.setattr(registry, "entry_points", entry_points)


OPTIONS = ["--data", "chess(d=3,n=60)", "--rounds", "2", "--repeats", "1", "--quiet"]


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
