"""Scores of test examples while training goes on, from the bins of the bank."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from boostsample.banks.bank import Bank
from boostsample.records import Term

__all__ = ["Scores"]

_CHUNK = 256  # stumps summed at a time, as `Model.decision_function` does
_BLOCK = 4096  # rows at a time: a block of 256 stumps takes 8 MiB


class Scores:
    """Scores f_l(x) of the test rows, from the bank's bins, as rounds come in.

    Parameters
    ----------
    bank : Bank
    rows : ndarray of int64, shape (n,)
        Test rows of the bank.
    n_labels : int
        K.
    """

    def __init__(self, bank: Bank, rows: NDArray[np.int64], n_labels: int) -> None:
        self._bank = bank.reader(rows)
        self._rows = rows
        self._scores = np.zeros((rows.size, n_labels))
        self._terms: list[Term] = []

    def add(self, terms: Iterable[Term]) -> None:
        """Take in the stumps of one more round."""
        self._terms.extend(terms)
        while len(self._terms) >= _CHUNK:
            self._sum(self._terms[:_CHUNK], self._scores)
            del self._terms[:_CHUNK]

    def current(self) -> NDArray[np.float64]:
        """Scores of all stumps so far: float64 (n, K).

        Whole chunks are summed once and for all, the rest anew at each call: the sums do not depend
        on when they were asked for.
        """
        scores = self._scores.copy()
        if self._terms:
            self._sum(self._terms, scores)
        return scores

    def _sum(self, terms: Sequence[Term], scores: NDArray[np.float64]) -> None:
        features, at = np.unique([term.feature for term in terms], return_inverse=True)
        threshold = np.array([term.threshold for term in terms])
        voted = np.array([term.votes * term.alpha for term in terms])
        for start in range(0, self._rows.size, _BLOCK):
            rows = self._rows[start : start + _BLOCK]
            side = self._bank.take(features, rows)[at] >= threshold[:, None]
            scores[start : start + _BLOCK] += np.where(side, 1.0, -1.0).T @ voted
