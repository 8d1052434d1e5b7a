"""QuickBoost: the best feature of all, as `full`, with features pruned on the heaviest examples.

Cost per iteration: F m + N + R N looks if R of the F features are left after a search on the m
heaviest examples, F N where that is not tried. Source: Appel, Fuchs, Dollar and Perona 2013,
Proposition 1. If the m heaviest examples have the mass W, a stump of edge H on them has an edge of
at most W H + 1 - W on all: a feature is dropped if that is below the edge on all examples of the
best feature on these. Nothing can be pruned unless W > 1 - G.
The paper leaves open: m, here for W = 1 - G/12 with the last edge G (others cost more on digits,
pendigits and letter). The paper adds examples to a feature's sums; a search here reads all of them
again, so that pruning must drop a share of the features above m / N to pay. If it did not pay, it
is not tried in the next searches, in about twice as many as the last time; that number is halved
whenever it pays. A try needs more than F N looks: the default budget is 2 F N, and with F N, which
is needed, nothing is tried. Nodes of trees change neither that number nor G. Nor is anything tried
for edges that the bound does not hold for (`Step.bounds_edges`).
"""

from __future__ import annotations

import numpy as np

from boostsample.step import Step
from boostsample.strategies.full import check_whole_search
from boostsample.strategy import Outcome, Pool, Strategy, Stump

#: Share of the last edge that the lightest examples may have.
_LEFT_OUT = 1.0 / 12.0
#: Far above the rounding of edges on a sample, and the gap below which `full` settles ties.
ROUNDING = 3e-5


class QuickBoost(Strategy):
    """The choice of `full`, by exact pruning."""

    leaves_budget = "pruned features are not searched on all examples"

    def default_budget(self, pool: Pool) -> int:
        """2 F N looks, of which it spends what it needs."""
        return 2 * pool.n_features * pool.n_examples

    def start(self, pool: Pool, budget: int, n_rounds: int, rng: np.random.Generator) -> None:
        """Raise SettingError if the budget does not pay for a whole search."""
        check_whole_search("quickboost", pool, budget)
        self.forget()

    def forget(self) -> None:
        """Reset what is learned."""
        self.edge_, self.wait_, self.pause_ = 0.0, 0, 0

    def waits(self, step: Step) -> bool:
        """Whether pruning is not tried in this search; whole searches shorten the wait."""
        waits = self.wait_ > 0 or not step.bounds_edges
        if step.whole:
            self.wait_ = max(self.wait_ - 1, 0)
        return waits

    def count(self, step: Step, *, paid: bool) -> None:
        """Count a try, unless it is of a node."""
        if step.whole:
            self.pause_ = self.pause_ // 2 if paid else 2 * self.pause_ + 1
            self.wait_ = 0 if paid else self.pause_

    def choose(self, step: Step) -> Stump:
        """Prune, search what is left on all examples."""
        features, n = np.arange(step.n_features), step.n_examples
        mass = 1.0 - _LEFT_OUT * self.edge_
        size = step.n_heaviest(mass)
        cost = features.size * size + n
        waits = self.waits(step)
        if not waits and size < n and cost + features.size * n <= step.budget:
            stumps = step.search(features, step.draw(size, "heaviest"))
            best = step.search([stumps.best().feature], step.draw(n)).best().edge
            # W H + 1 - W, Proposition 1.
            features = features[1.0 - mass * (1.0 - stumps.edge) >= best - ROUNDING]
            self.count(step, paid=cost + features.size * n < step.n_features * n)
        step.note(unpruned=features.size)
        return step.search(features, step.draw(n)).best()

    def learn(self, outcome: Outcome) -> None:
        """Keep the edge, unless it is of a node."""
        if outcome.whole:
            self.edge_ = outcome.edge
