"""Cost-aware sampling: learns which searches gain most for what they cost.

A round costs its looks and everything else: draws, rows copied for a sample, sweeps, the finish on
all examples (`boostsample.planning.costs`). Where that costs more than the looks, as on few
examples, a round should spend its whole budget; where the looks cost most, a search of few features
on a good sample, or on all examples, gains more in a given time. Which one changes as edges shrink.
Our own strategy for equal cost, with the rewards and the memory of `_learned_search`; for equal
looks, see `adaptive_halving`.

Plans: a search of Q features on T examples drawn by order, which has

- as many features on all N examples as the budget allows;
- 5 and 10 features on all N examples;
- 16 features on T = 2048, 4096, ... examples, and 32 on 4096 and 16384, while 7 T is at most N.

Plans that cost more looks than the budget, or features than there are, are left out.

Choice: plan p has the mean x_p and the count n_p of its rewards. The plan of the largest
(x_p + d_p) / c_p is searched: c_p is its cost, d_p has the distribution Normal(0, v / (4 n_p)). A
plan that was never searched counts as 1.3 times the mean of the plan of the largest x_p / c_p, so
that one that costs 1.3 times as much or more waits for a change of the means. This is Thompson
sampling (Thompson 1933) with half the spread: rewards of one plan differ more from round to round
than plans do. All plans are drawn, and not only neighbours of the best: behind a dear one, a cheap
one would not be found. v_1 = 0.1. The first round takes the cheapest plan.

Cost per iteration: the looks of the plan, at most the budget; no search is made to learn. Costs are
constants of a table, so that equal seeds give equal bits on all machines. Nodes of trees take the
best plan so far, with T in proportion to their examples.

The constants of this file were chosen by the area under log10 loss against cost on 26 tables of
`tests.experiments.default_choice` and on patches of photographs, see docs/CONTEST.md.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from boostsample.rows.sampling_schemes import unbiased_scheme
from boostsample.step import Step
from boostsample.strategies._learned_search import LearnedSearch, first_largest
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


class CostAware(LearnedSearch):
    """Learns by reward per cost how many features to search on how many examples.

    Parameters
    ----------
    scheme : str
        How examples are drawn, see `Step.draw`; edges must be unbiased.
    """

    leaves_budget = "fewer looks can gain more for what a round costs"

    def __init__(self, scheme: str = "order") -> None:
        self.scheme = scheme

    def start(self, pool: Pool, budget: int, n_rounds: int, rng: np.random.Generator) -> None:
        """Check the setting and forget all rewards and features."""
        unbiased_scheme(self.scheme)
        self.n_examples_ = pool.n_examples
        self.plans_ = np.array(plans_within(pool.n_examples, pool.n_features, budget))
        self.costs_: NDArray[np.float64] = np.empty(0)
        self.forget(len(self.plans_), _FIRST_VARIANCE)

    def choose(self, step: Step) -> Stump:
        """Choose a plan and search it."""
        if not self.costs_.size:
            costs = [step.cost_of([(q, size)], self.scheme) for q, size in self.plans_.tolist()]
            self.costs_ = np.array(costs)
        self.arm_ = self._draw_plan(step)
        q, size = self.plans_[self.arm_].tolist()
        if not step.whole:
            in_node = max(1, size * step.n_examples // self.n_examples_)
            return self.search_of_node(step, [_within(step, q, in_node)])
        features, stages = self.features_of_round(step, [_within(step, q, size)])
        return step.race(features, stages, self.scheme).best()

    def _draw_plan(self, step: Step) -> int:
        """The plan to search; the best one so far for a node."""
        (means, counts), costs = self.arms_.tolist(), self.costs_.tolist()
        if not self.n_rewards_:
            return first_largest([1.0 / cost for cost in costs])
        arms = list(zip(means, counts, costs, strict=True))
        if not step.whole:
            return first_largest([mean / cost for mean, _, cost in arms])
        best = first_largest([mean / cost if n else -math.inf for mean, n, cost in arms])
        hope, normal = _HOPE * means[best], step.rng.standard_normal(len(arms)).tolist()
        return first_largest(
            [
                (mean + _SPREAD * math.sqrt(self.variance_ / n) * noise if n else hope) / cost
                for (mean, n, cost), noise in zip(arms, normal, strict=True)
            ]
        )


def _within(step: Step, q: int, size: int) -> Stage:
    """Q and T, or those of a search near it if they cost more than the budget of the step."""
    if q * size <= step.budget:
        return q, size
    q = max(10, step.budget // step.n_examples)
    return search_that_spends(q, step.n_examples, step.n_features, step.budget)


def plans_within(n_examples: int, n_features: int, budget: int) -> list[Stage]:
    """Q and T of the plans that the budget and the features allow.

    >>> plans_within(20_000, 1_000, 100_000)
    [(5, 20000), (16, 2048)]
    >>> plans_within(1_000, 3, 10_000)
    [(3, 1000)]
    """
    samples = [(16, 2048 << k) for k in range(16)] + [(32, 4096), (32, 16384)]
    plans = [
        *halving_stages(1, budget, n_examples, n_features, 2),
        (5, n_examples),
        (10, n_examples),
        *((q, size) for q, size in samples if size * _EXAMPLES_A_DRAW <= n_examples),
    ]
    return [(q, size) for q, size in dict.fromkeys(plans) if q <= n_features and q * size <= budget]
