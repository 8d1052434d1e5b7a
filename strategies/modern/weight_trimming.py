"""Weight trimming: search on the heaviest examples only, those that hold most of the weight.

Cost per iteration: one search of Q features, drawn uniformly, on the m heaviest examples; fewer
examples pay for more features, Q = budget / m. Source: Friedman, Hastie and Tibshirani 2000,
section 9, who search all features on the examples that have 0.9 to 0.99 of the weight, with their
own weights; OpenCV's default is 0.95. The edge on all examples differs from the one on these, times
their mass, by no more than the mass left out: once edges are below that, it says nothing. So by
default a tenth of the last edge on all examples is left out, and nothing in the first round. If the
budget pays for less than 10 features, fewer examples are searched, the heaviest ones; if it pays
for all features on more examples, the rest is left.
"""

from __future__ import annotations

import numpy as np

from boostsample.checks import check_number
from boostsample.errors import SettingError
from boostsample.step import Step
from boostsample.strategy import Outcome, Pool, Strategy, Stump

_LEAST_FEATURES = 10
#: Share of the last edge that is left out.
_OF_EDGE = 0.1


class WeightTrimming(Strategy):
    """Search uniformly drawn features on the heaviest examples.

    Parameters
    ----------
    left_out : float or "edge"
        Mass of the lightest examples, which are left out, at least 0 and below 1; "edge" is a tenth
        of the last edge.
    """

    leaves_budget = "the lightest examples are left out even if the budget pays for them"

    def __init__(self, left_out: float | str = "edge") -> None:
        self.left_out = left_out

    def start(self, pool: Pool, budget: int, n_rounds: int, rng: np.random.Generator) -> None:
        """Check the setting."""
        if self.left_out != "edge" and check_number("left_out", self.left_out, 0.0, 1.0) == 1.0:
            raise SettingError("left_out must be below 1, got 1; 0.05 is usual, or take 'edge'")
        self.edge_ = 0.0

    def choose(self, step: Step) -> Stump:
        """Draw features, search them on the heaviest examples."""
        left_out = _OF_EDGE * self.edge_ if self.left_out == "edge" else float(self.left_out)
        most = step.budget // min(_LEAST_FEATURES, step.n_features, step.budget)
        sample = step.draw(min(step.n_heaviest(1.0 - left_out), most), "heaviest")
        n = min(step.n_features, step.budget // sample.size)
        features = step.rng.choice(step.n_features, size=n, replace=False, shuffle=False)
        return step.search(features, sample).best()

    def learn(self, outcome: Outcome) -> None:
        """Keep the edge, unless it is of a node."""
        if outcome.whole:
            self.edge_ = outcome.edge
