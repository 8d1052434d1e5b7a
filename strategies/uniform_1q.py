"""Uniform 1.Q: search Q features of one family drawn uniformly.

Cost per iteration: one search of Q features on T = budget / Q examples, as Uniform Naive. Source:
[DF11] section 5.2. The paper leaves open: families with fewer than Q features; here all of their
features are searched, on more examples if the budget allows; what N examples leave is not spent.
"""

from __future__ import annotations

from boostsample.step import Step
from boostsample.strategies.uniform_naive import UniformNaive, searched_features
from boostsample.strategy import Stump


class Uniform1Q(UniformNaive):
    """Search Q features of one family drawn uniformly.

    Parameters
    ----------
    n_features, scheme
        See `UniformNaive`.
    """

    def choose(self, step: Step) -> Stump:
        """Draw a family, then features and examples, search."""
        n = searched_features(self.n_features, step.n_examples, step.n_features, step.budget)
        family = step.families[int(step.rng.integers(len(step.families)))]
        features = family.sample(n, step.rng)
        sample = step.draw(step.remaining // features.size, self.scheme)
        return step.search(features, sample).best()
