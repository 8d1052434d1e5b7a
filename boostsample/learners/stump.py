"""Decision stumps, one a round ([BK10] eq. 9)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from boostsample.learner import Found, Learner

__all__ = ["Stump"]


class Stump(Learner):
    """One decision stump a round ([BK10] eq. 9)."""

    name = "stump"

    def learn(self, weights: Any, search: Callable[[int], Found]) -> list[Found]:
        """The stump that the strategy chooses."""
        return [search(0)]
