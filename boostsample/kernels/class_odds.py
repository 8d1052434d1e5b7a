"""How the log loss of class probabilities changes with their temperature.

The logits of a row are its scores times 2 / T, less their largest, plus the c for which the sum of
their sigma is 1; see `boostsample.classifier.prediction.probabilities`.
"""

from __future__ import annotations

import math

import numpy as np

from boostsample.jit.compile_kernels import inner_kernel, kernel
from boostsample.kernels.array_layout import Doubles

#: Rows summed at a time; a constant, so that bits do not depend on the number of threads.
PART = 512
#: Relative tolerance of c, and the most Newton steps: 2 to 5 are needed.
_NEAR, _STEPS = 1e-6, 60
#: Exponents below are taken as this one: near exp(-745) numbers are denormal, which are slow.
_LEAST = -700.0
_TINY = float(np.finfo(np.float64).tiny)


@inner_kernel
def _exp_below(x: float) -> float:
    """exp(x) for x of at most 0, to 1e-9 of it; 0 and more are 0. A processor takes eight at once.

    The 4,096th power of exp(x / 4,096), whose series is short.
    """
    x = max(min(x, 0.0), _LEAST) / 4096.0
    power = 1.0 + x / 4.0 * (1.0 + x / 5.0 * (1.0 + x / 6.0 * (1.0 + x / 7.0)))
    power = 1.0 + x * (1.0 + x / 2.0 * (1.0 + x / 3.0 * power))
    for _ in range(12):
        power *= power
    return power


@kernel
def temperature_slopes(
    scores: Doubles,
    targets: Doubles,
    factor: float,
    first: int,
    end: int,
    shifts: Doubles,
    ratios: Doubles,
    slopes: Doubles,
) -> None:
    """slopes[p] = the derivative of the log loss of part p by the logarithm of the temperature.

    Reads scores and targets float64 (n, K), K >= 2, and factor, 2 / T. `shifts` float64 (n,) has
    the c of each row of the last call, or NaN: Newton's method begins there. Overwrites ratios
    float64 (n, K). Parts first, ..., end - 1 have PART rows each. O(n K).

    With the other labels' sum of sigma(below_l + c) and the largest label's sigma(c), it solves
    log(sum) = log sigma(-c), whose slopes lie between 1/2 and 2 at any distance of the scores.
    """
    n, n_labels = scores.shape
    for part in range(first, end):
        slopes[part] = 0.0
        for i in range(part * PART, min(n, (part + 1) * PART)):
            score, ratio = scores[i], ratios[i]
            top = 0
            for label in range(1, n_labels):
                if score[label] > score[top]:
                    top = label
            largest, next_one = score[top], -np.inf
            for label in range(n_labels):
                if label != top:
                    next_one = max(next_one, score[label])
            second = (next_one - largest) * factor
            for label in range(n_labels):
                ratio[label] = _exp_below((score[label] - next_one) * factor)
            ratio[top] = 0.0
            # c if all labels had the largest score, and c of the two largest ones alone.
            low, high = -math.log(n_labels - 1.0), -0.5 * second
            shift = shifts[i]
            if not low < shift < high:
                shift = high
            for _ in range(_STEPS):
                # sigma(at) = ratio exp(second + c) / (1 + ratio exp(second + c)), second + c <= 0
                odds = math.exp(second + shift)
                total = more = 0.0
                for label in range(n_labels):
                    rest = 1.0 / (1.0 + ratio[label] * odds)
                    total += ratio[label] * rest
                    more += ratio[label] * rest * rest
                small = math.exp(-abs(shift))
                of_top = (1.0 if shift > 0.0 else small) / (1.0 + small)
                excess = second + shift + math.log(total) + max(shift, 0.0) + math.log1p(small)
                if excess <= 0.0:
                    low = shift
                if excess >= 0.0:
                    high = shift
                following = shift - excess / (more / total + of_top)
                if not low <= following <= high:
                    following = 0.5 * (low + high)
                done = abs(following - shift) <= _NEAR * (1.0 + abs(shift))
                shift = following
                if done:
                    break
            shifts[i] = shift
            odds, small = math.exp(second + shift), math.exp(-abs(shift))
            rest = (small if shift > 0.0 else 1.0) / (1.0 + small)
            mean, mass = 0.0, rest * (1.0 - rest)
            for label in range(n_labels):
                other = 1.0 / (1.0 + ratio[label] * odds)
                v = ratio[label] * odds * other * other
                ratio[label] = other
                mean += v * ((score[label] - largest) * factor)
                mass += v
            ratio[top] = rest
            mean /= max(mass, _TINY)
            for label in range(n_labels):
                below = (score[label] - largest) * factor
                slopes[part] += targets[i, label] * ratio[label] * (below - mean)
