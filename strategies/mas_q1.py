"""MAS Q.1: model the edges of every family anew, then share Q out over the families greedily.

Cost per iteration: at most 10 % of the budget for the models, q features of each of K families on t
examples; the rest for one search of Q_1 + .. + Q_K features on T examples. Planning costs no looks
and about 0.1 ms. Source: [DF11] section 4.1, maximising e(Q_1, .., Q_K, T) by increments from 0.
Left open by the paper: at which T increments are compared and when to stop (see
`boostsample.planning.expected_edge.allocate`), the split of the 10 % (q = 16, t what that leaves), the
number of components (1), and the first round, a probe of all families together.
"""

from __future__ import annotations

import numpy as np

from boostsample.planning.expected_edge import allocate
from boostsample.step import Step
from boostsample.strategies._mas import (
    beliefs,
    check_settings,
    draw_members,
    model_families,
    probing_search,
)
from boostsample.strategy import Pool, Strategy, Stump

__all__ = ["MASQ1"]


class MASQ1(Strategy):
    """Maximum Adaptive Sampling from all families together.

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
        """Model, allocate, search."""
        models = model_families(step, self.n_components, self.noise)
        if models is None:
            return probing_search(step)[0].best()
        sizes = [family.size for family in step.families]
        planned = allocate(models, sizes, step.n_examples, step.remaining)
        counts = planned.counts.tolist()
        beliefs(
            step,
            sum(counts),
            planned.n_examples,
            planned.edge,
            models,
            family_features=planned.counts,
        )
        features = draw_members(step.families, counts, step.rng)
        return step.search(features, step.draw(planned.n_examples, self.scheme)).best()
