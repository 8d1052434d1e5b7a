"""Adaptive halving: successive halving that learns its number of stages and whether to remember.

Few stages search few features on nearly all examples; many stages search many features, at first on
very few examples. The best number falls as boosting goes on, since edges shrink and their noise
does not. Features that were chosen before are worth another search where few of many are useful,
and not where any of many will do. Our own strategy; the brackets are those of Hyperband (Li et al.
2018), both choices are Thompson sampling (Thompson 1933) with evidence that ages.

Brackets: S = 1, ..., S_max stages of budget / S looks each, see `strategies.successive_halving`;
S_max is the largest whose first stage has at least 10 examples.

Memory: the features of the first stage are new, or up to half of them were chosen before: as many
of the t searches so far as the stage has features are drawn, search s with the probability
(2 s - 1) / t^2, and what they have chosen competes again. Nodes of trees remember the features that
nodes have chosen, and use the best S and memory of whole searches.

Reward: the round of edge G reduces the log of the loss by r_t = -log(1 - G^2) / 2. Relative to a
running mean, x_t = r_t / m_t with m_{t+1} = m_t + (r_t - m_t) / sqrt(t).

Choice: bracket S has the mean x_S and the count n_S of its rewards, in which round s has the weight
(s / t)^2 at round t. Let S* be the bracket of the largest mean. Of S* - 1, S* and S* + 1, the one
with the largest draw from Normal(x_S, v / n_S) is searched; a bracket that was never searched
counts as one reward equal to x_S*. v is the variance of rewards about the mean of their bracket,
v_{t+1} = v_t + ((x_t - x_S)^2 - v_t) / (10 + sqrt(t)) from v_1 = 0.04. The first round takes S_max.
Whether to remember is chosen apart from S in the same way, with the same rewards and v.

Runners-up: the features of the stage before the last, without the chosen one, compete again in that
stage of the next round, for up to half of its places.

Cost per iteration: at most the budget; O(S_max) arithmetic, O(Q) draws, Q features of the first
stage, and a copy of the features of the t searches so far, 8 t bytes. No setting depends on the
data or on the number of rounds. Bounds: those of a stage of successive halving hold in every
bracket. What is near the best is searched again and again, because counts of others fall as t^-2;
what that costs is at most the difference of neighbouring brackets, and that of half of the first
stage.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from boostsample.checks import check_integer
from boostsample.rows.sampling_schemes import unbiased_scheme
from boostsample.step import Step
from boostsample.strategies.successive_halving import (
    Stage,
    first_features,
    halving_stages,
    most_stages,
)
from boostsample.strategy import Outcome, Pool, Strategy, Stump

#: Least number of examples in the first stage.
_LEAST_EXAMPLES = 10
#: Variance of relative rewards before any is known, and the rewards that it counts as.
_FIRST_VARIANCE, _FIRST_COUNT = 0.04, 10

_NONE = np.empty(0, np.int64)


class AdaptiveHalving(Strategy):
    """Successive halving that learns its number of stages and whether to remember.

    Parameters
    ----------
    eta : int
        Features that compete for one place in the next stage, at least 2.
    scheme : str
        How examples are drawn, see `Step.draw`; edges must be unbiased.
    """

    def __init__(self, eta: int = 4, scheme: str = "order") -> None:
        self.eta = eta
        self.scheme = scheme

    def start(self, pool: Pool, budget: int, n_rounds: int, rng: np.random.Generator) -> None:
        """Check the settings and forget all rewards and features."""
        check_integer("eta", self.eta, 2)
        unbiased_scheme(self.scheme)
        size = budget, pool.n_examples, pool.n_features
        self.brackets_ = np.zeros((2, most_stages(*size, self.eta, _LEAST_EXAMPLES)))
        self.memory_ = np.zeros((2, 2))
        self.variance_, self.running_mean_, self.n_rewards_ = _FIRST_VARIANCE, 0.0, 0
        self.chosen_, self.node_chosen_, self.runners_up_ = np.empty((3, 0), np.int64)

    def choose(self, step: Step) -> Stump:
        """Choose a bracket and whether to remember, and run the stages."""
        size = step.budget, step.n_examples, step.n_features, self.eta
        if not step.whole:
            n_stages = min(self._n_stages(), most_stages(*size, _LEAST_EXAMPLES))
            return self.search_of_node(step, halving_stages(n_stages, *size))
        n_stages = self._n_stages(step.rng)
        self.bracket_ = n_stages - 1
        return self.search_of_round(step, halving_stages(n_stages, *size))

    def search_of_node(self, step: Step, stages: list[Stage]) -> Stump:
        """The best stump of the last stage, with the better of memory and no memory."""
        remember, n = best_arm(self.memory_), stages[0][0]
        first = self._remembered(remember, n, step.rng, self.node_chosen_)
        return step.race(*first_features(step, stages, first), self.scheme).best()

    def search_of_round(self, step: Step, stages: list[Stage]) -> Stump:
        """Choose whether to remember, run the stages, and keep the runners-up."""
        self.remember_ = _draw(self.memory_, self.variance_, step.rng) if self.n_rewards_ else 0
        first = self._remembered(self.remember_, stages[0][0], step.rng, self.chosen_)
        step.note(n_stages=len(stages), n_remembered=first.size)
        features, race = first_features(step, stages, first)
        found = step.race_again(features, self.runners_up_, race, self.scheme)
        best, self.runners_up_ = found[-1].best(), _NONE
        if len(found) > 1:
            runners_up = found[-2].feature[np.argsort(-found[-2].edge, kind="stable")]
            self.runners_up_ = runners_up[runners_up != best.feature]
        return best

    def learn(self, outcome: Outcome) -> None:
        """Remember the feature, and reward both choices by what the round's first search gained."""
        if not outcome.whole:
            self.node_chosen_ = np.append(self.node_chosen_, outcome.feature)
            return
        self.chosen_ = np.append(self.chosen_, outcome.feature)
        if outcome.search or not 0.0 < outcome.edge < 1.0:
            return
        reward = -0.5 * math.log1p(-(outcome.edge**2))
        relative = reward / self.running_mean_ if self.n_rewards_ else 1.0
        self.n_rewards_ += 1
        t = self.n_rewards_
        self.running_mean_ += (reward - self.running_mean_) / math.sqrt(t)
        mean, count = self.brackets_[:, self.bracket_]
        if count:
            change = relative - mean
            self.variance_ += (change**2 - self.variance_) / (_FIRST_COUNT + math.sqrt(t))
        for arms, arm in ((self.brackets_, self.bracket_), (self.memory_, self.remember_)):
            arms[1] *= ((t - 1) / t) ** 2
            arms[1, arm] += 1.0
            arms[0, arm] += (relative - arms[0, arm]) / arms[1, arm]

    def _n_stages(self, rng: np.random.Generator | None = None) -> int:
        """Stages of the best bracket, or of one drawn; the most of all before any reward."""
        if not self.n_rewards_:
            return self.brackets_.shape[1]
        arms = self.brackets_
        return 1 + (best_arm(arms) if rng is None else _draw(arms, self.variance_, rng))

    def _remembered(
        self, remember: int, n: int, rng: np.random.Generator, chosen: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Features that were chosen before, for up to half of n places."""
        t = chosen.size
        if not remember or not t:
            return np.empty(0, np.int64)
        again = chosen[(t * np.sqrt(rng.random(n))).astype(np.int64)]
        different = dict.fromkeys(again.tolist())
        return np.fromiter(different, np.int64, len(different))[: n // 2]


def best_arm(arms: NDArray[np.float64]) -> int:
    """The arm of the largest mean; `arms` has a row of means and one of counts."""
    means, counts = arms
    return int(np.where(counts > 0.0, means, -np.inf).argmax())


def _draw(arms: NDArray[np.float64], variance: float, rng: np.random.Generator) -> int:
    """Thompson sampling among the best arm and its neighbours."""
    best = best_arm(arms)
    near = np.arange(max(best - 1, 0), min(best + 2, arms.shape[1]))
    means, counts = arms[:, near]
    known = counts > 0.0
    spread = np.sqrt(variance / np.where(known, counts, 1.0))
    draws = np.where(known, means, arms[0, best]) + spread * rng.standard_normal(near.size)
    return int(near[draws.argmax()])
