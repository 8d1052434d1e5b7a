"""The boosted classifier: arrays of stumps, and the families that compute their features."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from boostsample.errors import DataError
from boostsample.family import Family
from boostsample.models.model_html import model_html
from boostsample.records import Term

__all__ = ["Model"]

_CHUNK = 256


class Model:
    """f_l(x) = sum over rounds of alpha_r v_rl phi_r(x), from raw features.

    Parameters
    ----------
    families : sequence of Family
        Families of the training bank, in order.
    terms : iterable of Term
        Stumps in the order of the rounds.
    n_labels : int
        K.

    Attributes
    ----------
    feature : ndarray of int64, shape (R,)
    threshold : ndarray of float64, shape (R,)
        Raw thresholds; phi(x) = +1 if x >= threshold else -1 (missing: -1).
    votes : ndarray of int8, shape (R, K)
    alpha : ndarray of float64, shape (R,)
    """

    def __init__(self, families: Sequence[Family], terms: Iterable[Term], n_labels: int) -> None:
        kept = list(terms)
        self.families = tuple(families)
        self.n_labels = n_labels
        self.feature = np.array([term.feature for term in kept], np.int64)
        self.threshold = np.array([term.value for term in kept], np.float64)
        self.votes = np.array([term.votes for term in kept], np.int8).reshape(-1, n_labels)
        self.alpha = np.array([term.alpha for term in kept], np.float64)

    def __len__(self) -> int:
        return int(self.feature.size)

    def _repr_html_(self) -> str:
        """The first stumps as notebooks show them."""
        return model_html(self.families, self.feature, self.threshold, self.votes, self.alpha)

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
            part = slice(start, min(start + _CHUNK, used))
            different, at = np.unique(self.feature[part], return_inverse=True)
            values = self.features(X, different)
            side = values[:, at] >= self.threshold[part].astype(np.float32)
            phi = np.where(side, 1.0, -1.0)
            scores += phi @ (self.votes[part] * self.alpha[part, None])
        return scores
