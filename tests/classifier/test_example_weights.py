"""`example_weights_`: the weights of the rows at the end of boosting."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_iris

from boostsample import BoostSampleClassifier
from boostsample.classifier.fit_run import train
from boostsample.kernels.array_layout import matrix_of_rows
from boostsample.labels import encode
from boostsample.loop.booster import Booster
from tests.naive_objectives import label_weights

OBJECTIVES = ("mh", "real-mh", "info", "gentle", "m1", "samme", "rank", "bagging", "oc")


def naive_weights(
    model: BoostSampleClassifier, X: Any, Y: NDArray[np.int8], user: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Sums over labels of u_il exp(-y_il f_l(x_i)), of total 1."""
    scores = model.decision_function(X).reshape(Y.shape)
    u = label_weights(Y, model.weight_init, user)
    weights = np.zeros(len(Y))
    for i in range(len(Y)):
        for k in range(Y.shape[1]):
            weights[i] += u[i, k] * math.exp(-Y[i, k] * scores[i, k])
    return np.asarray(weights / weights.sum())


def data(n_classes: int) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Iris with noise, its last classes, and user weights of which some are 0."""
    X, y = load_iris(return_X_y=True)
    rng = np.random.default_rng(n_classes)
    rows = np.flatnonzero(y >= 3 - n_classes)
    noisy = X[rows] + 0.5 * rng.normal(size=(rows.size, 4))
    return noisy, y[rows], rng.integers(0, 4, rows.size).astype(float)


@pytest.mark.parametrize(
    ("objective", "n_classes"),
    [(name, n) for name in OBJECTIVES for n in (2, 3) if (name, n) != ("rank", 3)],
)
def test_weights_of_the_booster_and_of_its_scores(
    objective: str, n_classes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    boosters: list[Booster] = []

    def remember(booster: Any, *args: Any, **kwargs: Any) -> Any:
        boosters.append(booster)
        return train(booster, *args, **kwargs)

    monkeypatch.setattr("boostsample.estimator.train", remember)
    X, y, user = data(n_classes)
    rate = 1.0 if objective == "bagging" else 0.5
    settings: dict[str, Any] = {"objective": objective, "learning_rate": rate, "random_state": 0}
    model = BoostSampleClassifier("full", "stump", n_rounds=25, **settings).fit(X, y, user)
    weights = model.example_weights_
    assert weights.shape == y.shape
    assert weights.dtype == np.float64
    assert weights.sum() == pytest.approx(1.0)
    assert np.array_equal(weights > 0, user > 0)
    rows = user > 0
    labels, (booster,) = encode(y[rows] - y.min(), n_classes), boosters
    scores = model.decision_function(X[rows]).reshape(labels.shape)
    initial = label_weights(labels, "balanced", user[rows])
    of_scores = booster.objective.example_weights(labels, initial, scores)
    np.testing.assert_allclose(weights[rows], of_scores, rtol=1e-4)
    if objective == "bagging":
        of_booster = user[rows] / user.sum()
    elif objective == "oc" and n_classes > 2:
        of_booster = booster.state()["weights"]["wrong"].sum(axis=1)
    else:
        values = booster.state()["weights"]["values"]
        of_booster = np.abs(matrix_of_rows(values, *labels.shape)).sum(axis=1)
    np.testing.assert_allclose(weights[rows], of_booster / of_booster.sum(), rtol=1e-4)
    assert (weights[rows].max() > 1.5 * weights[rows].min()) or objective == "bagging"


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_committee_has_the_weights_of_its_mean_score(n_classes: int) -> None:
    X, y, _ = data(n_classes)
    model = BoostSampleClassifier(random_state=0, max_looks=40_000).fit(X, y)
    assert model.n_members_ == 5
    labels = encode(y - y.min(), n_classes)
    expected = naive_weights(model, X, labels, np.ones(len(y)))
    np.testing.assert_allclose(model.example_weights_, expected, rtol=1e-9)


@pytest.mark.parametrize("n_rounds", ["auto", 30])
def test_of_rank_they_are_those_of_pairs_in_a_query(n_rounds: int | str) -> None:
    X, y, _ = data(2)
    groups = np.random.default_rng(0).integers(0, 10, y.size)
    settings: dict[str, Any] = {"objective": "rank", "learner": "stump", "n_rounds": n_rounds}
    model = BoostSampleClassifier(max_looks=40_000, random_state=0, **settings)
    model.fit(X, y, groups=groups)
    scores, expected = model.decision_function(X), np.zeros(y.size)
    for i in np.flatnonzero(y == y.min()):
        for j in np.flatnonzero((y == y.max()) & (groups == groups[i])):
            expected[[i, j]] += math.exp(scores[i] - scores[j])
    np.testing.assert_allclose(model.example_weights_, expected / expected.sum(), rtol=1e-4)


@pytest.mark.parametrize("n_rounds", ["auto", 30])
@pytest.mark.parametrize("code", ["exhaustive", "sparse:6"])
def test_of_an_output_code_they_are_sums_over_its_bits(code: str, n_rounds: int | str) -> None:
    X, y, _ = data(3)
    settings: dict[str, Any] = {"code": code, "n_rounds": n_rounds, "random_state": 0}
    model = BoostSampleClassifier(max_looks=40_000, **settings).fit(X, y)
    assert model.code_ is not None
    bits = np.asarray(model.code_.matrix)[y].astype(np.int8)
    scores = model.model_.decision_function(X.astype(np.float32))
    u = label_weights(bits, "balanced", np.ones(len(y)))
    expected = (u * np.exp(-bits * scores)).sum(axis=1)
    np.testing.assert_allclose(model.example_weights_, expected / expected.sum(), rtol=1e-4)


def test_several_labels_and_a_model_that_is_continued() -> None:
    X, y, user = data(3)
    Y = np.stack([y > 0, y == 1, X[:, 0] > 6], axis=1).astype(int)
    first = BoostSampleClassifier(n_rounds=5, random_state=0).fit(X, Y)
    model = BoostSampleClassifier(n_rounds=5, random_state=1).fit(X, Y, user, first)
    rows = user > 0
    expected = naive_weights(model, X[rows], encode(Y[rows]), user[rows])
    np.testing.assert_allclose(model.example_weights_[rows], expected, rtol=1e-4)


def test_rows_held_out_have_no_weight_and_rounds_left_out_do_not_count() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    y = np.where(np.random.default_rng(0).random(y.size) < 0.2, 1 - y, y)
    settings: dict[str, Any] = {"n_rounds": 150, "early_stopping": True, "random_state": 0}
    model = BoostSampleClassifier("uniform-naive", "stump", **settings).fit(X, y)
    assert len(model.history_) > model.n_rounds_
    trained = model.example_weights_ > 0
    assert (~trained).sum() == round(0.1 * y.size)
    expected = naive_weights(model, X[trained], encode(y[trained]), np.ones(int(trained.sum())))
    np.testing.assert_allclose(model.example_weights_[trained], expected, rtol=1e-9)


def test_rows_of_validation_have_none_and_files_leave_the_weights_out(tmp_path: Any) -> None:
    X, y, _ = data(3)
    model = BoostSampleClassifier(n_rounds=40, early_stopping=True, random_state=0)
    model.fit(X[::2], y[::2], X_val=X[1::2], y_val=y[1::2])
    assert model.example_weights_.shape == (75,)
    model.save(tmp_path / "model.bsm")
    loaded = BoostSampleClassifier.load(tmp_path / "model.bsm")
    assert not hasattr(loaded, "example_weights_")
