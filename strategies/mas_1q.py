"""MAS 1.Q: model the edges of every family anew, then plan Q, T and the one family to search.

Cost per iteration: at most 10 % of the budget for the models, q features of each of K families on t
examples; the rest for one search of Q features of one family on T examples. Planning costs no
looks and about 0.1 ms. Source: [DF11] section 4.1, maximising e(Q 1{l=1}, .., Q 1{l=K}, T).
Left open by the paper: the split of the 10 % (q = 16, t what that leaves), the number of components
(1: 16 edges carry no more), and the first round, which is a probe of one family drawn uniformly;
under uniform initial weights its edges are degenerate. A budget too small to model is probed too.
"""

from __future__ import annotations

import numpy as np

from boostsample.planning.expected_edge import plan_family
from boostsample.step import Step
from boostsample.strategies._mas import (
    beliefs,
    check_settings,
    draw_members,
    model_families,
    probe,
)
from boostsample.strategy import Pool, Strategy, Stump

__all__ = ["MAS1Q"]


class MAS1Q(Strategy):
    """Maximum Adaptive Sampling from one family a round.

    Parameters
    ----------
    n_components : int
        Components of each family's mixture.
    noise : {"paper", "deconvolved"}
        Model the estimated edges as they are, or take out the known variance of their noise.
    scheme : str
        How samples are drawn, see `Step.draw`.
    """

    def __init__(self, n_components: int = 1, noise: str = "paper", scheme: str = "iid") -> None:
        self.n_components = n_components
        self.noise = noise
        self.scheme = scheme

    def start(self, pool: Pool, budget: int, n_rounds: int, rng: np.random.Generator) -> None:
        """Check the settings."""
        check_settings(self.n_components, self.noise, self.scheme)

    def choose(self, step: Step) -> Stump:
        """Model, plan, search one family."""
        models = model_families(step, self.n_components, self.noise)
        if models is None:
            family = int(step.rng.integers(len(step.families)))
            q, t = probe(step.remaining, step.families[family].size, step.n_examples)
            beliefs(step, q, t, float("nan"), [])
        else:
            sizes = [each.size for each in step.families]
            planned = plan_family(models, sizes, step.n_examples, step.remaining)
            family, q, t = planned.family, planned.n_features, planned.n_examples
            beliefs(step, q, t, planned.edge, models, family_expected_edge=planned.edges)
        features = draw_members(step.families[family : family + 1], [q], step.rng)
        return step.search(features, step.draw(t, self.scheme)).best()
