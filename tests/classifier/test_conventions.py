"""scikit-learn's conventions, recipes, callbacks and searches, for every learner and way to search.

Expected failures have a reason that scikit-learn's own AdaBoostClassifier shares.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import StackingClassifier, VotingClassifier
from sklearn.feature_selection import RFE, SelectFromModel
from sklearn.inspection import partial_dependence, permutation_importance
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import (
    GridSearchCV,
    TunedThresholdClassifierCV,
    cross_val_predict,
    learning_curve,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from boostsample import BoostSampleClassifier, SettingError
from boostsample.learners import Tree
from boostsample.registry import registered_names
from boostsample.strategies import UCB
from tests.classifier.conftest import Data

STRATEGIES = ("full", "uniform-1q", "ucb", "laminating", "adaptive-halving", "weight-trimming")
"""One of each way to search: all, at random, by a bandit, by races, and on a part of the rows."""

#: A part of the same reason: with few rounds, other strategies find the same stumps by chance.
DRAWS_MATTER = ("auto", "weight-trimming")
#: Three rounds on the heaviest examples are too few for the blobs of `check_classifiers_train`.
MORE_ROUNDS = {"weight-trimming": 20}
#: Strategies of learners that need searches on one sample.
SEARCHES = {"oblivious-tree": "uniform-naive:n_features=1:scheme=distinct"}

ESTIMATORS = [
    BoostSampleClassifier(n_rounds=20),
    *(
        BoostSampleClassifier(name, "stump", n_rounds=MORE_ROUNDS.get(name, 3), learning_rate=1.0)
        for name in STRATEGIES
    ),
    BoostSampleClassifier("full", "stump", n_rounds=6, learning_rate=1.0, code="exhaustive"),
    *(
        BoostSampleClassifier(SEARCHES.get(name, "uniform-q1"), name, n_rounds=3, learning_rate=1.0)
        for name in registered_names("learner")
        if name != "stump"
    ),
]


def expected_failures(estimator: BoostSampleClassifier) -> dict[str, str]:
    failures = {}
    if estimator.strategy in DRAWS_MATTER:
        for kind in ("dense", "sparse"):  # in scikit-learn's list for AdaBoostClassifier, too
            failures[f"check_sample_weight_equivalence_on_{kind}_data"] = (
                "sample_weight is not equivalent to removing or repeating samples: they are drawn "
                "at random, and T = 10 N / Q changes with the number of rows"
            )
    if estimator.learner in ("tree", "oblivious-tree"):
        failures["check_class_weight_classifiers"] = (
            "a leaf that holds examples of one class alone votes for it, whatever its weight; so "
            "do the trees of scikit-learn's AdaBoostClassifier"
        )
    if estimator.learner == "product":
        failures["check_class_weight_classifiers"] = (
            "weights 10^7 apart: each further term is right on some light examples, and raises the "
            "edge of 1 - 2e-7 by 5e-9"
        )
    return failures


@pytest.mark.global_random
@parametrize_with_checks(  # type: ignore[untyped-decorator]  # scikit-learn is untyped
    ESTIMATORS, expected_failed_checks=expected_failures
)
def test_scikit_learn_conventions(estimator: Any, check: Any) -> None:
    check(estimator)


CV: dict[str, Any] = {"cv": 3}
STUMPS = BoostSampleClassifier("full", "stump", n_rounds=40, learning_rate=1.0, random_state=0)
MODELS = [("ours", STUMPS), ("linear", LogisticRegression())]


@pytest.fixture(scope="module")
def data() -> Data:
    """Eight columns, of which the first two are useful."""
    X = np.random.default_rng(0).normal(size=(300, 8))
    return X, (X[:, 0] + X[:, 1] > 0).astype(int)


def useful(importances: Any) -> bool:
    """Whether the two useful columns have the largest importances, or are the chosen ones."""
    return set(np.argsort(np.asarray(importances, float))[-2:].tolist()) == {0, 1}


def rises(curve: tuple[Any, ...]) -> bool:
    return bool(curve[2].mean(axis=1)[-1] > curve[2].mean(axis=1)[0] - 0.05)


RECIPES: dict[str, Callable[[Any, Any], Any]] = {
    "soft voting": lambda X, y: VotingClassifier(MODELS, voting="soft").fit(X, y).score(X, y) > 0.9,
    "stacking": lambda X, y: StackingClassifier(MODELS, **CV).fit(X, y).score(X, y) > 0.9,
    "a pipeline": lambda X, y: (
        make_pipeline(StandardScaler(), clone(STUMPS)).fit(X, y).score(X, y) == STUMPS.score(X, y)
    ),
    "calibration": lambda X, y: (
        log_loss(y, CalibratedClassifierCV(STUMPS, **CV).fit(X, y).predict_proba(X)) < 0.4
    ),
    "a threshold": lambda X, y: (
        TunedThresholdClassifierCV(STUMPS, scoring="recall", **CV)
        .fit(X, y)
        .predict(X)[y == 1]
        .all()
    ),
    "cross_val_predict": lambda X, y: (
        log_loss(y, cross_val_predict(STUMPS, X, y, method="predict_proba", **CV)) < 0.4
    ),
    "learning_curve": lambda X, y: rises(learning_curve(STUMPS, X, y, train_sizes=[0.2, 1], **CV)),
    "permutation_importance": lambda X, y: useful(
        permutation_importance(STUMPS, X, y, random_state=0).importances_mean
    ),
    "partial_dependence": lambda X, y: (
        np.ptp(partial_dependence(STUMPS, X, [0], grid_resolution=5)["average"])
        > np.ptp(partial_dependence(STUMPS, X, [7], grid_resolution=5)["average"])
    ),
    "SelectFromModel": lambda X, y: useful(
        SelectFromModel(STUMPS, max_features=2).fit(X, y).get_support()
    ),
    "RFE": lambda X, y: useful(RFE(STUMPS, n_features_to_select=2).fit(X, y).support_),
}


@pytest.mark.parametrize("recipe", RECIPES)
def test_recipes_of_scikit_learn(recipe: str, data: Data) -> None:
    STUMPS.fit(*data)
    assert RECIPES[recipe](*data)


try:
    import sklearn.callback as sklearn_callback
except ImportError:
    sklearn_callback = None
needs_callbacks = pytest.mark.skipif(
    sklearn_callback is None, reason="scikit-learn has callbacks from 1.9 on"
)


class Recorder:
    """Notes each call; asks to stop after the round of a number."""

    def __init__(self, last: int = 10**9) -> None:
        self.calls: list[tuple[str, str, int]] = []
        self.last = last

    def setup(self, estimator: Any, context: Any) -> None:
        self.calls.append(("setup", context.task_name, context.max_subtasks))

    def teardown(self, estimator: Any, context: Any) -> None:
        self.calls.append(("teardown", context.task_name, context.task_id))

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        self.calls.append(("begin", context.task_name, context.task_id))

    def on_fit_task_end(self, estimator: Any, context: Any) -> bool:
        self.calls.append(("end", context.task_name, context.task_id))
        return bool(context.task_name == "round" and context.task_id == self.last)


@needs_callbacks
def test_each_round_is_a_task(iris: Data) -> None:
    recorder = Recorder()
    BoostSampleClassifier(n_rounds=2, random_state=0).set_callbacks(recorder).fit(*iris)
    assert recorder.calls == [
        ("setup", "fit", 2),
        ("begin", "fit", 0),
        ("begin", "round", 0),
        ("end", "round", 0),
        ("begin", "round", 1),
        ("end", "round", 1),
        ("end", "fit", 0),
        ("teardown", "fit", 0),
    ]


@needs_callbacks
def test_callbacks_change_no_bit_and_may_end_the_fit(iris: Data) -> None:
    X, y = iris
    plain = BoostSampleClassifier(n_rounds=5, random_state=0).fit(X, y)
    model = BoostSampleClassifier(n_rounds=50, random_state=0).set_callbacks(Recorder(4)).fit(X, y)
    assert model.n_rounds_ == 5
    np.testing.assert_array_equal(model.decision_function(X), plain.decision_function(X))


@needs_callbacks
def test_scores_of_each_round_are_those_of_the_stages(iris: Data) -> None:
    X, y = iris
    assert sklearn_callback is not None
    monitor = sklearn_callback.ScoringMonitor(scoring="neg_log_loss")
    model = (
        BoostSampleClassifier(n_rounds=6, calibration=None, random_state=0)
        .set_callbacks(monitor)
        .fit(X, y)
    )
    logs = [row for row in monitor.get_logs().data if row["task_name"] == "round"]
    expected = [-log_loss(y, one) for one in model.staged_predict_proba(X)]
    assert [row["neg_log_loss"] for row in logs] == pytest.approx(expected)


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
    model.set_params(learner__n_leaves=3)
    assert (model.learner, nested(model)["learner__n_leaves"]) == ("auto:n_leaves=3", 3)
    three = BoostSampleClassifier(learner="tree:n_leaves=3", n_rounds=1, random_state=0)
    assert edges(model.fit(*iris)) == edges(three.fit(*iris))
    model.set_params(**model.get_params())
    assert model.learner == "auto:n_leaves=3:min_leaf=1:min_weight=0.0:max_depth=None"
    assert edges(model.fit(*iris)) == edges(three)
    model.set_params(learner__n_leaves=None)
    default = BoostSampleClassifier(n_rounds=1, random_state=0)
    assert edges(model.fit(*iris)) == edges(default.fit(*iris)) != edges(three)
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
