"""Samplers of later papers and other libraries in plain loops: oracles for the tests."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from tests import naive


def norms(rows: Sequence[Sequence[float]]) -> list[float]:
    """sqrt(sum over l of w_il^2) in units of the mean weight of a row."""
    mean = sum(abs(w) for row in rows for w in row) / len(rows)
    return [math.sqrt(sum((w / mean) ** 2 for w in row)) for row in rows]


def mvs_probabilities(norm: Sequence[float], size: int) -> list[float]:
    """p_i = min(1, r_i / mu), of sum `size`; lambda is the squared mean norm."""
    mean = sum(norm) / len(norm)
    return naive.inclusion_probabilities([math.sqrt(n**2 + mean**2) for n in norm], size)


def heaviest(weight: Sequence[float], size: int) -> list[int]:
    """The rows of largest weights, the first ones of a tie."""
    order = sorted(range(len(weight)), key=lambda i: (-weight[i], i))
    return sorted(order[:size])


def n_heaviest(weight: Sequence[float], mass: float) -> int:
    """How many of the heaviest rows have at least this share of the weight."""
    so_far, total = 0.0, sum(weight)
    for number, w in enumerate(sorted(weight, reverse=True), start=1):
        so_far += w
        if so_far >= mass * total:
            return number
    return len(weight)


def mabsplit(edges: Sequence[float], n: int, n_all: int, z: float) -> list[int]:
    """Rows whose upper bound reaches the largest lower bound."""
    c = [z * math.sqrt((1 - h**2) / n * (n_all - n) / (n_all - 1)) for h in edges]
    most = max(h - b for h, b in zip(edges, c, strict=True))
    return [k for k, (h, b) in enumerate(zip(edges, c, strict=True)) if h + b >= most]


def sparrow(agreements: Sequence[int], target: float, delta: float) -> bool:
    """The stopping rule on the agreements, +1 or -1, of one stump."""
    c = [a - target for a in agreements]
    m, v = sum(c), sum(value**2 for value in c)
    if m <= 0:
        return False
    inner = 3 * v / (2 * abs(m))
    slow = math.log(math.log(inner)) if inner > math.e else 0.0
    return m > math.sqrt(3 * v * (2 * slow + math.log(2 / delta)))


def mp_boost(q: list[float], drawn: Sequence[int], chosen: int, mu: float) -> list[float]:
    """q_j = (1 - mu) q_j + mu r I_j(h) for the drawn features."""
    r = sum(q[j] for j in drawn)
    return [(1 - mu) * q[j] + mu * r * (j == chosen) if j in drawn else q[j] for j in range(len(q))]


def median_elimination(n: int, budget: int, delta: float) -> list[tuple[int, float]]:
    """Features and examples of each stage, in proportion to 4 / e_l^2 log(3 / d_l)."""
    epsilon, stages = 1.0 / 4, []
    delta /= 2
    while True:
        stages.append((n, 4 / epsilon**2 * math.log(3 / delta)))
        if n <= 2:
            break
        n, epsilon, delta = math.ceil(n / 2), 0.75 * epsilon, delta / 2
    unit = budget / sum(q * t for q, t in stages)
    return [(q, unit * t) for q, t in stages]


def acceptance(
    scores: Sequence[Sequence[float]], Y: NDArray[Any], u: NDArray[Any]
) -> tuple[list[float], list[list[float]]]:
    """FilterBoost's q_i, and the shares of the labels in them, from scores f.

    q_i is the mean of 1 / (1 + exp(y_il f_l)) by the weights u_il, times the sum of these.
    """
    accepted, shares = [], []
    for i in range(Y.shape[0]):
        parts = []
        for label in range(Y.shape[1]):
            parts.append(u[i, label] / (1.0 + math.exp(Y[i, label] * scores[i][label])))
        accepted.append(sum(parts))
        shares.append([part / accepted[-1] for part in parts])
    return accepted, shares
