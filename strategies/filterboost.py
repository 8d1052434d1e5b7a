"""FilterBoost: draw few examples by their logistic weights, more of them round after round.

Cost per iteration: one search of Q features on T = C log(t + 3) examples in round t; Q is what the
budget pays for, all F or some drawn uniformly. The draw takes O(N) and costs no looks. Source:
FilterBoost (Bradley and Schapire 2007), which accepts example i with probability q_i = 1 / (1 +
exp(y_i f(x_i))), and searches all features. The paper leaves open: C (300, as in MultiBoost), K
labels (q_i is the mean over them, weighted by the initial weights u_il), and T beyond the budget.
Here T is at most N, all examples with their exact weights, and leaves looks for 10 features. If the
budget pays for all F features on more examples, the rest of it is left, as T is FilterBoost's.

Alpha is not FilterBoost's: 1/2 log((1/2 + g) / (1/2 - g)), where g is half of an edge estimated on
a second accepted sample, thus under logistic weights. MultiBoost estimates the edge e on a second
sample that is not filtered, and takes 1/2 log((1 + e/2) / (1 - e/2)), about half of that. Ours is
1/2 log((1 + G) / (1 - G)), with G exact on all N examples under the weights of AdaBoost.MH.

Logistic weights need y f: the scheme `filter` gets it from the weights of the loop and the loss.
Edges on such a sample estimate the edge under logistic weights, not G: H is biased for G, and its
variance is not bounded by [DF11] eq. 7.
"""

from __future__ import annotations

import math

import numpy as np

from boostsample.checks import check_number
from boostsample.step import Step
from boostsample.strategy import Pool, Strategy, Stump

#: Features that T leaves looks for.
_LEAST_FEATURES = 10


class FilterBoost(Strategy):
    """Search uniformly drawn features on C log(t + 3) examples drawn by logistic weights.

    Parameters
    ----------
    examples_factor : float
        C, above 0.
    """

    leaves_budget = "T grows with the rounds, whatever the budget pays for beside all features"

    def __init__(self, examples_factor: float = 300.0) -> None:
        self.examples_factor = examples_factor

    def start(self, pool: Pool, budget: int, n_rounds: int, rng: np.random.Generator) -> None:
        """Check the setting."""
        check_number("examples_factor", self.examples_factor, 0, above=True)

    def choose(self, step: Step) -> Stump:
        """Draw examples and features, search."""
        n_filtered = math.ceil(self.examples_factor * math.log(step.round + 3))
        most = step.budget // min(_LEAST_FEATURES, step.n_features, step.budget)
        sample = step.draw(min(n_filtered, most), "filter")
        n = min(step.n_features, step.budget // sample.size)
        features = step.rng.choice(step.n_features, size=n, replace=False, shuffle=False)
        return step.search(features, sample).best()
