"""The boosted classifier: arrays of terms, and the families that compute their features."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from boostsample.errors import DataError
from boostsample.family import Family
from boostsample.models.model_html import model_html
from boostsample.models.scoring import TermArrays
from boostsample.records import Term

__all__ = ["Model"]

_CHUNK = 256


class Model(TermArrays):
    """f_l(x) = sum over rounds of alpha_r o_rl(x), from raw features.

    A round's base classifier o is a stump, or is made of several, the terms of the round, as
    `boostsample.records.Term` defines.

    Parameters
    ----------
    families : sequence of Family
        Families of the training bank, in order.
    terms : iterable of Term
        Terms in the order of the rounds.
    n_labels : int
        K.

    Attributes
    ----------
    feature : ndarray of int64, shape (M,)
    threshold : ndarray of float64, shape (M,)
        Raw thresholds; phi(x) = +1 if x >= threshold else -1 (missing: -1).
    votes, below : ndarray of int8, shape (M, K)
        Votes for phi = +1 and for phi = -1; for stumps and products the opposite ones.
    parent, side : ndarray of int64, shape (M,)
    alpha : ndarray of float64, shape (M,)
    first : ndarray of int64, shape (R,)
        Position of the first term of each round.
    """

    def __init__(self, families: Sequence[Family], terms: Iterable[Term], n_labels: int) -> None:
        kept = list(terms)
        super().__init__(kept, n_labels)
        self.families = tuple(families)
        self.n_labels = n_labels
        self.threshold = np.array([term.value for term in kept], np.float64)

    def _repr_html_(self) -> str:
        """The first terms as notebooks show them."""
        return model_html(self)

    def features(self, X: NDArray[np.generic], features: NDArray[np.int64]) -> NDArray[np.float32]:
        """Columns of the given global features for the rows of X: float32 (n, q)."""
        ends = np.cumsum([family.n_features for family in self.families])
        columns = np.empty((X.shape[0], features.size), np.float32, order="F")
        owner = np.searchsorted(ends, features, side="right")
        for k in np.unique(owner):
            mine = np.flatnonzero(owner == k)
            family = self.families[k]
            first = int(ends[k]) - family.n_features
            columns[:, mine] = family.compute(X, features[mine] - first)
        return columns

    def decision_function(
        self, X: NDArray[np.generic], n_rounds: int | None = None
    ) -> NDArray[np.float64]:
        """Scores f_l(x): float64 (n, K); only the features in use are computed.

        Parameters
        ----------
        X : array, shape (n, ...)
            Raw examples as the families take them.
        n_rounds : int, optional
            Use the first `n_rounds` rounds only.
        """
        used = len(self) if n_rounds is None else n_rounds
        if not 0 <= used <= len(self):
            raise DataError(f"n_rounds must be between 0 and {len(self)}, got {n_rounds}")
        scores = np.zeros((X.shape[0], self.n_labels))
        for start in range(0, used, _CHUNK):
            part = self.terms(start, min(start + _CHUNK, used))
            different, at = np.unique(self.feature[part], return_inverse=True)
            values = self.features(X, different)
            sides = values[:, at] >= self.threshold[part].astype(np.float32)
            self.add_scores(sides.T, part, scores)
        return scores
