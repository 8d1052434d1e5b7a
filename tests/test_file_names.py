"""Parts in Python files, by names such as ``my_file.py:Mine``."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from boostsample import BoostSampleClassifier
from boostsample.errors import SettingError
from boostsample.hashing import code_of
from boostsample.names import is_in_file, parse_name, short_name, split_name, write_name
from boostsample.registry import (
    make_learner,
    make_objective,
    make_strategy,
    named_class,
    registered_class,
)

SETTINGS: dict[str, Any] = {"learner": "stump", "n_rounds": 5, "random_state": 0}
STRATEGY = '''"""My strategies."""

from boostsample.strategies import Strategy


class Mine(Strategy):
    def __init__(self, n_features: int = 4) -> None:
        self.n_features = n_features

    def choose(self, step):
        features = step.rng.choice(step.n_features, self.n_features, replace=False)
        return step.search(features, step.draw(step.n_examples)).best()


other = 3
'''


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "my_file.py"
    path.write_text(STRATEGY, "utf-8")
    return path


def test_names_of_files_have_settings() -> None:
    assert parse_name("a/my.py:Mine:n=2") == ("a/my.py:Mine", {"n": 2})
    assert parse_name(r"C:\a\my.py:Mine") == (r"C:\a\my.py:Mine", {})
    assert parse_name("ucb:file=my.py") == ("ucb", {"file": "my.py"})
    assert write_name("a/my.py:Mine", {"n": 2}) == "a/my.py:Mine:n=2"
    assert split_name("my.py:Mine*:n=2") == ("my.py:Mine*", "n=2")
    assert [is_in_file(name) for name in ("my.py:Mine", "my.py", "ucb:n=2")] == [True, False, False]
    assert short_name(r"C:\a\my.py:Mine:path=x/y") == "my.py:Mine:path=x/y"
    for text in ("my.py", "my.py:n=2", "my.py:"):
        with pytest.raises(SettingError, match=r"name an object of the file as in my\.py:Mine"):
            parse_name(text)
    with pytest.raises(SettingError, match="must be written as name:setting=value"):
        parse_name("my.py:Mine:n")


def test_a_class_in_a_file(file: Path) -> None:
    mine = make_strategy(f"{file}:Mine:n_features=2")
    assert mine.get_params() == {"n_features": 2}
    assert type(mine) is named_class("strategy", f"{file}:Mine"), "it is imported once"
    with pytest.raises(SettingError, match=r"unknown setting of .*my_file.py:Mine 'n'; known: n_f"):
        make_strategy(f"{file}:Mine:n=2")
    with pytest.raises(SettingError, match=r"unknown strategy '.*my_file.py:Mine'"):
        registered_class("strategy", f"{file}:Mine")


def test_a_changed_file_is_another_class(file: Path, tmp_path: Path) -> None:
    before = named_class("strategy", f"{file}:Mine")
    code = code_of(before)
    moved = tmp_path / "folder" / file.name
    moved.parent.mkdir()
    moved.write_text(STRATEGY, "utf-8")
    there = named_class("strategy", f"{moved}:Mine")
    assert (there.__module__, code_of(there)) == (before.__module__, code)
    file.write_text(STRATEGY.replace("= 4", "= 5"), "utf-8")
    after = named_class("strategy", f"{file}:Mine")
    assert (before().n_features, after().n_features) == (4, 5)
    assert code_of(before) == code != code_of(after), "the code of a class is what it was made of"


@pytest.mark.parametrize(
    ("content", "name", "message"),
    [
        (None, "Mine", "the file of the strategy .*my_file.py:Mine' cannot be read: No such file"),
        (STRATEGY, "Mime", r"unknown strategy in .*my_file.py 'Mime' \(did you mean 'Mine'\?\)"),
        (STRATEGY, "other", r"must be a subclass of boostsample.Strategy, got 3; name another"),
        ("\nimport no_such_module\n", "Mine", r"cannot be imported: line 2: ModuleNotFoundError"),
        ("x = 1\nclass Mine(:\n", "Mine", "cannot be imported: line 2: SyntaxError: invalid"),
        ("def f():\n    1 / 0\nf()\n", "Mine", "cannot be imported: line 2: ZeroDivisionError"),
    ],
)
def test_faults_are_named(tmp_path: Path, content: str | None, name: str, message: str) -> None:
    file = tmp_path / "my_file.py"
    if content is not None:
        file.write_text(content, "utf-8")
    for _ in range(2):  # a file that failed is not taken for imported
        with pytest.raises(SettingError, match=message):
            make_strategy(f"{file}:{name}")


def test_learners_and_objectives(tmp_path: Path) -> None:
    file = tmp_path / "parts.py"
    file.write_text(
        "from boostsample.learners import Stump\n"
        "from boostsample.objective import AdaBoostMH\n"
        "class Twice(Stump):\n    def __init__(self, n=2):\n        self.n = n\n"
        "class Same(AdaBoostMH):\n    pass\n",
        "utf-8",
    )
    assert make_learner(f"{file}:Twice:n=3").n == 3
    assert type(make_objective(f"{file}:Same")).__name__ == "Same"


def test_the_classifier_takes_them(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 8))
    y = X[:, 2] > 0
    name = "my_file.py:Mine"
    model = BoostSampleClassifier(name, **SETTINGS).fit(X, y)
    same = BoostSampleClassifier(make_strategy(name), **SETTINGS).fit(X, y)
    assert np.array_equal(model.decision_function(X), same.decision_function(X))
    changed = clone(model).set_params(strategy__n_features=8).fit(X, y)
    assert changed.strategy == "my_file.py:Mine:n_features=8"
    assert changed.history_[0]["n_features"] == 8
    loaded = pickle.loads(pickle.dumps(copy.deepcopy(model)))
    model.save("model.bsm")
    file.unlink()  # predictions and saved models do not need it
    for again in (loaded, BoostSampleClassifier.load("model.bsm")):
        assert np.array_equal(again.decision_function(X), model.decision_function(X))
        assert again.get_params()["strategy"] == name
    with pytest.raises(SettingError, match="cannot be read"):
        clone(model).fit(X, y)


def test_a_saved_model_runs_no_file(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    X, y = np.eye(8), np.arange(8) < 4
    model = BoostSampleClassifier("my_file.py:Mine", **SETTINGS).fit(X, y)
    model.save("model.bsm")
    file.write_text(f"open({str(tmp_path / 'run')!r}, 'w')\n", "utf-8")
    repr(BoostSampleClassifier.load("model.bsm").get_params())
    assert not (tmp_path / "run").exists()
