"""Box Thirding: of three features, the best is searched further, the middle waits, the worst goes.

Cost per iteration: Q_l features on T_l = 2^l T_0 examples at level l; the sum is the budget. A
feature that reaches a level is searched on its sample and put into the box of the level. When the
box holds three, the one of largest edge goes to the next level, the smallest is dropped, and the
third waits in the box for two others: Q_(l+1) = (Q_l - 1) // 2. Source: Hwang and Park 2026 (arXiv
2602.18186); read is the abstract, the rest is recalled.
The paper's algorithm needs no budget to know: arms come until the budget is spent. Here the number
of arms is what a search pays for, and each level is searched at once, which changes no comparison.
Left open: Q_0 and T_0, chosen as those of `laminating` (256 features, fewer if T_0 would be below
50; one search if the budget pays for all looks, or if levels leave a tenth of it); what is
returned, the best of the highest level that was reached. Samples are nested, by order: those of a
level contain those before.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from boostsample.checks import check_n_features
from boostsample.errors import SettingError
from boostsample.rows.sampling_schemes import known_scheme
from boostsample.step import Step
from boostsample.strategies.successive_halving import Stage
from boostsample.strategies.uniform_naive import search_that_spends, spends_budget
from boostsample.strategy import Pool, Strategy, Stump

#: Q_0 by default, and the fewest examples of the first level: those of `laminating`.
_PREFERRED, _LEAST_EXAMPLES = 256, 50


@dataclass(eq=False, repr=False)
class BoxThirding(Strategy):
    """Compare features by threes, on more and more examples.

    Parameters
    ----------
    n_features : int or None
        Q_0; None chooses it from the budget.
    scheme : str
        How samples are drawn, see `Step.draw`.
    """

    n_features: int | None = None
    scheme: str = "order"

    def settings_in_use(self, pool: Pool, budget: int, n_rounds: int) -> dict[str, int | str]:
        """With the number of features of the first level."""
        levels = box_levels(self.n_features, pool.n_examples, pool.n_features, budget)
        return {"n_features": levels[0][0], "scheme": self.scheme}

    def start(self, pool: Pool, budget: int, n_rounds: int, rng: np.random.Generator) -> None:
        """Check the settings."""
        known_scheme(self.scheme)
        check_n_features(self.n_features, pool.n_features, budget)
        if self.n_features and not _first(self.n_features, pool.n_examples, budget):
            raise SettingError(
                f"box thirding from n_features = {self.n_features} costs more looks than the "
                f"budget of {budget}; raise the budget or start from fewer features"
            )

    def choose(self, step: Step) -> Stump:
        """Search level after level; the best of the last one."""
        size = step.n_examples, step.n_features, step.budget
        levels = box_levels(self.n_features, *size)
        features = step.sample_features(levels[0][0])
        for sample in step.draw_nested([t for _, t in levels], self.scheme):
            stumps = step.search(features, sample)
            features = stumps.feature[passed_on(stumps.edge)]
            if not features.size:
                break
        return stumps.best()


def passed_on(edges: NDArray[np.float64]) -> list[int]:
    """Which features of a level go on, in order, if they reach its box one after the other.

    Of equal edges the earlier one is larger.

    >>> passed_on(np.array([0.1, 0.3, 0.2, 0.4, 0.5]))
    [1, 4]
    """
    box: list[int] = []
    best = []
    for arm in range(edges.size):
        box.append(arm)
        if len(box) == 3:
            first, middle, _ = sorted(box, key=lambda k: -edges[k])
            best.append(first)
            box = [middle]
    return best


@lru_cache(maxsize=256)
def box_levels(
    n_first: int | None, n_examples: int, n_features: int, budget: int
) -> tuple[Stage, ...]:
    """Features and examples of each level, within the budget: (Q_0, T_0), ...

    >>> box_levels(None, 60_000, 16_000, 600_000)
    ((256, 334), (127, 668), (63, 1336), (31, 2672), (15, 5344), (7, 10688), (3, 21376), (1, 42752))
    """
    if n_first is None and budget >= n_features * n_examples:
        return ((n_features, n_examples),)
    q = min(n_first or _PREFERRED, n_features)
    least = 1 if n_first else min(_LEAST_EXAMPLES, n_examples)
    while q > 3 and _first(q, n_examples, budget) < least:
        q //= 2
    t = _first(q, n_examples, budget)
    if n_first:
        return _levels(q, t, n_examples) if t else ((1, min(budget, n_examples)),)
    size = n_examples, n_features, budget
    for more in range(q, n_features + 1):
        t = _first(more, n_examples, budget)
        if spends_budget(levels := _levels(more, t, n_examples), *size):
            return levels
        if not t:
            break
    return (search_that_spends(q, *size),)


def _levels(q: int, t: int, n_examples: int) -> tuple[Stage, ...]:
    levels = [(q, min(t, n_examples))]
    while levels[-1][0] >= 3:
        q, t = (q - 1) // 2, 2 * t
        levels.append((q, min(t, n_examples)))
    return tuple(levels)


def _first(q: int, n_examples: int, budget: int) -> int:
    """The largest T_0 that the budget pays for, 0 if it pays for none."""
    low, high = 0, n_examples
    while low < high:
        t = (low + high + 1) // 2
        if sum(a * b for a, b in _levels(q, t, n_examples)) <= budget:
            low = t
        else:
            high = t - 1
    return low
