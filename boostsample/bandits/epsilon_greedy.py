"""Epsilon-greedy: pull the arm of the best mean, and with probability epsilon a random one.

Source: Auer et al. 2002a, Figure 3. Cost: O(n_arms) a step.

Choices that the sources leave open: [DF11] only names the method, so epsilon is constant
by default; schedule="decreasing" is Auer's epsilon_t = min(1, c M / (d^2 t)), with t = 1 in the
first step. Random pulls are uniform over all arms, the best one included. An arm never pulled has
the mean `initial`: +inf pulls each arm once before exploiting, 0 leaves unknown arms to the random
pulls, which suits more arms than steps. Each of k pulls in a step explores independently; random
arms are drawn first, all different, and the best of the remaining arms complete the step.
"""

from __future__ import annotations

import math

import numpy as np

from boostsample.bandits.policy import FloatArray, IntArray, MeanPolicy, best_arms
from boostsample.checks import check_number
from boostsample.errors import unknown

_SCHEDULES = ("constant", "decreasing")


class EpsilonGreedy(MeanPolicy):
    """Epsilon-greedy with a constant or the decreasing schedule of Auer et al. 2002a.

    Parameters
    ----------
    n_arms : int
        Number of arms M.
    epsilon : float
        Share of random pulls under schedule="constant", from 0 to 1.
    schedule : {"constant", "decreasing"}
        "decreasing" is epsilon_t = min(1, c M / (d^2 t)) and ignores `epsilon`.
    c : float
        Above 0; the paper's bound needs c > 5.
    d : float
        Above 0 and at most 1; the paper's bound needs d at most the gap between the two best means.
    initial : float
        Mean assumed for an arm never pulled: inf, or a number of at least 0.
    """

    def __init__(
        self,
        n_arms: int,
        epsilon: float = 0.1,
        schedule: str = "constant",
        c: float = 5.0,
        d: float = 0.5,
        initial: float = math.inf,
    ) -> None:
        super().__init__(n_arms)
        if schedule not in _SCHEDULES:
            raise unknown("schedule", schedule, _SCHEDULES)
        self.epsilon = check_number("epsilon", epsilon, 0.0, 1.0)
        self.schedule = schedule
        self.c = check_number("c", c, 0.0, above=True)
        self.d = check_number("d", d, 0.0, 1.0, above=True)
        if initial != math.inf:
            initial = check_number("initial", initial, 0.0)
        self.initial = float(initial)

    def indices(self) -> FloatArray:
        """Mean reward of every arm, float64 (n_arms,); `initial` for an arm never pulled."""
        pulls = np.maximum(self.counts_, 1)
        return np.where(self.counts_ == 0, self.initial, self.sums_ / pulls)

    def present_epsilon(self) -> float:
        """Probability that a pull of the present step explores."""
        if self.schedule == "constant":
            return self.epsilon
        return min(1.0, self.c * self.n_arms / (self.d**2 * (self.n_steps_ + 1)))

    def probabilities(self) -> FloatArray:
        """Probability of every arm in the present step if one is pulled, float64 (n_arms,)."""
        epsilon = self.present_epsilon()
        result = np.full(self.n_arms, epsilon / self.n_arms)
        result[best_arms(self.indices())] += 1.0 - epsilon
        return result

    def _pick(self, rng: np.random.Generator, k: int) -> IntArray:
        index = self.indices()
        n_random = int(np.count_nonzero(rng.random(k) < self.present_epsilon()))
        drawn = np.empty(0, dtype=np.int64)
        if n_random:
            drawn = rng.choice(index.size, size=n_random, replace=False)
            index[drawn] = -np.inf
        if n_random == k:
            return drawn
        return np.concatenate([best_arms(index, k - n_random), drawn])
