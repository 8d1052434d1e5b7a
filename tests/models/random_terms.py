"""Rounds of terms at random, also of shapes that no learner makes; values at their thresholds."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostsample.records import Term

CUTS = (-math.inf, -1.0, -0.0, 0.5, 3.0, 2e36)
VALUES = (-1.0, -0.0, 0.0, 0.5, 0.4999, 3.0, -2e36, 2e36, 1e-45, math.nan)


def votes(rng: np.random.Generator, n_labels: int, real: bool = False) -> NDArray[Any]:
    if real:
        return rng.normal(size=n_labels)
    return rng.choice(np.array([-1, 1], np.int8), n_labels)


def random_round(
    rng: np.random.Generator,
    n_features: int,
    n_labels: int,
    sides: tuple[int, ...] = (-1, 0, 1),
    real: bool = False,
) -> list[Term]:
    """Terms of a random tree of stumps and products; no products without the side 0.

    `real` values are for trees only.
    """
    alpha = float(rng.exponential() * 10.0 ** rng.integers(-6, 2))
    terms: list[Term] = []
    free: list[tuple[int, int]] = [(-1, 0)]
    for _ in range(int(rng.integers(1, 7))):
        parent, side = free.pop(int(rng.integers(len(free))))
        below = None if rng.random() < 0.5 else votes(rng, n_labels, real)
        cut = float(np.float32(CUTS[rng.integers(len(CUTS))]))
        place = (0, parent, side)
        feature = int(rng.integers(n_features))
        terms.append(Term(feature, 1, cut, votes(rng, n_labels, real), alpha, below, *place))
        free += [(len(terms) - 1, side) for side in sides]
    return terms
