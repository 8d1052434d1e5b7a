"""MP-Boost: patches of examples drawn by weight and of features drawn by how often they helped.

Cost per iteration: one search of Q features on T = budget / Q examples; by default T = N / 4 with a
budget of 10 N. O(F) for the probabilities. Source: Toghani and Allen 2021 (PMC8562710), Algorithm
1. Features are drawn without replacement by probabilities q_j, and a patch of mass r = sum of its
q_j changes them to q_j = (1 - mu) q_j + mu r I_j(h): a stump's importance I_j is 1 for its feature
and 0 for the others, so that the sum stays 1.
The paper is about two classes, and trees on the patch without weights. Here an example is drawn by
its weight, the sum over its labels of the exponential losses, and the stump has a vote for each
label; examples that are heavier than N / T of the mean keep their weight (the scheme `distinct`).
Probabilities stay above 1e-9 / F, so that any patch can be drawn. The paper has no alpha, and stops
by the error of examples out of the patch; the loop has its own alpha and does not stop. Nodes of
trees have probabilities apart.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from boostsample.checks import check_n_features, check_number
from boostsample.rows.sampling_schemes import known_scheme
from boostsample.step import Step
from boostsample.strategies.uniform_naive import searched_features
from boostsample.strategy import Outcome, Pool, Strategy, Stump

#: T is about N / 4.
_SHARE = 4
_LEAST_PROBABILITY = 1e-9


@dataclass(eq=False, repr=False)
class MPBoost(Strategy):
    """Search patches of features drawn by learned probabilities.

    Parameters
    ----------
    n_features : int or None
        Q, features of a patch; None is about max(10, 4 budget // N).
    momentum : float
        mu, from 0 (uniform features for ever) to 1.
    scheme : str
        How the examples of a patch are drawn, see `Step.draw`.
    """

    n_features: int | None = None
    momentum: float = 0.5
    scheme: str = "distinct"

    def settings_in_use(self, pool: Pool, budget: int, n_rounds: int) -> dict[str, float | str]:
        """With the number of features."""
        size = pool.n_examples, pool.n_features, budget
        q = searched_features(self.n_features, *size, share=_SHARE)
        return {**self.get_params(deep=False), "n_features": q}

    def start(self, pool: Pool, budget: int, n_rounds: int, rng: np.random.Generator) -> None:
        """Check the settings; all features are equally likely."""
        known_scheme(self.scheme)
        check_number("momentum", self.momentum, 0.0, 1.0)
        check_n_features(self.n_features, pool.n_features, budget)
        self.probabilities_ = np.full(pool.n_features, 1.0 / pool.n_features)
        self.node_probabilities_ = self.probabilities_.copy()
        self.patch_ = np.empty(0, np.int64)

    def choose(self, step: Step) -> Stump:
        """Draw a patch, search it."""
        size = step.n_examples, step.n_features, step.budget
        q = searched_features(self.n_features, *size, share=_SHARE)
        p = self.probabilities_ if step.whole else self.node_probabilities_
        p = p / p.sum()
        self.patch_ = step.rng.choice(p.size, size=q, replace=False, p=p, shuffle=False)
        return step.search(self.patch_, step.draw(step.budget // q, self.scheme)).best()

    def learn(self, outcome: Outcome) -> None:
        """Move the patch's probability to the chosen feature."""
        p = self.probabilities_ if outcome.whole else self.node_probabilities_
        mu = self.momentum
        mass = p[self.patch_].sum()
        p[self.patch_] *= 1.0 - mu
        p[outcome.feature] += mu * mass
        np.maximum(p, _LEAST_PROBABILITY / p.size, out=p)
