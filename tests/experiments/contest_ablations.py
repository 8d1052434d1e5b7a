"""Our strategies without one of their parts, as strategies of a file."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from boostsample.step import Step
from boostsample.strategies._learned_search import LearnedSearch
from boostsample.strategies.adaptive_halving import AdaptiveHalving
from boostsample.strategies.cost_aware import CostAware
from boostsample.strategy import Outcome, Pool, Stump


class WithoutMemory(LearnedSearch):
    """All features of the first stage are new."""

    def remembered(
        self, remember: int, n: int, rng: np.random.Generator, chosen: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        return np.empty(0, np.int64)


class HalvingWithoutMemory(WithoutMemory, AdaptiveHalving):
    """All features of the first stage are new."""


class CostWithoutMemory(WithoutMemory, CostAware):
    """All features are new."""


class HalvingWithoutRunnersUp(AdaptiveHalving):
    """No feature competes again because it did in the round before."""

    def choose(self, step: Step) -> Stump:
        self.runners_up_ = np.empty(0, np.int64)
        return super().choose(step)


class HalvingOfMostStages(AdaptiveHalving):
    """The number of stages is not learned; memory is."""

    def _n_stages(self, rng: np.random.Generator | None = None) -> int:
        return int(self.arms_.shape[1])


class HalvingOfOldRewards(AdaptiveHalving):
    """Rewards do not age."""

    def learn(self, outcome: Outcome) -> None:
        t = self.n_rewards_ + 1
        for arms in (self.arms_, self.memory_):
            arms[1] *= (t / max(t - 1, 1)) ** 2
        super().learn(outcome)
        if self.n_rewards_ < t:
            for arms in (self.arms_, self.memory_):
                arms[1] *= (max(t - 1, 1) / t) ** 2


class CostOfLooks(CostAware):
    """Plans are chosen by their rewards, whatever they cost."""

    def choose(self, step: Step) -> Stump:
        self.costs_ = np.ones(len(self.plans_))
        return super().choose(step)


class CostOfBudget(CostAware):
    """The plan that spends the budget, and no other one."""

    def start(self, pool: Pool, budget: int, n_rounds: int, rng: np.random.Generator) -> None:
        super().start(pool, budget, n_rounds, rng)
        self.plans_ = self.plans_[:1]
        self.forget(1, self.variance_)
