"""Uniform Naive: search features drawn uniformly from the whole pool.

Cost per iteration: one search of Q features on T = budget / Q examples; by default Q = 10 and,
since the default budget is 10 N, T = N. Source: [DF11] section 5.2, after LazyBoost (Escudero et
al. 2000). The paper leaves open: budgets other than 10 N. A larger one increases Q, a smaller one
decreases T; Q changes if a tenth of a small budget would be left. With other schemes of drawing the
examples, this is the yardstick of the samplers of today's libraries, such as
``uniform-naive:n_features=100:scheme=mvs``, where T = N / 10.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from boostsample.checks import check_n_features
from boostsample.rows.sampling_schemes import (
    known_scheme,
    node_features,
    random_features,
)
from boostsample.step import Step
from boostsample.strategy import NodeFeatures, OneSample, Pool, Strategy, Stump


class UniformNaive(Strategy):
    """Search Q features drawn uniformly from all F.

    Parameters
    ----------
    n_features : int or None
        Q; None is about max(10, budget // N), and never more than F.
    scheme : str
        How samples are drawn, see `Step.draw`.
    """

    def __init__(self, n_features: int | None = None, scheme: str = "iid") -> None:
        self.n_features = n_features
        self.scheme = scheme

    def settings_in_use(self, pool: Pool, budget: int, n_rounds: int) -> Mapping[str, Any]:
        """With the number of features."""
        size = pool.n_examples, pool.n_features
        q = searched_features(self.n_features, *size, budget)
        return {"n_features": q, "scheme": self.scheme}

    def start(self, pool: Pool, budget: int, n_rounds: int, rng: np.random.Generator) -> None:
        """Check the settings."""
        known_scheme(self.scheme)
        check_n_features(self.n_features, pool.n_features, budget)

    def one_sample(self, pool: Pool, budget: int) -> OneSample | None:
        """Q and the scheme, if Q is a setting."""
        if type(self).choose is not UniformNaive.choose or self.n_features is None:
            return None
        n = min(self.n_features, pool.n_features)
        return OneSample(n, self.scheme)

    def choose(self, step: Step) -> Stump:
        """Draw features and examples, search."""
        n = searched_features(self.n_features, step.n_examples, step.n_features, step.budget)
        features = random_features(step.rng, n, step.n_features)
        sample = step.draw(step.remaining // n, self.scheme)
        return step.search(features, sample).best()


def sampled_stump(step: Step, drawn: NodeFeatures, part: float) -> Stump:
    """The best stump of some features on one sample of different examples, as of `one_sample`."""
    drawn = drawn._replace(n=min(drawn.n, step.budget))
    features = node_features(step.rng, drawn, step.n_features)
    size = max(1, min(step.budget // drawn.n, int(part * step.n_examples)))
    return step.search(features, step.draw(size, "distinct")).best()


def searched_features(
    n_set: int | None, n_examples: int, n_features: int, budget: int, *, share: int = 1
) -> int:
    """Q of searches on about N / `share` examples, or fewer than were set in nodes of trees."""
    if n_set is not None:
        return min(n_set, n_features, budget)
    q = max(10, share * budget // n_examples)
    return search_that_spends(q, n_examples, n_features, budget)[0]


def spends_budget(
    stages: Iterable[Sequence[int]], n_examples: int, n_features: int, budget: int
) -> bool:
    """Whether searches of Q features on T examples spend nine tenths of what can be spent.

    That is the budget, or the looks of all features on all examples if these are fewer.
    """
    return 10 * sum(q * t for q, t in stages) >= 9 * min(budget, n_features * n_examples)


def search_that_spends(
    n_wanted: int, n_examples: int, n_features: int, budget: int
) -> tuple[int, int]:
    """Q and T of a search that spends the budget, Q near a number.

    >>> search_that_spends(10, 29, 7, 290)
    (7, 29)
    >>> search_that_spends(10, 15, 100, 15)
    (7, 2)
    """
    q = min(n_wanted, n_features, budget)
    t = min(budget // q, n_examples)
    longer = ((budget // more, more) for more in range(t + 1, min(n_examples, budget) + 1))
    wider = (
        (more, min(budget // more, n_examples))
        for more in range(q + 1, min(n_features, budget) + 1)
    )
    for search in chain([(q, t)], longer, wider):  # Q as it is, then fewer, then more features
        if spends_budget([search], n_examples, n_features, budget):
            return search
    return q, t
