"""EMA-FS: features drawn, or the best ones taken, by a moving average of what they gained.

Cost per iteration: one search of Q features on T = budget / Q examples; O(F) for the averages. A
search of feature j with the edge H gives e_j = d e_j + (1 - d) g, g = -log sqrt(1 - H^2), the first
one e_j = g. After a warm-up of uniform draws, Q features are drawn in proportion to e_j^beta, or
those of largest e_j for beta = inf. Source: Song 2026 (arXiv 2606.26337), EMA-FS with beta = inf,
S-EMA-FS with others; read is the abstract. There, K features are 30 to 70 % of all, and each tree's
searches read all examples.
Left open: d = 0.9, a warm-up of 10 searches, beta = 1; and features that were never searched, most
of them at a budget of 10 N: they have the mean of those that were. The least e_j^beta is 1e-9 of
the largest one. Nodes of trees draw by the averages, and change nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from boostsample.bandits import reward
from boostsample.checks import check_integer, check_n_features, check_number
from boostsample.rows.sampling_schemes import known_scheme
from boostsample.step import Step
from boostsample.strategies.uniform_naive import searched_features
from boostsample.strategy import Pool, Strategy, Stump

#: Least chance of a feature, relative to the best: any can be drawn.
_LEAST = 1e-9


@dataclass(eq=False, repr=False)
class EMAFS(Strategy):
    """Search features by a moving average of their gains.

    Parameters
    ----------
    n_features : int or None
        Q; None is about max(10, budget // N).
    beta : float
        Concentration, from 0 (uniform draws) to inf (the features of largest averages).
    decay : float
        d, at least 0 and below 1.
    warm_up : int
        Searches of all examples before the averages are used, at least 1.
    scheme : str
        How samples are drawn, see `Step.draw`.

    Attributes
    ----------
    gains_ : float64 (F,)
        e_j; NaN for features that were never searched.
    n_searches_ : int
        Searches of all examples.
    """

    n_features: int | None = None
    beta: float = 1.0
    decay: float = 0.9
    warm_up: int = 10
    scheme: str = "iid"

    def settings_in_use(self, pool: Pool, budget: int, n_rounds: int) -> dict[str, float | str]:
        """With the number of features."""
        q = searched_features(self.n_features, pool.n_examples, pool.n_features, budget)
        return {**self.get_params(deep=False), "n_features": q}

    def start(self, pool: Pool, budget: int, n_rounds: int, rng: np.random.Generator) -> None:
        """Check the settings; forget all gains."""
        known_scheme(self.scheme)
        check_n_features(self.n_features, pool.n_features, budget)
        if self.beta != math.inf:
            check_number("beta", self.beta, 0.0, hint="inf takes the best features")
        check_number("decay", self.decay, 0.0, math.nextafter(1.0, 0.0))
        check_integer("warm_up", self.warm_up, 1)
        self.gains_ = np.full(pool.n_features, np.nan)
        self.n_searches_ = 0

    def choose(self, step: Step) -> Stump:
        """Draw features, search them, average their gains."""
        q = searched_features(self.n_features, step.n_examples, step.n_features, step.budget)
        order = step.rng.permutation(step.n_features)  # of equal averages, random ones go first
        if self.n_searches_ < self.warm_up:
            features = order[:q]
        else:
            known = ~np.isnan(self.gains_)
            gains = np.where(known, self.gains_, self.gains_[known].mean())[order]
            if self.beta == math.inf:
                features = order[np.argsort(-gains, kind="stable")[:q]]
            else:
                p = np.maximum((gains / max(gains.max(), _LEAST)) ** self.beta, _LEAST)
                features = step.rng.choice(order, q, replace=False, p=p / p.sum(), shuffle=False)
        stumps = step.search(features, step.draw(step.budget // q, self.scheme))
        if step.whole:
            gained, before = reward(stumps.edge), self.gains_[features]
            averaged = self.decay * before + (1.0 - self.decay) * gained
            self.gains_[features] = np.where(np.isnan(before), gained, averaged)
            self.n_searches_ += 1
        return stumps.best()
