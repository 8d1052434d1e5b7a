"""MAS 1.Q: model the edges of every family, then choose one family, Q and T to search.

Cost per iteration: at most 10 % of the budget for the models, q features of each of K families on t
examples; the rest for one search of Q features of one family on T examples. Choosing costs no looks
and about 0.1 ms. Source: [DF11] section 4.1, maximising e(Q 1{l=1}, .., Q 1{l=K}, T).
The paper leaves open: the split of the 10 % (q = 16, t as large as it allows), the number of
components (1: 16 edges do not support more), and the first round, here a probe of one family drawn
uniformly, because its edges are degenerate under uniform initial weights. A budget too small for
models is probed in every round. A family of few features is searched whole on
all examples, and the rest of the budget is left; another plan that leaves a tenth of it gets more
features or examples. `noise=averaged` spends the 10 % over many rounds, which is not in the paper:
late, edges on a few hundred examples are mostly noise and optimism.
"""

from __future__ import annotations

import math

import numpy as np

from boostsample.planning.expected_edge import best_expected_edge_family, expected_edge
from boostsample.step import Step
from boostsample.strategies.mas._mas import MASFamilyStrategy, mas_probe, note_beliefs
from boostsample.strategies.uniform_naive import search_that_spends
from boostsample.strategy import Stump


class MAS1Q(MASFamilyStrategy):
    """Maximum Adaptive Sampling from one family a round.

    Parameters
    ----------
    n_components, noise, scheme
        See `MASFamilyStrategy`.
    """

    plan = staticmethod(best_expected_edge_family)

    def choose(self, step: Step) -> Stump:
        """Model all families, search one."""
        models = self.family_models(step)
        if models is None:
            family = int(step.rng.integers(len(step.families)))
            q, t = mas_probe(step.remaining, step.families[family].size, step.n_examples)
            note_beliefs(step, q, t, float("nan"), [])
        else:
            sizes = [each.size for each in step.families]
            family, q, t, edge, edges = self.plan(models, sizes, step.n_examples, step.remaining)
            size = step.n_examples, sizes[family], step.remaining
            if (plan := search_that_spends(q, *size)) != (q, t):
                q, t = plan
                n_examples = t if t < step.n_examples else math.inf
                edge = expected_edge(models[family], q, n_examples)
            note_beliefs(step, q, t, edge, models, family_expected_edge=np.minimum(edges, 1.0))
        features = step.families[family].sample(q, step.rng)
        stumps = step.search(features, step.draw(t, self.scheme))
        if models is not None:
            counts = [features.size if k == family else 0 for k in range(len(step.families))]
            self.keep_edges(step, stumps.edge, counts)
        return stumps.best()
