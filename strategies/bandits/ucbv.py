"""UCB-V: the confidence term of UCB with each arm's own variance of rewards.

Cost per iteration: one search of Q features on T = budget / Q examples; O(arms) for the indices.
Source: Audibert, Munos and Szepesvari 2009, used on boosting by [BK10] section 4.2. Left open:
implementations differ by a factor of 3 in the last term; `c` makes it a setting.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from boostsample.bandits import UCBV as UCBVPolicy
from boostsample.strategies.bandits._bandit import BANDIT_SCALES, BanditStrategy


@dataclass(eq=False, repr=False)
class UCBV(BanditStrategy):
    """UCB-V over families or features.

    Parameters
    ----------
    c : float
        Factor of the last term 3 zeta log t / pulls; 1/3 is MultiBoost's.
    zeta : float
        Exploration, at least 0.
    arms, pulls, n_features, reward, reward_scale
        See `BanditStrategy`.
    """

    c: float = 1.0
    zeta: float = 1.0

    def tuning_grid(self) -> Mapping[str, Sequence[float]]:
        """24 settings; zeta is in both terms, and the smallest hardly explores."""
        return {"zeta": (0.0001, 0.001, 0.01, 0.1), "reward_scale": BANDIT_SCALES}

    def make_policy(self, n_arms: int) -> UCBVPolicy:
        """UCB-V with these constants."""
        return UCBVPolicy(n_arms, self.c, self.zeta)
