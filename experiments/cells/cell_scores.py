"""Test error and other metrics, ROC area and margins of a model at given numbers of stumps.

Scoring is not part of the training time. Scores are summed from the bins of the bank in a fixed
order, so that more points change no number.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from boostsample.banks.bank import Bank
from boostsample.experiments.metrics import CLASS_METRICS
from boostsample.files.archive import narrowest
from boostsample.labels import encode, error_percent
from boostsample.models.scoring import TermArrays
from boostsample.records import Term

MARGIN_BINS = 200
"""Bins of a histogram of margins, of equal width over [-1, 1]."""
_MOST_TRAINING = 10_000  # most training examples whose margins are counted; of more, every n-th
_CHUNK = 256  # rounds summed at a time, as in `Model.decision_function`
_BLOCK = 4096  # rows summed at a time: a block of 256 terms takes 8 MiB


def evaluate_cell(
    bank: Bank,
    train_rows: NDArray[np.int64],
    test_rows: NDArray[np.int64],
    y: NDArray[np.int64] | NDArray[np.int8],
    n_classes: int,
    rounds: Sequence[Sequence[Term]],
    points: Collection[int],
    marks: Collection[int],
    check: Callable[[], None],
) -> dict[str, NDArray[np.generic]]:
    """Score a model at some numbers of stumps: the arrays that a cell has for points and marks.

    `train_rows` and `test_rows` are positions in the bank, `y` are class codes (or 0 and 1 for each
    label) of all its rows, and `rounds` are the stumps by round. At `points` the error and
    `CLASS_METRICS` are computed, at `marks` also ROC area and margins; numbers beyond the
    last round are replaced by it. `check` is called in each round; its exceptions end the scoring.
    """
    last = len(rounds)
    at_marks = sorted({min(mark, last) for mark in marks})
    at_points = sorted({min(point, last) for point in points} | {last, *at_marks})
    step = -(-train_rows.size // _MOST_TRAINING)
    seen = train_rows[::step]
    signs = [encode(y[rows], n_classes) for rows in (seen, test_rows)]
    train, test = (Scores(bank, rows, signs[0].shape[1]) for rows in (seen, test_rows))
    total = 0.0
    errors, areas, margins = [], [], []
    others: dict[str, list[float]] = {name: [] for name in CLASS_METRICS}
    for stumps, terms in enumerate(rounds, start=1):
        check()
        test.add(terms)
        train.add(terms)
        total += terms[0].alpha
        if stumps not in at_points:
            continue
        scores = test.current()
        errors.append(error_percent(scores, y[test_rows]))
        for name, metric in CLASS_METRICS.items():
            others[name].append(metric(scores, y[test_rows]))
        if stumps in at_marks:
            areas.append(area_under_roc(scores, signs[1]))
            both = zip((train.current(), scores), signs, strict=True)
            margins.append([evaluate_margins(*scored, total) for scored in both])
    counts = np.array(margins, np.int64).reshape(len(at_marks), 2, MARGIN_BINS)
    return {
        "points": narrowest(at_points),
        "error": np.array(errors, np.float64),
        **{name: np.array(values, np.float64) for name, values in others.items()},
        "marks": narrowest(at_marks),
        "auc": np.array(areas, np.float64),
        "margins": narrowest(counts.swapaxes(0, 1)),
    }


class Scores:
    """Scores f_l(x) of `n_labels` labels for some rows of the bank, updated round by round."""

    def __init__(self, bank: Bank, rows: NDArray[np.int64], n_labels: int) -> None:
        self._bank = bank.reader(rows)
        self._rows = rows
        self._scores = np.zeros((rows.size, n_labels))
        self._rounds: list[Sequence[Term]] = []

    def add(self, terms: Sequence[Term]) -> None:
        """Add the terms of one more round."""
        self._rounds.append(terms)
        if len(self._rounds) == _CHUNK:
            self._sum(self._scores)
            self._rounds = []

    def current(self) -> NDArray[np.float64]:
        """Scores of all rounds so far: float64 (n, K).

        Whole chunks are summed once, the rest at each call, so that calls do not change the sums.
        """
        scores = self._scores.copy()
        if self._rounds:
            self._sum(scores)
        return scores

    def _sum(self, scores: NDArray[np.float64]) -> None:
        terms = [term for of_round in self._rounds for term in of_round]
        arrays = TermArrays(terms, scores.shape[1])
        threshold = np.array([term.threshold for term in terms], np.uint8)
        for start in range(0, self._rows.size, _BLOCK):
            rows = self._rows[start : start + _BLOCK]
            sides = self._bank.take(arrays.feature, rows) >= threshold[:, None]
            arrays.add_scores(sides, slice(0, len(terms)), scores[start : start + _BLOCK])


def area_under_roc(scores: NDArray[np.float64], signs: NDArray[np.int8]) -> float:
    """Area under the ROC curve, mean over the labels that have both signs; NaN if none has.

    The share of pairs of a positive and a negative example in which the positive one has the higher
    score; ties count half.

    `scores` is float64 (n, K), `signs` is int8 (n, K) with values +1 and -1.

    >>> area_under_roc(np.array([[0.1], [0.4], [0.4], [0.9]]), np.array([[-1], [-1], [1], [1]]))
    0.875
    """
    from scipy.stats import rankdata

    positive = signs > 0
    n_positive = positive.sum(axis=0)
    both = (n_positive > 0) & (n_positive < len(signs))
    if not both.any():
        return float("nan")
    ranks = rankdata(scores[:, both], axis=0)
    n = n_positive[both].astype(np.float64)
    above = np.where(positive[:, both], ranks, 0.0).sum(axis=0) - n * (n + 1) / 2
    return float(np.mean(above / (n * (len(signs) - n))))


def evaluate_margins(
    scores: NDArray[np.float64], signs: NDArray[np.int8], total: float
) -> NDArray[np.int64]:
    """Histogram of y_il f_l(x_i) / total over [-1, 1]: int64 (200,).

    `total` is the sum of the alphas; if it is 0, all margins are 0. Margins above 1, by rounding,
    count as 1.
    """
    margins = scores * signs / total if total > 0 else np.zeros(scores.shape)
    counts, _ = np.histogram(np.clip(margins, -1.0, 1.0), bins=MARGIN_BINS, range=(-1.0, 1.0))
    return counts.astype(np.int64)
