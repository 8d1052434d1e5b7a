"""AdaBoost.OC: each round boosts one bit, the colors of a random half of the classes."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from boostsample.objective import Array, Objective, check_one_class
from boostsample.objectives.ensembles import HalfStep
from boostsample.rows.weights import Factors, StepSize


class AdaBoostOC(Objective):
    """AdaBoost.OC (Schapire 1997, Using output codes to boost multiclass learning problems).

    Weights D(i, c) are of examples and their wrong classes. A round draws signs mu of the classes,
    +1 for a random half of them; base classifiers h learn mu(y_i) with the weights of those c for
    which mu(c) differs from mu(y_i), a share U of all. With the edge G of h, alpha = 1/2 log((1 + U
    G) / (1 - U G)); each of these weights is multiplied by exp(-alpha mu(y_i) h(x_i)). The score of
    class c is the sum of alpha / 2 h(x) mu(c), so that D(i, c) is in proportion to
    exp(f_c - f_y), the loss. With two classes it is discrete AdaBoost.
    """

    name = "oc"
    exponential = False

    def __init__(self) -> None:
        self.colors = False

    def check(self, n_labels: int, *, one_search: bool) -> None:
        """Take the number of labels."""
        self.colors = self.measures_loss = n_labels > 1

    def label_weights(self, Y: NDArray[np.int8], weights: Array) -> Array:
        """The weight of an example shared by its wrong classes."""
        check_one_class(Y, self.name)
        if Y.shape[1] == 1:
            return weights
        of_examples = np.add.reduce(weights, axis=1, keepdims=True)
        return np.where(Y > 0, 0.0, of_examples / (Y.shape[1] - 1))

    def example_weights(
        self,
        Y: NDArray[np.int8],
        weights: Array,
        scores: Array,
        queries: NDArray[np.int64] | None = None,
    ) -> Array:
        """As of `Objective`."""
        if Y.shape[1] == 1:
            return super().example_weights(Y, weights, scores)
        margins = scores - scores[Y > 0][:, None]
        wrong = self.label_weights(Y, weights) * np.exp(margins - margins.max())
        of_examples = np.add.reduce(wrong, axis=1)
        return np.asarray(of_examples / math.fsum(of_examples))

    def step_size(
        self, learning_rate: float, smoothing: float, n_examples: int, n_labels: int
    ) -> StepSize:
        """Half of the steps of AdaBoost, unless there are two classes."""
        kind = OCStep if self.colors else StepSize
        return kind(learning_rate, smoothing, n_examples)


class OCStep(HalfStep):
    """Half of alpha: votes of classes of both colors differ by 2."""

    __slots__ = ()

    def factors(self, edge: float, mass: float) -> Factors:
        """exp(-alpha) and exp(alpha), divided by the sum of the weights."""
        alpha = 2.0 * self.alpha(edge)
        return Factors(math.exp(-alpha) / mass, math.exp(alpha) / mass)
