"""Exhaustive search: every feature on every example, the reference for all other strategies.

Cost per iteration: F * N looks, which is also the default budget; a smaller one is an error.
Source: AdaBoost.MH with decision stumps, [SS99]; "FULL" of [BK10] section 4.
"""

from __future__ import annotations

import numpy as np

from boostsample.errors import SettingError
from boostsample.step import Step
from boostsample.strategy import Pool, Strategy, Stump


class Full(Strategy):
    """Search all features on all examples."""

    def default_budget(self, pool: Pool) -> int:
        """F * N looks."""
        return pool.n_features * pool.n_examples

    def start(self, pool: Pool, budget: int, n_rounds: int, rng: np.random.Generator) -> None:
        """Raise SettingError if the budget does not pay for a whole search."""
        check_whole_search("full", pool, budget)

    def choose(self, step: Step) -> Stump:
        """Search everything."""
        sample = step.draw(step.n_examples)
        return step.search(np.arange(step.n_features), sample).best()


def check_whole_search(name: str, pool: Pool, budget: int) -> None:
    """SettingError unless the budget of a strategy pays for all features on all examples."""
    cost = pool.n_features * pool.n_examples
    if budget < cost:
        raise SettingError(
            f"strategy {name!r} needs a budget of at least F * N = {pool.n_features:,} * "
            f"{pool.n_examples:,} = {cost:,} looks, got {budget:,}; omit it or raise it"
        )
