"""Objectives with votes whose weights do not follow from one update: RankBoost and bagging."""

from __future__ import annotations

import math

from boostsample.errors import SettingError
from boostsample.objective import Objective
from boostsample.rows.weights import Factors, StepSize


class RankBoost(Objective):
    """RankBoost for two classes (Freund, Iyer, Schapire and Singer 2003, section 3.2).

    Positive examples are to score higher than the negative ones of the same query. A row has its
    potential: v_i times the sum of v over the examples of the other class in its query, normalised.
    The edge r is the sum of potentials times labels times outputs, alpha = 1/4 log((1 + r) /
    (1 - r)), and v_i is multiplied by exp(-y_i alpha h(x_i)). The loss is the weighted mean over
    pairs of exp(f(negative) - f(positive)).
    """

    name = "rank"
    exponential = False
    ranks = True
    measures_loss = True

    def check(self, n_labels: int, *, one_search: bool) -> None:
        """SettingError for more than two classes."""
        if n_labels > 1:
            raise SettingError(
                f"the objective 'rank' is for two classes, got {n_labels} labels; use labels 0 and "
                "1, the relevant examples"
            )

    def step_size(
        self, learning_rate: float, smoothing: float, n_examples: int, n_labels: int
    ) -> StepSize:
        """Half of the steps of AdaBoost: a pair takes two of them."""
        return HalfStep(learning_rate, smoothing, n_examples)


class HalfStep(StepSize):
    """Half of the steps of AdaBoost, for pairs that take two of them; the loss is measured."""

    __slots__ = ()

    def alpha(self, edge: float) -> float:
        """Nu / 4 log((1 + r) / (1 - r)), smoothed as of `StepSize`."""
        return 0.5 * super().alpha(edge)

    def edge(self, alpha: float) -> float:
        """The edge for a coefficient."""
        return super().edge(2.0 * alpha)

    def factors(self, edge: float, mass: float) -> Factors:
        """exp(-alpha) and exp(alpha), divided by the sum of the weights."""
        alpha = self.alpha(edge)
        return Factors(math.exp(-alpha) / mass, math.exp(alpha) / mass)


class Bagging(Objective):
    """Bagging (Breiman 1996) of the base classifiers that boosting uses: votes of equal weight.

    The weights of a round are the initial ones times the numbers of a bootstrap sample. Nothing is
    reweighted, and the recorded loss stays 1.
    """

    name = "bagging"
    two_sided = True
    exponential = False
    resamples = True
    smooths = False

    def step_size(
        self, learning_rate: float, smoothing: float, n_examples: int, n_labels: int
    ) -> StepSize:
        """Steps of 1."""
        if learning_rate != 1.0:
            raise SettingError(
                f"bagging has votes of equal weight, got learning_rate={learning_rate!r}; use 1"
            )
        return BaggingStep(n_examples=n_examples)


class BaggingStep(StepSize):
    """Coefficients of 1."""

    __slots__ = ()

    def ends(self, edge: float) -> bool:
        """Never."""
        return False

    def alpha(self, edge: float) -> float:
        """1."""
        return 1.0

    def edge(self, alpha: float) -> float:
        """Unknown: 0."""
        return 0.0

    def log_loss_change(self, edge: float) -> float:
        """None: 0."""
        return 0.0

    def fall(self, alpha: float) -> float:
        """1: each round counts the same in importances."""
        return 1.0

    def factors(self, edge: float, mass: float) -> Factors:
        """Only the normalisation."""
        return Factors(1.0 / mass, 1.0 / mass)
