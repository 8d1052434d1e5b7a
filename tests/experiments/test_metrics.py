"""Metrics of classes agree with scikit-learn and with their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import metrics

from boostsample.experiments.metrics import balanced_accuracy, f1, log_loss
from boostsample.labels import classify


def scores_and_codes(n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(n_classes)
    y = rng.integers(0, n_classes, 200)
    return rng.normal(size=(200, 1 if n_classes == 2 else n_classes)), y


@pytest.mark.parametrize("n_classes", [2, 3, 7])
def test_metrics_of_classes_are_those_of_scikit_learn(n_classes: int) -> None:
    scores, y = scores_and_codes(n_classes)
    predicted = classify(scores)
    single = 1 / (1 + np.exp(-2 * scores))
    chances = np.hstack([1 - single, single]) if n_classes == 2 else single
    chances /= chances.sum(axis=1, keepdims=True)
    assert balanced_accuracy(scores, y) == pytest.approx(
        metrics.balanced_accuracy_score(y, predicted)
    )
    assert f1(scores, y) == pytest.approx(metrics.f1_score(y, predicted, average="macro"))
    assert log_loss(scores, y) == pytest.approx(metrics.log_loss(y, chances))


def test_metrics_of_labels_are_means_over_labels() -> None:
    rng = np.random.default_rng(0)
    scores, y = rng.normal(size=(100, 3)), rng.integers(0, 2, (100, 3))
    y[:, 2] = 0
    scores[:, 2] = -1.0  # never present nor predicted: left out of the means
    hits = (scores > 0).astype(int)
    each = [metrics.balanced_accuracy_score(y[:, k], hits[:, k]) for k in (0, 1)]
    assert balanced_accuracy(scores, y) == pytest.approx(np.mean(each))
    each = [metrics.f1_score(y[:, k], hits[:, k]) for k in (0, 1)]
    assert f1(scores, y) == pytest.approx(np.mean(each))
    each = [metrics.log_loss(y[:, k], 1 / (1 + np.exp(-2 * scores[:, k]))) for k in (0, 1)]
    rest = np.log(1 + np.exp(-2.0))
    assert log_loss(scores, y) == pytest.approx((sum(each) + rest) / 3)


def test_a_class_that_is_missing_has_no_recall_but_an_f1_of_zero_if_predicted() -> None:
    scores, y = np.eye(3)[[0, 1, 2, 2]], np.array([0, 1, 1, 0])
    assert balanced_accuracy(scores, y) == 0.5
    assert f1(scores, y) == pytest.approx((2 / 3 + 2 / 3 + 0) / 3)


def test_log_loss_of_large_scores_is_finite() -> None:
    assert log_loss(np.array([[-500.0, 500.0, -500.0]]), np.array([0])) == pytest.approx(1000.0)
    assert log_loss(np.array([[-500.0]]), np.array([1])) == pytest.approx(1000.0)
