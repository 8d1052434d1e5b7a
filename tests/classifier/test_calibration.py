"""The temperature: the least of the log loss by a fine grid, and what it leaves unchanged."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.metrics import log_loss

from boostsample import BoostSampleClassifier, SettingError
from boostsample.classifier.prediction.calibration import best_temperature
from boostsample.classifier.prediction.probabilities import probabilities
from boostsample.labels import encode

TEMPERATURES = np.exp(np.linspace(-3, 4, 401))


def naive_temperature(
    scores: NDArray[Any], codes: NDArray[Any], weight: NDArray[Any], n_classes: int
) -> float:
    """The best of a grid, with targets by Laplace's rule, row by row."""
    n = codes.size
    targets = np.full((n, n_classes), 1 / (n + 2) / (n_classes - 1))
    for i, code in enumerate(codes):
        targets[i, code] = (n + 1) / (n + 2)

    def loss(temperature: float) -> float:
        found = probabilities(scores, np.zeros(scores.shape[1]), temperature, False)
        return -float(np.sum(weight[:, None] * targets * np.log(np.maximum(found, 1e-300))))

    return float(TEMPERATURES[np.argmin([loss(one) for one in TEMPERATURES])])


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("scale", [0.2, 3.0])
def test_it_is_the_best_of_a_grid(n_classes: int, scale: float) -> None:
    r = np.random.default_rng(n_classes)
    codes, weight = r.integers(n_classes, size=60), r.random(60) + 0.1
    signs = encode(codes, n_classes)
    scores = (signs + r.normal(size=signs.shape)) * scale
    zeros = np.zeros(scores.shape[1])
    found = best_temperature(scores, signs, weight, zeros, False)
    assert found == pytest.approx(naive_temperature(scores, codes, weight, n_classes), rel=0.02)


def test_several_labels_share_one_temperature() -> None:
    r = np.random.default_rng(3)
    signs = np.where(r.random((80, 3)) < 0.3, 1, -1).astype(np.int8)
    scores: NDArray[Any] = (signs + r.normal(size=signs.shape)) * 4
    weight, offsets = r.random(80), r.random(3)
    losses = []
    for temperature in TEMPERATURES:
        found = probabilities(scores, offsets, temperature, True)
        total = 0.0
        for label in range(3):
            target = np.where(signs[:, label] > 0, 81 / 82, 1 / 82)
            p = np.clip(found[:, label], 1e-300, 1 - 1e-16)
            total -= float(weight @ (target * np.log(p) + (1 - target) * np.log1p(-p)))
        losses.append(total)
    best = TEMPERATURES[np.argmin(losses)]
    assert best_temperature(scores, signs, weight, offsets, True) == pytest.approx(best, rel=0.02)


def test_rows_that_are_all_right_keep_a_finite_temperature() -> None:
    signs = encode(np.arange(30) % 3)
    scores: NDArray[Any] = 5.0 * signs
    found = best_temperature(scores, signs, np.ones(30), np.zeros(3), False)
    assert 0.5 < found < 20


def test_a_fit_is_calibrated_on_held_out_rows() -> None:
    X, y = load_digits(return_X_y=True)
    settings: dict[str, Any] = {"n_rounds": 150, "random_state": 0}
    plain = BoostSampleClassifier(**settings).fit(X[:800], y[:800])
    model = BoostSampleClassifier(calibration="temperature", **settings)
    model.fit(X[:800], y[:800], X_val=X[800:1200], y_val=y[800:1200])
    assert plain.temperature_ == 1.0
    test = X[1200:]
    np.testing.assert_array_equal(model.decision_function(test), plain.decision_function(test))
    np.testing.assert_array_equal(model.predict(test), plain.predict(test))
    expected = best_temperature(
        model.decision_function(X[800:1200]), encode(y[800:1200]), np.ones(400), np.zeros(10), False
    )
    assert model.temperature_ == pytest.approx(expected)
    losses = [log_loss(y[1200:], one.predict_proba(test)) for one in (model, plain)]
    assert losses[0] < losses[1]
    own = BoostSampleClassifier(calibration="temperature", **settings).fit(X[:800], y[:800])
    assert own.temperature_ not in (1.0, model.temperature_)


def test_two_classes_are_less_sure_after_calibration() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    model = BoostSampleClassifier(n_rounds=100, calibration="temperature", random_state=0)
    model.fit(X, y)
    assert model.temperature_ > 1.0


def test_an_unknown_calibration_is_an_error() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    with pytest.raises(SettingError, match="unknown calibration 'platt'; known: None, temperature"):
        BoostSampleClassifier(calibration="platt", random_state=0).fit(X, y)
