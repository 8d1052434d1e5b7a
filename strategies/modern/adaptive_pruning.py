"""Adaptive pruning: the best feature of all, as `full`; features are read in turn by their bounds.

Cost per iteration: F m looks for bounds on the m heaviest examples, then N for each feature that is
read in full; F N where that is not tried. If the m heaviest examples have the mass W, a stump of
edge H on them has an edge of at most W H + 1 - W on all, and at least W H - (1 - W): a feature is
dropped once its upper bound is below the largest edge that is known. Source: Aziz, Anderton and
Aslam 2018 (arXiv 1805.07592; the abstract was read): the bounds of `quickboost`, but the feature of
the largest upper bound is read further, as in bandits for the best arm, where QuickBoost reads all
features that are left alike.
Left open: how far. A search reads all examples of a feature again, so that two levels of bounds
cost more than they prune (digits, even or odd: 0.88 to 1.02 F N, for 0.76 with one). Here it is one
level, W = 1 - G/8 with the last edge G, then all examples for 1, 1, 2, 4, ... features at a time.
Features whose edges `full` would compare again are searched together at the end. Tries that do not
pay pause as those of `quickboost`. A try may need 3 F N looks, the default budget; with F N,
nothing is tried.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from boostsample.step import Step
from boostsample.strategies.full import check_whole_search
from boostsample.strategies.modern.quickboost import ROUNDING, QuickBoost
from boostsample.strategy import Pool, Stump

#: Share of the last edge that the lightest examples may have.
_LEFT_OUT = 1.0 / 8.0


class AdaptivePruning(QuickBoost):
    """The choice of `full`, by exact pruning in the order of bounds."""

    leaves_budget = "pruned features are not searched on all examples"

    def default_budget(self, pool: Pool) -> int:
        """3 F N looks, of which it spends what it needs."""
        return 3 * pool.n_features * pool.n_examples

    def start(self, pool: Pool, budget: int, n_rounds: int, rng: np.random.Generator) -> None:
        """Raise SettingError if the budget does not pay for a whole search."""
        check_whole_search("adaptive-pruning", pool, budget)
        self.forget()

    def choose(self, step: Step) -> Stump:
        """Bound, then read in turn; or search all."""
        n, everything = step.n_examples, np.arange(step.n_features)
        mass = 1.0 - _LEFT_OUT * self.edge_
        size = step.n_heaviest(mass)
        cost = step.n_features * (size + 2 * n)
        if self.waits(step) or size == n or cost > step.budget:
            return step.search(everything, step.draw(n)).best()
        stumps = step.search(everything, step.draw(size, "heaviest"))
        # W H + 1 - W and W H - (1 - W): the light examples agree with the stump, or do not.
        upper = 1.0 - mass * (1.0 - stumps.edge)
        best = float((mass * (1.0 + stumps.edge) - 1.0).max())
        order = np.argsort(-upper, kind="stable")
        stump = read_in_turn(step, order, upper[order], best)
        self.count(step, paid=step.spent < step.n_features * n)
        return stump


def read_in_turn(
    step: Step, features: NDArray[np.int64], bounds: NDArray[np.float64], best: float
) -> Stump:
    """The best stump of features in descending order of their upper bounds.

    Reads 1, 1, 2, 4, ... features on all examples until no bound of the others is as large as the
    best edge, then those together whose edges rounding cannot separate from it.
    """
    whole, stumps = step.draw(step.n_examples), list[Stump]()
    while (end := int((bounds >= best - ROUNDING).sum())) > len(stumps):
        read = len(stumps)
        of_some = step.search(features[read : min(end, max(1, 2 * read))], whole)
        stumps += [of_some[[row]].best() for row in range(len(of_some))]
        best = max(best, float(of_some.edge.max()))
    step.note(unpruned=len(stumps))
    near = [stump for stump in stumps if stump.edge >= best - ROUNDING]
    if len(near) == 1:
        return near[0]
    return step.search(sorted(stump.feature for stump in near), whole).best()
