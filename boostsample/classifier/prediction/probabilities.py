"""Probabilities from the scores of AdaBoost.MH.

Given x, the expected loss of a label l is u+ p exp(-f) + u- (1 - p) exp(f), where p is the
probability of y_l = +1, and u+ and u- are the initial label weights of the two signs. Its minimum
is at f = 1/2 log(p u+ / ((1 - p) u-)), so that

    logit p_l = 2 f_l - b_l,    b_l = log(u+ / u-).

- `uniform` weights, and two classes: b = 0 ([SS99] for one label: p = 1 / (1 + exp(-2 f))).
- `balanced` weights ([BK10] eq. 2), multi-class: u+ = 1/2, u- = 1/(2 (K - 1)): b = log(K - 1).
- `balanced` weights, multi-label: u+ and u- depend on the number of positive labels of the row, so
  the minimum depends on more than p_l. b_l is the log ratio of their means over the training rows
  with y_l = +1 and those with y_l = -1 (0 if there are none of one kind): exact if, given y_l, the
  number of labels does not depend on x.

**Calibration.** After many rounds the logits are far too large. A temperature T, 1 without
calibration, divides them, and changes neither the order of the classes of a row nor, for two
classes and for several labels, the order of the rows.

- `TemperatureRule` needs no rows: T = 1.1 A^0.73 G^0.29 K^-0.45. A is the sum of alpha over the
  rounds, the largest score that the model can give; G the mean edge of the last quarter of the
  rounds; K the number of classes or labels. T is at least 1 - G / 0.3: where no edge is left, the
  scores minimise the loss, and T = 1. A sum of real values is far above the scores of all rows: for
  objectives with real values it is T = 6.1 A^0.73 K^-0.33 N^-0.39, at least 1, with N training
  rows. For bagging T = A: the logit is twice the mean vote. For the B bits of a code that the
  decoding ``hamming`` counts, T = 0.22 B. docs/probabilities.md has the measurements that the rules
  were fitted to.
- `best_temperature` minimises the log loss of held-out rows plus (log T - log rule)^2 / (2 * 0.25),
  with any rule but that of real values; they are off by a factor of about exp(0.5). Like Platt's
  targets (1999), the true class of each of n rows counts as (n + 1) / (n + 1.3), and the other
  classes share the rest: as if 0.3 rows more were wrong. T is so high that no logit of these rows
  is above 20. Platt's sigmoids would fit 2 numbers and isotonic regression a function for each
  class, which takes more rows than a validation part has of rare classes;
  `sklearn.calibration.CalibratedClassifierCV` does both.

**Two classes.** With l = 2 f / T, the smaller of the two probabilities is q = 1 / (1 + exp(|l|)),
the other 1 - q. The order of the scores is kept: rows whose l differs by more than
2^-52 (1 + exp(|l|)) have different probabilities: by 1e-7 at |l| = 20, by 0.003 at 30, the largest
of a calibrated model.

**Multi-class.** Probabilities of labels that were estimated one by one need not sum to 1. Of all
distributions over the classes the nearest one is returned, by the sum over labels of the relative
entropy of a label, KL(p_l || q_l) with logit q_l as above. By its Lagrange conditions logit p_l =
logit q_l + c, with one c for each row, such that the sum is 1. If the scores minimise the loss,
c is 0. The order of the scores is kept, b cancels out, and no p_l is rounded to 1 before the
others are known, as q_l / sum of q would be.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit, log_expit

from boostsample.classifier.inputs.held_rows import HeldScores
from boostsample.kernels.scores import PART, temperature_slopes
from boostsample.labels import classify
from boostsample.models.model import Model
from boostsample.objective import Objective, RealObjective
from boostsample.output_codes import OutputCode
from boostsample.rows.weights import initial_weights
from boostsample.threads import Threads

_SPREAD = 0.5
"""Of the logarithm of the best temperature about that of the rule."""
_WRONG = 0.3
"""Rows that are wrong beside those held out; 0, 0.1 and 1 had higher losses on other rows."""
_STEP, _TOLERANCE = 0.05, 1e-3
_LARGEST_LOGIT, _LARGEST_HELD_LOGIT = 30.0, 20.0
"""Of the largest score that a model can give, and of held-out rows, beside which others may have
larger ones: from 37 on, float64 rounds the probability to 1."""

_BLOCK = 8192
"""Rows at a time."""
_TINY = 1e-14
"""Relative tolerance of c."""
_STEPS = 60
"""Most Newton steps; from the upper end 2 to 5 are needed, whatever the distances."""


def label_offsets(
    labels: NDArray[np.int8], weight_init: str, weight: NDArray[np.float64]
) -> NDArray[np.float64]:
    """b_l of multi-label rows: float64 (K,); `labels` is int8 (n, K), +1 or -1."""
    initial = initial_weights(labels, weight_init)
    offsets = np.zeros(labels.shape[1])
    for label, (signs, u) in enumerate(zip(labels.T, initial.T, strict=True)):
        positive = signs > 0
        if positive.any() and not positive.all():
            means = [np.average(u[rows], weights=weight[rows]) for rows in (positive, ~positive)]
            offsets[label] = np.log(means[0] / means[1])
    return offsets


def probabilities(
    scores: NDArray[np.float64],
    offsets: NDArray[np.float64],
    temperature: float,
    multi_label: bool,
) -> NDArray[np.float64]:
    """Probabilities, float64: of the classes (n, C), rows sum to 1; multi-label (n, K) of labels.

    `scores` are float64 (n, K); one column means two classes. The first largest probability is at
    the class that `boostsample.labels.classify` returns: where rounding makes another one as large,
    that class is raised to the next number.
    """
    if multi_label:
        return np.asarray(expit((2.0 * scores - offsets) / temperature))
    top = classify(scores)
    if scores.shape[1] == 1:
        less = expit(-np.abs(scores[:, 0]) * (2.0 / temperature))  # 1 - less is monotone
        chances = np.where(np.arange(2) == top[:, None], 1.0 - less[:, None], less[:, None])
    else:
        chances = expit(_class_logits(scores, temperature))
        chances /= chances.sum(axis=1, keepdims=True)
    at = np.flatnonzero(chances.argmax(axis=1) != top)
    chances[at, top[at]] = np.nextafter(chances[at].max(axis=1), 2.0)
    return np.asarray(chances)


def log_probabilities(
    scores: NDArray[np.float64],
    offsets: NDArray[np.float64],
    temperature: float,
    multi_label: bool,
) -> NDArray[np.float64]:
    """Logarithms of `probabilities`, also of those that are below the least float64."""
    if multi_label:
        return np.asarray(log_expit((2.0 * scores - offsets) / temperature))
    return np.asarray(log_expit(_class_logits(scores, temperature)))


def log_loss_slope(
    scores: NDArray[np.float64],
    targets: NDArray[np.float64],
    weight: NDArray[np.float64],
    offsets: NDArray[np.float64],
    temperature: float,
    multi_label: bool,
    shifts: NDArray[np.float64] | None = None,
    threads: Threads | None = None,
) -> float:
    """The derivative of the log loss by the logarithm of the temperature.

    With `below` as in `_shifts` and v = p (1 - p), the logit of class l changes by the mean of
    `below` by v less `below_l`. `shifts` float64 (n,), NaN at first, keeps those of the last call,
    where the next one begins.
    """
    if multi_label or scores.shape[1] == 1:
        logits = (2.0 * scores - offsets) / temperature
        return float(np.sum((targets - weight[:, None] * expit(logits)) * logits))
    n, parts = scores.shape[0], range(-(-scores.shape[0] // PART) + 1)
    shifts = np.full(n, np.nan) if shifts is None else shifts
    slopes = np.empty(parts[-1])
    reads, writes = (scores, targets, 2.0 / temperature), (shifts, np.empty_like(scores), slopes)
    threads = Threads(1) if threads is None else threads
    calls = [(*reads, *ends, *writes) for ends in threads.stretches(parts)]
    threads.run(temperature_slopes, calls)
    return math.fsum(slopes.tolist())


def true_log_probabilities(
    held: HeldScores,
    codes: NDArray[np.int64],
    temperature: float,
    shifts: NDArray[np.float64],
) -> NDArray[np.float64]:
    """The logarithm of the probability of one of K >= 2 classes for each row, to 1e-6: (n,).

    `shifts` are as for `log_loss_slope`.
    """
    rows, scores, nothing = np.arange(codes.size), held.scores, np.zeros(held.scores.shape[1])
    arguments = scores, np.zeros_like(scores), held.weight, nothing, temperature, False
    log_loss_slope(*arguments, shifts, held.threads)
    below = (scores[rows, codes] - scores.max(axis=1)) * (2.0 / temperature)
    return np.asarray(log_expit(below + shifts))


def _class_logits(scores: NDArray[np.float64], temperature: float) -> NDArray[np.float64]:
    """Logits of the probabilities of classes, float64 (n, C)."""
    if scores.shape[1] == 1:
        return np.hstack([-scores, scores]) * (2.0 / temperature)
    logits = np.empty_like(scores)
    for start in range(0, scores.shape[0], _BLOCK):
        below = _below(scores[start : start + _BLOCK], temperature)
        logits[start : start + _BLOCK] = below + _shifts(below)[:, None]
    return logits


def _below(scores: NDArray[np.float64], temperature: float) -> NDArray[np.float64]:
    return np.asarray((scores - scores.max(axis=1, keepdims=True)) * (2.0 / temperature))


def _shifts(below: NDArray[np.float64]) -> NDArray[np.float64]:
    """The c of each row for which the sum of sigma(below + c) is 1: float64 (n,).

    `below` is float64 (n, K), K >= 2, with 0 as the largest entry of each row. Solves log(sum of
    sigma(below_l + c) over the others) = log sigma(-c) by Newton's method, which works with any
    distance between the scores: both sides are nearly linear, with slopes between 1/2 and 2. Each
    row has its own number of steps, so that its bits do not depend on the others.
    """
    others = below.copy()
    others[np.arange(below.shape[0]), below.argmax(axis=1)] = -np.inf
    second = others.max(axis=1)
    ratio = np.exp(others - second[:, None])
    low = np.full(below.shape[0], -np.log(below.shape[1] - 1.0))  # all K are at most 1 / K
    high = -0.5 * second  # the two largest have sum 1
    shift, moves = high, np.ones(below.shape[0], bool)
    for _ in range(_STEPS):
        # sigma(at) = ratio exp(second + c) / (1 + ratio exp(second + c)), and second + c <= 0
        rest = 1.0 / (1.0 + ratio * np.exp(second + shift)[:, None])
        part = ratio * rest
        total = part.sum(axis=1)
        excess = second + shift + np.log(total) - log_expit(-shift)
        low, high = np.where(excess <= 0, shift, low), np.where(excess >= 0, shift, high)
        slope = (part * rest).sum(axis=1) / total + expit(shift)
        following = shift - excess / slope
        following = np.where(
            (low <= following) & (following <= high), following, 0.5 * (low + high)
        )
        ends = np.abs(following - shift) <= _TINY * (1.0 + np.abs(shift))
        shift = np.where(moves, following, shift)
        moves &= ~ends
        if not moves.any():
            break
    return np.asarray(shift)


def largest_score(model: Model) -> float:
    """The sum of alpha over the rounds: no score of any row is larger."""
    return math.fsum(model.largest.tolist())


class TemperatureRule(NamedTuple):
    """The rule above that suits the scores of a model trained on `n_rows` rows.

    `offsets` are as from `label_offsets`, or 0 for each class; `code` decodes the scores, if any.
    """

    objective: Objective
    n_rows: int
    offsets: NDArray[np.float64]
    multi_label: bool
    code: OutputCode | None = None

    def temperature(self, largest: float, edges: Sequence[float]) -> float:
        """The temperature without held-out rows, 1 if all scores or last edges are 0.

        `largest` is as from `largest_score`, `edges` are those of the rounds that were trained. At
        least 1 for several labels, since less would magnify the offsets. At least so high that no
        logit of a label of any row is above 30; with real values, at half of `largest`.
        """
        chosen = self._chosen(largest, edges, isinstance(self.objective, RealObjective))
        return self.ordered(*chosen, _LARGEST_LOGIT)

    def centre(self, largest: float, edges: Sequence[float]) -> float:
        """The centre of the search with held-out rows; real values have the rule of votes there."""
        return self._chosen(largest, edges, False)[0]

    def ordered(self, temperature: float, score: float, limit: float) -> float:
        """At least so high that no logit of a label with this score is above the limit."""
        if self.offsets.size > 1 and not self.multi_label:
            return temperature
        offset = float(np.abs(self.offsets).max())
        return max(temperature, 2.0 * (score / limit) + offset / limit)

    def _chosen(self, largest: float, edges: Sequence[float], real: bool) -> tuple[float, float]:
        """The temperature before its bound, and the largest score of a row that the bound has."""
        if self.code is not None and self.code.decoding == "hamming":
            return 0.22 * self.code.n_bits, 0.5 * self.code.n_bits
        if self.objective.resamples:
            return largest or 1.0, largest
        n_labels = max(self.offsets.size, 2)
        if real:
            rule = 6.1 * largest**0.73 * n_labels**-0.33 * self.n_rows**-0.39
            return max(rule, 1.0), 0.5 * largest
        last = edges[-max(1, len(edges) // 4) :]
        edge = math.fsum(last) / len(last)
        if largest <= 0.0 or edge <= 0.0:
            return 1.0, largest
        rule = 1.1 * largest**0.73 * edge**0.29 * n_labels**-0.45
        return max(rule, 1.0 if self.multi_label else 1.0 - edge / 0.3), largest


def best_temperature(
    held: HeldScores,
    rule: TemperatureRule,
    start: float | None = None,
    shifts: NDArray[np.float64] | None = None,
) -> float:
    """The temperature of least log loss and distance from the rule, as above; begins at `start`.

    `shifts` are as for `log_loss_slope`; those of other scores serve as a beginning, too.
    """
    (n, n_labels), multi_label = held.labels.shape, rule.multi_label
    right = (n + 1) / (n + 1 + _WRONG)
    wrong = (1.0 - right) / (1 if multi_label or n_labels == 1 else n_labels - 1)
    targets = np.where(held.labels > 0, right, wrong) * held.weight[:, None]
    centre = rule.centre(held.largest, held.edges)
    distance = float(held.weight.mean()) / _SPREAD**2
    shifts = np.full(n, np.nan) if shifts is None else shifts

    @functools.cache
    def slope(log_temperature: float) -> float:
        temperature = math.exp(log_temperature)
        arguments = held.scores, targets, held.weight, rule.offsets, temperature, multi_label
        of_loss = log_loss_slope(*arguments, shifts, held.threads)
        return of_loss + distance * (log_temperature - math.log(centre))

    near = math.log(start or centre)
    below = slope(near) < 0.0
    step = _STEP if below else -_STEP
    far = near + step
    while (slope(far) < 0.0) == below:  # ends: the distance grows, the slope of the loss does not
        near, step = far, 2.0 * step
        far = near + step
    best = math.exp(brentq(slope, near, far, xtol=_TOLERANCE))
    # The largest score that the model can give is no bound here: sums of the largest values of
    # trees are far above the scores of all rows.
    return rule.ordered(best, float(np.abs(held.scores).max()), _LARGEST_HELD_LOGIT)
