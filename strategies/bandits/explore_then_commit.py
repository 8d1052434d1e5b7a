"""Explore then commit: pull every arm m times, then the best one for the rest of the run.

Cost per iteration: one search of Q features on T = budget / Q examples. Source: [LS20], Lattimore
and Szepesvari 2020, chapter 6. The simplest bandit, a baseline for the others: boosting's rewards
fall from round to round, and it never revises its choice. Left open: the order of the first pulls;
round-robin compares arms at about the same rounds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from boostsample.bandits import ExploreThenCommit as ExploreThenCommitPolicy
from boostsample.strategies.bandits._bandit import BanditStrategy


@dataclass(eq=False, repr=False)
class ExploreThenCommit(BanditStrategy):
    """Explore then commit over families or features.

    Parameters
    ----------
    n_pulls : int
        m, pulls of each arm before committing, at least 1.
    order : {"round-robin", "blocks"}
        Order of the first pulls.
    arms, pulls, n_features, reward, reward_scale
        See `BanditStrategy`.
    """

    n_pulls: int = 10
    order: str = "round-robin"

    def tuning_grid(self) -> Mapping[str, Sequence[float]]:
        """Means are compared, so the reward scale matters only through its cap."""
        return {"n_pulls": (1, 3, 10, 30, 100, 300), "reward_scale": (1, 10, 100, 1000)}

    def make_policy(self, n_arms: int) -> ExploreThenCommitPolicy:
        """Explore then commit after m pulls of each arm."""
        return ExploreThenCommitPolicy(n_arms, self.n_pulls, self.order)
