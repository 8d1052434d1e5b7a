"""Weights of AdaBoost.OC: of each example and each wrong class, and of examples by a coloring.

A coloring divides the classes by signs mu. Of the weights D(i, c) of examples i and their wrong
classes c, those count for which mu(c) differs from mu(y_i): their sum over c is the weight of the
example in the round, whose label is mu(y_i).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostsample.rows.weights import WEIGHT_FLOOR


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
