"""Tasting Q.1: search Q features one by one, each of the family that promises to beat the best yet.

Cost per iteration: Q searches of one feature on the same T examples; in the first of ten rounds
half of the budget for the held features of all families, charged as modelling. With H the largest
edge so far in the round, a family promises the mean of max(H, e) over the edges e of its R held
features. Source: Dubout and Fleuret 2014, JMLR 15 (recalled, not read), see `_tasting`.
Left open: families that promise the same, as when no held feature exceeds H: one of them is drawn.
A family of which Q features or all were searched is not chosen again.
"""

from __future__ import annotations

import numpy as np

from boostsample.step import Step
from boostsample.strategies.tasting._tasting import TastingStrategy, largest_at_random
from boostsample.strategies.uniform_naive import searched_features
from boostsample.strategy import Stump


class TastingQ1(TastingStrategy):
    """Search Q features, each of the family that is most promising then.

    Parameters
    ----------
    n_features, n_tasting, block, scheme
        See `TastingStrategy`.
    """

    def choose(self, step: Step) -> Stump:
        """Taste if it is time, then choose a family and search a feature, Q times."""
        tasted = self.taste(step) or [np.zeros(1)] * len(step.families)
        size = step.n_examples, step.n_features, step.remaining
        q = searched_features(self.n_features, *size)
        sample = step.draw(step.remaining // q, self.scheme)
        members = [family.sample(q, step.rng) for family in step.families]
        waiting = [step.rng.permutation(each).tolist() for each in members]
        best: Stump | None = None
        for _ in range(q):
            least = 0.0 if best is None else best.edge
            promises = np.array([np.maximum(edges, least).mean() for edges in tasted])
            promises[[not each for each in waiting]] = -1.0  # below all others: nothing is left
            family = largest_at_random(promises, step.rng)
            stump = step.search([waiting[family].pop()], sample).best()
            if best is None or stump.edge > best.edge:
                best = stump
        assert best is not None
        return best
