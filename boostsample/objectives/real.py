"""Objectives with real values: confidence-rated AdaBoost.MH, InfoBoost, Gentle AdaBoost."""

from __future__ import annotations

import math

import numpy as np

from boostsample.checks import check_flag
from boostsample.errors import SettingError
from boostsample.objective import Array, RealObjective, each


class RealMH(RealObjective):
    """Real AdaBoost.MH ([SS99] sections 4.1 and 4.2): c = 1/2 log((W+ + e) / (W- + e)).

    e = 1 / (N K). Z is the sum over cells and labels of 2 sqrt(W+ W-), but for e. With `abstains`,
    the side of a stump that lowers the loss less has the value 0 ([SS99] 4.3, as BoosTexter does
    for words that are absent): stumps only.

    Parameters
    ----------
    abstains : bool
        Whether stumps have values on one side only.
    """

    name = "real-mh"

    def __init__(self, abstains: bool = False) -> None:
        super().__init__()
        self.abstains = abstains

    def check(self, n_labels: int, *, one_search: bool) -> None:
        """SettingError for trees that abstain."""
        if check_flag("abstains", self.abstains, numbers=True) and not one_search:
            raise SettingError(
                "abstains=True is for stumps, which have one side to abstain on; use the learner "
                "stump, or abstains=False"
            )

    def values(self, sums: Array, masses: Array) -> Array:
        """1/2 log((W+ + e) / (W- + e))."""
        return half_log_odds(sums, masses, 1.0 / (self.n_examples * self.n_labels))

    def side_values(self, sums: Array, masses: Array) -> Array:
        """As of `RealObjective`; 0 on one side if it abstains, below if both are as good."""
        values = super().side_values(sums, masses)
        if self.abstains:
            falls = np.add.reduce(masses, axis=-1) - self.factors(values, sums, masses)
            values[0 if falls[1] >= falls[0] else 1] = 0.0
        return values


class InfoBoost(RealObjective):
    """InfoBoost (Aslam 2000), for K labels: one coefficient for each cell.

    c_l = a v_l with votes v, and a = 1/2 log((R + e) / (M - R + e)), where M is the weight of the
    cell, R the part that v gets right and e = 1 / N. For K = 1 this is real AdaBoost.
    """

    name = "info"

    def values(self, sums: Array, masses: Array) -> Array:
        """Votes times the coefficient of the cell."""
        total, right = (
            np.add.reduce(numbers, axis=-1, keepdims=True) for numbers in (masses, np.abs(sums))
        )
        coefficient = half_log_odds(right, total, 1.0 / self.n_examples)
        return np.where(sums >= 0.0, coefficient, -coefficient)


class GentleBoost(RealObjective):
    """Gentle AdaBoost (Friedman, Hastie and Tibshirani 2000), for each label: c = S / M."""

    name = "gentle"

    def values(self, sums: Array, masses: Array) -> Array:
        """The mean label of the cell, between -1 and 1; 0 without weight.

        Where a cell has almost none, rounding leaves sums that exceed its mass.
        """
        means = sums / np.where(masses > 0.0, masses, 1.0)
        return np.where(masses > 0.0, np.clip(means, -1.0, 1.0), 0.0)


def half_log_odds(sums: Array, masses: Array, e: float) -> Array:
    """1/2 log((W+ + e) / (W- + e)) with W+- = (M +- S) / 2."""
    right, wrong = (np.maximum(0.5 * (masses + side * sums), 0.0) + e for side in (1.0, -1.0))
    return 0.5 * each(math.log, right / wrong)
