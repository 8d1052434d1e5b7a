"""Warm start: further rounds have the bits of one longer fit, or an error says why not."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.datasets import load_digits

from boostsample import Booster, BoostSampleClassifier, DataError, SettingError
from tests.classifier.stump_fits import classifier

Data = tuple[NDArray[Any], NDArray[Any]]


@pytest.fixture(scope="module")
def digits() -> Data:
    X, y = load_digits(return_X_y=True)
    return X[:400], y[:400]


def rows(model: BoostSampleClassifier) -> list[dict[str, Any]]:
    return [{**row, "seconds": 0} for row in model.history_]


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"learner": "product:n_terms=2"},
        {"learner": "tree:n_leaves=4"},
        {"learner": "tree:n_leaves=4", "learning_rate": 0.2, "smoothing": 0.01},
        {"strategy": "ucb", "families": {"top": "0-31", "bottom": "32-63"}},
        {"strategy": "mas-naive", "weight_init": "uniform"},
        {"early_stopping": True, "calibration": "temperature"},
        {"bank": "lazy:reference=100"},
    ],
)
def test_two_fits_are_one_longer_fit(digits: Data, settings: dict[str, Any]) -> None:
    X, y = digits
    weight = np.random.default_rng(0).random(len(y)) + 0.5
    model = classifier(n_rounds=7, warm_start=True, random_state=0, **settings)
    model.fit(X, y, sample_weight=weight)
    model.set_params(n_rounds=16).fit(X, y, sample_weight=weight)
    whole = classifier(n_rounds=16, random_state=0, **settings)
    whole.fit(X, y, sample_weight=weight)
    if "bank" in settings:  # what was computed depends on the fit
        columns = ("feature", "threshold", "edge", "alpha", "log10_loss")
        values = [[[row[c] for c in columns] for row in rows(fitted)] for fitted in (model, whole)]
        assert values[0] == values[1]
    else:
        assert rows(model) == rows(whole)
    np.testing.assert_array_equal(model.decision_function(X), whole.decision_function(X))
    np.testing.assert_array_equal(model.predict_proba(X), whole.predict_proba(X))
    np.testing.assert_array_equal(model.term_importances_, whole.term_importances_)
    if "early_stopping" in settings:
        np.testing.assert_array_equal(model.validation_error_, whole.validation_error_)


def test_it_goes_on_after_pickling_and_without_a_seed(digits: Data) -> None:
    X, y = digits
    stream = np.random.RandomState(5)
    model = classifier(n_rounds=6, warm_start=True, random_state=stream)
    again = pickle.loads(pickle.dumps(model.fit(X, y)))
    again.set_params(n_rounds=12).fit(X, y)
    whole = classifier(n_rounds=12, random_state=np.random.RandomState(5)).fit(X, y)
    assert rows(again) == rows(whole)


def test_the_first_fit_may_be_a_cold_one(digits: Data) -> None:
    X, y = digits
    model = classifier(n_rounds=4, random_state=0).fit(X, y)
    model.set_params(warm_start=True, n_rounds=8).fit(X, y)
    assert rows(model) == rows(classifier(n_rounds=8, random_state=0).fit(X, y))
    assert rows(model.fit(X, y)) == rows(clone(model).fit(X, y))  # no more rounds: no change
    assert len(model.set_params(warm_start=False, n_rounds=3).fit(X, y).history_) == 3


@pytest.mark.parametrize(
    ("settings", "data", "error", "message"),
    [
        ({"warm_start": "no"}, "same", SettingError, "warm_start must be True or False, got 'no'"),
        ({"n_rounds": 4}, "same", SettingError, "n_rounds must be at least the 5 rounds trained"),
        ({"budget": 999}, "same", SettingError, "these differ: budget 4000, now 999"),
        ({"learner": "tree"}, "same", SettingError, "learner StumpLearner .*, now Tree"),
        ({"weight_init": "uniform"}, "same", SettingError, "weight_init balanced, now uniform"),
        ({"learning_rate": 0.5}, "same", SettingError, "these differ: learning_rate 0.2, now 0.5"),
        ({}, "other labels", DataError, "their number, order, labels or weights differ"),
        ({}, "fewer columns", SettingError, "number of features 64, now 60"),
        ({}, "other values", DataError, "same X, but its features differ"),
        ({}, "other column", DataError, "same X, but its features differ"),
        ({"random_state": 1}, "same", SettingError, "random_state differs, now 1"),
        ({"bank": "lazy"}, "same", DataError, "same X, but its features differ"),
    ],
)
def test_what_differs_is_named(
    digits: Data, settings: dict[str, Any], data: str, error: type[Exception], message: str
) -> None:
    X, y = digits
    model = classifier(n_rounds=5, warm_start=True, random_state=0).fit(X, y)
    before = model.decision_function(X)
    data_of_fit = {
        "same": (X, y),
        "other labels": (X, np.roll(y, 1)),
        "fewer columns": (X[:, :60], y),
        "other values": (X[::-1], y),
        "other column": (other_in_an_unused_column(model, X), y),
    }[data]
    model.set_params(**{"n_rounds": 9, **settings})
    with pytest.raises(error, match=message):
        model.fit(*data_of_fit)
    np.testing.assert_array_equal(model.decision_function(X), before)


def other_in_an_unused_column(model: BoostSampleClassifier, X: Any) -> Any:
    """X with the values of a column that the model does not read in another order."""
    changed = X.copy()
    varies = X.min(axis=0) < X.max(axis=0)
    column = np.flatnonzero((model.feature_importances_ == 0) & varies)[0]
    changed[:, column] = X[::-1, column]
    return changed


@pytest.mark.parametrize("ends", ["refused", "interrupted"])
def test_a_fit_that_ends_early_leaves_the_fitted_classifier(
    digits: Data, ends: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = digits
    names = np.array([f"digit {label}" for label in range(10)])
    model = classifier(n_rounds=5, random_state=0).fit(X, y)

    def interrupt(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    if ends == "refused":
        model.set_params(budget="0N")
    else:
        monkeypatch.setattr("boostsample.estimator.train", interrupt)
    before = dict(vars(model))
    with pytest.raises((SettingError, KeyboardInterrupt)):
        model.fit(X[:, :60], names[y])
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is value for name, value in before.items())


def test_a_strategy_with_a_plan_is_not_continued(digits: Data) -> None:
    X, y = digits
    families = {"top": "0-31", "bottom": "32-63"}
    model = BoostSampleClassifier("exp3p", n_rounds=5, warm_start=True, random_state=0)
    model.set_params(families=families).fit(X, y)
    with pytest.raises(SettingError, match="depends on the number of rounds planned, 5"):
        model.set_params(n_rounds=9).fit(X, y)


def test_a_loaded_model_has_no_run_to_continue(digits: Data) -> None:
    X, y = digits
    model = classifier(n_rounds=5, warm_start=True, random_state=0).fit(X, y)
    del model._run
    with pytest.raises(SettingError, match=r"holds the model only, or .*; set warm_start=False"):
        model.fit(X, y)


def test_only_other_weights_are_taken_for_another_x(
    digits: Data, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = classifier(n_rounds=2, warm_start=True, random_state=0).fit(*digits)

    def replay(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(Booster, "replay", replay)
    with pytest.raises(ZeroDivisionError):
        model.set_params(n_rounds=3).fit(*digits)
