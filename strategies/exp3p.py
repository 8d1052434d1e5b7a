"""Exp3.P: draw arms from exponential weights of their estimated rewards, all arms updated.

Cost per iteration: one search of Q features on T = budget / Q examples; O(arms) for the weights.
Source: Auer et al. 2002b in the form of [BK10] Figure 2; over families, [DF11] section 5.2. Left
open: the horizon is the planned number of rounds, so planning more rounds is another algorithm.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from boostsample.bandits import Exp3P as Exp3PPolicy
from boostsample.strategies._bandit import SCALES, BanditStrategy

__all__ = ["Exp3P"]


class Exp3P(BanditStrategy):
    """Exp3.P over families or features.

    Parameters
    ----------
    mixing : float or "theory"
        The share lambda of uniform draws, above 0 and at most 1; "theory" is [BK10] eq. 13.
    bonus : float or "theory"
        The eta of the exploration bonus; "theory" is [BK10] eq. 13.
    delta : float
        Probability with which the theorem may fail, for "theory" and the bounds.
    arms : {"family", "feature"}
        What an arm is.
    pulls : {"1.Q", "Q.1"} or int
        Arms pulled in a round: one, Q, or so many; they share the Q features.
    n_features : int or None
        Q; None is max(10, budget // N).
    reward : {"log-edge", "root", "squared-edge"}
        What an edge pays, see `boostsample.bandits.rewards`.
    reward_scale : float
        kappa in min(1, kappa * reward), above 0.
    """

    def __init__(
        self,
        mixing: float | str = 0.15,
        bonus: float | str = 0.3,
        delta: float = 0.05,
        arms: str = "family",
        pulls: str | int = "1.Q",
        n_features: int | None = None,
        reward: str = "log-edge",
        reward_scale: float = 1.0,
    ) -> None:
        self.mixing = mixing
        self.bonus = bonus
        self.delta = delta
        self.arms = arms
        self.pulls = pulls
        self.n_features = n_features
        self.reward = reward
        self.reward_scale = reward_scale

    def tuning_grid(self) -> Mapping[str, Sequence[float]]:
        """24 settings; the mixing is the rate of learning, too."""
        return {"mixing": (0.05, 0.15, 0.4, 0.9), "reward_scale": SCALES}

    def make_policy(self, n_arms: int, n_rounds: int) -> Exp3PPolicy:
        """Exp3.P with the planned rounds as its horizon."""
        return Exp3PPolicy(n_arms, n_rounds, self.mixing, self.bonus, self.delta)
