"""Successive halving: search many features on few examples, keep one in eta, stage after stage.

Cost per iteration: S stages of at most budget / S looks each. Every stage searches the features
that are left, thresholds and votes included, on eta times as many examples. Source: Jamieson and
Talwalkar (2016); Karnin, Koren and Somekh (2013) for eta = 2. The stages of a bracket are those of
Hyperband (Li et al. 2018): counted from the last one, which searches budget / (S N) features, at
least two, and each stage before it eta times as many. If that leaves a tenth of the budget, the
last stage searches more features on fewer examples. They leave open for boosting: how examples
are drawn (nested, by `order`), and the number of stages: as many as leave the first one
50 examples, by default.

A stage that keeps one in eta of n features drops the best of them with probability at most
(eta / n) sum_j exp(-T d_j^2 / 8), where d_j is the difference of the edges of the best and the j-th
stump, for stumps that are given and independent draws (Hoeffding, Markov).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostsample.checks import check_integer, check_n_features
from boostsample.errors import SettingError
from boostsample.rows.sampling_schemes import unbiased_scheme
from boostsample.step import Step
from boostsample.strategies.uniform_naive import search_that_spends, spends_budget
from boostsample.strategy import Pool, Strategy, Stump

#: Default of the least number of examples in the first stage.
_LEAST_EXAMPLES = 50

#: Features and examples of one stage.
Stage = tuple[int, int]


@dataclass(eq=False, repr=False)
class SuccessiveHalving(Strategy):
    """Keep one feature in eta, and take eta times the examples, stage after stage.

    Parameters
    ----------
    n_features : int or None
        Features of the first stage; None takes those of the largest bracket whose first stage has
        50 examples.
    eta : int
        Features that compete for one place in the next stage, at least 2.
    brackets : int
        Brackets that share the budget equally. The first has the most stages, each other one stage
        less than the one before; the best of their stumps by estimated edge is chosen.
    scheme : str
        How examples are drawn, see `Step.draw`; edges must be unbiased.
    """

    n_features: int | None = None
    eta: int = 4
    brackets: int = 1
    scheme: str = "order"

    def settings_in_use(self, pool: Pool, budget: int, n_rounds: int) -> Mapping[str, Any]:
        """With the number of features of the first stage."""
        first, *_ = self._brackets(budget, pool.n_examples, pool.n_features)
        return {**self.get_params(deep=False), "n_features": first[0][0]}

    def start(self, pool: Pool, budget: int, n_rounds: int, rng: np.random.Generator) -> None:
        """Check the settings."""
        check_integer("eta", self.eta, 2)
        check_integer("brackets", self.brackets, 1)
        unbiased_scheme(self.scheme)
        check_n_features(self.n_features, pool.n_features, budget)
        if self.brackets > budget:
            raise SettingError(
                f"brackets must be at most the budget of {budget} looks, got {self.brackets}; "
                "raise the budget or take fewer brackets"
            )

    def choose(self, step: Step) -> Stump:
        """Run the brackets; the best stump of their last stages."""
        best: Stump | None = None
        for stages in self._brackets(step.budget, step.n_examples, step.n_features):
            stump = step.race(*first_features(step, stages), self.scheme).best()
            if best is None or stump.edge > best.edge:
                best = stump
        assert best is not None
        return best

    def _brackets(self, budget: int, n_examples: int, n_features: int) -> list[list[Stage]]:
        share = max(budget // self.brackets, 1)
        size = share, n_examples, n_features, self.eta
        n_stages = most_stages(*size, _LEAST_EXAMPLES)
        if self.n_features is None:
            first = bracket_that_spends(n_stages, *size)
        else:
            first = _stages_from(min(self.n_features, share), *size)
        others = range(1, min(self.brackets, budget))
        return [first, *(bracket_that_spends(max(len(first) - k, 1), *size) for k in others)]


def first_features(
    step: Step, stages: Sequence[Stage], first: NDArray[np.int64] | None = None
) -> tuple[NDArray[np.int64], list[Stage]]:
    """The features of the first stage, those to search `first` and new ones; and a race of them.

    `sample_features` may draw fewer than it is asked for.
    """
    features = step.sample_features(stages[0][0])
    if first is not None and first.size:
        known = set(first.tolist())
        new = np.array([feature for feature in features.tolist() if feature not in known], np.int64)
        features = np.concatenate([first, new])[: stages[0][0]]
    return features, [(min(q, features.size), size) for q, size in stages]


def halving_stages(
    n_stages: int, budget: int, n_examples: int, n_features: int, eta: int
) -> list[Stage]:
    """Features and examples of each stage of a bracket, within the budget.

    >>> halving_stages(5, 600_000, 60_000, 16_000, 4)
    [(512, 234), (128, 937), (32, 3750), (8, 15000), (2, 60000)]
    >>> halving_stages(1, 600_000, 60_000, 16_000, 4)
    [(10, 60000)]
    """
    share = budget // n_stages
    last = max(2, share // n_examples)
    widths = [min(last * eta**k, n_features, share) for k in reversed(range(n_stages))]
    return [(width, min(n_examples, share // width)) for width in widths]


def bracket_that_spends(
    n_stages: int, budget: int, n_examples: int, n_features: int, eta: int
) -> list[Stage]:
    """`halving_stages`, with another last stage if they leave a tenth of the budget.

    >>> bracket_that_spends(1, 2900, 1000, 20, 4)
    [(3, 966)]
    """
    size = n_examples, n_features
    *stages, last = halving_stages(n_stages, budget, *size, eta)
    if not spends_budget([*stages, last], *size, budget):
        last = search_that_spends(last[0], *size, budget // n_stages)
    return [*stages, last]


@lru_cache(maxsize=4096)  # nodes of trees have the same sizes again and again
def most_stages(budget: int, n_examples: int, n_features: int, eta: int, least: int) -> int:
    """The most stages of a bracket whose first stage has at least `least` examples.

    >>> most_stages(600_000, 60_000, 16_000, 4, 50)
    5
    """
    n_stages, size = 1, (budget, n_examples, n_features, eta)
    while (
        budget > n_stages
        and halving_stages(n_stages, *size)[0][0] < n_features
        and halving_stages(n_stages + 1, *size)[0][1] >= least
    ):
        n_stages += 1
    return n_stages


def stages_that_spend(
    stages: list[Stage], n_examples: int, n_features: int, budget: int
) -> list[Stage]:
    """The stages, or others if they leave a tenth of the budget or cost more than a whole search.

    The others are those of the largest bracket of eta = 2 whose first stage has 50 examples, or one
    stage if that bracket leaves a tenth too.
    """
    size = budget, n_examples, n_features
    if budget < n_features * n_examples:
        if spends_budget(stages, n_examples, n_features, budget):
            return stages
        bracket = halving_stages(most_stages(*size, 2, _LEAST_EXAMPLES), *size, 2)
        if spends_budget(bracket, n_examples, n_features, budget):
            return bracket
    q = max(10, budget // n_examples)  # as of `uniform-naive`
    return [search_that_spends(q, n_examples, n_features, budget)]


def _stages_from(
    first: int, budget: int, n_examples: int, n_features: int, eta: int
) -> list[Stage]:
    widths = [first]
    while widths[-1] // eta >= 2 and budget > len(widths):
        widths.append(widths[-1] // eta)
    share = budget // len(widths)
    return [(min(n, share), min(n_examples, share // min(n, share))) for n in widths]
