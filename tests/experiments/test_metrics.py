"""Metrics agree with their definitions in plain loops, with values by hand and scikit-learn."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn import metrics

from boostsample.experiments.metrics import (
    average_precision,
    balanced_accuracy,
    coverage,
    f1,
    log_loss,
    ndcg,
    one_error,
    pairwise_loss,
)
from boostsample.labels import classify

RANKED = {
    metric.__name__: metric
    for metric in (one_error, coverage, average_precision, pairwise_loss, ndcg)
}


def labels(n: int, n_labels: int, top: int, seed: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Scores with ties, and labels; some rows have none, or all."""
    rng = np.random.default_rng(seed)
    y = (rng.random((n, n_labels)) < rng.random((n, 1))).astype(np.int8)
    y[0], y[1] = 0, 1
    return rng.integers(0, top, (n, n_labels)).astype(np.float64), y


def queries(
    n: int, n_groups: int, top: int, seed: int
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    rng = np.random.default_rng(seed)
    y, scores = rng.integers(0, 2, n), rng.integers(0, top, (n, 1)).astype(np.float64)
    return scores, y, 7 * rng.integers(0, n_groups, n) - 3


# ------------------------------------------------------------------------- naive twins


def naive_ranks(row: list[float]) -> list[int]:
    return [sum(other >= score for other in row) for score in row]


def naive_labels(scores: NDArray[Any], y: NDArray[Any]) -> tuple[float, float, float]:
    errors, depths, precisions = [], [], []
    for row, signs in zip(scores.tolist(), y.tolist(), strict=True):
        true = [l for l, sign in enumerate(signs) if sign]
        if not true:
            continue
        ranks = naive_ranks(row)
        wrong = [row[l] for l in range(len(row)) if l not in true]
        errors.append(any(score >= max(row[l] for l in true) for score in wrong))
        depths.append(max(ranks[l] for l in true) - 1)
        parts = [sum(row[m] >= row[l] for m in true) / ranks[l] for l in true]
        precisions.append(sum(parts) / len(parts))
    means = [sum(values) / len(values) for values in (errors, depths, precisions)]
    return means[0], means[1], means[2]


def naive_pairs(scores: NDArray[Any], y: NDArray[Any], groups: NDArray[Any]) -> float:
    wrong, n_pairs = 0.0, 0
    for i, j in itertools.product(range(len(y)), repeat=2):
        if groups[i] == groups[j] and y[i] == 0 and y[j] == 1:
            n_pairs += 1
            wrong += 1.0 if scores[i, 0] > scores[j, 0] else 0.5 * (scores[i, 0] == scores[j, 0])
    return wrong / n_pairs if n_pairs else math.nan


def naive_ndcg(scores: NDArray[Any], y: NDArray[Any], groups: NDArray[Any]) -> float:
    """The mean over all orders of the examples of a group that agree with the scores."""
    values = []
    for group in np.unique(groups):
        rows = np.flatnonzero(groups == group)
        if len(set(y[rows].tolist())) < 2:
            continue
        gains = []
        for order in itertools.permutations(rows.tolist()):
            if all(scores[a, 0] >= scores[b, 0] for a, b in itertools.pairwise(order)):
                gains.append(sum(y[i] / math.log2(1 + rank) for rank, i in enumerate(order, 1)))
        largest = sum(1 / math.log2(1 + rank) for rank in range(1, int(y[rows].sum()) + 1))
        values.append(sum(gains) / len(gains) / largest)
    return sum(values) / len(values) if values else math.nan


# ------------------------------------------------------------------------- ranked labels


@pytest.mark.parametrize("top", [1, 3, 1000])
@pytest.mark.parametrize("n_labels", [2, 3, 9])
def test_metrics_of_labels_are_their_definitions(n_labels: int, top: int) -> None:
    scores, y = labels(40, n_labels, top, n_labels)
    computed = one_error(scores, y), coverage(scores, y), average_precision(scores, y)
    assert computed == pytest.approx(naive_labels(scores, y), abs=1e-12)


def test_labels_by_hand() -> None:
    """Ranks of true labels: 1 and 4; 2; 1, 2 and 3, all true."""
    scores = np.array([[9.0, 3.0, 2.0, 1.0], [1.0, 5.0, 4.0, 0.0], [3.0, 2.0, 1.0, 0.0]])
    y = np.array([[1, 0, 0, 1], [0, 0, 1, 0], [1, 1, 1, 0]], np.int8)
    assert one_error(scores, y) == pytest.approx(1 / 3)
    assert coverage(scores, y) == pytest.approx((3 + 1 + 2) / 3)
    assert average_precision(scores, y) == pytest.approx(((1 + 2 / 4) / 2 + 1 / 2 + 1) / 3)


def test_ties_of_labels_count_against() -> None:
    scores, y = np.zeros((2, 4)), np.array([[1, 0, 0, 0], [1, 1, 1, 1]], np.int8)
    assert one_error(scores, y) == 0.5
    assert coverage(scores, y) == 3.0
    assert average_precision(scores, y) == pytest.approx((1 / 4 + 1) / 2)


# ------------------------------------------------------------------------- ranked examples


@pytest.mark.parametrize("top", [1, 3, 1000])
@pytest.mark.parametrize("n_groups", [6, 12, 40])
def test_metrics_of_groups_are_their_definitions(n_groups: int, top: int) -> None:
    scores, y, groups = queries(24, n_groups, top, 20)
    assert pairwise_loss(scores, y, groups) == pytest.approx(naive_pairs(scores, y, groups))
    if np.unique(groups, return_counts=True)[1].max() <= 8:
        assert ndcg(scores, y, groups) == pytest.approx(naive_ndcg(scores, y, groups))


@pytest.mark.parametrize("top", [1, 3, 1000])
def test_metrics_of_groups_are_those_of_scikit_learn(top: int) -> None:
    scores, y, groups = queries(200, 9, top, top)
    area = metrics.roc_auc_score(y, scores[:, 0])
    assert pairwise_loss(scores, y) == pytest.approx(1 - area)
    assert ndcg(scores, y) == pytest.approx(metrics.ndcg_score(y[None], scores.T))
    of_groups = [
        metrics.ndcg_score(y[None, groups == group], scores.T[:, groups == group])
        for group in np.unique(groups)
    ]
    assert ndcg(scores, y, groups) == pytest.approx(np.mean(of_groups))


def test_groups_by_hand() -> None:
    """Query 1 in the order + - -, query 2 as - and a tie of + and -, query 3 only +."""
    scores = np.array([[3.0, 2.0, 1.0, 5.0, 4.0, 4.0, 9.0]]).T
    y, groups = np.array([1, 0, 0, 0, 1, 0, 1]), np.array([1, 1, 1, 2, 2, 2, 3])
    assert pairwise_loss(scores, y, groups) == pytest.approx(1.5 / 4)
    middle = (1 / math.log2(3) + 1 / math.log2(4)) / 2
    assert ndcg(scores, y, groups) == pytest.approx((1 + middle) / 2)
    shuffled = np.array([6, 3, 0, 5, 1, 4, 2])
    assert ndcg(scores[shuffled], y[shuffled], groups[shuffled]) == ndcg(scores, y, groups)


def test_metrics_of_ranks_are_nan_for_other_data() -> None:
    classes, two, multi = np.array([0, 1, 2]), np.array([0, 1, 1]), np.eye(3, dtype=np.int8)
    values = {
        kind: {name: metric(scores, y, None) for name, metric in RANKED.items()}
        for kind, scores, y in (
            ("classes", np.eye(3), classes),
            ("two", np.array([[1.0], [2.0], [0.0]]), two),
            ("multi", np.eye(3), multi),
            ("one class", np.zeros((3, 1)), np.ones(3, np.int64)),
            ("no label", np.eye(3), 0 * multi),
        )
    }
    known = {
        kind: [name for name in RANKED if not math.isnan(scored[name])]
        for kind, scored in values.items()
    }
    assert known == {
        "classes": [],
        "two": ["pairwise_loss", "ndcg"],
        "multi": ["one_error", "coverage", "average_precision"],
        "one class": [],
        "no label": [],
    }


# ------------------------------------------------------------------------------------ classes


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
