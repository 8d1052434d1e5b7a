"""A fit continues a model by its definition; warm starts have the bits of one longer fit."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits

from boostsample import BoostSampleClassifier, DataError, SettingError
from boostsample.families import Haar, Identity
from boostsample.labels import encode
from boostsample.loop.booster import Booster
from boostsample.models.model import Model
from boostsample.rows.weights import continued_weights, initial_weights
from tests.classifier.conftest import Data, classifier
from tests.problems import bank_of, noisy_labels, table


@pytest.fixture(scope="module")
def digits() -> Data:
    X, y = load_digits(return_X_y=True)
    return X.reshape(-1, 8, 8)[:600], y[:600]


@pytest.fixture(scope="module")
def first(digits: Data) -> BoostSampleClassifier:
    return fitted(digits, families="identity")


def fitted(digits: Data, init_model: Any = None, **settings: Any) -> BoostSampleClassifier:
    usual = {"strategy": "laminating:scheme=distinct", "learner": "stump"}
    parameters: dict[str, Any] = {"n_rounds": 12, "random_state": 0, **usual, **settings}
    return BoostSampleClassifier(**parameters).fit(*digits, init_model=init_model)


def exponential_loss(model: BoostSampleClassifier, digits: Data) -> float:
    X, y = digits
    labels = encode(y, 10)
    weights = initial_weights(labels, "balanced") / len(y)
    return float(np.log10((weights * np.exp(-labels * model.decision_function(X))).sum()))


@pytest.mark.parametrize("learner", ["stump", "product", "tree:n_leaves=4"])
@pytest.mark.parametrize(
    ("how", "learning_rate"), [("file", 1.0), ("classifier", 0.1), ("model", 1.0)]
)
def test_a_model_grows(
    first: BoostSampleClassifier,
    digits: Data,
    learner: str,
    how: str,
    learning_rate: float,
    tmp_path: Path,
) -> None:
    first.save(tmp_path / "a.bsm")
    start = {"file": tmp_path / "a.bsm", "classifier": first, "model": first.model_}[how]
    more = fitted(digits, start, learner=learner, learning_rate=learning_rate)
    assert len(more.model_) == 24
    assert more.model_.families == first.model_.families
    np.testing.assert_array_equal(more.model_.alpha[:12], first.model_.alpha)
    np.testing.assert_array_equal(more.model_.feature[:12], first.model_.feature)
    assert more.history_[0]["round"] == 1
    assert exponential_loss(first, digits) == pytest.approx(first.history_[-1]["log10_loss"])
    assert exponential_loss(more, digits) == pytest.approx(more.history_[-1]["log10_loss"])
    assert more.history_[0]["log10_loss"] < first.history_[-1]["log10_loss"]
    assert more.score(*digits) > first.score(*digits) or learning_rate < 1.0


@pytest.mark.parametrize("objectives", [("mh", "real-mh"), ("gentle", "mh")])
def test_products_and_values_continue_each_other(digits: Data, objectives: Any) -> None:
    learner = {"mh": "product", "real-mh": "stump", "gentle": "tree:n_leaves=3"}
    before, after = (
        {"families": "identity", "objective": name, "learner": learner[name], "n_rounds": 6}
        for name in objectives
    )
    first = fitted(digits, **before)
    more = fitted(digits, first, **after)
    of_first = more.model_.decision_function(digits[0], 6)
    np.testing.assert_allclose(of_first, first.decision_function(digits[0]), rtol=1e-9, atol=1e-12)
    assert exponential_loss(more, digits) == pytest.approx(more.history_[-1]["log10_loss"])


def test_full_search_continues_as_if_it_had_not_stopped() -> None:
    """A strategy without randomness finds the same stumps in one fit and in two."""
    X, Y = table(80, 6), noisy_labels(80)
    bank = bank_of(X)
    settings: dict[str, Any] = {"strategy": "full", "rng": 0}
    whole = Booster(bank, None, Y, n_rounds=14, **settings)
    terms = [term for _ in range(8) for term in whole.next_round().terms]
    scores = Model(bank.families, terms, 3).decision_function(X)
    rest = Booster(bank, None, Y, n_rounds=6, scores=scores, **settings)
    for _ in range(6):
        straight, other = whole.next_round(), rest.next_round()
        assert [t.feature for t in straight.terms] == [t.feature for t in other.terms]
        assert straight.edge == pytest.approx(other.edge, rel=1e-5)
        want = straight.rows[-1]["log10_loss"]
        assert other.rows[-1]["log10_loss"] == pytest.approx(want, rel=1e-5)


def test_weights_are_those_of_the_definition() -> None:
    rng = np.random.default_rng(0)
    Y, scores = noisy_labels(50), 3 * rng.normal(size=(50, 3))
    u = initial_weights(Y, "balanced") * rng.exponential(size=(50, 1))
    weights, log_loss = continued_weights(u, Y, scores)
    want = u * np.exp(-Y * scores)
    np.testing.assert_allclose(weights / weights.sum(), want / want.sum(), rtol=1e-12)
    assert log_loss == pytest.approx(np.log(want.sum() / u.sum()))


@pytest.mark.parametrize("size", [1e3, 1e6, 1e300])
def test_scores_of_any_size(size: float) -> None:
    X, Y = table(80, 6), noisy_labels(80)
    scores = size * np.random.default_rng(0).choice([-1.0, 1.0], Y.shape)
    booster = Booster(bank_of(X), None, Y, "full", n_rounds=3, rng=0, scores=scores)
    losses = [booster.next_round().rows[-1]["log10_loss"] for _ in range(3)]
    assert np.isfinite(losses).all()
    assert losses[0] == pytest.approx((-Y * scores).max() / np.log(10), rel=1e-2)


def test_categories_are_those_of_the_model() -> None:
    import pandas

    y = np.random.default_rng(0).integers(0, 2, 60)
    colours = np.array(["red", "blue", "green"])
    frame = pandas.DataFrame({"size": table(60, 1)[:, 0], "colour": colours[np.arange(60) % 3]})
    model = BoostSampleClassifier(n_rounds=3, random_state=0).fit(frame, y)
    other = frame.replace({"colour": {"red": "black"}})
    more = BoostSampleClassifier(n_rounds=3, random_state=0).fit(other, y, init_model=model)
    assert more.columns_ is model.columns_
    assert more.decision_function(other).shape == (60,)
    with pytest.raises(DataError, match="X must have the 2 columns of init_model, got 1"):
        BoostSampleClassifier().fit(frame[["size"]], y, init_model=model)


def test_numbers_may_be_objects() -> None:
    import pandas

    frame = pandas.DataFrame({"a": table(60, 1)[:, 0], "b": np.arange(60) % 2 == 0})
    y = np.random.default_rng(0).integers(0, 2, 60)
    model = BoostSampleClassifier(n_rounds=3, random_state=0).fit(frame, y)
    plain, objects = (
        BoostSampleClassifier(n_rounds=3, random_state=0)
        .fit(X, y, init_model=model)
        .decision_function(X)
        for X in (frame, frame.astype(object))
    )
    np.testing.assert_array_equal(plain, objects)


@pytest.mark.parametrize(
    ("settings", "change", "error", "message"),
    [
        ({}, lambda X, y: (X, y % 3), DataError, "y must have the classes of init_model"),
        ({}, lambda X, y: (X[:, :4], y), DataError, "n_features_in_ 8"),
        ({"families": "text"}, None, SettingError, "must read the same X as those of init_model"),
        (
            {"families": [Haar((8, 8), name="identity")]},
            None,
            SettingError,
            "the family 'identity' differs from that of init_model; give it another name",
        ),
    ],
)
def test_what_does_not_fit(
    first: BoostSampleClassifier,
    digits: Data,
    settings: dict[str, Any],
    change: Any,
    error: type[Exception],
    message: str,
) -> None:
    data = digits if change is None else change(*digits)
    with pytest.raises(error, match=message):
        fitted(data, first, **settings)


def test_what_is_no_model(digits: Data, first: BoostSampleClassifier) -> None:
    for wrong in (3, BoostSampleClassifier()):
        with pytest.raises(SettingError, match="init_model must be a model file, a fitted"):
            fitted(digits, wrong)
    with pytest.raises(DataError, match="cannot be read"):
        fitted(digits, "none.bsm")
    with pytest.raises(DataError, match="y must have as many labels as init_model, 10, got 3"):
        fitted((digits[0], digits[1] % 3), first.model_)


def test_new_families_follow_those_of_the_model(first: BoostSampleClassifier, digits: Data) -> None:
    families = [Haar((8, 8)), Identity((8, 8))]
    more = fitted(digits, first, families=families, n_rounds=40)
    assert more.model_.families == (Identity((8, 8)), Haar((8, 8)))
    assert {row["family"] for row in more.history_} == {"identity", "haar"}
    before, after = first.decision_function(digits[0]), more.model_.decision_function(digits[0], 12)
    np.testing.assert_allclose(after, before, atol=1e-12)
    assert exponential_loss(more, digits) == pytest.approx(more.history_[-1]["log10_loss"])


@pytest.fixture(scope="module")
def tables() -> Data:
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
def test_two_fits_are_one_longer_fit(tables: Data, settings: dict[str, Any]) -> None:
    X, y = tables
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


def test_it_goes_on_after_pickling_and_without_a_seed(tables: Data) -> None:
    X, y = tables
    stream = np.random.RandomState(5)
    model = classifier(n_rounds=6, warm_start=True, random_state=stream)
    again = pickle.loads(pickle.dumps(model.fit(X, y)))
    again.set_params(n_rounds=12).fit(X, y)
    whole = classifier(n_rounds=12, random_state=np.random.RandomState(5)).fit(X, y)
    assert rows(again) == rows(whole)


def test_the_first_fit_may_be_a_cold_one(tables: Data) -> None:
    X, y = tables
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
    tables: Data, settings: dict[str, Any], data: str, error: type[Exception], message: str
) -> None:
    X, y = tables
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
    tables: Data, ends: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = tables
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


def test_a_strategy_with_a_plan_is_not_continued(tables: Data) -> None:
    X, y = tables
    families = {"top": "0-31", "bottom": "32-63"}
    model = BoostSampleClassifier("exp3p", n_rounds=5, warm_start=True, random_state=0)
    model.set_params(families=families).fit(X, y)
    with pytest.raises(SettingError, match="depends on the number of rounds planned, 5"):
        model.set_params(n_rounds=9).fit(X, y)


def test_a_loaded_model_has_no_run_to_continue(tables: Data) -> None:
    X, y = tables
    model = classifier(n_rounds=5, warm_start=True, random_state=0).fit(X, y)
    del model._run
    with pytest.raises(SettingError, match=r"holds the model only, or .*; set warm_start=False"):
        model.fit(X, y)


def test_only_other_weights_are_taken_for_another_x(
    tables: Data, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = classifier(n_rounds=2, warm_start=True, random_state=0).fit(*tables)

    def replay(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(Booster, "replay", replay)
    with pytest.raises(ZeroDivisionError):
        model.set_params(n_rounds=3).fit(*tables)
