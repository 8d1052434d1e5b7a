"""Uniform Q.1: search one feature of each of Q families drawn uniformly.

Cost per iteration: one search of Q features on T = budget / Q examples, as Uniform Naive. Source:
[DF11] section 5.2. The paper leaves open: fewer families than Q. Families are then drawn with
replacement, and features of one family without, so that no look is spent on a repeat; a family of
which all features are taken is not drawn again.
With `per_family`, each round searches so many features of every family, as the authors' public code
does with 10 (described to us, not read).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from boostsample.checks import check_integer
from boostsample.errors import SettingError
from boostsample.step import Step
from boostsample.strategies.uniform_naive import UniformNaive, searched_features
from boostsample.strategy import Pool, Stump, sample_members


class UniformQ1(UniformNaive):
    """Search one feature of each of Q families drawn uniformly, or some of every family.

    Parameters
    ----------
    n_features, scheme
        See `UniformNaive`.
    per_family : int
        Features of every family, or all of a smaller one, with `n_features` None; 0 draws Q
        families.
    """

    added_settings: ClassVar[Mapping[str, Any]] = {"per_family": 0}

    def __init__(
        self, n_features: int | None = None, scheme: str = "iid", per_family: int = 0
    ) -> None:
        super().__init__(n_features, scheme)
        self.per_family = per_family

    def settings_in_use(self, pool: Pool, budget: int, n_rounds: int) -> Mapping[str, Any]:
        """With the number of features."""
        used = super().settings_in_use(pool, budget, n_rounds)
        if not self.per_family:
            return used
        q = sum(min(self.per_family, family.size) for family in pool.families)
        return {**used, "n_features": q, "per_family": self.per_family}

    def start(self, pool: Pool, budget: int, n_rounds: int, rng: np.random.Generator) -> None:
        """Check the settings."""
        super().start(pool, budget, n_rounds, rng)
        if check_integer("per_family", self.per_family, 0) == 0:
            return
        if self.n_features is not None:
            raise SettingError(
                f"n_features must be None with per_family = {self.per_family}, got "
                f"{self.n_features}; set one of them"
            )
        q = sum(min(self.per_family, family.size) for family in pool.families)
        if q > budget:
            raise SettingError(
                f"per_family = {self.per_family} searches {q} features, more than the budget of "
                f"{budget} looks; raise the budget or search fewer"
            )

    def choose(self, step: Step) -> Stump:
        """Draw families, a feature for each, and examples; search."""
        if self.per_family:
            members = [min(self.per_family, family.size) for family in step.families]
            features = sample_members(step.families, members, step.rng)
            if features.size > step.budget:  # in nodes of trees
                features = step.rng.choice(features, step.budget, replace=False)
            sample = step.draw(step.remaining // features.size, self.scheme)
            return step.search(features, sample).best()
        n = searched_features(self.n_features, step.n_examples, step.n_features, step.budget)
        n_families = len(step.families)
        if n_families > n:
            picked = step.rng.choice(n_families, size=n, replace=False)
        else:
            picked = step.rng.integers(n_families, size=n)
        counts = np.bincount(picked, minlength=n_families)
        sizes = np.array([family.size for family in step.families])
        while excess := int(np.maximum(counts - sizes, 0).sum()):  # more than a family has
            counts = np.minimum(counts, sizes)
            picked = step.rng.choice(np.flatnonzero(counts < sizes), excess)
            counts += np.bincount(picked, minlength=n_families)
        features = sample_members(step.families, counts.tolist(), step.rng)
        sample = step.draw(step.remaining // features.size, self.scheme)
        return step.search(features, sample).best()
