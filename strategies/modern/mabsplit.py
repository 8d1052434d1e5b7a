"""MABSplit: growing batches of examples, the same for all features; drop those that cannot win.

Cost per iteration: at most the budget, Q0 T0 looks for the first batch, of which an eighth is used.
After T examples a feature of edge H is dropped if H + c(H) < max (H' - c(H')), with c(H) =
z sqrt((1 - H^2) / T (N - T) / (N - 1)): the variance of [DF11] eq. 7 with the correction for a
finite number of examples, so that the choice is exact among Q0 features once T = N. Source: Tiwari
et al. 2022 (FastForest), Algorithm 1, where an arm is a feature with a threshold; here the best
threshold and votes of a feature are found anew after each batch. z = 1, as in their code.
The paper leaves open what a budget asks for: a search reads all examples so far again, so T doubles
with each batch; Q0 features are drawn, as many as an eighth of the budget pays for; and if it does
not pay for all that are left, those of the largest H go on. Examples are drawn by weight (the
scheme `distinct`), without replacement as there.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from boostsample.checks import check_integer, check_n_features, check_number
from boostsample.step import Step
from boostsample.strategy import Pool, Strategy, Stump

#: Part of the budget for the first batch.
_FIRST = 8
_LEAST_FEATURES = 10


class MABSplit(Strategy):
    """Eliminate features by confidence bounds on growing batches of examples.

    Parameters
    ----------
    n_features : int or None
        Q0; None takes as many as an eighth of the budget pays for.
    batch : int
        T0, examples of the first batch; fewer where an eighth of the budget does not pay for 10
        features on them.
    z : float
        Standard deviations of the confidence bounds, at least 0.
    """

    leaves_budget = "it ends as soon as the bounds leave one feature"

    def __init__(self, n_features: int | None = None, batch: int = 100, z: float = 1.0) -> None:
        self.n_features = n_features
        self.batch = batch
        self.z = z

    def settings_in_use(self, pool: Pool, budget: int, n_rounds: int) -> dict[str, float]:
        """With the numbers of features and examples of the first batch."""
        q, t = self._first(pool.n_features, pool.n_examples, budget)
        return {"n_features": q, "batch": t, "z": self.z}

    def start(self, pool: Pool, budget: int, n_rounds: int, rng: np.random.Generator) -> None:
        """Check the settings."""
        check_integer("batch", self.batch, 1)
        check_number("z", self.z, 0.0)
        check_n_features(self.n_features, pool.n_features, budget)

    def choose(self, step: Step) -> Stump:
        """Search growing batches, drop features after each."""
        q, t = self._first(step.n_features, step.n_examples, step.budget)
        sizes = [t]
        while sizes[-1] < step.n_examples and 4 * sizes[-1] <= step.budget:
            sizes.append(min(2 * sizes[-1], step.n_examples))
        features = step.sample_features(q)
        for sample in step.draw_nested(sizes, "distinct"):
            features = features[: step.remaining // sample.size]
            if features.size <= (sample.size > t):  # one is left, or none can be paid for
                break
            stumps = step.search(features, sample)
            survivors = mabsplit_survivors(stumps.edge, sample.size, step.n_examples, self.z)
            features = stumps.feature[survivors]
        return stumps.best()

    def _first(self, n_features: int, n_examples: int, budget: int) -> tuple[int, int]:
        least = min(_LEAST_FEATURES, n_features)
        if self.n_features is None:
            t = max(1, min(self.batch, n_examples, budget // (_FIRST * least)))
            return max(1, min(n_features, budget // (_FIRST * t))), t
        q = min(self.n_features, budget)
        return q, max(1, min(self.batch, n_examples, budget // (_FIRST * q)))


def mabsplit_survivors(
    edges: NDArray[np.float64], n_examples: int, n_all: int, z: float
) -> NDArray[np.int64]:
    """Rows that the bounds do not drop, largest edge first."""
    # Of draws without replacement: no noise is left once all N examples are read.
    left = (n_all - n_examples) / max(n_all - 1, 1)
    bound = z * np.sqrt((1.0 - edges**2) / n_examples * left)
    order = np.argsort(-edges, kind="stable")
    return order[(edges + bound >= np.max(edges - bound))[order]]
