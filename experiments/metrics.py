"""The metrics of a comparison: each is declared here only, with its column, titles and decimals.

Three metrics are functions of the scores of test examples. Their predictions are those of
`boostsample.labels.classify`: the class with the highest score; of two classes, or for each label
of a multi-label set, the positive one if its score is positive.

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
from dataclasses import dataclass

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


@dataclass(frozen=True)
class Metric:
    """A quantity that tables and pictures compare, and its column in the rows of results."""

    name: str  # as in --metric
    about: str  # description of the column
    title: str  # of tables, with the unit
    axis_title: str = ""  # of pictures; empty if they do not show it
    better: int = -1  # -1 if lower is better, 1 if higher is better, 0 if neither is
    decimals: int = 2  # where all numbers have the same unit
    score: Callable[[NDArray[np.float64], NDArray[np.integer]], float] | None = None
    named: str = ""  # the column, if it is not `name`

    @property
    def column(self) -> str:
        """Name of the column."""
        return self.named or self.name.replace("-", "_")


SMOOTHED = "smoothed-error"
"""Mean of the test errors over a window; computed from the rows, not stored."""
METRICS: Mapping[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric(
            "loss",
            "log10 of the exponential loss on the training examples",
            "log10 loss",
            "log10 of the exponential loss",
            named="log10_loss",
        ),
        Metric(
            "error",
            "error on the test examples in percent",
            "test error in percent",
            "test error in percent",
            named="test_error",
        ),
        Metric(
            "balanced-accuracy",
            "balanced accuracy on the test examples, 0 to 1",
            "balanced accuracy of the test examples",
            "balanced accuracy",
            better=1,
            decimals=4,
            score=balanced_accuracy,
        ),
        Metric(
            "f1",
            "macro F1 on the test examples, 0 to 1",
            "macro F1 of the test examples",
            "macro F1",
            better=1,
            decimals=4,
            score=f1,
        ),
        Metric(
            "log-loss",
            "log loss (natural logarithm) on the test examples",
            "log loss of the test examples",
            "log loss of the test examples",
            decimals=4,
            score=log_loss,
        ),
        Metric(
            "auc",
            "area under the ROC curve on the test examples; NaN except at marks",
            "area under the ROC curve of the test examples",
            better=1,
            decimals=4,
        ),
        Metric(
            SMOOTHED,
            "mean of the test errors from 4/5 to 6/5 of the number of stumps, in percent",
            "smoothed test error in percent",
            "smoothed test error in percent",
        ),
        Metric(
            "looks",
            "looks so far for search and modelling, without the finish",
            "looks so far, the finish apart",
            better=0,
        ),
        Metric(
            "values_computed",
            "feature values computed so far, by a lazy bank",
            "feature values computed so far",
            better=0,
        ),
        Metric(
            "cost",
            "nominal seconds of training so far, the same on all machines",
            "nominal seconds of training so far",
        ),
        Metric(
            "seconds",
            "seconds of training so far, without evaluation",
            "seconds of training so far, evaluation apart",
        ),
        Metric(
            "features",
            "features searched (Q), mean over all searches so far",
            "features searched, mean over all searches so far",
            better=0,
            decimals=0,
        ),
        Metric(
            "examples",
            "examples drawn (T), mean over all searches so far",
            "examples drawn, mean over all searches so far",
            better=0,
            decimals=0,
        ),
    )
}
"""All metrics by name, in the order in which messages list them."""
DRAWN_METRICS = tuple(name for name, metric in METRICS.items() if metric.axis_title)
"""Metrics of pictures of curves."""
RANKED_METRICS = tuple(name for name in DRAWN_METRICS if name != SMOOTHED)
"""Metrics by which strategies are ranked over data sets."""
MAIN_METRICS = ("loss", "error")
"""The metrics that are shown unless others are chosen."""
CLASS_METRICS = {metric.column: metric.score for metric in METRICS.values() if metric.score}
"""Functions of scores and classes, by the names of their arrays in a cell and of their columns."""
