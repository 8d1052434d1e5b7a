"""Tasting 1.Q: search Q features of the family whose best of Q features promises most.

Cost per iteration: one search of Q features on T examples; in the first of ten rounds half of the
budget for the held features of all families, charged as modelling. The expected largest edge of Q
features of a family is that of Q draws, with replacement, from the edges of its R held features.
Source: Dubout and Fleuret 2011, 2014 (recalled, not read), see `_tasting`; their program takes the
family with the largest sum over labels of its best held feature, and searches 100 features of it.
Left open: families that promise the same, of which one is drawn.
"""

from __future__ import annotations

import numpy as np

from boostsample.step import Step
from boostsample.strategies.tasting._tasting import (
    TastingStrategy,
    expected_best,
    largest_at_random,
)
from boostsample.strategies.uniform_naive import searched_features
from boostsample.strategy import Stump


class Tasting1Q(TastingStrategy):
    """Search Q features of the most promising family.

    Parameters
    ----------
    n_features, n_tasting, block, scheme
        See `TastingStrategy`.
    """

    def choose(self, step: Step) -> Stump:
        """Taste if it is time, choose a family, search it."""
        tasted = self.taste(step)
        size = step.n_examples, step.n_features, step.remaining
        q = searched_features(self.n_features, *size)
        promises = [expected_best(edges, q) for edges in tasted] or np.zeros(len(step.families))
        family = largest_at_random(np.array(promises), step.rng)
        features = step.families[family].sample(q, step.rng)
        step.note(expected_edge=promises[family])
        return step.search(features, step.draw(step.remaining // features.size, self.scheme)).best()
