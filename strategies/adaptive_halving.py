"""Adaptive halving: successive halving that learns the number of its stages from true edges.

Few stages search few features on nearly all examples; many stages search many features, at first on
very few examples. The best number falls as boosting goes on, since edges shrink and their noise
does not. Our own strategy; the brackets are those of Hyperband (Li et al. 2018), the choice among
them is Thompson sampling (Thompson 1933) with evidence that ages.

Brackets: S = 1, ..., S_max stages of budget / S looks each, see `strategies.successive_halving`;
S_max is the largest whose first stage has 10 examples.

Reward: the round of edge G reduces the log of the loss by r_t = -log(1 - G^2) / 2. Relative to a
running mean, x_t = r_t / m_t with m_{t+1} = m_t + (r_t - m_t) / sqrt(t).

Choice: bracket S has the mean x_S and the count n_S of its rewards, in which round s has the weight
(s / t)^2 at round t. Let S* be the bracket of the largest mean. Of S* - 1, S* and S* + 1, the one
with the largest draw from Normal(x_S, v / n_S) is searched; a bracket that was never searched
counts as one reward equal to x_S*. v is the variance of rewards about the mean of their bracket,
v_{t+1} = v_t + ((x_t - x_S)^2 - v_t) / (10 + sqrt(t)) from v_1 = 0.04. The first round takes S_max.

Runners-up: the features of the stage before the last, without the chosen one, compete again in that
stage of the next round, for up to half of its places.

Cost per iteration: at most the budget; O(S_max) arithmetic. No setting depends on the data or on
the number of rounds. Bounds: those of a stage of successive halving hold in every bracket. Each
bracket near the best is searched again and again, because counts of others fall as t^-2; what that
costs is at most the difference of neighbouring brackets.
"""

from __future__ import annotations

import math

import numpy as np

from boostsample.checks import check_integer
from boostsample.shard.sampling_schemes import unbiased_scheme
from boostsample.step import Step
from boostsample.strategies.successive_halving import halve, halving_stages, most_stages
from boostsample.strategy import Outcome, Pool, Strategy, Stump

__all__ = ["AdaptiveHalving"]

#: Least number of examples in the first stage.
_LEAST_EXAMPLES = 10
#: Variance of relative rewards before any is known, and the rewards that it counts as.
_FIRST_VARIANCE, _FIRST_COUNT = 0.04, 10


class AdaptiveHalving(Strategy):
    """Successive halving with a learned number of stages; needs no setting.

    Parameters
    ----------
    eta : int
        Features that compete for one place in the next stage, at least 2.
    scheme : str
        How examples are drawn, see `Step.draw`; edges must be unbiased.
    """

    def __init__(self, eta: int = 4, scheme: str = "distinct") -> None:
        self.eta = eta
        self.scheme = scheme

    def start(self, pool: Pool, budget: int, n_rounds: int, rng: np.random.Generator) -> None:
        """Check the settings and forget all rewards."""
        check_integer("eta", self.eta, 2)
        unbiased_scheme(self.scheme)
        size = budget, pool.n_examples, pool.n_features
        n_brackets = most_stages(*size, self.eta, _LEAST_EXAMPLES)
        self.means_, self.counts_ = np.zeros(n_brackets), np.zeros(n_brackets)
        self.variance_, self.running_mean_, self.n_rewards_ = _FIRST_VARIANCE, 0.0, 0
        self.n_examples_ = pool.n_examples
        self.runners_up_ = np.empty(0, np.int64)

    def choose(self, step: Step) -> Stump:
        """Choose a bracket and run its stages."""
        size = step.budget, step.n_examples, step.n_features, self.eta
        if step.n_examples < self.n_examples_:  # a node of a tree: what rounds have shown is used
            n_stages = min(self._best() + 1, most_stages(*size, _LEAST_EXAMPLES))
            return halve(step, halving_stages(n_stages, *size), self.scheme)[0].best()
        self.bracket_ = self._draw(step.rng)
        step.note(n_stages=self.bracket_ + 1)
        stages = halving_stages(self.bracket_ + 1, *size)
        stumps, runners_up = halve(step, stages, self.scheme, self.runners_up_)
        best = stumps.best()
        self.runners_up_ = runners_up[runners_up != best.feature]
        return best

    def learn(self, outcome: Outcome) -> None:
        """Reward the bracket by what the first search of the round has gained."""
        if outcome.search or not 0.0 < outcome.edge < 1.0:
            return
        reward, bracket = -0.5 * math.log1p(-(outcome.edge**2)), self.bracket_
        relative = reward / self.running_mean_ if self.n_rewards_ else 1.0
        self.n_rewards_ += 1
        t = self.n_rewards_
        self.running_mean_ += (reward - self.running_mean_) / math.sqrt(t)
        self.counts_ *= ((t - 1) / t) ** 2
        if self.counts_[bracket]:
            change = relative - self.means_[bracket]
            self.variance_ += (change**2 - self.variance_) / (_FIRST_COUNT + math.sqrt(t))
        self.counts_[bracket] += 1.0
        self.means_[bracket] += (relative - self.means_[bracket]) / self.counts_[bracket]

    def _best(self) -> int:
        """The bracket of the largest mean, the last one before any reward."""
        if not self.n_rewards_:
            return int(self.means_.size) - 1
        return int(np.where(self.counts_ > 0.0, self.means_, -np.inf).argmax())

    def _draw(self, rng: np.random.Generator) -> int:
        """Thompson sampling among the best bracket and its neighbours."""
        best = self._best()
        if not self.n_rewards_:
            return best
        near = np.arange(max(best - 1, 0), min(best + 2, self.means_.size))
        known = self.counts_[near] > 0.0
        means = np.where(known, self.means_[near], self.means_[best])
        counts = np.where(known, self.counts_[near], 1.0)
        draws = means + np.sqrt(self.variance_ / counts) * rng.standard_normal(near.size)
        return int(near[draws.argmax()])
