"""Weights from which those of examples follow: of pairs in RankBoost, of classes in AdaBoost.OC.

An example with weight v and label s has the potential v V, where V is the sum of v over the
examples of its query with label -s. So the positive examples of a query have the potential that its
negative ones have: the product of both sums, which is the weight of its pairs.

A coloring divides the classes by signs mu. Of the weights D(i, c) of examples i and their wrong
classes c, those count for which mu(c) differs from mu(y_i): their sum over c is the weight of the
example in the round, whose label is mu(y_i).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from boostsample.errors import DataError
from boostsample.rows.weights import WEIGHT_FLOOR

_MISSING = ("nan", "None", "<NA>", "NaT")


def query_numbers(groups: ArrayLike) -> NDArray[np.int64]:
    """Numbers 0, 1, ... of the queries of examples: int64 (N,).

    DataError if one is missing, or if they are of several kinds.
    """
    values = np.asarray(groups)
    for value in values.tolist() if values.dtype.kind in "fOMm" else ():
        if not isinstance(value, str) and str(value) in _MISSING:
            raise DataError(
                f"groups must have a query for each example, but contain {value}; leave such "
                "examples out, or give each of them another query"
            )
    try:
        numbers = np.unique(values, return_inverse=True)[1]
    except TypeError as error:
        raise DataError(
            f"groups must be queries of one kind, but {error}; make them text by .astype(str)"
        ) from error
    return np.asarray(numbers.reshape(-1), np.int64)


class Pairs:
    """The queries of N examples with labels -1 and +1: `groups` are N numbers, None is one query.

    `query_classes` int64 (N,) is twice the number of the query, and 1 more for labels of +1.
    DataError if no query has examples of both classes.
    """

    def __init__(self, groups: ArrayLike | None, labels: NDArray[np.int8]) -> None:
        n = labels.size
        query = np.zeros(n, np.int64)
        if groups is not None:
            query = query_numbers(groups)
        self.query_classes = 2 * query + (labels > 0)
        self._n_cells = 2 * (int(query.max(initial=0)) + 1)
        counts = np.bincount(self.query_classes, minlength=self._n_cells).reshape(-1, 2)
        if not (counts > 0).all(axis=1).any():
            raise DataError(
                "the objective 'rank' needs a query with examples of both classes, got none; "
                "check labels and groups"
            )
        self._weights = np.empty(0)
        self._mass = 1.0

    def _sums(self, values: NDArray[np.floating]) -> NDArray[np.float64]:
        """Sums over the examples of each query of class -1 and of class +1: float64 (Q, 2)."""
        sums = np.bincount(self.query_classes, np.abs(values).astype(np.float64), self._n_cells)
        return np.asarray(sums, np.float64).reshape(-1, 2)

    def potentials(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """The potentials for weights v: float64 (N,)."""
        others = self._sums(weights)[:, ::-1].reshape(-1)
        return np.asarray(weights * others[self.query_classes])

    def begin(self, values: NDArray[np.floating], mass: float) -> None:
        """Take the weights of the pairs of each query from signed potentials and their mass."""
        self._weights, self._mass = self._sums(values)[:, 1], mass

    def updated(self, values: NDArray[np.floating]) -> NDArray[np.float64]:
        """The potentials after v was multiplied by factors: of potentials times these / mass.

        They sum to the factor of the weight of all pairs.
        """
        # The new potentials of the other class, over the old weight of the pairs, are its new V
        # over its old one.
        others = self._sums(values)[:, ::-1] * self._mass
        some = self._weights > 0.0
        factors = others / np.where(some, self._weights, 1.0)[:, None]
        factors[~some] = 1.0
        return np.asarray(values * factors.reshape(-1)[self.query_classes])


class Colorings:
    """The weights D of N examples and K classes, 0 for the class of the example.

    Attributes
    ----------
    wrong : ndarray of float64, shape (N, K)
        D, of total 1.
    signs : ndarray of int8, shape (K,)
        mu of the round.
    share : float
        U of the round: the sum of the weights D that count.
    """

    def __init__(self, labels: NDArray[np.int8], wrong: NDArray[np.float64]) -> None:
        self.codes = np.asarray(labels.argmax(axis=1), np.int64)
        self.wrong = wrong / wrong.sum()
        self.signs = np.ones(wrong.shape[1], np.int8)
        self.share = 1.0

    def begin(self, seed: Sequence[int]) -> NDArray[np.float64]:
        """Colour a random half of the classes: signed weights of the examples, float64 (N,)."""
        n_classes = self.signs.size
        half = np.random.default_rng(seed).permutation(n_classes)[: n_classes // 2]
        self.signs = np.full(n_classes, -1, np.int8)
        self.signs[half] = 1
        weights = np.add.reduce(self.wrong * self._differs, axis=1)
        self.share = float(weights.sum())
        weights = np.maximum(weights / self.share, WEIGHT_FLOOR)
        return np.asarray(weights * self.signs[self.codes])

    @property
    def _differs(self) -> NDArray[np.bool_]:
        return np.asarray(self.signs != self.signs[self.codes][:, None])

    def update(self, factors: NDArray[np.float64]) -> float:
        """Multiply the weights that count by a factor of each example (N,); their new total."""
        self.wrong *= np.where(self._differs, factors[:, None], 1.0)
        total = float(self.wrong.sum())
        self.wrong /= total
        return total

    def example_weights(self) -> NDArray[np.float64]:
        """The weight of each example, float64 (N,) of total 1."""
        return np.asarray(self.wrong.sum(axis=1))

    def state(self) -> dict[str, Any]:
        """A copy of what changes from round to round."""
        return {"wrong": self.wrong.copy()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore a state."""
        self.wrong[:] = state["wrong"]
