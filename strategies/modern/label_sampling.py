"""Label sampling: search a few labels, drawn by weight; the loop finishes the stump on all.

Cost per iteration: one search of Q features on T = budget / Q examples, as Uniform Naive, whose
sweeps are over k of the K labels; O(N K) for the weights of the labels and O(T K) for the copy.
Source: SketchBoost (Iosipoi and Vakhrushev 2022, arXiv 2211.12858) section 2.3, random sampling of
outputs, which draws them by the norm of their gradients (described to us, not read).
Left open: the norm, here the weight of the label; factors 1 / p of the drawn labels, which are left
out: the search maximises the edge on the labels that it has drawn; and k, here K / 8, at least 1.
Labels are drawn anew in each search. The looks are those of all labels, see
`boostsample.planning.costs`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from boostsample.checks import check_integer
from boostsample.rows.sampling_schemes import random_features
from boostsample.step import Step
from boostsample.strategies.uniform_naive import UniformNaive, searched_features
from boostsample.strategy import Pool, Stump

#: Labels of a search, as a part of all.
_PART = 8


class LabelSampling(UniformNaive):
    """Uniform Naive on labels drawn by weight.

    Parameters
    ----------
    n_features, scheme
        See `UniformNaive`.
    n_labels : int or None
        k, at least 1, and never more than K; None is K / 8.
    """

    def __init__(
        self, n_features: int | None = None, scheme: str = "iid", n_labels: int | None = None
    ) -> None:
        super().__init__(n_features, scheme)
        self.n_labels = n_labels

    def settings_in_use(self, pool: Pool, budget: int, n_rounds: int) -> Mapping[str, Any]:
        """With the number of features."""
        labels = f"K / {_PART}" if self.n_labels is None else self.n_labels
        return {**super().settings_in_use(pool, budget, n_rounds), "n_labels": labels}

    def searched_labels(self, n_labels: int) -> int:
        """The smaller one of k and K."""
        if self.n_labels is None:
            return max(1, n_labels // _PART)
        return min(check_integer("n_labels", self.n_labels, 1), n_labels)

    def start(self, pool: Pool, budget: int, n_rounds: int, rng: np.random.Generator) -> None:
        """Check the settings."""
        super().start(pool, budget, n_rounds, rng)
        if self.n_labels is not None:
            check_integer("n_labels", self.n_labels, 1)

    def choose(self, step: Step) -> Stump:
        """Draw features, examples and labels; search."""
        q = searched_features(self.n_features, step.n_examples, step.n_features, step.budget)
        features = random_features(step.rng, q, step.n_features)
        sample = step.draw(step.remaining // q, self.scheme)
        k = self.searched_labels(step.n_labels)
        if k == step.n_labels:
            return step.search(features, sample).best()
        return step.search(features, sample, labels=step.sample_labels(k)).best()
