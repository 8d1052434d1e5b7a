"""Settings of strategies and learners given by name, as parameters in searches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from boostsample import BoostSampleClassifier, SettingError
from boostsample.learners import Tree
from boostsample.strategies import UCB
from tests.classifier.conftest import Data


def nested(model: BoostSampleClassifier) -> dict[str, Any]:
    return {name: value for name, value in model.get_params().items() if "__" in name}


def edges(model: BoostSampleClassifier) -> list[float]:
    return [row["edge"] for row in model.history_]


def test_they_are_listed_as_those_of_instances() -> None:
    by_name = BoostSampleClassifier("ucb:exploration=0.5", "tree:n_leaves=3")
    by_instance = BoostSampleClassifier(UCB(exploration=0.5), "stump")
    limits = {"learner__min_leaf": 1, "learner__min_weight": 0.0, "learner__max_depth": None}
    of_tree = {"learner__n_leaves": 3, **limits}
    assert nested(by_name) == {**nested(by_instance), **of_tree}
    assert nested(by_name)["strategy__exploration"] == 0.5
    assert not {name for name in by_name.get_params(deep=False) if "__" in name}
    assert (
        nested(BoostSampleClassifier("laminating:scheme=distinct"))["strategy__scheme"]
        == "distinct"
    )
    assert nested(BoostSampleClassifier()) == {**of_tree, "learner__n_leaves": None}


def test_setting_one_writes_it_into_the_name() -> None:
    model = BoostSampleClassifier("ucb", "tree")
    model.set_params(strategy__exploration=0.5, learner__n_leaves=np.int64(4), n_rounds=3)
    assert (model.strategy, model.learner) == ("ucb:exploration=0.5", "tree:n_leaves=4")
    model.set_params(strategy__exploration=1e-05)
    assert model.strategy == "ucb:exploration=1e-05"
    assert clone(model).get_params() == model.get_params()
    model.set_params(strategy="laminating", strategy__scheme="distinct", strategy__n_features=None)
    assert model.strategy == "laminating:scheme=distinct:n_features=None"
    assert nested(model)["strategy__n_features"] is None
    instance = BoostSampleClassifier(UCB(), "tree").set_params(strategy__exploration=0.5)
    assert nested(instance)["strategy__exploration"] == 0.5


def test_a_grid_search_reaches_them(iris: Data) -> None:
    model = BoostSampleClassifier("ucb", "tree", n_rounds=2, families={"a": "0-1", "b": "2-3"})
    grid = {"strategy__exploration": [0.1, 1.0], "learner__n_leaves": [2, 4]}
    found = GridSearchCV(model.set_params(random_state=0), grid, cv=2).fit(*iris)
    assert set(found.best_params_) == set(grid)
    tried = [one["strategy__exploration"] for one in found.cv_results_["params"]]
    assert sorted(set(tried)) == [0.1, 1.0]
    best = found.best_estimator_
    assert best.strategy == f"ucb:exploration={found.best_params_['strategy__exploration']}"
    assert best.learner == f"tree:n_leaves={found.best_params_['learner__n_leaves']}"
    assert best.strategy_.exploration == found.best_params_["strategy__exploration"]
    piped = make_pipeline(StandardScaler(), model)
    piped.set_params(boostsampleclassifier__strategy__exploration=2)
    assert piped[-1].strategy == "ucb:exploration=2"


def test_the_default_learner_takes_the_settings_of_its_tree(
    iris: Data,
) -> None:
    model = BoostSampleClassifier(n_rounds=1, random_state=0)
    model.set_params(learner__n_leaves=5)
    assert (model.learner, nested(model)["learner__n_leaves"]) == ("auto:n_leaves=5", 5)
    five = BoostSampleClassifier(learner="tree:n_leaves=5", n_rounds=1, random_state=0)
    assert edges(model.fit(*iris)) == edges(five.fit(*iris))
    model.set_params(**model.get_params())
    assert model.learner == "auto:n_leaves=5:min_leaf=1:min_weight=0.0:max_depth=None"
    assert edges(model.fit(*iris)) == edges(five)
    model.set_params(learner__n_leaves=None)
    default = BoostSampleClassifier(n_rounds=1, random_state=0)
    assert edges(model.fit(*iris)) == edges(default.fit(*iris)) != edges(five)
    with pytest.raises(SettingError, match="n_leaves must be an integer at least 2, got 1"):
        model.set_params(learner__n_leaves=1).fit(*iris)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"strategy__explore": 1},
            "unknown setting of the strategy 'ucb' 'explore' .did you mean 'exploration'.*known: ",
        ),
        ({"learner__n_leaves": 1}, "unknown setting of the learner 'stump' 'n_leaves'; known: $"),
        (
            {"strategy": "auto", "strategy__scheme": "iid"},
            "has a name, but it is 'auto'; set strat",
        ),
        ({"learner": "auto", "learner__leaves": 3}, "setting of the learner 'auto' 'leaves' .did"),
        ({"learner": Tree(3), "learner__n_leaves": 4}, "can be set if it is a name, got <.*Tree"),
        ({"strategy__exploration": [1]}, r"settings .'exploration': \[1\]. of ucb cannot be writ"),
    ],
)
def test_what_cannot_be_set(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        BoostSampleClassifier("ucb", "stump").set_params(**settings)


@pytest.mark.parametrize("strategy", ["lam", "ucb:exploration", "ucb:exploration=", "", 3, None])
def test_wrong_names_have_no_settings_but_can_be_shown(strategy: Any) -> None:
    model = BoostSampleClassifier(strategy, "stump", n_rounds=1)
    assert nested(model) == {}
    assert clone(model).get_params()["strategy"] == strategy
    assert "BoostSampleClassifier" in repr(model)
    assert "BoostSampleClassifier" in model._repr_html_()
