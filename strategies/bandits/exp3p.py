"""Exp3.P: draw arms from exponential weights of their estimated rewards, [BK10] Figure 2.

Line 2:  log w_j = (eta lambda / 3) sqrt(T / M)
Line 5:  p_j = (1 - lambda) w_j / sum(w) + lambda / M
Line 9:  r^_j = r_j / p_j for the arm drawn, 0 for the others
Line 10: log w_j += lambda / (3 M) (r^_j + eta / (p_j sqrt(M T))), for every arm

Here lambda is `mixing` and eta is `bonus`. Weights are kept as logarithms, so that nothing
overflows. The horizon T is the planned number of rounds, so results depend on it from the first
round; steps after T follow the same rule.

Cost per iteration: one search of Q features on T = budget / Q examples; O(arms) for the weights.
Source: Auer et al. 2002b, section 6, in the form of [BK10] Figure 2; over families, [DF11] section
5.2. Left open: several arms a step are drawn with inclusion probabilities min(1, c p), which
replace p in lines 9 and 10; this keeps the estimates unbiased and is the paper's algorithm for one
arm.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from boostsample.bandits import (
    draw_arms,
    exp3p_probabilities,
    exp3p_theory,
    exp3p_update,
    inclusion,
)
from boostsample.checks import check_number
from boostsample.errors import SettingError
from boostsample.strategies.bandits._bandit import (
    BANDIT_SCALES,
    BanditStrategy,
    FloatArray,
    IntArray,
)
from boostsample.strategy import Pool


@dataclass(eq=False, repr=False)
class Exp3P(BanditStrategy):
    """Exp3.P over families or features.

    Parameters
    ----------
    mixing : float or "theory"
        The share lambda of uniform draws, above 0 and at most 1; about 0.15 in [BK10]'s
        experiments. "theory" is [BK10] eq. 13.
    bonus : float or "theory"
        The eta of the exploration bonus, at least 0: how much rarely drawn arms are favoured; about
        0.3 in [BK10]'s experiments. "theory" is [BK10] eq. 13.
    delta : float
        Probability, above 0 and below 1, with which the bounds of the theory may fail; used by
        "theory" only.
    arms, pulls, n_features, reward, reward_scale
        See `BanditStrategy`.

    Attributes
    ----------
    mixing_, bonus_ : float
        lambda and eta in use; numbers even if "theory" was given.
    log_weights_ : float64 (n_arms,)
        log w_j.
    inclusion_ : float64 (n_arms,)
        Probability with which the last `select` took each arm.
    """

    mixing: float | str = 0.15
    bonus: float | str = 0.3
    delta: float = 0.05

    def tuning_grid(self) -> Mapping[str, Sequence[float]]:
        """24 settings; the mixing is also the rate of learning."""
        return {"mixing": (0.05, 0.15, 0.4, 0.9), "reward_scale": BANDIT_SCALES}

    def settings_in_use(self, pool: Pool, budget: int, n_rounds: int) -> Mapping[str, Any]:
        """With the numbers that "theory" stands for."""
        mixing, bonus = self._mixing_and_bonus(self._n_arms(pool), n_rounds)
        in_use = super().settings_in_use(pool, budget, n_rounds)
        return {**in_use, "mixing": mixing, "bonus": bonus}

    def start_arms(self, n_arms: int, n_rounds: int) -> None:
        """Check the settings; equal weights, with the planned rounds as the horizon."""
        super().start_arms(n_arms, n_rounds)
        self.n_rounds_ = n_rounds
        self.mixing_, self.bonus_ = self._mixing_and_bonus(n_arms, n_rounds)
        start = self.bonus_ * self.mixing_ / 3.0 * math.sqrt(n_rounds / n_arms)
        self.log_weights_ = np.full(n_arms, start)
        self.inclusion_ = np.zeros(n_arms)

    def probabilities(self) -> FloatArray:
        """Probability of each arm in the present step, float64 (n_arms,), >= mixing / n_arms."""
        return exp3p_probabilities(self.log_weights_, self.mixing_)

    def select(self, rng: np.random.Generator, k: int) -> IntArray:
        """Draw arms with their inclusion probabilities."""
        self.inclusion_ = inclusion(self.probabilities(), k)
        return draw_arms(self.inclusion_, rng.random(), k)

    def reward_arms(self, arms: IntArray, rewards: FloatArray) -> None:
        """Lines 9 and 10, for the arms of the last `select`."""
        super().reward_arms(arms, rewards)
        self.log_weights_ = exp3p_update(
            self.log_weights_,
            self.inclusion_,
            arms,
            rewards,
            self.mixing_,
            self.bonus_,
            self.n_rounds_,
        )

    def _mixing_and_bonus(self, n_arms: int, n_rounds: int) -> tuple[float, float]:
        mixing, bonus = exp3p_theory(n_arms, n_rounds, self.delta)
        for name, value in (("mixing", self.mixing), ("bonus", self.bonus)):
            if isinstance(value, str) and value != "theory":
                raise SettingError(f'{name} must be a number or "theory", got {value!r}')
        if self.mixing != "theory":
            # With a single arm eq. 13 gives lambda = 0; with more, 0 would learn nothing.
            mixing = check_number("mixing", self.mixing, 0.0, 1.0, above=n_arms > 1)
        if self.bonus != "theory":
            bonus = check_number("bonus", self.bonus, 0.0)
        return mixing, bonus
