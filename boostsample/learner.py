"""Base class of learners: they build the terms of one boosting round from searches.

A learner calls `search` for each stump it needs; each search has a separate budget.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from boostsample.records import Term

__all__ = ["EDGE_GAP", "Found", "Learner", "alpha_of"]

#: Edges above 1 - EDGE_GAP are treated as 1: alpha is capped there and training ends.
EDGE_GAP = 1e-12


def alpha_of(edge: float) -> float:
    """1/2 log((1 + edge) / (1 - edge)), capped at edge = 1 - 1e-12 ([BK10] section 2.1)."""
    capped = min(edge, 1.0 - EDGE_GAP)
    return 0.5 * (math.log1p(capped) - math.log1p(-capped))


@dataclass(frozen=True, slots=True)
class Found:
    """Result of one search: the finished term, its edge G and its history row."""

    term: Term
    edge: float
    row: dict[str, Any]


class Learner(abc.ABC):
    """Base of the learners."""

    name: str

    @abc.abstractmethod
    def learn(self, weights: Any, search: Callable[[int], Found]) -> list[Found]:
        """Call `search(0)`, `search(1)`, ...; return the results that are added to the model."""
