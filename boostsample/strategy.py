"""What a strategy is and what it exchanges with the loop.

A strategy decides what one weak-learner search looks at. It is given a `Step` (what it may do and
see in this search), returns a `Stump`, and may learn from the `Outcome`. The loop owns the rest:
weights, votes, edges on all examples, alpha and the ledger.
"""

from __future__ import annotations

import abc
import copy
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from boostsample.records import (
    FamilyInfo,
    Outcome,
    Pool,
    Sample,
    Stump,
    Stumps,
    sample_members,
)
from boostsample.step import Step

__all__ = [
    "FamilyInfo",
    "Outcome",
    "Pool",
    "Sample",
    "Strategy",
    "Stump",
    "Stumps",
    "sample_members",
]


class Strategy(BaseEstimator, abc.ABC):  # type: ignore[misc]  # scikit-learn ships no annotations
    """Base of all strategies; only `choose` must be written.

    Settings are stored unchanged by `__init__` and checked in `start` (scikit-learn's
    convention). State learned in a run lives in attributes whose names end in `_` and hold only
    arrays, scalars, strings, lists and dicts of these, so that a run can be saved and resumed to
    identical bits.
    """

    def default_budget(self, pool: Pool) -> int:
        """Looks a search when the user gives no budget: 10 N ([DF11] section 5.3)."""
        return 10 * pool.n_examples

    def tuning_grid(self) -> Mapping[str, Sequence[Any]]:  # an optional hook
        """Settings that deserve tuning, with the values that ``boostsample compare --tune`` tries.

        Their product is trained; none by default. What the user fixed is in `self` and need not be
        left out here, but a setting that has no effect beside it should be.
        """
        return {}

    def start(  # an optional hook that does nothing by default
        self, pool: Pool, budget: int, n_rounds: int, rng: np.random.Generator
    ) -> None:
        """Called once before the first round: check the settings, forget what was learned."""

    @abc.abstractmethod
    def choose(self, step: Step) -> Stump:
        """Choose one stump among those searched in this step, within `step.budget` looks."""

    def learn(self, outcome: Outcome) -> None:  # an optional hook, see above
        """Called after the loop has finished the stump that `choose` returned."""

    def state(self) -> dict[str, Any]:
        """A copy of what was learned: the attributes whose names end in one underscore."""
        return copy.deepcopy(
            {
                name: value
                for name, value in vars(self).items()
                if name.endswith("_") and not name.startswith("_")
            }
        )

    def restore(self, state: Mapping[str, Any]) -> None:
        """Forget what was learned and go back to a `state`."""
        for name in self.state():
            delattr(self, name)
        for name, value in copy.deepcopy(dict(state)).items():
            setattr(self, name, value)
