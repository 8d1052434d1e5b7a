"""UCB: pull the arm with the largest mean reward plus sqrt(exploration * log t / pulls).

Cost per iteration: one search of Q features on T = budget / Q examples; O(arms) for the indices.
Source: UCB1 of Auer et al. 2002a, Figure 1, with boosting's rewards, UCB(k) of [BK09]; over
families, [DF11] section 5.2. [DF11] leaves open: the scale of the reward, and how arms share Q
(`pulls`). An edge of 0.08 gives 0.003, which is negligible beside the confidence term, so scale or
exploration needs tuning.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from boostsample.bandits import ucb1_indices
from boostsample.checks import check_number
from boostsample.strategies.bandits._bandit import BANDIT_SCALES, FloatArray, MeanBandit


@dataclass(eq=False, repr=False)
class UCB(MeanBandit):
    """UCB1 over families or features.

    Parameters
    ----------
    exploration : float
        Factor of log t under the root, at least 0; 2 in both papers.
    arms, pulls, n_features, reward, reward_scale
        See `BanditStrategy`.
    """

    exploration: float = 2.0

    def tuning_grid(self) -> Mapping[str, Sequence[float]]:
        """24 settings; apart from the cap, only exploration / reward_scale^2 matters."""
        return {"exploration": (0.002, 0.02, 0.2, 2), "reward_scale": BANDIT_SCALES}

    def start_arms(self, n_arms: int, n_rounds: int) -> None:
        """Check the exploration; no pulls yet."""
        check_number("exploration", self.exploration, 0.0)
        super().start_arms(n_arms, n_rounds)

    def indices(self) -> FloatArray:
        """Mean reward plus confidence term, float64 (n_arms,); +inf if never pulled."""
        return ucb1_indices(self.counts_, self.sums_, self.n_steps_, self.exploration)
