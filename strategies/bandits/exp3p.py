"""Exp3.P: draw arms from exponential weights of their estimated rewards.

Cost per iteration: one search of Q features on T = budget / Q examples; O(arms) for the weights.
Source: Auer et al. 2002b in the form of [BK10] Figure 2; over families, [DF11] section 5.2. The
horizon is the planned number of rounds, so results depend on it from the first round.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from boostsample.bandits import Exp3P as Exp3PPolicy
from boostsample.strategies.bandits._bandit import BANDIT_SCALES, BanditStrategy
from boostsample.strategy import Pool


@dataclass(eq=False, repr=False)
class Exp3P(BanditStrategy):
    """Exp3.P over families or features.

    Parameters
    ----------
    mixing : float or "theory"
        The share lambda of uniform draws, above 0 and at most 1; "theory" is [BK10] eq. 13.
    bonus : float or "theory"
        The eta of the exploration bonus; "theory" is [BK10] eq. 13.
    delta : float
        Probability with which the bounds of the theory may fail; used by "theory" only.
    arms, pulls, n_features, reward, reward_scale
        See `BanditStrategy`.
    """

    mixing: float | str = 0.15
    bonus: float | str = 0.3
    delta: float = 0.05

    def tuning_grid(self) -> Mapping[str, Sequence[float]]:
        """24 settings; the mixing is also the rate of learning."""
        return {"mixing": (0.05, 0.15, 0.4, 0.9), "reward_scale": BANDIT_SCALES}

    def settings_in_use(self, pool: Pool, budget: int, n_rounds: int) -> Mapping[str, Any]:
        """With the numbers that "theory" stands for."""
        policy = self._policy(self._n_arms(pool), n_rounds)
        in_use = super().settings_in_use(pool, budget, n_rounds)
        return {**in_use, "mixing": policy.mixing, "bonus": policy.bonus}

    def start(self, pool: Pool, budget: int, n_rounds: int, rng: np.random.Generator) -> None:
        """Check the settings and reset the policy; the planned rounds are its horizon."""
        self.n_rounds_ = n_rounds
        super().start(pool, budget, n_rounds, rng)

    def make_policy(self, n_arms: int) -> Exp3PPolicy:
        """Exp3.P with the planned rounds as its horizon."""
        return self._policy(n_arms, self.n_rounds_)

    def _policy(self, n_arms: int, n_rounds: int) -> Exp3PPolicy:
        return Exp3PPolicy(n_arms, n_rounds, self.mixing, self.bonus, self.delta)
