"""Early stopping: its curve, its choice and its end, against plain loops over the definitions."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csc_array
from sklearn.datasets import load_digits

from boostsample import DataError, SettingError
from boostsample.classifier import early_stopping
from boostsample.classifier.early_stopping import EarlyStopping
from boostsample.classifier.inputs.fit_rows import FitRows, held_out
from boostsample.labels import encode
from boostsample.loop.smoothed import smoothed_error
from tests.classifier.stump_fits import classifier

Data = tuple[NDArray[Any], NDArray[Any]]


@pytest.fixture(scope="module")
def digits() -> Data:
    X, y = load_digits(return_X_y=True)
    return X[:600], y[:600]


class _Scripted(EarlyStopping):
    """The numbers of wrong held-out rows are as told, instead of coming from scores."""

    def __init__(self, n_wrong: list[int], n_rows: int) -> None:
        labels = np.ones((n_rows, 1), np.int8)
        rows = FitRows.of(None, labels, np.ones(n_rows))
        bank = SimpleNamespace(reader=lambda rows: None)
        super().__init__(bank, rows._replace(held=rows.train), False)  # type: ignore[arg-type]  # a stand-in
        told = iter(n_wrong)

        def add(_: Any) -> None:
            wrong = next(told)
            self._held.scores[:] = 1.0
            self._held.scores[:wrong] = -1.0

        self._held.add = add  # type: ignore[method-assign, assignment]  # a stand-in


def naive_choice(errors: list[float], n_trained: int, ended: bool) -> int:
    """The first T of least smoothed error; if the edge reached 1, the last error goes on."""
    curve = dict(enumerate(errors[:n_trained], start=1))
    if ended:
        curve |= dict.fromkeys(range(n_trained + 1, 2 * n_trained + 2), errors[n_trained - 1])
    smoothed = [smoothed_error(curve, T) for T in range(1, n_trained + 1)]
    if np.isnan(smoothed).all():
        return n_trained
    return int(np.nanargmin(np.round(smoothed, 9))) + 1


@pytest.mark.parametrize("n_rounds", [1, 2, 3, 6, 40, 250])
@pytest.mark.parametrize("ended", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_the_choice_is_that_of_the_definition(n_rounds: int, ended: bool, seed: int) -> None:
    r = np.random.default_rng(seed)
    n_wrong = r.integers(0, 6, size=n_rounds) + (10 * np.exp(-np.arange(n_rounds) / 20)).astype(int)
    follower = _Scripted(n_wrong.tolist(), 16)
    errors = [float(one) for one in 100.0 * n_wrong / 16]
    for at in range(n_rounds):
        stop = follower(None)  # type: ignore[arg-type]  # not read
        best = naive_choice(errors, at + 1, False) if at else 0  # none after one round
        assert stop == (at + 1 >= 100 and at + 1 >= 2 * best)
    np.testing.assert_allclose(follower.errors, errors)
    assert follower.n_rounds(ended) == naive_choice(errors, n_rounds, ended)


def test_the_curve_is_the_error_of_each_model(digits: Data) -> None:
    X, y = digits
    weight = np.random.default_rng(0).random(200)
    weight[:20] = 0.0
    model = classifier(n_rounds=30, early_stopping=True, random_state=0)
    model.fit(X[:400], y[:400], X_val=X[400:], y_val=y[400:], sample_weight_val=weight)
    whole = classifier(n_rounds=30, random_state=0).fit(X[:400], y[:400])
    expected = [
        100 * np.average(one != y[400:], weights=weight) for one in whole.staged_predict(X[400:])
    ]
    np.testing.assert_allclose(model.validation_error_, expected)
    assert len(model.history_) == 30
    assert model.n_rounds_ == len(model.model_) == naive_choice(expected, 30, False)


@pytest.mark.parametrize("learner", ["stump", "tree:n_leaves=3"])
def test_the_model_is_that_of_a_shorter_fit(digits: Data, learner: str) -> None:
    X, y = digits
    settings: dict[str, Any] = {"learner": learner, "random_state": 0}
    model = classifier(n_rounds=60, early_stopping=True, **settings)
    model.fit(X[:400], y[:400], X_val=X[400:], y_val=y[400:])
    short = classifier(n_rounds=model.n_rounds_, **settings).fit(X[:400], y[:400])
    assert model.n_rounds_ <= 50
    np.testing.assert_array_equal(model.decision_function(X), short.decision_function(X))
    np.testing.assert_allclose(model.feature_importances_, short.feature_importances_)
    assert sum(1 for _ in model.staged_predict(X[:5])) == model.n_rounds_


def test_it_ends_before_the_rounds_planned(digits: Data, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = digits
    monkeypatch.setattr(early_stopping, "_LEAST", 10)
    noise = np.random.default_rng(1).integers(2, size=len(y))
    model = classifier(n_rounds=1000, early_stopping=True, random_state=0).fit(X, noise)
    assert len(model.history_) < 1000
    assert len(model.history_) >= 2 * model.n_rounds_
    assert len(model.validation_error_) == len(model.history_)


@pytest.mark.parametrize("bank", ["memory", "lazy:reference=100"])
def test_several_labels_and_sparse_tables(digits: Data, bank: str) -> None:
    X, y = digits
    Y = np.stack([y % 2 == 0, y > 4, y == 3], axis=1).astype(int)
    model = classifier(n_rounds=24, early_stopping=True, random_state=0, bank=bank)
    dense = model.fit(X[:400], Y[:400], X_val=X[400:], y_val=Y[400:]).validation_error_
    if bank == "memory":
        whole = classifier(n_rounds=24, random_state=0).fit(X[:400], Y[:400])
        expected = [100 * np.mean(one != Y[400:]) for one in whole.staged_predict(X[400:])]
        np.testing.assert_allclose(dense, expected)
        given = csc_array(X[:400]), Y[:400]
        model.fit(*given, X_val=csc_array(X[400:]), y_val=Y[400:])
        np.testing.assert_array_equal(model.validation_error_, dense)
        model.fit(X[:400], Y[:400], X_val=csc_array(X[400:]), y_val=Y[400:])
        np.testing.assert_array_equal(model.validation_error_, dense)
    model.fit(X, Y)
    assert model.validation_error_.shape == (24,)


def test_a_later_fit_without_it_has_no_curve(digits: Data) -> None:
    X, y = digits
    model = classifier(n_rounds=4, early_stopping=True, random_state=0).fit(X, y)
    model.set_params(early_stopping=False).fit(X, y)
    assert not hasattr(model, "validation_error_")
    assert model.n_rounds_ == 4


@pytest.mark.parametrize("fraction", [0.1, 0.37, 0.6])
def test_held_out_rows_are_a_part_of_each_class(fraction: float) -> None:
    r = np.random.default_rng(0)
    codes = r.choice(5, size=400, p=[0.5, 0.3, 0.1, 0.09, 0.01])
    codes[0] = 5
    train, held = held_out(encode(codes), fraction, np.random.default_rng(1), False)
    assert held.size == round(fraction * 400)
    np.testing.assert_array_equal(np.sort(np.concatenate([train, held])), np.arange(400))
    shares = np.bincount(codes[held], minlength=6) - fraction * np.bincount(codes)
    assert np.abs(shares).max() < 2
    assert set(codes[train]) == set(range(6))
    _, other = held_out(encode(codes), fraction, np.random.default_rng(2), False)
    assert set(other) != set(held)


def test_the_split_is_that_of_the_seed(digits: Data) -> None:
    X, y = digits

    def curve(seed: int) -> list[float]:
        model = classifier(n_rounds=5, early_stopping=True, random_state=seed)
        return list(model.fit(X, y).validation_error_)

    assert curve(0) == curve(0) != curve(1)


@pytest.mark.parametrize(
    ("settings", "held", "error", "message"),
    [
        ({"early_stopping": "no"}, {}, SettingError, "must be True or False, got 'no'"),
        ({}, {"X_val": "X", "y_val": "y"}, SettingError, "and all with early_stopping=True"),
        ({"early_stopping": True}, {"X_val": "X"}, SettingError, "must be given together"),
        ({"early_stopping": True}, {"sample_weight_val": "y"}, SettingError, "only with them"),
        ({"early_stopping": True}, {"y_val": "y"}, SettingError, "must be given together"),
        (
            {"early_stopping": True, "validation_fraction": 1},
            {},
            SettingError,
            "validation_fraction must be above 0 and below 1, got 1",
        ),
        (
            {"early_stopping": True, "validation_fraction": 0.0001},
            {},
            DataError,
            "must leave rows of each class to train on and hold out at least one, got 0",
        ),
        (
            {"early_stopping": True, "validation_fraction": 0.995},
            {},
            DataError,
            "got 597 to hold out of the 590 that can be",
        ),
        (
            {"early_stopping": True},
            {"X_val": "X", "y_val": "y + 1"},
            DataError,
            "y_val must hold the classes of y only, got 10",
        ),
        (
            {"early_stopping": True},
            {"X_val": "X", "y_val": "y[:3]"},
            ValueError,
            "inconsistent numbers of samples",
        ),
        ({"early_stopping": True}, {"X_val": "X[:, 1:]", "y_val": "y"}, ValueError, "63 features"),
        (
            {"early_stopping": True},
            {"X_val": "X", "y_val": "np.stack([y, y])"},
            DataError,
            "y_val with several columns must be a multi-label indicator",
        ),
    ],
)
def test_bad_validation(
    digits: Data,
    settings: dict[str, Any],
    held: dict[str, str],
    error: type[Exception],
    message: str,
) -> None:
    X, y = digits
    given = {"X": X, "y": y, "y + 1": y + 1, "y[:3]": y[:3], "X[:, 1:]": X[:, 1:]}
    given["np.stack([y, y])"] = np.stack([y, y], axis=1)
    model = classifier(n_rounds=2, random_state=0, **settings)
    more: dict[str, Any] = {name: given[one] for name, one in held.items()}
    with pytest.raises(error, match=message):
        model.fit(X, y, **more)


def test_a_continued_model_is_scored_with_its_first_rounds(digits: Data) -> None:
    X, y = digits
    first = classifier(n_rounds=20, random_state=0).fit(X[:400], y[:400])
    model = classifier(n_rounds=12, early_stopping=True, random_state=1)
    model.set_params(calibration="temperature")
    model.fit(X[:400], y[:400], init_model=first, X_val=X[400:], y_val=y[400:])
    whole = classifier(n_rounds=12, random_state=1)
    whole.fit(X[:400], y[:400], init_model=first)
    stages = list(whole.staged_predict(X[400:]))
    expected = [100 * np.mean(one != y[400:]) for one in stages[20:]]
    np.testing.assert_allclose(model.validation_error_, expected)
    assert model.n_rounds_ == 20 + naive_choice(expected, 12, False)
    np.testing.assert_array_equal(model.term_importances_[:20], first.term_importances_)
    np.testing.assert_allclose(whole.term_importances_[: model.n_rounds_], model.term_importances_)
