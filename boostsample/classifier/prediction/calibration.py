"""The temperature that makes probabilities fit held-out rows.

After many rounds the probabilities are overconfident. One divisor t of all logits, chosen to
minimise the log loss of held-out rows, corrects most of it. The order of the classes of a row, and
so the prediction, stays the same. For two classes and for several labels the logits of a label keep
the order of the rows; probabilities that round to 0 or 1 do not.
Platt's sigmoids would fit 2 numbers and isotonic regression a function for each class, which takes
more rows than a validation part has of rare classes; `sklearn.calibration.CalibratedClassifierCV`
does both.

Rows that are all predicted correctly would ask for t = 0. So, by Laplace's rule and like Platt's
targets (1999), the true class of each of n rows counts as (n + 1) / (n + 2), and the other classes
share the rest: as if one more row were wrong.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from boostsample.banks.bank import Bank
from boostsample.classifier.inputs.fit_rows import FitRows, HeldScores
from boostsample.classifier.prediction.probabilities import log_probabilities
from boostsample.records import Round

__all__ = ["best_temperature", "held_temperature"]

_BOUNDS = math.log(1e-3), math.log(1e4)


def held_temperature(
    bank: Bank,
    rows: FitRows,
    rounds: Sequence[Round],
    offsets: NDArray[np.float64],
    multi_label: bool,
) -> float:
    """The temperature of a model of these rounds, from the rows held out."""
    held = HeldScores(bank, rows)
    for one in rounds:
        held.add(one)
    given = rows.labels[rows.held], rows.weight[rows.held]
    return best_temperature(held.scores, *given, offsets, multi_label)


def best_temperature(
    scores: NDArray[np.float64],
    labels: NDArray[np.int8],
    weight: NDArray[np.float64],
    offsets: NDArray[np.float64],
    multi_label: bool,
) -> float:
    """The temperature of least weighted log loss on held-out rows.

    Parameters
    ----------
    scores : ndarray of float64, shape (n, K)
    labels : ndarray of int8, shape (n, K)
        +1 or -1.
    weight : ndarray of float64, shape (n,)
    offsets : ndarray of float64, shape (K,)
        As in `boostsample.classifier.prediction.probabilities`.
    multi_label : bool
    """
    single = multi_label or scores.shape[1] == 1
    right = (labels.shape[0] + 1) / (labels.shape[0] + 2)
    wrong = (1.0 - right) / (1 if single else labels.shape[1] - 1)
    targets = np.where(labels > 0, right, wrong) * weight[:, None]

    def log_loss(log_temperature: float) -> float:
        temperature = math.exp(log_temperature)
        if not single:
            return -float(np.sum(targets * log_probabilities(scores, offsets, temperature, False)))
        yes = log_probabilities(scores, offsets, temperature, True)
        no = log_probabilities(-scores, -offsets, temperature, True)
        return -float(np.sum(targets * yes + (weight[:, None] - targets) * no))

    found = minimize_scalar(log_loss, bounds=_BOUNDS, method="bounded", options={"xatol": 1e-4})
    return math.exp(found.x)
