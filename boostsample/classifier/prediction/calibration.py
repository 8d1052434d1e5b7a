"""The temperature of the probabilities: one divisor of all logits.

After many rounds the logits are far too large. Dividing them by a temperature T corrects most of
it, and changes neither the order of the classes of a row nor, for two classes and for several
labels, the order of the rows.

`rule_temperature` needs no rows: T = 1.1 A^0.73 G^0.29 K^-0.45. A is the sum of alpha over the
rounds, the largest score that the model can give; G the mean edge of the last quarter of the
rounds; K the number of classes or labels. docs/probabilities.md has the measurements that it was
fitted to.

`best_temperature` minimises the log loss of held-out rows plus (log T - log rule)^2 / (2 * 0.5^2):
the rule is off by a factor of about exp(0.5). Like Platt's targets (1999), the true class of each
of n rows counts as (n + 1) / (n + 1.3), and the other classes share the rest: as if 0.3 rows more
were wrong. Platt's sigmoids would fit 2 numbers and isotonic regression a
function for each class, which takes more rows than a validation part has of rare classes;
`sklearn.calibration.CalibratedClassifierCV` does both.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from boostsample.classifier.inputs.fit_rows import HeldScores
from boostsample.classifier.prediction.probabilities import log_loss_slope
from boostsample.models.model import Model

_SPREAD = 0.5
"""Of the logarithm of the best temperature about that of the rule."""
_WRONG = 0.3
"""Rows that are wrong beside those held out; 0, 0.1 and 1 had higher losses on other rows."""
_STEP, _TOLERANCE = 0.1, 1e-3
_LARGEST_LOGIT = 30.0
"""Of any row of a calibrated model: from 37 on, float64 rounds the probability to 1."""


def largest_score(model: Model) -> float:
    """The sum of alpha over the rounds: no score of any row is larger."""
    return math.fsum(np.abs(model.alpha[model.first]).tolist())


def rule_temperature(
    largest: float,
    edges: Sequence[float],
    offsets: NDArray[np.float64],
    multi_label: bool,
) -> float:
    """The temperature of the rule above, of 1 if all scores or last edges are 0.

    `largest` is as from `largest_score`, `edges` are those of the rounds that were trained,
    `offsets` as in `boostsample.classifier.prediction.probabilities`. At least 1 for several
    labels, since less would magnify the offsets.
    """
    rule = _rule(largest, edges, offsets, multi_label)
    return _ordered(rule, largest, offsets, multi_label)


def _rule(
    largest: float, edges: Sequence[float], offsets: NDArray[np.float64], multi_label: bool
) -> float:
    """The temperature of the rule, which may be too low for the order of rows."""
    last = edges[-max(1, len(edges) // 4) :]
    edge = math.fsum(last) / len(last)
    if largest == 0.0 or edge == 0.0:
        return 1.0
    n_classes = max(offsets.size, 2)
    rule: float = 1.1 * largest**0.73 * edge**0.29 * n_classes**-0.45
    return max(rule, 1.0) if multi_label else rule


def _ordered(
    temperature: float, largest: float, offsets: NDArray[np.float64], multi_label: bool
) -> float:
    """The temperature, or a higher one at which no logit of a label of any row is above 30.

    With more than two classes, rows have no order that their probabilities could keep.
    """
    if offsets.size > 1 and not multi_label:
        return temperature
    return max(temperature, (2.0 * largest + float(np.abs(offsets).max())) / _LARGEST_LOGIT)


def best_temperature(
    held: HeldScores,
    offsets: NDArray[np.float64],
    multi_label: bool,
    start: float | None = None,
) -> float:
    """The temperature of least weighted log loss of rows and distance from the rule, as above.

    Parameters
    ----------
    held : HeldScores
    offsets : ndarray of float64, shape (K,)
        As in `boostsample.classifier.prediction.probabilities`.
    multi_label : bool
    start : float, optional
        Where the search begins, by default at the rule; the closer to the end, the fewer passes
        over the scores.
    """
    n, n_labels = held.labels.shape
    right = (n + 1) / (n + 1 + _WRONG)
    wrong = (1.0 - right) / (1 if multi_label or n_labels == 1 else n_labels - 1)
    targets = np.where(held.labels > 0, right, wrong) * held.weight[:, None]
    rule = rule_temperature(held.largest, held.edges, offsets, multi_label)
    distance = float(held.weight.mean()) / _SPREAD**2

    @functools.cache
    def slope(log_temperature: float) -> float:
        temperature = math.exp(log_temperature)
        arguments = held.scores, targets, held.weight, offsets, temperature, multi_label
        return log_loss_slope(*arguments) + distance * (log_temperature - math.log(rule))

    near = math.log(start or rule)
    below = slope(near) < 0.0
    step = _STEP if below else -_STEP
    far = near + step
    while (slope(far) < 0.0) == below:  # ends: the distance grows, the slope of the loss does not
        near, step = far, 2.0 * step
        far = near + step
    best = math.exp(brentq(slope, near, far, xtol=_TOLERANCE))
    return _ordered(best, held.largest, offsets, multi_label)
