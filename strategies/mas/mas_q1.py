"""MAS Q.1: model the edges of every family, then distribute Q over the families greedily.

Cost per iteration: at most 10 % of the budget for the models, q features of each of K families on t
examples; the rest for one search of Q_1 + .. + Q_K features on T examples. Choosing costs no looks
and about 0.1 ms. Source: [DF11] section 4.1, maximising e(Q_1, .., Q_K, T) by increments from 0.
The paper leaves open: at which T increments are compared and when to stop (see
`boostsample.planning.expected_edge.allocate`), the split of the 10 % (q = 16, t as large as it
allows), the number of components (1), and the first round, here a probe of all families together.
If the increments end with a tenth of the budget left, as for edges that are all equal, the largest
families that have features left get more, or the largest counts become smaller for more examples.
`noise=averaged` spends the 10 % over many rounds, which is not in the paper: late, edges on a few
hundred examples are mostly noise and optimism.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from boostsample.planning.expected_edge import allocate, expected_edge_families
from boostsample.step import Step
from boostsample.strategies.mas._mas import MASFamilyStrategy, mas_probing_search, note_beliefs
from boostsample.strategies.uniform_naive import search_that_spends
from boostsample.strategy import Stump, sample_members


class MASQ1(MASFamilyStrategy):
    """Maximum Adaptive Sampling from all families together.

    Parameters
    ----------
    n_components, noise, scheme
        See `MASFamilyStrategy`.
    """

    plan = staticmethod(allocate)

    def choose(self, step: Step) -> Stump:
        """Model all families, allocate features to them, search."""
        models = self.family_models(step)
        if models is None:
            return mas_probing_search(step)[0].best()
        sizes = [family.size for family in step.families]
        allocated, t, edge = self.plan(models, sizes, step.n_examples, step.remaining)
        q = int(allocated.sum())
        size = step.n_examples, step.n_features, step.remaining
        if (plan := search_that_spends(q, *size)) != (q, t):
            q, t = plan
            allocated = _resized(allocated, sizes, q)
            n_examples = t if t < step.n_examples else math.inf
            edge = expected_edge_families(models, allocated, n_examples)
        counts = allocated.tolist()
        note_beliefs(step, q, t, edge, models, family_features=allocated)
        features = sample_members(step.families, counts, step.rng)
        stumps = step.search(features, step.draw(t, self.scheme))
        self.keep_edges(step, stumps.edge, counts)
        return stumps.best()


def _resized(counts: NDArray[np.int64], sizes: Sequence[int], n: int) -> NDArray[np.int64]:
    """The counts with a sum of n, none above its size."""
    resized, room = counts.copy(), np.array(sizes) - counts
    while change := int(np.sign(n - resized.sum())):  # a feature more or less at a time
        at = int((room if change > 0 else resized).argmax())
        resized[at] += change
        room[at] -= change
    return resized
