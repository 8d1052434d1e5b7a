"""Balanced accuracy, F1 and log loss of scores on test examples.

Predictions are those of `boostsample.labels.classify`: the class with the highest score; of two
classes, or for each label of a multi-label set, the positive one if its score is positive.

=================  ===============================================================================
balanced accuracy  classes: mean recall of the classes that the test examples have. Multi-label:
                   mean of (recall of positives + recall of negatives) / 2 over the labels that have
                   both signs.
F1                 2 TP / (2 TP + FP + FN), mean over the classes or labels that are present or
                   predicted (macro F1).
log loss           mean of -ln p. p_l = 1 / (1 + exp(-2 f_l)) of label l, which minimises the
                   expected exponential loss [FHT00]. More than two classes: p_l divided by its sum
                   over the classes, for the true class. Multi-label: p_l of the true sign, mean
                   over examples and labels.
=================  ===============================================================================

The probabilities are those of the initial weights: balanced weights give a rare class a higher one.

- [FHT00] Friedman, Hastie and Tibshirani, Additive logistic regression, Annals of Statistics 28,
  2000, sec. 4.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from boostsample.labels import classify, encode


def balanced_accuracy(scores: NDArray[np.float64], y: NDArray[np.integer]) -> float:
    """Balanced accuracy, from 0 to 1; NaN if no label has both signs.

    `scores` is float64 (n, K), `y` class codes (n,) or, for multi-label data, 0 and 1 (n, K).

    >>> balanced_accuracy(np.array([[2.0], [-1.0], [-1.0], [-1.0]]), np.array([1, 1, 0, 0]))
    0.75
    """
    truth, predicted = _members(scores, y)
    recall = _ratio((truth & predicted).sum(axis=0), truth.sum(axis=0))
    if y.ndim == 2:
        recall = (recall + _ratio((~truth & ~predicted).sum(axis=0), (~truth).sum(axis=0))) / 2
    return _mean(recall)


def f1(scores: NDArray[np.float64], y: NDArray[np.integer]) -> float:
    """Macro F1, from 0 to 1; NaN if no label is present or predicted.

    `scores` is float64 (n, K), `y` class codes (n,) or, for multi-label data, 0 and 1 (n, K).

    >>> f1(np.array([[2.0], [-1.0], [-1.0]]), np.array([1, 1, 0]))
    0.6666666666666666
    """
    truth, predicted = _members(scores, y)
    hits = 2 * (truth & predicted).sum(axis=0)
    return _mean(_ratio(hits, truth.sum(axis=0) + predicted.sum(axis=0)))


def log_loss(scores: NDArray[np.float64], y: NDArray[np.integer]) -> float:
    """Mean of -ln p, p the probability of the true class or sign; 0 or more.

    `scores` is float64 (n, K), `y` class codes (n,) or, for multi-label data, 0 and 1 (n, K).

    >>> round(log_loss(np.array([[0.0], [0.0]]), np.array([1, 0])), 4)
    0.6931
    """
    if y.ndim == 2 or scores.shape[1] == 1:
        return float(np.logaddexp(0.0, -2.0 * scores * encode(y, 2)).mean())
    log_p = -np.logaddexp(0.0, -2.0 * scores)
    log_p -= np.logaddexp.reduce(log_p, axis=1, keepdims=True)
    return float(-np.take_along_axis(log_p, y[:, None], axis=1).mean())


CLASS_METRICS: Mapping[str, Callable[[NDArray[np.float64], NDArray[np.integer]], float]] = {
    "balanced_accuracy": balanced_accuracy,
    "f1": f1,
    "log_loss": log_loss,
}
"""The metrics by the names of their arrays in a cell and their columns in rows."""


def _members(
    scores: NDArray[np.float64], y: NDArray[np.integer]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """True and predicted members of each class or label: bool (n, classes) each."""
    predicted = classify(scores, y.ndim == 2)
    if y.ndim == 2:
        return y == 1, predicted == 1
    classes = np.arange(max(2, scores.shape[1]))
    return y[:, None] == classes, predicted[:, None] == classes


def _ratio(part: NDArray[np.integer], whole: NDArray[np.integer]) -> NDArray[np.float64]:
    """Quotients, NaN for 0 / 0."""
    return np.where(whole > 0, part / np.maximum(whole, 1), np.nan)


def _mean(values: NDArray[np.float64]) -> float:
    """Mean of the defined values; NaN if there are none."""
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if defined.size else float("nan")
