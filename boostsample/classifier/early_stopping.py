"""Metrics of held-out rows, and early stopping by a smoothed one as in [BK10] 4.2.

Metrics of single rounds are noisy: of a few hundred held-out rows the least error is luck. So the
number of rounds T is the first with the best mean of the scored rounds from 4T/5 to 6T/5
(`boostsample.loop.smoothed`), or to the last round trained. Of numbers with the same scored rounds
it is the last: while the metric falls, all rounds are kept. T is at least 10.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from boostsample.classifier.inputs.held_rows import HeldScores
from boostsample.classifier.prediction.probabilities import (
    TemperatureRule,
    best_temperature,
    log_probabilities,
    probabilities,
    true_log_probabilities,
)
from boostsample.errors import DataError, SettingError, unknown
from boostsample.history import MEMBER_COLUMN, VALIDATION_COLUMN
from boostsample.labels import classify
from boostsample.loop.smoothed import window_ends
from boostsample.records import Round

Metric: TypeAlias = str | Callable[[NDArray[Any], NDArray[np.float64], NDArray[np.float64]], float]


class EvalMetric:
    """A metric of held-out rows for their scores so far, at the temperature that is best for them.

    At a fixed temperature the log loss of growing scores rises long before the error does.
    """

    def __init__(
        self, metric: Metric, held: HeldScores, rule: TemperatureRule, classes: NDArray[Any]
    ) -> None:
        self.held = held
        self.sign = -1.0 if metric == "auc" else 1.0
        self._metric = metric
        self._rule, self._multi_label = rule, rule.multi_label
        self._temperature: float | None = None
        self._shifts = np.full(held.labels.shape[0], np.nan)
        labels = held.labels
        if labels.shape[1] == 1 and not rule.multi_label:
            labels = np.hstack([-labels, labels])
        self._positive = labels > 0  # (n, classes or labels)
        codes = self._positive.argmax(axis=1)
        self._truth = self._positive.astype(np.int64) if rule.multi_label else codes
        self._y = self._truth if rule.multi_label else classes[codes]
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
        arguments = self._y, probabilities(*self._odds()), self.held.weight
        try:
            value = float(self._metric(*arguments))
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
            groups = [(right[:, k], positive) for k, yes in of_label for positive in (yes, ~yes)]
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
        weight = self.held.weight
        if scores.shape[1] > 1 and not self._multi_label:
            of_row = true_log_probabilities(self.held, self._truth, temperature, self._shifts)
            return -float(np.average(of_row, weights=weight))
        chances = log_probabilities(scores, offsets, temperature, self._multi_label)
        if self._multi_label:
            others = log_probabilities(-scores, -offsets, temperature, True)
            of_row = np.where(self._positive, chances, others).mean(axis=1)
        else:
            of_row = chances[self._positive]
        return -float(np.average(of_row, weights=weight))

    def _predicted(self) -> NDArray[np.int64]:
        """Class codes (n,), or 0 and 1 of labels (n, K)."""
        return classify(self.held.scores, self._multi_label)

    def _odds(self) -> tuple[NDArray[np.float64], NDArray[np.float64], float, bool]:
        """Scores, offsets and the best temperature of the scores."""
        begin = self._temperature, self._shifts
        self._temperature = best_temperature(self.held, self._rule, *begin)
        return self.held.scores, self._rule.offsets, self._temperature, self._multi_label


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


_DECIDES = VALIDATION_COLUMN.name
_LEAST, _PATIENCE = 100, 2
_FEWEST = 10
"""Fewest rounds to keep: smaller windows have fewer than 5 rounds, whose least mean is luck."""
_ROUNDING = 1e-12
"""Means that differ by less than this part of the largest value are equal."""
_SCORED = 16
"""Rounds scored of each doubling of their number, from 32 on; all rounds before, and the last.

