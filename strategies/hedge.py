"""Hedge: exponential weights over families, from the rewards of all families in every round.

p_j = w_j / sum(w), then log w_j += eta r_j for every arm j: full information, where a bandit sees
the rewards of the arms that it pulled. Several arms a step are drawn with inclusion probabilities
min(1, c p).

Cost per iteration: a tenth of the budget for the rewards, q features of each of M families on t
examples, charged as modelling; the rest for one search of Q features of the drawn family on T
examples; O(M) for the probabilities. Source: Freund and Schapire 1997, section 2 (in gains, not
losses); [LS20] chapter 28; rewards of all arms from a tenth of the data are those of Exp3G2 in
MultiBoost. The yardstick of the bandits: what they would do if they saw the arms that they do not
pull. Left open: how to see them (q = 16, t as large as a tenth of the budget allows, as in MAS
1.Q), which reward the drawn family gets (that of its q features, like the others), and eta. Rewards
are of the round's own weights, and used from the next round on. Searches whose tenth does not pay
for one feature of each family on two examples teach nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from boostsample.bandits import draw_arms, exp3p_probabilities, inclusion, reward
from boostsample.checks import check_number
from boostsample.errors import SettingError
from boostsample.step import Step
from boostsample.strategies.bandits._bandit import (
    BANDIT_SCALES,
    BanditStrategy,
    FloatArray,
    IntArray,
)
from boostsample.strategies.uniform_naive import search_that_spends, searched_features
from boostsample.strategy import Outcome, Pool, Stump

_FEATURES_PER_FAMILY = 16
#: Log of the largest ratio of two probabilities: far from numbers too small to divide by.
_MOST_APART = 500.0


@dataclass(eq=False, repr=False)
class Hedge(BanditStrategy):
    """Hedge over families.

    Parameters
    ----------
    eta : float
        Learning rate, above 0. With T steps, sqrt(8 log M / T) bounds the regret by
        sqrt(T log M / 2).
    arms, pulls, n_features, reward, reward_scale
        See `BanditStrategy`; arms must be families.

    Attributes
    ----------
    log_weights_ : float64 (n_arms,)
        log w_j.
    """

    eta: float = 1.0

    def tuning_grid(self) -> Mapping[str, Sequence[float]]:
        """24 settings; apart from the cap, only eta * reward_scale matters."""
        return {"eta": (0.1, 1, 10, 100), "reward_scale": BANDIT_SCALES}

    def start(self, pool: Pool, budget: int, n_rounds: int, rng: np.random.Generator) -> None:
        """Check the settings and forget all rewards."""
        if self.arms == "feature":
            raise SettingError(
                "arms of hedge must be 'family', got 'feature': the rewards of all features would "
                "take a search of all; quickboost is cheaper"
            )
        super().start(pool, budget, n_rounds, rng)
        self.edges_ = np.empty(0)

    def start_arms(self, n_arms: int, n_rounds: int) -> None:
        """Check the rate; equal weights."""
        check_number("eta", self.eta, 0.0, above=True)
        super().start_arms(n_arms, n_rounds)
        self.log_weights_ = np.zeros(n_arms)

    def probabilities(self) -> FloatArray:
        """Probability of each arm in the present step, float64 (n_arms,), at least e^-500 / M."""
        least = self.log_weights_.max() - _MOST_APART
        return exp3p_probabilities(np.maximum(self.log_weights_, least), 0.0)

    def select(self, rng: np.random.Generator, k: int) -> IntArray:
        """Draw arms with their inclusion probabilities."""
        return draw_arms(inclusion(self.probabilities(), k), rng.random(), k)

    def reward_arms(self, arms: IntArray, rewards: FloatArray) -> None:
        """Add the gains."""
        super().reward_arms(arms, rewards)
        self.log_weights_[arms] += self.eta * rewards

    def choose(self, step: Step) -> Stump:
        """Estimate the edges of all families, search one drawn before that."""
        self.edges_ = self._edges_of_all(step)
        size = step.n_examples, step.n_features
        q = min(searched_features(self.n_features, *size, step.budget), step.remaining)
        if self.n_features is None:
            q, _ = search_that_spends(q, *size, step.remaining)
        arms = self.select(step.rng, min(self.n_pulls_, q))
        features, owner = self._features(step, arms, q)
        stumps = step.search(features, step.draw(step.remaining // features.size))
        step.note(arm=int(arms[owner[stumps.edge.argmax()]]))
        return stumps.best()

    def learn(self, outcome: Outcome) -> None:
        """Reward all families."""
        if self.edges_.size:
            arms = np.arange(self.edges_.size)
            self.reward_arms(arms, reward(self.edges_, self.reward, self.reward_scale))

    def _edges_of_all(self, step: Step) -> FloatArray:
        """The best edge of some features of each family; empty if that is too expensive."""
        sizes = [family.size for family in step.families]
        looks = step.budget // 10 // len(sizes)
        q = min(_FEATURES_PER_FAMILY, max(sizes), looks // 2)
        if q == 0:
            return np.empty(0)
        counts = [min(q, size) for size in sizes]
        features = step.sample_members(counts)
        edges = step.search(features, step.draw(looks // q), purpose="modelling").edge
        return np.array([part.max() for part in np.split(edges, np.cumsum(counts)[:-1])])
