"""Cost-aware sampling: learns which searches gain most for what they cost.

A round costs its looks and everything else: draws, rows copied for a sample, sweeps, the finish on
all examples (`boostsample.planning.costs`). Where the finish costs as much as the search, one
search of few features on a good sample, or on all examples, gains more in a given time than many
stages; which one changes as edges shrink. Our own strategy for equal cost; for equal looks, many
stages pay, see `adaptive_halving`.

Plans: the features of each stage are searched on a sample drawn by order, those of largest edges go
on to the next one, and the best stump of the last one is chosen.

- 5 and 10 features on all N examples;
- 16 features on T = 2048, 4096, ... examples, and 32 on 4096 and 16384, while 7 T is at most N;
- 64 features on 1024 examples, then 16 on 4096.

Plans that cost more looks than the budget, or features than there are, are left out. Without any
other one, the budget is spent on one search as by `uniform_naive`.

Reward: the round of edge G reduces the log of the loss by r_t = -log(1 - G^2) / 2. Relative to a
running mean, x_t = r_t / m_t with m_{t+1} = m_t + (r_t - m_t) / sqrt(t). The first round, in which
all weights are alike, is not counted.

Choice: plan p has the mean x_p and the count n_p of its rewards, in which round s has the weight
(s / t)^2 at round t. The plan of the largest (x_p + d_p) / c_p is searched: c_p is its cost, d_p
is drawn from Normal(0, v / (4 n_p)). A plan that was never searched counts as one reward of 1. v
is the variance of rewards about the mean of their plan, v_{t+1} = v_t + ((x_t - x_p)^2 - v_t) /
(10 + sqrt(t)) from v_1 = 0.1. This is Thompson sampling (Thompson 1933) with half the spread:
rewards of one plan differ more from round to round than plans do. All plans are drawn, and not only
neighbours of the best: behind a dear one, a cheap one would not be found.

Cost per iteration: the looks of the plan, at most the budget; no search is made to learn. Costs are
constants of a table, so that equal seeds give equal bits on all machines. Nodes of trees take the
best plan so far, with T in proportion to their examples.
"""

from __future__ import annotations

import math

import numpy as np

from boostsample.step import Step
from boostsample.strategies.uniform_naive import search_that_spends
from boostsample.strategy import Outcome, Pool, Strategy, Stump

_SCHEME = "order"
#: Variance of relative rewards before any is known, and the rewards that it counts as.
_FIRST_VARIANCE, _FIRST_COUNT = 0.1, 10
#: Share of their standard deviation by which means are drawn.
_SPREAD = 0.5
#: Examples for each one of a sample, at least: with fewer, all of them cost little more.
_EXAMPLES_A_DRAW = 7


#: The plan of a search whose budget pays for none.
_UNPLANNED = -1


class CostAware(Strategy):
    """Learns by reward per cost how many features to search on how many examples."""

    leaves_budget = "fewer looks can gain more for what a round costs"

    def start(self, pool: Pool, budget: int, n_rounds: int, rng: np.random.Generator) -> None:
        """Forget all rewards."""
        size = pool.n_examples, pool.n_features
        self.plans_ = plans_within(*size, budget)
        self.n_examples_ = pool.n_examples
        self.costs_ = np.empty(0)
        self.rewards_ = np.zeros((2, len(self.plans_)))
        self.variance_, self.running_mean_, self.n_rewards_ = _FIRST_VARIANCE, 0.0, 0

    def choose(self, step: Step) -> Stump:
        """Choose a plan and search it."""
        if not self.costs_.size:
            self.costs_ = np.array([step.cost_of(_pairs(plan), _SCHEME) for plan in self.plans_])
        means, counts = self.rewards_
        known = counts > 0.0
        worth = np.where(known, means, 1.0)
        if step.whole:
            spread = _SPREAD * np.sqrt(self.variance_ / np.where(known, counts, 1.0))
            worth += spread * step.rng.standard_normal(worth.size)
            paid = np.array([_looks(plan) <= step.budget for plan in self.plans_])
            worth[~paid] = -np.inf  # in rounds of less than the mean budget
            self.plan_ = int((worth / self.costs_).argmax()) if paid.any() else _UNPLANNED
            if paid.any():
                return self._searched(step, self.plans_[self.plan_])
            size = step.n_examples, step.n_features
            return self._searched(step, plans_within(*size, step.budget)[-1])
        plan = self.plans_[int((worth / self.costs_).argmax())]
        n, most = step.n_examples, self.n_examples_
        plan = [[q, max(1, size * n // most)] for q, size in plan]
        if _looks(plan) > step.budget:
            plan = plans_within(n, step.n_features, step.budget)[-1]
        return self._searched(step, plan)

    def _searched(self, step: Step, plan: list[list[int]]) -> Stump:
        """The best stump of the last stage."""
        n_features, size = plan[0]
        if size >= step.n_examples:
            every = step.n_features
            features = step.rng.choice(every, size=n_features, replace=False, shuffle=False)
            return step.search(features, step.draw(size)).best()
        features = step.sample_features(n_features)
        stages = [(features.size, size), *_pairs(plan[1:])]
        return step.race(features, stages, _SCHEME).best()

    def learn(self, outcome: Outcome) -> None:
        """Reward the plan by what the round's first search gained."""
        planned = outcome.whole and self.plan_ != _UNPLANNED
        counted = planned and not outcome.search and outcome.round > 1
        if not counted or not 0.0 < outcome.edge < 1.0:
            return
        reward = -0.5 * math.log1p(-(outcome.edge**2))
        relative = reward / self.running_mean_ if self.n_rewards_ else 1.0
        self.n_rewards_ += 1
        t = self.n_rewards_
        self.running_mean_ += (reward - self.running_mean_) / math.sqrt(t)
        means, counts = self.rewards_
        plan = self.plan_
        if counts[plan]:
            change = relative - means[plan]
            self.variance_ += (change**2 - self.variance_) / (_FIRST_COUNT + math.sqrt(t))
        counts *= ((t - 1) / t) ** 2
        counts[plan] += 1.0
        means[plan] += (relative - means[plan]) / counts[plan]


def _looks(plan: list[list[int]]) -> int:
    return sum(q * size for q, size in plan)


def _pairs(plan: list[list[int]]) -> list[tuple[int, int]]:
    return [(q, size) for q, size in plan]


def plans_within(n_examples: int, n_features: int, budget: int) -> list[list[list[int]]]:
    """The plans that the budget and the features allow: [[Q, T], ...] of each.

    >>> plans_within(20_000, 1_000, 100_000)
    [[[5, 20000]], [[16, 2048]]]
    >>> plans_within(1_000, 3, 10_000)
    [[[3, 1000]]]
    """
    plans = [[[5, n_examples]], [[10, n_examples]]]
    sizes = [2048 << k for k in range(16)]
    plans += [[[16, size]] for size in sizes]
    plans += [[[32, 4096]], [[32, 16384]], [[64, 1024], [16, 4096]]]
    good = [
        plan
        for plan in plans
        if plan[0][0] <= n_features
        and _looks(plan) <= budget
        and (plan[-1][1] == n_examples or plan[-1][1] * _EXAMPLES_A_DRAW <= n_examples)
    ]
    if not good:
        q = max(10, budget // n_examples)
        good = [[list(search_that_spends(q, n_examples, n_features, budget))]]
    return good