Also rounds that would be the last if their values did not make a later number the best.
"""


class RoundScores:
    """Follows the rounds of a fit, scores held-out rows, and decides how many rounds to keep.

    Training stops at twice the best T, but not before 100 rounds: boosting improves with the
    logarithm of the rounds, so the patience is a factor, not a number of rounds. By the error on
    digits and USPS a factor of 1.5 stops at errors of 7.4 and 12.0 %, 2 at 4.3 and 9.6 %, 3 at 4.3
    and 9.2 % but after half as many rounds again. `watched` are sets by their column of the
    history; without `decides` all rounds are kept.
    """

    def __init__(
        self,
        watched: Mapping[str, EvalMetric],
        n_members: int = 1,
        decides: EvalMetric | None = None,
    ) -> None:
        self._metrics = {**watched} if decides is None else {_DECIDES: decides, **watched}
        self._n_members = n_members
        self._decides = decides
        self._turn: list[Round] = []
        self._done = 0
        self._scored: list[int] = []  # rounds, from 1
        self._values: dict[str, list[float]] = {name: [] for name in self._metrics}
        self._errors: list[float] = []
        self._constant: list[bool] = []

    @property
    def errors(self) -> NDArray[np.float64] | None:
        """Percentage wrong of the rows that decide, or of their labels, after each round."""
        return None if self._decides is None else np.array(self._errors)

    def __call__(self, done: Round) -> str:
        """Take one more round of a member; why to stop, once all members have trained it, or ""."""
        self._turn.append(done)
        if len(self._turn) < self._n_members:
            return ""
        self._done += 1
        for metric in self._metrics.values():
            metric.held.add(*self._turn)
        self._turn.clear()
        last = self._scored[-1] if self._scored else 0
        if self._metrics and self._done - last >= max(1, last // _SCORED):
            self._score()
        if self._decides is None:
            return ""
        self._errors.append(self._decides.error())
        self._constant.append(self._decides.constant())
        if self._done < _LEAST or self._done < _PATIENCE * self._best():
            return ""
        self.end()  # the model that is kept is chosen by the last round as well
        if self._done < _PATIENCE * (best := self._best()):
            return ""
        return f"early stopping: eval_metric was best after {best:,} of {self._done:,} rounds"

    def _score(self) -> None:
        self._scored.append(self._done)
        for name, metric in self._metrics.items():
            self._values[name].append(metric())

    def end(self) -> None:
        """Score the rows after the last round, if it is the last one of the training."""
        if self._metrics and self._scored[-1] != self._done:
            self._score()

    def text(self) -> str:
        """The last values, for the progress of a fit."""
        return "".join(f", {name} {values[-1]:.4g}" for name, values in self._values.items())

    def history(self, rounds: Sequence[Round]) -> list[dict[str, Any]]:
        """The rows of all rounds, with the columns of the sets and, of several, of the member."""
        scored = {number: at for at, number in enumerate(self._scored)}
        rows = []
        for at, done in enumerate(rounds):
            turn, member = divmod(at, self._n_members)
            place = scored.get(turn + 1)
            columns: dict[str, Any] = {
                name: math.nan if place is None else values[place]
                for name, values in self._values.items()
            }
            if self._n_members > 1:
                columns[MEMBER_COLUMN.name] = member
            rows += [row | columns for row in done.rows]
        return rows

    def n_rounds(self) -> int:
        """The number of rounds to keep, after `end`; UserWarning if their model is constant."""
        if self._decides is None:
            return self._done
        best = self._best()
        if self._constant[best - 1]:
            warnings.warn(
                f"the model of the {best} rounds that early stopping has kept predicts the "
                f"same for all {self._decides.held.weight.size} held-out rows, though their labels "
                "differ: no number of rounds that predicts more of them right was found by "
                "eval_metric; rank rows by predict_proba, set class_weight='balanced' or "
                "eval_metric='balanced_error' for rare classes, or hold out more rows",
                UserWarning,
                stacklevel=2,
            )
        return best

    def _best(self) -> int:
        assert self._decides is not None
        points = np.array(self._scored)
        few = points[points >= min(_FEWEST, points[-1])]
        ends = np.array([window_ends(rounds) for rounds in few.tolist()])
        first = np.searchsorted(points, ends[:, 0])
        end = np.searchsorted(points, ends[:, 1], "right")
        losses = self._decides.sign * np.array(self._values[_DECIDES])
        sums = np.append(0.0, np.cumsum(losses))
        means = (sums[end] - sums[first]) / (end - first)
        best = np.argmax(means <= means.min() + _ROUNDING * np.abs(losses).max())
        return int(few[(first == first[best]) & (end == end[best])][-1])
