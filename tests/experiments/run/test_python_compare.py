"""`compare` in Python: names and instances, any data, the folder of the command."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

from boostsample.errors import SettingError
from boostsample.experiments import compare as exported
from boostsample.experiments.plan.plan import Plan
from boostsample.experiments.results.read_folder import read_results
from boostsample.experiments.run.comparison import compare
from boostsample.step import Step
from boostsample.strategies import UCB, UniformNaive
from boostsample.strategy import Strategy, Stump
from tests.experiments.conftest import CommandLine
from tests.experiments.small_runs import timeless

ROUNDS: dict[str, Any] = {"rounds": [2, 5], "repeats": 2}


class Mine(Strategy):
    """Searches random features on all examples."""

    def __init__(self, n_features: int = 2) -> None:
        self.n_features = n_features

    def choose(self, step: Step) -> Stump:
        features = step.sample_features(self.n_features)
        return step.search(features, step.draw(step.n_examples)).best()


def test_the_folder_is_that_of_the_command(cli: CommandLine) -> None:
    assert exported is compare
    named = ["uniform-naive:n_features=3", "laminating"]
    args = ["--data", "chess(d=3,n=90)", "--strategies", ",".join(named), "--rounds", "2,5"]
    cli("compare", *args, "--repeats", "2", "--results", "a", "--quiet")
    instances = [UniformNaive(n_features=3), "laminating"]
    made = compare("chess(d=3,n=90)", strategies=instances, results="b", **ROUNDS)
    assert timeless(made) == timeless(read_results("a")) == timeless(read_results("b"))
    keys = [sorted(path.name for path in Path(f"{name}/cells").glob("*.npz")) for name in "ab"]
    assert keys[0] == keys[1]
    assert cli("table a") == cli("table b")
    cli("report b -o b.html")
    cli("compare --grid b/plan.json --results c --quiet")
    assert timeless(read_results("c")) == timeless(made)


def test_instances_of_own_classes_have_the_same_rows_in_processes() -> None:
    strategies = [Mine(), Mine(3), UCB(exploration=0.5)]
    one_process, processes = (
        compare("chess(d=3,n=90)", strategies=strategies, backend=backend, **ROUNDS)
        for backend in ("serial", "loky")
    )
    assert timeless(one_process) == timeless(processes)
    names = [(row["strategy"], row["settings"]) for row in one_process.rows[::4]]
    assert names == [("Mine", ""), ("Mine", "n_features=3"), ("ucb", "exploration=0.5")]


def test_arrays_and_frames() -> None:
    X, y = load_iris(return_X_y=True)
    names = np.array(["a", "b", "c"])[y]
    results = [
        compare((features, labels), strategies=["laminating", Mine()], results=folder, **ROUNDS)
        for features, labels, folder in ((X, y, None), (pd.DataFrame(X), names, "new"))
    ]
    assert timeless(results[0]) == timeless(results[1])
    again = compare((X, names), strategies=["laminating", Mine()], **ROUNDS)
    assert timeless(again) == timeless(read_results("new"))
    assert results[0].to_frame("curves")["test_error"].min() < 20


def test_faults() -> None:
    with pytest.raises(SettingError, match="unknown setting of compare 'round'"):
        compare(round=3)
    with pytest.raises(SettingError, match="strategies must be names or instances of Strategy"):
        compare(strategies=[Mine])
    wrong: Any = np.arange(3)
    with pytest.raises(SettingError, match="settings of Mine must be None, bools, numbers"):
        compare(strategies=[Mine(wrong)])


def test_axes_and_limits_are_settings_in_python() -> None:
    results = compare(
        "chess",
        strategies="uniform-naive",
        budget=["1N", "2N"],
        max_looks=1e5,
        rounds=5,
        repeats=1,
    )
    assert results.at_marks["budget"].tolist() == ["1N", "2N"]


def test_a_plan_and_settings_are_refused_together() -> None:
    with pytest.raises(SettingError, match=r"a plan or settings, got both; leave out rounds"):
        compare("chess", Plan(), rounds=[5])
