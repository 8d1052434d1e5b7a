"""Scores of examples while stumps are added, from the bins of the bank."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from boostsample.banks.bank import Bank
from boostsample.records import Term

__all__ = ["Scores"]

_CHUNK = 256  # stumps summed at a time, as in `Model.decision_function`
_BLOCK = 4096  # rows summed at a time: a block of 256 stumps takes 8 MiB


class Scores:
    """Scores f_l(x) of some rows of the bank, updated round by round.

    Parameters
    ----------
    bank : Bank
    rows : ndarray of int64, shape (n,)
    n_labels : int
        K.
    """

    def __init__(self, bank: Bank, rows: NDArray[np.int64], n_labels: int) -> None:
        self._bank = bank.reader(rows)
        self._rows = rows
        self._scores = np.zeros((rows.size, n_labels))
        self._terms: list[Term] = []

    def add(self, terms: Iterable[Term]) -> None:
        """Add the stumps of one more round."""
        self._terms.extend(terms)
        while len(self._terms) >= _CHUNK:
            self._sum(self._terms[:_CHUNK], self._scores)
            del self._terms[:_CHUNK]

    def current(self) -> NDArray[np.float64]:
        """Scores of all stumps so far: float64 (n, K).

        Whole chunks are summed once, the rest at each call, so that calls do not change the sums.
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
