"""Cost-aware sampling: adaptive halving that learns which searches gain most for what they cost.

A round costs its looks and everything else: draws, rows copied for a sample, sweeps, the finish on
all examples (`boostsample.planning.costs`). Where that costs more than the looks, as on few
examples, a round should spend its whole budget; where the looks cost most, one search of few
features on a good sample, or on all examples, gains more in a given time than many stages. Which
one changes as edges shrink. Our own strategy for equal cost; for equal looks, see
`adaptive_halving`, whose memory, runners-up and rewards it has.

Plans: the features of each stage are searched on a sample drawn by order, those of largest edges go
on to the next one, and the best stump of the last one is chosen.

- 5 and 10 features on all N examples;
- 16 features on T = 2048, 4096, ... examples, and 32 on 4096 and 16384, while 7 T is at most N;
- 64 features on 1024 examples, then 16 on 4096;
- the brackets of `adaptive_halving`: S = 1, ..., S_max stages of budget / S looks each.

Plans that cost more looks than the budget, or features than there are, are left out.

Choice: plan p has the mean x_p and the count n_p of the rewards of `adaptive_halving`. The plan of
the largest (x_p + d_p) / c_p is searched: c_p is its cost, d_p has the distribution
Normal(0, v / (4 n_p)). A plan that was never searched counts as 1.3 times the mean of the plan of
the largest x_p / c_p, so that one that costs 1.3 times as much or more waits for a change of the
means. This is Thompson sampling (Thompson 1933) with half the spread: rewards of one plan differ
more from round to round than plans do. All plans are drawn, and not only neighbours of the best:
behind a dear one, a cheap one would not be found. v begins at 0.1. The first round takes the
cheapest plan.

Cost per iteration: the looks of the plan, at most the budget; no search is made to learn. Costs are
constants of a table, so that equal seeds give equal bits on all machines. Nodes of trees take the
best plan so far, with T in proportion to their examples.

The constants of this file were chosen by the area under log10 loss against cost on 26 tables of
`tests.experiments.default_choice` and on patches of photographs, see docs/CONTEST.md.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from boostsample.step import Step
from boostsample.strategies.adaptive_halving import AdaptiveHalving
from boostsample.strategies.successive_halving import Stage, halving_stages
from boostsample.strategies.uniform_naive import search_that_spends
from boostsample.strategy import Pool, Stump

#: Variance of relative rewards before any is known.
_FIRST_VARIANCE = 0.1
#: Share of their standard deviation by which means are drawn.
_SPREAD = 0.5
#: What a plan that was never searched counts as, in means of the best one.
_HOPE = 1.3
#: Examples for each one of a sample, at least: with fewer, all of them cost little more.
_EXAMPLES_A_DRAW = 7


class CostAware(AdaptiveHalving):
    """Learns by reward per cost how many features to search on how many examples.

    Parameters
    ----------
    eta : int
        Features that compete for one place in the next stage of a bracket, at least 2.
    scheme : str
        How examples are drawn, see `Step.draw`; edges must be unbiased.
    """

    leaves_budget = "fewer looks can gain more for what a round costs"

    def start(self, pool: Pool, budget: int, n_rounds: int, rng: np.random.Generator) -> None:
        """Check the settings and forget all rewards and features."""
        super().start(pool, budget, n_rounds, rng)
        size = budget, pool.n_examples, pool.n_features
        brackets = [
            halving_stages(n, *size, self.eta) for n in range(1, self.brackets_.shape[1] + 1)
        ]
        plans = plans_within(pool.n_examples, pool.n_features, budget)
        plans += [plan for plan in brackets if plan not in plans]
        self.plans_ = [[list(stage) for stage in plan] for plan in plans]
        self.n_examples_ = pool.n_examples
        self.costs_: NDArray[np.float64] = np.empty(0)
        self.brackets_ = np.zeros((2, len(self.plans_)))
        self.variance_ = _FIRST_VARIANCE

    def choose(self, step: Step) -> Stump:
        """Choose a plan and search it."""
        if not self.costs_.size:
            plans = map(_stages, self.plans_)
            self.costs_ = np.array([step.cost_of(plan, self.scheme) for plan in plans])
        means, counts = self.brackets_
        known, worth = counts > 0.0, means
        if step.whole and self.n_rewards_:
            best = int(np.where(known, means / self.costs_, -np.inf).argmax())
            spread = _SPREAD * np.sqrt(self.variance_ / np.where(known, counts, np.inf))
            noise = spread * step.rng.standard_normal(worth.size)
            worth = np.where(known, means + noise, _HOPE * means[best])
        elif not self.n_rewards_:
            worth = np.ones(means.size)
        self.bracket_ = int((worth / self.costs_).argmax())
        plan = _stages(self.plans_[self.bracket_])
        if not step.whole:
            return self.search_of_node(step, self._in_node(step, plan))
        return self.search_of_round(step, self._within(step, plan))

    def _in_node(self, step: Step, plan: list[Stage]) -> list[Stage]:
        """The plan with examples in proportion to those of the node."""
        n, most = step.n_examples, self.n_examples_
        return self._within(step, [(q, max(1, size * n // most)) for q, size in plan])

    def _within(self, step: Step, plan: list[Stage]) -> list[Stage]:
        """The plan, or one search if it costs more than the budget of the step."""
        if sum(q * size for q, size in plan) <= step.budget:
            return plan
        size = step.n_examples, step.n_features, step.budget
        return [search_that_spends(max(10, step.budget // step.n_examples), *size)]


def _stages(plan: list[list[int]]) -> list[Stage]:
    """A plan as it is kept, as stages."""
    return [(q, size) for q, size in plan]


def plans_within(n_examples: int, n_features: int, budget: int) -> list[list[Stage]]:
    """The plans beside brackets that the budget and the features allow: [(Q, T), ...] of each.

    >>> plans_within(20_000, 1_000, 100_000)
    [[(5, 20000)], [(16, 2048)]]
    >>> plans_within(1_000, 3, 10_000)
    []
    """
    sizes = [2048 << k for k in range(16)]
    plans = [
        [(5, n_examples)],
        [(10, n_examples)],
        *([(16, size)] for size in sizes),
        [(32, 4096)],
        [(32, 16384)],
        [(64, 1024), (16, 4096)],
    ]
    return [
        plan
        for plan in plans
        if plan[0][0] <= n_features
        and sum(q * size for q, size in plan) <= budget
        and (plan[-1][1] == n_examples or plan[-1][1] * _EXAMPLES_A_DRAW <= n_examples)
    ]
