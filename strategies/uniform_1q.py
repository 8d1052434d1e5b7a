"""Uniform 1.Q: search Q features of one family drawn uniformly.

Cost per iteration: one search of Q features on T = budget / Q examples, as Uniform Naive. Source:
[DF11] section 5.2. The paper leaves open: families with fewer than Q features; here all of their
features are searched, on more examples if the budget allows.
"""

from __future__ import annotations

import numpy as np

from boostsample.step import Step
from boostsample.strategies.uniform_naive import features_to_search
from boostsample.strategy import Pool, Strategy, Stump

__all__ = ["Uniform1Q"]


class Uniform1Q(Strategy):
    """Search Q features of one family drawn uniformly.

    Parameters
    ----------
    n_features : int or None
        Q; None is max(10, budget // N).
    """

    def __init__(self, n_features: int | None = None) -> None:
        self.n_features = n_features

    def start(self, pool: Pool, budget: int, n_rounds: int, rng: np.random.Generator) -> None:
        """Check the settings."""
        features_to_search(self.n_features, pool.n_examples, pool.n_features, budget)

    def choose(self, step: Step) -> Stump:
        """Draw a family, then features and examples, search."""
        n = features_to_search(self.n_features, step.n_examples, step.n_features, step.budget)
        family = step.families[int(step.rng.integers(len(step.families)))]
        features = family.sample(n, step.rng)
        sample = step.draw(step.remaining // features.size)
        return step.search(features, sample).best()
