"""Early stopping on held-out rows, by the smoothed error of [BK10] 4.2.

The error of single rounds is too rough to choose by: of a few hundred held-out rows the least one
is luck. So the number of rounds T is the first with the least mean error over rounds 4T/5 to 6T/5
(`boostsample.loop.smoothed`).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from boostsample.banks.bank import Bank
from boostsample.classifier.inputs.fit_rows import FitRows, HeldScores
from boostsample.labels import classify
from boostsample.loop.smoothed import is_complete, window_ends
from boostsample.records import Round

__all__ = ["EarlyStopping"]

_LEAST = 100
_PATIENCE = 2


class EarlyStopping:
    """Follows the rounds of a fit, and asks to stop once more of them promise nothing.

    Training stops at twice the best T, but not before 100 rounds: boosting improves with the
    logarithm of the rounds, so the patience is a factor, not a number of rounds. On digits and USPS
    a factor of 1.5 stops at errors of 7.4 and 12.0 %, 2 at 4.3 and 9.6 %, 3 at 4.3 and 9.2 % but
    after half as many rounds again.

    Parameters
    ----------
    bank : Bank
        Features of the rows.
    rows : FitRows
        Of which the held-out ones are scored.
    multi_label : bool
    """

    def __init__(self, bank: Bank, rows: FitRows, multi_label: bool) -> None:
        labels, weight = rows.labels[rows.held], rows.weight[rows.held]
        self._held = HeldScores(bank, rows)
        self._multi_label = multi_label
        truth = labels if multi_label or labels.shape[1] > 1 else np.hstack([-labels, labels])
        self._truth = (labels > 0).astype(np.int64) if multi_label else truth.argmax(axis=1)
        self._weight = weight
        self._percent = 100.0 / (weight.sum() * (labels.shape[1] if multi_label else 1))
        self._sums = [0.0]  # of the weights of wrong rows, over all rounds so far
        self._tried = 0
        self._least = math.inf
        self._best = 0

    @property
    def errors(self) -> NDArray[np.float64]:
        """Percentage of wrong held-out rows, or of wrong labels of them, after each round."""
        return np.asarray(np.diff(self._sums) * self._percent)

    def __call__(self, one: Round) -> bool:
        """Score one more round; whether to stop."""
        self._held.add(one)
        wrong = classify(self._held.scores, self._multi_label) != self._truth
        of_row = wrong.sum(axis=1) if self._multi_label else wrong
        self._sums.append(self._sums[-1] + float(self._weight @ of_row))
        done = len(self._sums) - 1
        self._try_all(self._sums)
        return done >= _LEAST and done >= _PATIENCE * self._best

    def n_rounds(self, stopped: bool) -> int:
        """The best number of rounds T, once training has ended.

        `stopped`: whether training ended early. Further rounds would not change the model, so its
        last error then counts for them. Of one round there is nothing to choose: all are kept.
        """
        done = len(self._sums) - 1
        if stopped:
            last = self._sums[-1] - self._sums[-2]
            beyond = range(1, -(-done // 5) + 1)  # of the window of `done`
            self._try_all(self._sums + [self._sums[-1] + last * more for more in beyond])
        return self._best or done

    def _try_all(self, sums: list[float]) -> None:
        """Compare the T whose windows are complete now; `sums` as `_sums`."""
        while is_complete(self._tried + 1, len(sums) - 1):
            self._tried += 1
            first, last = window_ends(self._tried)
            mean = (sums[last] - sums[first - 1]) / (last - first + 1)
            if mean < self._least:
                self._least, self._best = mean, self._tried
