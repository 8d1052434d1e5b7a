"""What the bandit strategies share: arms, how looks are shared out over them, and rewards.

A round pulls k arms, families or single features, searches Q features of them on T = budget / Q
examples, and pays each pulled arm for the best edge found in it: the edge on all examples for the
arm of the chosen stump, the one on the sample for the others (the same when T >= N).
"""

from __future__ import annotations

import abc

import numpy as np
from numpy.typing import NDArray

from boostsample.bandits.policy import Policy
from boostsample.bandits.rewards import REWARDS, reward
from boostsample.checks import check_integer, check_number
from boostsample.errors import unknown
from boostsample.step import Step
from boostsample.strategies.uniform_naive import features_to_search
from boostsample.strategy import Outcome, Pool, Strategy, Stump

__all__ = ["BanditStrategy"]

ARMS = ("family", "feature")
SCALES = (1, 10, 30, 100, 300, 1000)
"""Values of reward_scale worth tuning: an edge of 0.03 to 0.3 pays 0.0005 to 0.05 at scale 1."""
PULLS = {"1.Q": "one arm, all Q features of it", "Q.1": "Q arms, or all if they are fewer"}


class BanditStrategy(Strategy):
    """Base of the strategies that pull arms by a policy of `boostsample.bandits`.

    A subclass stores these settings and its policy's own, and makes the policy.

    Parameters
    ----------
    arms : {"family", "feature"}
        What an arm is: a family ([DF11]) or a single feature ([BK10], [BK09]).
    pulls : {"1.Q", "Q.1"} or int
        Arms pulled in a round: one, Q, or k of them (UCB(k) of [BK09]); never more than there are.
        The Q features are shared out over them, an arm of a single feature taking one.
    n_features : int or None
        Q; None is max(10, budget // N).
    reward : {"log-edge", "root", "squared-edge"}
        [BK10] eq. 11, [BK09], or the square.
    reward_scale : float
        The factor kappa in min(1, kappa * reward), above 0.
    """

    arms: str
    pulls: str | int
    n_features: int | None
    reward: str
    reward_scale: float

    @abc.abstractmethod
    def make_policy(self, n_arms: int, n_rounds: int) -> Policy:
        """The policy that says which arms to pull."""

    def start(self, pool: Pool, budget: int, n_rounds: int, rng: np.random.Generator) -> None:
        """Check the settings, forget all rewards."""
        if self.arms not in ARMS:
            raise unknown("kind of arms", self.arms, ARMS)
        if self.reward not in REWARDS:
            raise unknown("reward", self.reward, REWARDS)
        check_number("reward_scale", self.reward_scale, 0.0, above=True)
        q = features_to_search(self.n_features, pool.n_examples, pool.n_features, budget)
        n_arms = len(pool.families) if self.arms == "family" else pool.n_features
        self.n_pulls_ = min(self._wanted_pulls(q), q, n_arms)
        self.sizes_ = [n_arms, n_rounds]
        self.policy_ = self.make_policy(n_arms, n_rounds).state()

    def choose(self, step: Step) -> Stump:
        """Pull arms, share the looks out, search."""
        policy = self.policy()
        arms = policy.select(step.rng, self.n_pulls_)
        self.policy_ = policy.state()
        features, owner = self._features(step, arms)
        sample = step.draw(step.remaining // features.size)
        stumps = step.search(features, sample)
        best = np.zeros(arms.size)
        np.maximum.at(best, owner, stumps.edge)
        winner = int(owner[np.argmax(stumps.edge)])
        self.arms_, self.edges_, self.winner_ = arms, best, winner
        step.note(arm=int(arms[winner]))
        return stumps.best()

    def learn(self, outcome: Outcome) -> None:
        """Pay the pulled arms."""
        self.edges_[self.winner_] = outcome.edge
        policy = self.policy()
        policy.update(self.arms_, reward(self.edges_, self.reward, self.reward_scale))
        self.policy_ = policy.state()

    def policy(self) -> Policy:
        """The policy as it stands: its indices or probabilities tell what it believes."""
        policy = self.make_policy(*self.sizes_)
        policy.restore(self.policy_)
        return policy

    def _wanted_pulls(self, q: int) -> int:
        if isinstance(self.pulls, str):
            if self.pulls not in PULLS:
                raise unknown("pulls", self.pulls, PULLS)
            return 1 if self.pulls == "1.Q" else q
        return check_integer("pulls", self.pulls, 1, hint="or take '1.Q' or 'Q.1'")

    def _features(
        self, step: Step, arms: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Features to search, and the position in `arms` that each of them belongs to."""
        if self.arms == "feature":
            return arms, np.arange(arms.size)
        q = features_to_search(self.n_features, step.n_examples, step.n_features, step.budget)
        shares = np.full(arms.size, q // arms.size)
        shares[: q % arms.size] += 1
        members = [
            step.families[int(arm)].sample(int(share), step.rng)
            for arm, share in zip(arms, shares, strict=True)
        ]
        owner = np.repeat(np.arange(arms.size), [part.size for part in members])
        return np.concatenate(members), owner
