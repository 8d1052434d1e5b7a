"""Metrics of held-out rows, by name or as a function: `eval_metric` of the classifier."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from boostsample.classifier.inputs.fit_rows import HeldScores
from boostsample.classifier.prediction.calibration import best_temperature
from boostsample.classifier.prediction.probabilities import log_probabilities, probabilities
from boostsample.errors import DataError, SettingError, unknown
from boostsample.labels import classify

Metric: TypeAlias = str | Callable[[NDArray[Any], NDArray[np.float64], NDArray[np.float64]], float]


class EvalMetric:
    """A metric of held-out rows for their scores after the rounds so far.

    Probabilities are those of the temperature that is best for these rows and scores. At a fixed
    temperature the log loss of growing scores rises long before the error does.

    Parameters
    ----------
    metric : str or callable
        As `eval_metric` of the classifier.
    held : HeldScores
    offsets : ndarray of float64, shape (K,)
    classes : ndarray
    multi_label : bool

    Raises
    ------
    DataError
        If there is nothing to rank by "auc".
    """

    def __init__(
        self,
        metric: Metric,
        held: HeldScores,
        offsets: NDArray[np.float64],
        classes: NDArray[Any],
        multi_label: bool,
    ) -> None:
        self.held = held
        self.sign = -1.0 if metric == "auc" else 1.0
        self._metric = metric
        self._offsets, self._multi_label = offsets, multi_label
        self._temperature: float | None = None
        labels = held.labels
        if labels.shape[1] == 1 and not multi_label:
            labels = np.hstack([-labels, labels])
        self._positive = labels > 0  # (n, classes or labels)
        codes = self._positive.argmax(axis=1)
        self._truth = self._positive.astype(np.int64) if multi_label else codes
        self._y = self._truth if multi_label else classes[codes]
        self._mixed = np.flatnonzero(self._positive.any(axis=0) & ~self._positive.all(axis=0))
        if metric == "auc" and not self._mixed.size:
            raise DataError(
                f"eval_metric='auc' needs held-out rows of two classes, got {len(codes)} rows of "
                "one; hold out more rows, or use another eval_metric"
            )

    def __call__(self) -> float:
        """The value for the present scores."""
        if not callable(self._metric):
            return _NAMED[self._metric](self)
        given = self._y, probabilities(*self._odds()), self.held.weight
        try:
            value = float(self._metric(*given))
        except (TypeError, ValueError) as error:
            raise SettingError(
                f"eval_metric(y_true, probabilities, sample_weight) must return a number: {error}"
            ) from error
        if not math.isfinite(value):
            raise SettingError(f"eval_metric must return a finite number, got {value}")
        return value

    def constant(self) -> bool:
        """Whether all rows are predicted alike, though their labels differ."""
        predicted = self._predicted()
        return bool(np.all(predicted == predicted[0])) and self._mixed.size > 0

    def error(self) -> float:
        """Percentage of the weight of the rows that is wrong, or of rows and labels."""
        wrong = (self._predicted() != self._truth).reshape(self._truth.shape[0], -1)
        return 100.0 * float(np.average(wrong.mean(axis=1), weights=self.held.weight))

    def balanced_error(self) -> float:
        """Mean percentage over classes; of several labels, over both signs of each."""
        right = self._predicted() == self._truth
        groups = [(right, self._positive[:, k]) for k in range(self._positive.shape[1])]
        if self._multi_label:
            of_label = enumerate(self._positive.T)
            groups = [(right[:, k], one) for k, yes in of_label for one in (yes, ~yes)]
        weight = self.held.weight
        rates = [np.average(of[rows], weights=weight[rows]) for of, rows in groups if rows.any()]
        return 100.0 * (1.0 - math.fsum(rates) / len(rates))

    def auc(self) -> float:
        """Area under the ROC curve; mean over labels, or over classes, each against the rest."""
        ranked = self.held.scores
        if self._positive.shape[1] > 2 and not self._multi_label:
            ranked = probabilities(*self._odds())
        columns = self._mixed if ranked.shape[1] > 1 else [0]
        truth = self._positive if ranked.shape[1] > 1 else self._positive[:, 1:]
        weight = self.held.weight
        areas = [roc_auc_score(truth[:, k], ranked[:, k], sample_weight=weight) for k in columns]
        return math.fsum(areas) / len(areas)

    def log_loss(self) -> float:
        """Mean of -log p of the true class; of several labels, mean over labels."""
        scores, offsets, temperature, _ = self._odds()
        chances = log_probabilities(scores, offsets, temperature, self._multi_label)
        if self._multi_label:
            others = log_probabilities(-scores, -offsets, temperature, True)
            of_row = np.where(self._positive, chances, others).mean(axis=1)
        else:
            of_row = chances[self._positive]
        return -float(np.average(of_row, weights=self.held.weight))

    def _predicted(self) -> NDArray[np.int64]:
        """Class codes (n,), or 0 and 1 of labels (n, K)."""
        return classify(self.held.scores, self._multi_label)

    def _odds(self) -> tuple[NDArray[np.float64], NDArray[np.float64], float, bool]:
        """Scores, offsets and the best temperature of the scores."""
        offsets, multi_label = self._offsets, self._multi_label
        self._temperature = best_temperature(self.held, offsets, multi_label, self._temperature)
        return self.held.scores, offsets, self._temperature, multi_label


_NAMED: dict[str, Callable[[EvalMetric], float]] = {
    "log_loss": EvalMetric.log_loss,
    "error": EvalMetric.error,
    "balanced_error": EvalMetric.balanced_error,
    "auc": EvalMetric.auc,
}


def check_eval_metric(metric: Any) -> Metric:
    """The setting `eval_metric`; SettingError if it is neither a known name nor a function."""
    if not callable(metric) and (not isinstance(metric, str) or metric not in _NAMED):
        raise unknown("eval_metric", str(metric), [*_NAMED, "a function"])
    return cast(Metric, metric)
