"""Base of the Tasting strategies: held features of each family, and what they are worth.

R features of each family are drawn once, at the start. In the first search of each block of rounds,
all of them are searched under the weights of that round; until the next block, their edges stand
for their families. Source: the block and the held features are those of the authors' public program
for tasting (Dubout and Fleuret 2011, "Tasting families of features for image classification", ICCV;
2014, JMLR 15, section 4), as described in docs/strategies.md; the formulas of 1.Q and Q.1 are
recalled, not read.
Left open: looks of the probe, which the program does not count. Here it may spend half of the
budget of its search, so that R is at most 100 and such that T is 50 examples or more. The first
block is one round: under uniform initial weights, all stumps of round 1 are alike. Nodes of trees
choose by the edges that whole searches have tasted, and taste nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostsample.checks import check_integer, check_n_features
from boostsample.rows.sampling_schemes import known_scheme
from boostsample.step import Step
from boostsample.strategies.uniform_naive import searched_features
from boostsample.strategy import Pool, Strategy, sample_members

#: Part of the budget that a tasting may spend.
_SHARE = 2
#: Fewest examples of a tasting, by which R is limited.
_LEAST_EXAMPLES = 50


class TastingStrategy(Strategy):
    """Held features of each family, and when they are tasted.

    Parameters
    ----------
    n_features : int or None
        Q; None is about max(10, budget // N).
    n_tasting : int
        R, features held of each family, at least 1; fewer if half of a budget pays for fewer.
    block : int
        Searches of all examples from one tasting to the next, at least 1.
    scheme : str
        How samples are drawn, see `Step.draw`.

    Attributes
    ----------
    held_ : int64 (R_1 + ... + R_M,)
        The held features, family after family.
    counts_ : int64 (M,)
        R_k.
    edges_ : float64
        Their edges when they were tasted last; empty before.
    left_ : int
        Searches of all examples before the next tasting.
    """

    def __init__(
        self,
        n_features: int | None = None,
        n_tasting: int = 100,
        block: int = 10,
        scheme: str = "iid",
    ) -> None:
        self.n_features = n_features
        self.n_tasting = n_tasting
        self.block = block
        self.scheme = scheme

    def settings_in_use(self, pool: Pool, budget: int, n_rounds: int) -> Mapping[str, Any]:
        """With the numbers of features."""
        q = searched_features(self.n_features, pool.n_examples, pool.n_features, budget)
        held = self._held_of_each(pool, budget)
        return {**self.get_params(deep=False), "n_features": q, "n_tasting": held}

    def start(self, pool: Pool, budget: int, n_rounds: int, rng: np.random.Generator) -> None:
        """Check the settings; draw the held features."""
        known_scheme(self.scheme)
        check_n_features(self.n_features, pool.n_features, budget)
        check_integer("n_tasting", self.n_tasting, 1)
        check_integer("block", self.block, 1)
        held = self._held_of_each(pool, budget)
        self.counts_ = np.array([min(held, family.size) for family in pool.families])
        self.held_ = sample_members(pool.families, self.counts_.tolist(), rng)
        self.edges_ = np.empty(0)
        self.left_ = 0

    def taste(self, step: Step) -> list[NDArray[np.float64]]:
        """Edges of the held features of each family; empty if no tasting could be paid yet.

        In the first whole search of a block, costs up to half of the budget, as modelling.
        """
        looks = step.budget // _SHARE
        if step.whole and self.left_ == 0 and looks >= self.held_.size:
            sample = step.draw(looks // self.held_.size, self.scheme)
            self.left_ = self.block if self.edges_.size else 1
            self.edges_ = step.search(self.held_, sample, purpose="modelling").edge.copy()
        if step.whole and self.left_:
            self.left_ -= 1
        if not self.edges_.size:
            return []
        return np.split(self.edges_, np.cumsum(self.counts_)[:-1])

    def _held_of_each(self, pool: Pool, budget: int) -> int:
        least = min(_LEAST_EXAMPLES, pool.n_examples) * len(pool.families)
        return max(1, min(self.n_tasting, budget // _SHARE // least))


def expected_best(edges: NDArray[np.float64], n: int) -> float:
    """The expected largest of n edges drawn from these, with replacement.

    With the edges in ascending order, sum of e_r ((r / R)^n - ((r - 1) / R)^n).

    >>> round(expected_best(np.array([0.3, 0.1]), 2), 12)
    0.25
    """
    below = (np.arange(edges.size + 1) / edges.size) ** n
    return float(np.sort(edges) @ np.diff(below))


def largest_at_random(values: NDArray[np.float64], rng: np.random.Generator) -> int:
    """The index of the largest value, of equal ones a random one."""
    best = np.flatnonzero(values == values.max())
    return int(best[0] if best.size == 1 else rng.choice(best))
