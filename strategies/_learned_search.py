"""Searches that are learned by their rewards, and a memory of features that were chosen before.

For strategies that choose each round among some searches, the arms: `adaptive_halving` among
numbers of stages, `cost_aware` among plans of Q features and T examples.

Memory: the features of a search are new, or up to half of them were chosen before: as many of the t
searches so far as the search has features are drawn, search s with the probability (2 s - 1) / t^2,
and what they have chosen competes again. Nodes of trees remember the features that nodes have
chosen, and use the better of memory and no memory.

Reward: the round of edge G reduces the log of the loss by r_t = -log(1 - G^2) / 2. Relative to a
running mean, x_t = r_t / m_t with m_{t+1} = m_t + (r_t - m_t) / sqrt(t). Arm a has the mean x_a and
the count n_a of its rewards, in which round s has the weight (s / t)^2 at round t. The variance of
rewards about the mean of their arm is v, v_{t+1} = v_t + ((x_t - x_a)^2 - v_t) / (10 + sqrt(t)).

Whether to remember is Thompson sampling (Thompson 1933) with evidence that ages: the one with the
largest draw from Normal(x, v / n), of the same rewards; one that was never tried counts as one
reward equal to the mean of the other one.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from boostsample.step import Step
from boostsample.strategies.successive_halving import Stage, first_features
from boostsample.strategy import Outcome, Strategy, Stump

#: Rewards that the first variance counts as.
_FIRST_COUNT = 10


class LearnedSearch(Strategy):
    """Rewards of searches and of memory; a subclass chooses `arm_` and runs its stages.

    Attributes
    ----------
    arms_, memory_ : float64 (2, A), float64 (2, 2)
        Mean and count of the rewards of each search, and of rounds without and with memory.
    arm_, remember_ : int
        The last choices.
    chosen_, node_chosen_ : int64 (t,)
        The features that searches of rounds and of nodes have chosen, the last ones at the end.
    """

    scheme: str

    def forget(self, n_arms: int, variance: float) -> None:
        """Forget all rewards and features; `variance` of relative rewards is v before any."""
        self.arms_, self.memory_ = np.zeros((2, n_arms)), np.zeros((2, 2))
        self.variance_, self.running_mean_, self.n_rewards_ = variance, 0.0, 0
        self.chosen_, self.node_chosen_ = np.empty((2, 0), np.int64)
        self.n_again_ = 0

    def learn(self, outcome: Outcome) -> None:
        """Remember the feature, and reward both choices by what the round's first search gained."""
        if not outcome.whole:
            self.node_chosen_ = np.append(self.node_chosen_, outcome.feature)
            return
        self.chosen_ = np.append(self.chosen_, outcome.feature)
        # The reward of an edge of 1 is infinite.
        if outcome.search or not 0.0 < outcome.edge < 1.0:
            return
        reward = -0.5 * math.log1p(-(outcome.edge**2))
        relative = reward / self.running_mean_ if self.n_rewards_ else 1.0
        self.n_rewards_ += 1
        t = self.n_rewards_
        self.running_mean_ += (reward - self.running_mean_) / math.sqrt(t)
        mean, count = self.arms_[:, self.arm_].tolist()
        if count:
            change = relative - mean
            self.variance_ += (change**2 - self.variance_) / (_FIRST_COUNT + math.sqrt(t))
        for arms, arm in ((self.arms_, self.arm_), (self.memory_, self.remember_)):
            arms[1] *= ((t - 1) / t) ** 2  # makes (s / (t - 1))^2 of a round s (s / t)^2
            arms[1, arm] += 1.0
            arms[0, arm] += (relative - arms[0, arm]) / arms[1, arm]

    def search_of_node(self, step: Step, stages: list[Stage]) -> Stump:
        """The best stump of the last stage, with the better of memory and no memory."""
        remember, n = best_arm(self.memory_), stages[0][0]
        first = self.remembered(remember, n, step.rng, self.node_chosen_)
        return step.race(*first_features(step, stages, first), self.scheme).best()

    def features_of_round(
        self, step: Step, stages: list[Stage]
    ) -> tuple[NDArray[np.int64], list[Stage]]:
        """Choose whether to remember; the features of the first stage, and the stages for them."""
        self.n_again_ = self.node_chosen_.size if best_arm(self.memory_) else 0
        self.remember_ = draw_near(self.memory_, self.variance_, step.rng) if self.n_rewards_ else 0
        first = self.remembered(self.remember_, stages[0][0], step.rng, self.chosen_)
        step.note(n_remembered=first.size)
        return first_features(step, stages, first)

    def remembered(
        self, remember: int, n: int, rng: np.random.Generator, chosen: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Features that were chosen before, for up to half of n places."""
        t = chosen.size
        if not remember or not t:
            return np.empty(0, np.int64)
        # P(t sqrt(u) < s) = (s / t)^2, so that search s has the probability (2 s - 1) / t^2.
        again = chosen[(t * np.sqrt(rng.random(n))).astype(np.int64)]
        different = dict.fromkeys(again.tolist())
        return np.fromiter(different, np.int64, len(different))[: n // 2]


def best_arm(arms: NDArray[np.float64]) -> int:
    """The arm of the largest mean; `arms` has a row of means and one of counts."""
    means, counts = arms.tolist()  # of so few arms, lists are faster than arrays
    return first_largest([mean if n else -math.inf for mean, n in zip(means, counts, strict=True)])


def draw_near(arms: NDArray[np.float64], variance: float, rng: np.random.Generator) -> int:
    """Thompson sampling among the best arm and its neighbours."""
    best = best_arm(arms)
    first, end = max(best - 1, 0), min(best + 2, arms.shape[1])
    means, counts = arms[:, first:end].tolist()
    draws = [
        (mean if n else means[best - first]) + math.sqrt(variance / (n or 1.0)) * normal
        for mean, n, normal in zip(
            means, counts, rng.standard_normal(end - first).tolist(), strict=True
        )
    ]
    return first + first_largest(draws)


def first_largest(values: list[float]) -> int:
    """The place of the largest value, the first of equal ones."""
    return values.index(max(values))
