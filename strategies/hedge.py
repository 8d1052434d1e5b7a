"""Hedge: exponential weights over families, from the rewards of all families in every round.

Cost per iteration: a tenth of the budget for the rewards, q features of each of M families on t
examples, charged as modelling; the rest for one search of Q features of the drawn family on T
examples; O(M) for the probabilities. Source: Freund and Schapire 1997 (Hedge, in gains); rewards of
all arms from a tenth of the data are those of Exp3G2 in MultiBoost. The yardstick of the bandits:
what they would do if they saw the arms that they do not pull. Left open: how to see them (q = 16, t
as large as a tenth of the budget allows, as in MAS 1.Q), which reward the drawn family gets (that
of its q features, like the others), and eta. Rewards are of the round's own weights, and used from
the next round on. Searches whose tenth does not pay for one feature of each family on two examples
teach nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from boostsample.bandits import Hedge as HedgePolicy
from boostsample.bandits import reward
from boostsample.errors import SettingError
from boostsample.step import Step
from boostsample.strategies.bandits._bandit import BANDIT_SCALES, BanditStrategy
from boostsample.strategies.uniform_naive import search_that_spends, uniform_naive_features
from boostsample.strategy import Outcome, Pool, Stump

_FEATURES_PER_FAMILY = 16


@dataclass(eq=False, repr=False)
class Hedge(BanditStrategy):
    """Hedge over families.

    Parameters
    ----------
    eta : float
        Learning rate, above 0.
    arms, pulls, n_features, reward, reward_scale
        See `BanditStrategy`; arms must be families.
    """

    eta: float = 1.0

    def tuning_grid(self) -> Mapping[str, Sequence[float]]:
        """24 settings; apart from the cap, only eta * reward_scale matters."""
        return {"eta": (0.1, 1, 10, 100), "reward_scale": BANDIT_SCALES}

    def make_policy(self, n_arms: int) -> HedgePolicy:
        """Hedge with this learning rate."""
        return HedgePolicy(n_arms, self.eta)

    def start(self, pool: Pool, budget: int, n_rounds: int, rng: np.random.Generator) -> None:
        """Check the settings and reset the policy."""
        if self.arms == "feature":
            raise SettingError(
                "arms of hedge must be 'family', got 'feature': the rewards of all features would "
                "take a search of all; quickboost is cheaper"
            )
        super().start(pool, budget, n_rounds, rng)
        self.edges_ = np.empty(0)

    def choose(self, step: Step) -> Stump:
        """Estimate the edges of all families, search one drawn before that."""
        policy = self._resumed()
        self.edges_ = self._edges_of_all(step)
        q = min(uniform_naive_features(self.n_features, step), step.remaining)
        if self.n_features is None:
            q, _ = search_that_spends(q, step.n_examples, step.n_features, step.remaining)
        arms = policy.select(step.rng, min(self.n_pulls_, q))
        features, owner = self._features(step, arms, q)
        stumps = step.search(features, step.draw(step.remaining // features.size))
        step.note(arm=int(arms[owner[stumps.edge.argmax()]]))
        return stumps.best()

    def learn(self, outcome: Outcome) -> None:
        """Reward all families."""
        if self.edges_.size:
            policy = self._resumed()
            arms = np.arange(self.edges_.size)
            policy.update(arms, reward(self.edges_, self.reward, self.reward_scale))
            self.policy_.update(policy.learned())

    def _edges_of_all(self, step: Step) -> NDArray[np.float64]:
        """The best edge of some features of each family; empty if that is too expensive."""
        sizes = [family.size for family in step.families]
        looks = step.budget // 10 // len(sizes)
        q = min(_FEATURES_PER_FAMILY, max(sizes), looks // 2)
        if q == 0:
            return np.empty(0)
        counts = [min(q, size) for size in sizes]
        features = step.sample_members(counts)
        found = step.search(features, step.draw(looks // q), purpose="modelling").edge
        return np.array([part.max() for part in np.split(found, np.cumsum(counts)[:-1])])
