"""The temperature: its rule, the search on held-out rows, and the order that it keeps."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from sklearn.datasets import load_digits
from sklearn.metrics import log_loss

from boostsample import BoostSampleClassifier
from boostsample.classifier.inputs.fit_rows import FitRows, HeldScores
from boostsample.classifier.prediction.probabilities import (
    best_temperature,
    largest_score,
    probabilities,
    rule_temperature,
)
from boostsample.labels import encode


def held_rows(signs: NDArray[np.int8], scores: NDArray[Any], weight: NDArray[Any]) -> HeldScores:
    """Held-out rows with these scores, by a model of 9 rounds."""
    rows = FitRows.of(None, signs, weight)
    bank = SimpleNamespace(reader=lambda _: None)
    held = HeldScores(bank, rows, rows.train)  # type: ignore[arg-type]  # a stand-in
    held.scores[:] = scores
    held.largest, held.edges = float(np.abs(scores).max()), [0.9] * 7 + [0.2, 0.4]
    return held


def naive_rule(
    largest: float, edges: list[float], offsets: NDArray[Any], multi_label: bool
) -> float:
    n_last = max(1, len(edges) // 4)
    edge = sum(edges[-n_last:]) / n_last
    n_classes = 2 if len(offsets) == 1 else len(offsets)
    rule = 1.1 * largest**0.73 * edge**0.29 / n_classes**0.45
    if multi_label and rule < 1:
        rule = 1.0
    if len(offsets) > 1 and not multi_label:
        return float(rule)
    return float(max(rule, (2 * largest + max(abs(offsets))) / 30))


def naive_temperature(held: HeldScores, offsets: NDArray[Any], multi_label: bool) -> float:
    """By minimize_scalar over the definition, a row and a class or label after the other."""
    n, n_labels = held.labels.shape
    rule = naive_rule(held.largest, held.edges, offsets, multi_label)
    positive = held.labels > 0
    if n_labels == 1:
        positive = np.hstack([~positive, positive])

    def loss(log_temperature: float) -> float:
        chances = probabilities(held.scores, offsets, math.exp(log_temperature), multi_label)
        total = (log_temperature - math.log(rule)) ** 2 / 2 / 0.5**2 * held.weight.mean()
        for row in range(n):
            for at, p in enumerate(np.clip(chances[row], 1e-300, 1 - 1e-16)):
                rest = 0.3 / (n + 1.3) / (1 if multi_label else positive.shape[1] - 1)
                target = (n + 1) / (n + 1.3) if positive[row, at] else rest
                part = target * math.log(p)
                if multi_label:
                    part += (1 - target) * math.log1p(-p)
                total -= held.weight[row] * part
        return float(total)

    best = minimize_scalar(loss, bounds=(-7, 7), method="bounded", options={"xatol": 1e-5})
    least = 0.0 if n_labels > 1 and not multi_label else 2 * held.largest + max(abs(offsets))
    return float(max(math.exp(best.x), least / 30))


@pytest.mark.parametrize("n_classes", [2, 3, 7])
@pytest.mark.parametrize("scale", [0.02, 0.2, 3.0, 100.0])
def test_it_is_that_of_a_general_search(n_classes: int, scale: float) -> None:
    r = np.random.default_rng(n_classes)
    codes, weight = r.integers(n_classes, size=25), r.random(25) + 0.1
    signs = encode(codes, n_classes)
    held = held_rows(signs, (signs + r.normal(size=signs.shape)) * scale, weight)
    zeros = np.zeros(signs.shape[1])
    expected = naive_temperature(held, zeros, False)
    for start in (None, 1e-2, expected, 1e3):
        assert best_temperature(held, zeros, False, start) == pytest.approx(expected, rel=2e-3)


@pytest.mark.parametrize("edges", [[0.3], [0.9, 0.2, 0.4], [0.9] * 7 + [0.2, 0.4]])
@pytest.mark.parametrize("largest", [0.3, 40.0, 1e9])
def test_the_rule(edges: list[float], largest: float) -> None:
    for offsets, multi_label in ((np.zeros(1), False), (np.zeros(5), False), (np.ones(3), True)):
        given = largest, edges, offsets, multi_label
        assert rule_temperature(*given) == pytest.approx(naive_rule(*given))
    for size, edge in ((0.0, edges), (1.0, [0.0])):
        assert rule_temperature(size, edge, np.zeros(5), False) == 1.0


def test_several_labels_share_one_temperature() -> None:
    r = np.random.default_rng(3)
    signs = np.where(r.random((80, 3)) < 0.3, 1, -1).astype(np.int8)
    scores: NDArray[Any] = (signs + r.normal(size=signs.shape)) * 4
    weight, offsets = r.random(80), r.random(3)
    held = held_rows(signs, scores, weight)
    expected = naive_temperature(held, offsets, True)
    assert best_temperature(held, offsets, True) == pytest.approx(expected, rel=2e-3)


def test_a_fit_is_calibrated_on_held_out_rows() -> None:
    X, y = load_digits(return_X_y=True)
    settings: dict[str, Any] = {"learner": "stump", "n_rounds": 200, "random_state": 0}
    settings |= {"strategy": "laminating", "learning_rate": 1.0}
    plain = BoostSampleClassifier(calibration=None, **settings).fit(X[:800], y[:800])
    model = BoostSampleClassifier(calibration="temperature", **settings)
    model.fit(X[:800], y[:800], X_val=X[800:1200], y_val=y[800:1200])
    assert plain.temperature_ == 1.0
    test = X[1200:]
    np.testing.assert_array_equal(model.decision_function(test), plain.decision_function(test))
    np.testing.assert_array_equal(model.predict(test), plain.predict(test))
    held = held_rows(encode(y[800:1200]), model.decision_function(X[800:1200]), np.ones(400))
    held.largest = largest_score(model.model_)
    held.edges = list({row["round"]: math.tanh(row["alpha"]) for row in model.history_}.values())
    expected = best_temperature(held, np.zeros(10), False)
    assert model.temperature_ == pytest.approx(expected, rel=1e-6)
    rule = BoostSampleClassifier(**settings).fit(X[:800], y[:800])
    by_rule = rule_temperature(held.largest, held.edges, np.zeros(10), False)
    assert rule.temperature_ == pytest.approx(by_rule, rel=1e-6)
    losses = [log_loss(y[1200:], one.predict_proba(test)) for one in (model, plain)]
    assert losses[0] < losses[1]
    own = BoostSampleClassifier(calibration="temperature", **settings).fit(X[:800], y[:800])
    assert own.temperature_ not in (1.0, model.temperature_, rule.temperature_)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_models_that_go_on_or_stop_have_another_temperature(n_classes: int) -> None:
    X, y = load_digits(return_X_y=True)
    settings: dict[str, Any] = {"learner": "tree:n_leaves=3", "n_rounds": 24, "random_state": 0}
    settings |= {"learning_rate": 1.0}
    X, y = X[:300], y[:300] % n_classes
    model = BoostSampleClassifier(**settings).fit(X, y)
    more = BoostSampleClassifier(**settings).fit(X, y, init_model=model)
    edges = [math.tanh(alpha) for alpha in more.model_.alpha[more.model_.first]]
    offsets = np.zeros(more.model_.n_labels)
    given = largest_score(more.model_), edges[24:], offsets, False
    assert more.temperature_ == pytest.approx(rule_temperature(*given))
    stopped = BoostSampleClassifier(early_stopping=True, calibration="rule", **settings).fit(X, y)
    held = BoostSampleClassifier(early_stopping=True, **settings).fit(X, y)
    assert held.n_rounds_ == stopped.n_rounds_
    edges = [math.tanh(alpha) for alpha in stopped.model_.alpha[stopped.model_.first]]
    by_rule = naive_rule(largest_score(stopped.model_), edges, offsets, False)
    assert held.temperature_ != stopped.temperature_ == pytest.approx(by_rule)
