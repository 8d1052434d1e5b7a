"""Median elimination: drop the features below the median, with more new examples in each stage.

Cost per iteration: the budget, one search a stage of Q_l features on T_l new examples. Stages have
half of the features each, until one is left. Source: Even-Dar, Mannor and Mansour 2006, Algorithm 3
(recalled, not read): an arm is pulled 4 / e_l^2 log(3 / d_l) times in stage l, with e_1 = e / 4,
d_1 = d / 2, then e_l 3/4 and d_l / 2. That would exceed 10 N looks for any useful e and d, so the
numbers are scaled to the budget: T_l in proportion to (16/9)^l log(3 2^l / d), such that the sum of
Q_l T_l is the budget. e then has no effect; d hardly any.
Samples are drawn by order, of different examples.
It differs from `laminating` by the growth of T, 1.8 to 2 a stage and more at first instead of 2,
and by new examples in each stage instead of nested ones. Q_1 = 256 as there, fewer if T_1 would be
below 50. Stages that leave a tenth of the budget are replaced as those of `laminating` are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from boostsample.checks import check_n_features, check_number
from boostsample.errors import SettingError
from boostsample.rows.sampling_schemes import known_scheme
from boostsample.step import Step
from boostsample.strategies.successive_halving import Stage, stages_that_spend
from boostsample.strategy import Pool, Strategy, Stump

_PREFERRED = 256
_LEAST_EXAMPLES = 50


@dataclass(eq=False, repr=False)
class MedianElimination(Strategy):
    """Halve the features again and again, on new examples.

    Parameters
    ----------
    n_features : int or None
        Q_1; None chooses it from the budget.
    delta : float
        d, above 0 and at most 1.
    scheme : str
        How samples are drawn, see `Step.draw`.
    """

    n_features: int | None = None
    delta: float = 0.1
    scheme: str = "order"

    def settings_in_use(self, pool: Pool, budget: int, n_rounds: int) -> dict[str, float | str]:
        """With the number of features of the first stage."""
        q = self._stages(pool.n_features, pool.n_examples, budget)[0][0]
        return {**self.get_params(deep=False), "n_features": q}

    def start(self, pool: Pool, budget: int, n_rounds: int, rng: np.random.Generator) -> None:
        """Check the settings."""
        known_scheme(self.scheme)
        check_number("delta", self.delta, 0.0, 1.0, above=True)
        check_n_features(self.n_features, pool.n_features, budget)
        q = self.n_features
        if q and not median_elimination_stages(q, pool.n_examples, budget, self.delta):
            raise SettingError(
                f"median elimination from n_features = {q} costs more looks than the budget of "
                f"{budget}; raise the budget or start from fewer features"
            )

    def choose(self, step: Step) -> Stump:
        """Run the stages; the last one leaves one stump."""
        stages = self._stages(step.n_features, step.n_examples, step.budget)
        features = step.sample_features(stages[0][0])
        for n, size in stages:
            best = features[:n]
            stumps = step.race(best, [(best.size, size)], self.scheme)
            features = stumps.feature[np.argsort(-stumps.edge, kind="stable")]
        return stumps.best()

    def _stages(self, n_features: int, n_examples: int, budget: int) -> list[Stage]:
        """The stages; from fewer features in nodes of trees whose budget does not pay for them."""
        if self.n_features is not None:
            return self._from(min(self.n_features, n_features), n_examples, budget, 1)
        size = n_examples, n_features, budget
        most = min(_PREFERRED, n_features)
        return stages_that_spend(self._from(most, n_examples, budget, _LEAST_EXAMPLES), *size)

    def _from(self, q: int, n_examples: int, budget: int, least: int) -> list[Stage]:
        """The stages from at most q features, with at least `least` examples in the first."""
        while q > 1:
            stages = median_elimination_stages(q, n_examples, budget, self.delta)
            if stages and (stages[0][1] >= min(least, n_examples) or q == 2):
                return stages
            q = -(-q // 2)
        return [(1, min(n_examples, budget))]


def median_elimination_stages(
    n_features: int, n_examples: int, budget: int, delta: float
) -> list[tuple[int, int]]:
    """Q_l and T_l of each stage, or nothing if the budget does not pay for them.

    >>> median_elimination_stages(8, 1000, 2400, 0.1)
    [(8, 96), (4, 201), (2, 409)]
    """
    sizes = [n_features]
    while sizes[-1] > 2:
        sizes.append(-(-sizes[-1] // 2))
    # e falls to 3/4 in each stage, so that 1 / e^2 grows by 16/9; units cancel.
    pulls = [(16 / 9) ** s * math.log(3 * 2 ** (s + 1) / delta) for s in range(len(sizes))]
    unit = budget / sum(q * t for q, t in zip(sizes, pulls, strict=True))
    stages = [(q, min(n_examples, int(unit * t))) for q, t in zip(sizes, pulls, strict=True)]
    return stages if stages[0][1] else []
