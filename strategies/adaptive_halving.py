"""Adaptive halving: successive halving that learns its number of stages and whether to remember.

Few stages search few features on nearly all examples; many stages search many features, at first on
very few examples. The best number falls as boosting goes on, since edges shrink and their noise
does not. Features that were chosen before are worth another search where few of many are useful,
and not where any of many will do. Our own strategy; the brackets are those of Hyperband (Li et al.
2018); rewards and memory are those of `_learned_search`.

Brackets: S = 1, ..., S_max stages of budget / S looks each, see `strategies.successive_halving`;
S_max is the largest whose first stage has at least 10 examples.

Choice: bracket S has the mean x_S and the count n_S of its rewards. Let S* be the bracket of the
largest mean. Of S* - 1, S* and S* + 1, the one with the largest draw from Normal(x_S, v / n_S) is
searched; a bracket that was never searched counts as one reward equal to x_S*. v_1 = 0.04. The
first round takes S_max. Nodes of trees use the best S of whole searches, or one sample.

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
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from boostsample.checks import check_integer, check_number
from boostsample.rows.sampling_schemes import unbiased_scheme
from boostsample.step import Step
from boostsample.strategies._learned_search import LearnedSearch, best_arm, draw_near
from boostsample.strategies.successive_halving import bracket_that_spends, most_stages
from boostsample.strategies.uniform_naive import sampled_stump
from boostsample.strategy import NodeFeatures, OneSample, Pool, Stump

#: Least number of examples in the first stage.
_LEAST_EXAMPLES = 10
#: Variance of relative rewards before any is known.
_FIRST_VARIANCE = 0.04


class AdaptiveHalving(LearnedSearch):
    """Successive halving that learns its number of stages and whether to remember.

    Parameters
    ----------
    eta : int
        Features that compete for one place in the next stage, at least 2.
    scheme : str
        How examples are drawn, see `Step.draw`; edges must be unbiased.
    node_sample : float or None
        Part of the examples of a node on which it is searched, all different, above 0 and at most
        1; with as many features as its budget allows. Trees then grow in one call, in a part of the
        time. Where nodes have many examples, it finds less than None, which searches nodes in
        stages.
    """

    added_settings: ClassVar[Mapping[str, Any]] = {"node_sample": None}

    def __init__(
        self, eta: int = 4, scheme: str = "order", node_sample: float | None = None
    ) -> None:
        self.eta = eta
        self.scheme = scheme
        self.node_sample = node_sample

    def one_sample(self, pool: Pool, budget: int) -> OneSample | None:
        """Q of a node and the scheme of its draws, with `node_sample`."""
        if type(self).choose is not AdaptiveHalving.choose or self.node_sample is None:
            return None
        return OneSample(self._n_of_node(pool, budget), "distinct", self.node_sample, of_nodes=True)

    def features_of_nodes(self) -> NodeFeatures:
        """What nodes had chosen before this round, if memory is better than no memory."""
        return NodeFeatures(self.n_of_node_, self.node_chosen_[: self.n_again_])

    def _n_of_node(self, pool: Pool, budget: int) -> int:
        """Q of a search of all features, or on the part of the examples that the budget allows."""
        assert self.node_sample is not None
        return min(pool.n_features, math.ceil(budget / (self.node_sample * pool.n_examples)))

    def start(self, pool: Pool, budget: int, n_rounds: int, rng: np.random.Generator) -> None:
        """Check the settings and forget all rewards and features."""
        check_integer("eta", self.eta, 2)
        unbiased_scheme(self.scheme)
        size = budget, pool.n_examples, pool.n_features
        self.forget(most_stages(*size, self.eta, _LEAST_EXAMPLES), _FIRST_VARIANCE)
        self.runners_up_ = np.empty(0, np.int64)
        if self.node_sample is not None:
            check_number("node_sample", self.node_sample, 0.0, 1.0, above=True)
            self.n_of_node_ = self._n_of_node(pool, budget)

    def choose(self, step: Step) -> Stump:
        """Choose a bracket and whether to remember, and run the stages."""
        size = step.budget, step.n_examples, step.n_features, self.eta
        if not step.whole:
            if self.node_sample is not None:
                return sampled_stump(step, self.features_of_nodes(), self.node_sample)
            n_stages = min(self._n_stages(), most_stages(*size, _LEAST_EXAMPLES))
            return self.search_of_node(step, bracket_that_spends(n_stages, *size))
        n_stages = self._n_stages(step.rng)
        self.arm_ = n_stages - 1
        step.note(n_stages=n_stages)
        features, stages = self.features_of_round(step, bracket_that_spends(n_stages, *size))
        of_stages = step.race_again(features, self.runners_up_, stages, self.scheme)
        best, self.runners_up_ = of_stages[-1].best(), np.empty(0, np.int64)
        if len(of_stages) > 1:
            before = of_stages[-2]
            runners_up = before.feature[np.argsort(-before.edge, kind="stable")]
            self.runners_up_ = runners_up[runners_up != best.feature]
        return best

    def _n_stages(self, rng: np.random.Generator | None = None) -> int:
        """Stages of the best bracket, or of one drawn; the most of all before any reward."""
        if not self.n_rewards_:
            return self.arms_.shape[1]
        arms = self.arms_
        return 1 + (best_arm(arms) if rng is None else draw_near(arms, self.variance_, rng))
