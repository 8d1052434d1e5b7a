"""Uniform Q.1: search one feature of each of Q families drawn uniformly.

Cost per iteration: one search of Q features on T = budget / Q examples, as Uniform Naive. Source:
[DF11] section 5.2. The paper leaves open: fewer families than Q. Families are then drawn with
replacement, and features of one family without, so that no look is spent on a repeat; a family of
which all features are taken is not drawn again.
"""

from __future__ import annotations

import numpy as np

from boostsample.step import Step
from boostsample.strategies.uniform_naive import UniformNaive, searched_features
from boostsample.strategy import Stump, sample_members


class UniformQ1(UniformNaive):
    """Search one feature of each of Q families drawn uniformly.

    Parameters
    ----------
    n_features, scheme
        See `UniformNaive`.
    """

    def choose(self, step: Step) -> Stump:
        """Draw families, a feature for each, and examples; search."""
        n = searched_features(self.n_features, step.n_examples, step.n_features, step.budget)
        n_families = len(step.families)
        if n_families > n:
            picked = step.rng.choice(n_families, size=n, replace=False)
        else:
            picked = step.rng.integers(n_families, size=n)
        counts = np.bincount(picked, minlength=n_families)
        sizes = np.array([family.size for family in step.families])
        while excess := int(np.maximum(counts - sizes, 0).sum()):
            counts = np.minimum(counts, sizes)
            picked = step.rng.choice(np.flatnonzero(counts < sizes), excess)
            counts += np.bincount(picked, minlength=n_families)
        features = sample_members(step.families, counts.tolist(), step.rng)
        sample = step.draw(step.remaining // features.size, self.scheme)
        return step.search(features, sample).best()
