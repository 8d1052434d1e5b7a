"""Objectives whose cells vote for one class: AdaBoost.M1 and SAMME.

Rows have their weight w_i in the column of their class. A cut is worth the weight a of the examples
that the heaviest class of each side gets right. With K = 1, two classes, that is (1 + G) / 2.
Votes are +1 for the class and -1 for the others; their coefficient is half of the usual alpha, so
that the class of the largest score is that of the sum over rounds of alpha [h = c].
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from boostsample.objective import Array, Objective, best_votes, check_one_class
from boostsample.rows.weights import CLASS_FLOOR, EDGE_GAP, Factors, StepSize

#: Accuracies up to the least one that counts keep their order below this edge, which counts as 0.
_NO_EDGE = 1e-8


class OneClass(Objective):
    """What both have in common."""

    two_sided = True
    exponential = False

    def __init__(self) -> None:
        self.n_labels = 1

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return max(self.n_labels, 2)

    @property
    def least(self) -> float:
        """Accuracy that a base classifier must exceed."""
        return 0.5

    def check(self, n_labels: int, *, one_search: bool) -> None:
        """Take the number of labels."""
        self.n_labels, self.classes = n_labels, n_labels > 1

    def label_weights(self, Y: NDArray[np.int8], weights: Array) -> Array:
        """The weight of an example in the column of its class."""
        check_one_class(Y, self.name)
        if Y.shape[1] == 1:
            return weights
        of_examples = np.add.reduce(weights, axis=1, keepdims=True)
        return np.where(Y > 0, of_examples, CLASS_FLOOR * of_examples.min())

    def votes(self, sums: Array, masses: Array | None) -> NDArray[np.generic]:
        """+1 for the heaviest class, the first of equal ones."""
        if not self.classes:
            return best_votes(sums)
        votes = np.full(sums.size, -1, np.int8)
        votes[int(sums.argmax())] = 1
        return votes

    def worth(self, sums: Array) -> float:
        """The weight of the heaviest class."""
        return float(sums.max()) if self.classes else super().worth(sums)

    def gain(self, sums: Array, whole: Array) -> float:
        """As of `Objective`, for classes."""
        if not self.classes:
            return super().gain(sums, whole)
        halves = 0.5 * (whole - sums), 0.5 * (whole + sums)
        return sum(map(self.worth, halves)) - self.worth(whole)

    def edges(self, worth: Array) -> Array:
        """The edges for accuracies, or for G with two classes."""
        accuracy = worth if self.classes else 0.5 * (1.0 + worth)
        few = accuracy <= self.least
        return np.where(few, _NO_EDGE * accuracy, self.edges_of(np.where(few, 1.0, accuracy)))

    def edge(self, worth: float) -> float:
        """The edge of a base classifier: 0 for accuracies that do not count."""
        edge = super().edge(worth)
        return edge if edge > _NO_EDGE else 0.0

    def edges_of(self, accuracy: Array) -> Array:
        """The edges for accuracies that count."""
        return 2.0 * accuracy - 1.0


class AdaBoostM1(OneClass):
    """AdaBoost.M1 (Freund and Schapire 1996): the edge is 1 - 2 error.

    Its theory needs an error below 1/2: training stops at a base classifier without.
    """

    name = "m1"
    ends_without_edge = "error of at least 1/2 of a base classifier: AdaBoost.M1 ends"


class SAMME(OneClass):
    """SAMME (Zhu, Zou, Rosset and Hastie 2009): alpha = log(a / (1 - a)) + log(K - 1).

    Z = K a^(1/K) ((1 - a) / (K - 1))^((K - 1) / K) is the factor of its multi-class exponential
    loss. Training stops at an accuracy a of at most 1 / K.
    """

    name = "samme"
    ends_without_edge = "accuracy of at most 1/K of a base classifier: SAMME ends"

    @property
    def least(self) -> float:
        """1 / K."""
        return 1.0 / self.n_classes

    def edges_of(self, accuracy: Array) -> Array:
        """sqrt(1 - Z^2)."""
        if self.n_classes == 2:
            return super().edges_of(accuracy)
        return np.array([samme_edge(a, self.n_classes) for a in accuracy.tolist()])

    def step_size(
        self, learning_rate: float, smoothing: float, n_examples: int, n_labels: int
    ) -> StepSize:
        """That of M1 for two classes."""
        if n_labels == 1:
            return StepSize(learning_rate, smoothing, n_examples)
        return SAMMEStep(learning_rate, smoothing, n_examples, n_labels)


def samme_edge(accuracy: float, n_classes: int) -> float:
    """sqrt(1 - Z^2) for an accuracy of at least 1 / K."""
    k, wrong = n_classes, max(1.0 - accuracy, 0.0)
    log_z = (math.log(k * accuracy) + (k - 1) * math.log(max(k * wrong / (k - 1), 1e-300))) / k
    return math.sqrt(max(0.0, -math.expm1(2.0 * log_z)))


@lru_cache(maxsize=16)
def samme_accuracy(edge: float, n_classes: int) -> float:
    """The accuracy of an edge, by bisection."""
    low, high = 1.0 / n_classes, 1.0
    while True:
        middle = 0.5 * (low + high)
        if middle in (low, high):
            return middle
        if samme_edge(middle, n_classes) < edge:
            low = middle
        else:
            high = middle


class SAMMEStep(StepSize):
    """Steps of SAMME for K classes; what they do follows from the edge, as in any run file.

    Smoothing adds s / N to the weight that is right, and K - 1 times as much to the rest: alpha of
    an accuracy of 1 / K stays 0, and that of 1 is nu log(1 + N / s).
    """

    n_classes: int

    def __init__(
        self, learning_rate: float, smoothing: float, n_examples: int, n_classes: int
    ) -> None:
        super().__init__(learning_rate, smoothing, n_examples)
        object.__setattr__(self, "n_classes", n_classes)

    def alpha(self, edge: float) -> float:
        """Half of alpha: votes of the class and of the others differ by 2."""
        added = self.smoothing / self.n_examples
        accuracy = min(samme_accuracy(edge, self.n_classes), 1.0 - 0.5 * EDGE_GAP)
        accuracy = (accuracy + added) / (1.0 + self.n_classes * added)
        odds = math.log(accuracy) - math.log1p(-accuracy) + math.log(self.n_classes - 1)
        return 0.5 * self.learning_rate * odds

    def edge(self, alpha: float) -> float:
        """The edge for a coefficient."""
        odds = math.exp(2.0 * alpha / self.learning_rate) / (self.n_classes - 1)
        added = self.smoothing / self.n_examples
        accuracy = odds / (1.0 + odds) * (1.0 + self.n_classes * added) - added
        return samme_edge(min(accuracy, 1.0), self.n_classes)

    def log_loss_change(self, edge: float) -> float:
        """Log of a exp(-alpha (K - 1) / K) + (1 - a) exp(alpha / K)."""
        alpha, accuracy = 2.0 * self.alpha(edge), samme_accuracy(edge, self.n_classes)
        return alpha / self.n_classes + math.log1p(accuracy * math.expm1(-alpha))

    def factors(self, edge: float, mass: float) -> Factors:
        """exp(-alpha) where right, then all normalised."""
        alpha = 2.0 * self.alpha(edge)
        total = mass * (1.0 + samme_accuracy(edge, self.n_classes) * math.expm1(-alpha))
        return Factors(math.exp(-alpha) / total, 1.0 / total)
