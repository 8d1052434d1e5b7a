"""Early stopping on held-out rows, by a smoothed metric as in [BK10] 4.2.

Metrics of single rounds are noisy: of a few hundred held-out rows the least error is luck. So the
number of rounds T is the first with the best mean of the scored rounds from 4T/5 to 6T/5
(`boostsample.loop.smoothed`), or to the last round trained. T is at least 10.
"""

from __future__ import annotations

import math
import warnings
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostsample.classifier.eval_metric import EvalMetric
from boostsample.history import MEMBER_COLUMN, VALIDATION_COLUMN
from boostsample.loop.smoothed import window_ends
from boostsample.records import Round

_LEAST, _PATIENCE = 100, 2
_FEWEST = 10
"""Fewest rounds to keep: smaller windows have fewer than 5 rounds, whose least mean is luck."""
_SCORED = 16
"""Rounds scored of each doubling of their number, from 32 on; all rounds before, and the last."""


class Evaluation:
    """Follows the rounds of a fit, and scores held-out rows by a metric.

    Parameters
    ----------
    metrics : mapping of str to EvalMetric
        Sets of rows, by the column of the history that has their values; may be empty.
    n_members : int
        Members of the committee (`boostsample.loop.committee`) whose rounds these are. A round is
        then one of each member.

    Attributes
    ----------
    points : list of int
        Rounds that were scored, from 1.
    values : dict of str to list of float
        Of these rounds, for each set.
    """

    def __init__(self, metrics: Mapping[str, EvalMetric], n_members: int = 1) -> None:
        self._metrics = metrics
        self._n_members = n_members
        self._turn: list[Round] = []
        self._done = 0
        self.points: list[int] = []
        self.values: dict[str, list[float]] = {name: [] for name in metrics}

    def __call__(self, done: Round) -> bool:
        """Take one more round of a member; whether to stop, once all members have trained it."""
        self._turn.append(done)
        if len(self._turn) < self._n_members:
            return False
        self._done += 1
        for metric in self._metrics.values():
            metric.held.add(*self._turn)
        self._turn.clear()
        last = self.points[-1] if self.points else 0
        if self._metrics and self._done - last >= max(1, last // _SCORED):
            self._score()
        return self._stops()

    def _stops(self) -> bool:
        """Whether further rounds promise nothing; they always do, without rows that decide."""
        return False

    def _score(self) -> None:
        self.points.append(self._done)
        for name, metric in self._metrics.items():
            self.values[name].append(metric())

    def end(self) -> None:
        """Score the rows after the last round, once training has ended."""
        if self._metrics and self.points[-1] != self._done:
            self._score()

    def text(self) -> str:
        """The last values, for the progress of a fit."""
        return "".join(f", {name} {values[-1]:.4g}" for name, values in self.values.items())

    def columns(self, number: int) -> dict[str, float]:
        """Columns of the history of a round, NaN if it was not scored."""
        at = bisect_left(self.points, number)
        scored = at < len(self.points) and self.points[at] == number
        return {name: values[at] if scored else math.nan for name, values in self.values.items()}

    def history(self, rounds: Sequence[Round]) -> list[dict[str, Any]]:
        """The rows of all rounds, with the columns of the sets and, of several, of the member."""
        rows = []
        for at, done in enumerate(rounds):
            turn, member = divmod(at, self._n_members)
            columns: dict[str, Any] = {**self.columns(turn + 1)}
            if self._n_members > 1:
                columns[MEMBER_COLUMN.name] = member
            rows += [row | columns for row in done.rows]
        return rows


class EarlyStopping(Evaluation):
    """Asks to stop once further rounds promise nothing, and chooses the rounds to keep.

    Training stops at twice the best T, but not before 100 rounds: boosting improves with the
    logarithm of the rounds, so the patience is a factor, not a number of rounds. By the error on
    digits and USPS a factor of 1.5 stops at errors of 7.4 and 12.0 %, 2 at 4.3 and 9.6 %, 3 at 4.3
    and 9.2 % but after half as many rounds again.

    Parameters
    ----------
    decides : EvalMetric
        Of the rows that decide; the column ``validation``.
    watched : mapping of str to EvalMetric
        Other sets, which are only scored, by column.
    n_members : int
        As of `Evaluation`.
    """

    def __init__(
        self, decides: EvalMetric, watched: Mapping[str, EvalMetric], n_members: int = 1
    ) -> None:
        super().__init__({VALIDATION_COLUMN.name: decides, **watched}, n_members)
        self._decides = decides
        self._losses = self.values[VALIDATION_COLUMN.name]
        self._errors: list[float] = []
        self._constant: list[bool] = []

    @property
    def errors(self) -> NDArray[np.float64]:
        """Percentage of wrong held-out rows, or of wrong labels of them, after each round."""
        return np.array(self._errors)

    def _stops(self) -> bool:
        self._errors.append(self._decides.error())
        self._constant.append(self._decides.constant())
        return self._done >= _LEAST and self._done >= _PATIENCE * self._best()

    def n_rounds(self) -> int:
        """The best number of rounds T, after `end`; UserWarning if its model is constant."""
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
        """The first T of the best mean so far."""
        points = np.array(self.points)
        few = points[points >= min(_FEWEST, points[-1])]
        ends = np.array([window_ends(rounds) for rounds in few.tolist()])
        first, end = (
            np.searchsorted(points, ends[:, 0]),
            np.searchsorted(points, ends[:, 1], "right"),
        )
        sums = np.append(0.0, np.cumsum(self._decides.sign * np.array(self._losses)))
        means = (sums[end] - sums[first]) / (end - first)
        return int(few[np.argmin(np.round(means, 12))])
