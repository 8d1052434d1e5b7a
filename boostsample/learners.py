"""Learners: what one boosting round adds to the model, built from searches of the strategy.

A learner asks `search` for one stump after another, each with its own budget, and returns what
they make together. `Stump` takes the one stump as it is.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostsample.errors import unknown
from boostsample.weights import SignedWeights

__all__ = ["LEARNERS", "Found", "Learner", "Stump", "Term", "alpha_of", "make_learner"]

#: Edges above 1 - EDGE_GAP are treated as 1: alpha is capped there and training ends.
EDGE_GAP = 1e-12


def alpha_of(edge: float) -> float:
    """1/2 log((1 + edge) / (1 - edge)), capped at edge = 1 - 1e-12 ([BK10] section 2.1)."""
    capped = min(edge, 1.0 - EDGE_GAP)
    return 0.5 * (math.log1p(capped) - math.log1p(-capped))


@dataclass(frozen=True, slots=True, eq=False)
class Term:
    """One stump of the model, finished on all N examples.

    Attributes
    ----------
    feature : int
    threshold : int
        Bin index.
    value : float
        Raw threshold: phi(x) = +1 if x >= value else -1.
    votes : ndarray of int8, shape (K,)
    alpha : float
    """

    feature: int
    threshold: int
    value: float
    votes: NDArray[np.int8]
    alpha: float


@dataclass(frozen=True, slots=True)
class Found:
    """What one search of the strategy led to: the finished term and its history row."""

    term: Term
    edge: float
    row: dict[str, Any]


class Learner(abc.ABC):
    """Base of the learners."""

    name: str

    @abc.abstractmethod
    def learn(self, weights: SignedWeights, search: Callable[[int], Found]) -> list[Found]:
        """One round: call `search(0)`, `search(1)`, ... and return what is added to the model."""


class Stump(Learner):
    """One decision stump a round ([BK10] eq. 9)."""

    name = "stump"

    def learn(self, weights: SignedWeights, search: Callable[[int], Found]) -> list[Found]:
        """Take the strategy's stump."""
        return [search(0)]


LEARNERS: dict[str, type[Learner]] = {Stump.name: Stump}


def make_learner(learner: str | Learner | None) -> Learner:
    """A learner from its name; None is a stump."""
    if isinstance(learner, Learner):
        return learner
    name = Stump.name if learner is None else learner
    if name not in LEARNERS:
        raise unknown("learner", name, LEARNERS)
    return LEARNERS[name]()
