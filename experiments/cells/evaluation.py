"""Test error, ROC area and margins of a model at given numbers of stumps.

Scoring is not part of the training time. Scores are summed from the bins of the bank in a fixed
order, so that more points change no number.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from boostsample.banks.bank import Bank
from boostsample.experiments.cells.cell import compact
from boostsample.experiments.cells.scores import Scores
from boostsample.labels import encode, error_percent
from boostsample.records import Term

__all__ = ["MARGIN_BINS", "auc", "evaluate", "margin_counts"]

MARGIN_BINS = 200
"""Bins of a histogram of margins, of equal width over [-1, 1]."""
_MOST_TRAINING = 10_000
"""Most training examples whose margins are counted; of more, every n-th."""


def evaluate(
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
    """Score a model as it grows.

    Parameters
    ----------
    bank : Bank
    train_rows, test_rows : ndarray of int64
    y : ndarray
        Class codes, or 0 and 1 for each label, of all examples of the bank.
    n_classes : int
    rounds : sequence of sequence of Term
        The stumps by round.
    points, marks : collections of int
        Numbers of stumps at which the error, and at marks also ROC area and margins, are computed.
        Those beyond the last round are replaced by it.
    check : callable
        Called in each round; an exception ends the scoring.

    Returns
    -------
    dict of str to ndarray
        ``points``, ``error``, ``marks``, ``auc`` and ``margins`` of
        `boostsample.experiments.cells.cell`.
    """
    last = len(rounds)
    at_marks = sorted({min(mark, last) for mark in marks})
    at_points = sorted({min(point, last) for point in points} | {last, *at_marks})
    step = -(-train_rows.size // _MOST_TRAINING)
    seen = train_rows[::step]
    truth = y[test_rows]
    signs = [encode(y[rows], n_classes) for rows in (seen, test_rows)]
    test = Scores(bank, test_rows, signs[1].shape[1])
    train = Scores(bank, seen, signs[0].shape[1])
    total = 0.0
    errors, areas, margins = [], [], []
    for stumps, terms in enumerate(rounds, start=1):
        check()
        test.add(terms)
        train.add(terms)
        total += sum(term.alpha for term in terms)
        if stumps not in at_points:
            continue
        scores = test.current()
        errors.append(error_percent(scores, truth))
        if stumps in at_marks:
            areas.append(auc(scores, signs[1]))
            margins.append(
                [
                    margin_counts(train.current(), signs[0], total),
                    margin_counts(scores, signs[1], total),
                ]
            )
    counts = np.array(margins, np.int64).reshape(len(at_marks), 2, MARGIN_BINS)
    return {
        "points": compact(at_points),
        "error": np.array(errors, np.float64),
        "marks": compact(at_marks),
        "auc": np.array(areas, np.float64),
        "margins": compact(counts.swapaxes(0, 1)),
    }


def auc(scores: NDArray[np.float64], signs: NDArray[np.int8]) -> float:
    """Area under the ROC curve, mean over the labels that have both signs; NaN if none has.

    The share of pairs of a positive and a negative example in which the positive one has the higher
    score; ties count half.

    Parameters
    ----------
    scores : ndarray of float64, shape (n, K)
    signs : ndarray of int8, shape (n, K)
        +1 or -1.

    >>> auc(np.array([[0.1], [0.4], [0.4], [0.9]]), np.array([[-1], [-1], [1], [1]]))
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


def margin_counts(
    scores: NDArray[np.float64], signs: NDArray[np.int8], total: float
) -> NDArray[np.int64]:
    """Histogram of y_il f_l(x_i) / total over [-1, 1]: int64 (200,).

    `total` is the sum of the alphas; if it is 0, all margins are 0. Margins above 1, by rounding,
    count as 1.
    """
    margins = scores * signs / total if total > 0 else np.zeros(scores.shape)
    counts, _ = np.histogram(np.clip(margins, -1.0, 1.0), bins=MARGIN_BINS, range=(-1.0, 1.0))
    return counts.astype(np.int64)
