"""MAS Q.1: model the edges of every family, then distribute Q over the families greedily.

Cost per iteration: at most 10 % of the budget for the models, q features of each of K families on t
examples; the rest for one search of Q_1 + .. + Q_K features on T examples. Choosing costs no looks
and about 0.1 ms. Source: [DF11] section 4.1, maximising e(Q_1, .., Q_K, T) by increments from 0.
The paper leaves open: at which T increments are compared and when to stop (see
`boostsample.planning.expected_edge.allocate`), the split of the 10 % (q = 16, t as large as it
allows), the number of components (1), and the first round, here a probe of all families together.
`noise=averaged` spends the 10 % over many rounds, which is not in the paper: late, edges on a few
hundred examples are mostly noise and optimism.
"""

from __future__ import annotations

import numpy as np

from boostsample.planning.expected_edge import allocate
from boostsample.step import Step
from boostsample.strategies.mas._mas import (
    MASFamilyStrategy,
    mas_probing_search,
    note_beliefs,
)
from boostsample.strategy import Pool, Stump, sample_members

__all__ = ["MASQ1"]


class MASQ1(MASFamilyStrategy):
    """Maximum Adaptive Sampling from all families together.

    Parameters
    ----------
    n_components, noise, scheme
        See `MASFamilyStrategy`.
    """

    def start(self, pool: Pool, budget: int, n_rounds: int, rng: np.random.Generator) -> None:
        """Check the settings; compile what plans need."""
        super().start(pool, budget, n_rounds, rng)
        first = self.first_models(pool, budget)
        if first is not None:
            models, looks = first
            allocate(models, [family.size for family in pool.families], pool.n_examples, looks)

    def choose(self, step: Step) -> Stump:
        """Model all families, allocate features to them, search."""
        models = self.family_models(step)
        if models is None:
            return mas_probing_search(step)[0].best()
        sizes = [family.size for family in step.families]
        allocated, t, edge = allocate(models, sizes, step.n_examples, step.remaining)
        counts = allocated.tolist()
        note_beliefs(step, sum(counts), t, edge, models, family_features=allocated)
        features = sample_members(step.families, counts, step.rng)
        stumps = step.search(features, step.draw(t, self.scheme))
        self.keep_edges(stumps.edge, counts)
        return stumps.best()
