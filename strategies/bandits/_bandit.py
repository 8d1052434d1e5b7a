"""Base of the bandit strategies: pulls arms, searches their features, rewards them by edges.

A round pulls k arms, families or single features, searches Q of their features on T = budget / Q
examples, and rewards each pulled arm for its best edge: the edge on all examples for the arm of the
chosen stump, the edge on the sample for the others (equal if T >= N). If the pulled arms have fewer
than Q features, all of these are searched on up to N examples, and the rest of the budget is left.
A tree is a sequence of decisions over the arms of stumps ([BK10] section 3.4): nodes pull, and
reward, the same arms as roots.
"""

from __future__ import annotations

import abc
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostsample.bandits import REWARDS, best_arms, reward
from boostsample.checks import check_integer, check_known, check_n_features, check_number
from boostsample.step import Step
from boostsample.strategies.uniform_naive import searched_features
from boostsample.strategy import Outcome, Pool, Strategy, Stump, sample_members

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

_ARMS = ("family", "feature")
_PULLS = ("1.Q", "Q.1")
#: Values of reward_scale to tune: at scale 1, edges of 0.03 to 0.3 give rewards of 0.0005 to 0.05.
BANDIT_SCALES = (1, 10, 30, 100, 300, 1000)


@dataclass(eq=False, repr=False, kw_only=True)
class BanditStrategy(Strategy):
    """Base class: the rule of the subclass, `select` and `reward_arms`, pulls the arms.

    A subclass is a dataclass too: its settings come first, these can only be given by name.
    Published forms of the rules are for one pull in a step. With k pulls, a step rewards each
    pulled arm once, and t counts steps, as the boosting iterations of [BK09].

    Parameters
    ----------
    arms : {"family", "feature"}
        What an arm is: a family ([DF11]) or a single feature ([BK10], [BK09]).
    pulls : {"1.Q", "Q.1"} or int
        Arms pulled in a round: one, Q, or k of them (UCB(k) of [BK09]), at most all. They share the
        Q features equally; an arm that is a single feature takes one.
    n_features : int or None
        Q; None is max(10, budget // N).
    reward : {"log-edge", "root", "squared-edge"}
        [BK10] eq. 11, [BK09], or the square; see `boostsample.bandits.rewards`.
    reward_scale : float
        The factor kappa in min(1, kappa * reward), above 0.
    """

    learns_from_nodes = "a tree is a sequence of decisions over the same arms, [BK10] section 3.4"

    arms: str = "family"
    pulls: str | int = "1.Q"
    n_features: int | None = None
    reward: str = "log-edge"
    reward_scale: float = 1.0

    def start_arms(self, n_arms: int, n_rounds: int) -> None:
        """Check the settings of the rule and forget all rewards; subclasses add their state."""
        self.n_arms_ = n_arms
        self.n_steps_ = 0

    @abc.abstractmethod
    def select(self, rng: np.random.Generator, k: int) -> IntArray:
        """Pull k different arms, int64 (k,), 1 <= k <= n_arms."""

    def reward_arms(self, arms: IntArray, rewards: FloatArray) -> None:
        """Learn the rewards of different arms, between 0 and 1; subclasses update their state."""
        self.n_steps_ += 1

    def _n_arms(self, pool: Pool) -> int:
        return len(pool.families) if self.arms == "family" else pool.n_features

    def settings_in_use(self, pool: Pool, budget: int, n_rounds: int) -> Mapping[str, Any]:
        """With the number of features."""
        q = searched_features(self.n_features, pool.n_examples, pool.n_features, budget)
        return {**self.get_params(deep=False), "n_features": q}

    def start(self, pool: Pool, budget: int, n_rounds: int, rng: np.random.Generator) -> None:
        """Check the settings and forget all rewards."""
        check_known("kind of arms", self.arms, _ARMS)
        check_known("reward", self.reward, REWARDS)
        check_number("reward_scale", self.reward_scale, 0.0, above=True)
        check_n_features(self.n_features, pool.n_features, budget)
        q = searched_features(self.n_features, pool.n_examples, pool.n_features, budget)
        n_arms = self._n_arms(pool)
        self.n_pulls_ = min(self._wanted_pulls(q), q, n_arms)
        self.start_arms(n_arms, n_rounds)

    def choose(self, step: Step) -> Stump:
        """Pull arms, search their features."""
        q = searched_features(self.n_features, step.n_examples, step.n_features, step.budget)
        arms = self.select(step.rng, min(self.n_pulls_, q))
        features, owner = self._features(step, arms, q)
        sample = step.draw(step.remaining // features.size)
        stumps = step.search(features, sample)
        best = np.zeros(arms.size)
        np.maximum.at(best, owner, stumps.edge)  # several features of one arm
        winner = int(owner[stumps.edge.argmax()])
        self.arms_, self.edges_, self.winner_ = arms, best, winner
        step.note(arm=int(arms[winner]))
        return stumps.best()

    def learn(self, outcome: Outcome) -> None:
        """Reward the pulled arms."""
        self.edges_[self.winner_] = outcome.edge  # exact, not the largest of many estimates
        self.reward_arms(self.arms_, reward(self.edges_, self.reward, self.reward_scale))

    def _wanted_pulls(self, q: int) -> int:
        if isinstance(self.pulls, str):
            check_known("pulls", self.pulls, _PULLS)
            return 1 if self.pulls == "1.Q" else q
        return check_integer("pulls", self.pulls, 1, hint="or take '1.Q' or 'Q.1'")

    def _features(self, step: Step, arms: IntArray, q: int) -> tuple[IntArray, IntArray]:
        """Features to search, and the position in `arms` of each feature's arm."""
        if self.arms == "feature":
            return arms, np.arange(arms.size)
        each, more = divmod(q, arms.size)
        families = [step.families[arm] for arm in arms.tolist()]
        counts = [min(each + (k < more), family.size) for k, family in enumerate(families)]
        features = sample_members(families, counts, step.rng)
        return features, np.repeat(np.arange(arms.size), counts)


class MeanBandit(BanditStrategy):
    """A rule that gives each arm an index, from its mean reward, and pulls the k largest.

    An arm that was never pulled usually has the index +inf, and the first arm wins a tie, so each
    arm is pulled once, in order, before any other. With more arms than k times the number of
    steps, these first pulls are never completed.
    """

    def start_arms(self, n_arms: int, n_rounds: int) -> None:
        """No pulls yet."""
        super().start_arms(n_arms, n_rounds)
        self.counts_ = np.zeros(n_arms, dtype=np.int64)
        self.sums_ = np.zeros(n_arms)

    @abc.abstractmethod
    def indices(self) -> FloatArray:
        """Index of each arm in the present step, float64 (n_arms,); the largest is pulled next."""

    def select(self, rng: np.random.Generator, k: int) -> IntArray:
        """The arms of the k largest indices, best first."""
        return best_arms(self.indices(), k)

    def reward_arms(self, arms: IntArray, rewards: FloatArray) -> None:
        """Count the pulls and add the rewards."""
        super().reward_arms(arms, rewards)
        self.counts_[arms] += 1
        self.sums_[arms] += rewards
