"""Sparrow: read examples until one feature has surely more than a target edge, then stop.

Cost per iteration: at most the budget; Q features are searched on T, 2 T, 4 T, ... examples, and no
further once one passes the rule of `sparrow_accepts`. If none does, the pass was fruitless: the
target is halved, and the best feature of the last batch is taken. Source: Alafate and Freund 2019,
the stopping rule of Balsubramani 2014 as in their code (`commons/mod.rs`).
The paper leaves open: examples of a sample drawn by weight have equal weights (its sampler redraws
when (sum w)^2 / sum w^2 is low: here each round draws); K labels, whose agreement is a mean in
[-1, 1]; all features (Q of them, drawn anew in each round) and batches that double, because a
search reads all examples of a sample again. Their code asks for V >= 173 log(4 / delta) besides,
more than small budgets pay for, and never raises the target; halving it is one of several versions.
The authors call the policy for the target "not robust". Nodes of trees do not change the target.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from boostsample.checks import check_n_features, check_number
from boostsample.rows.sampling_schemes import unbiased_scheme
from boostsample.step import Step
from boostsample.strategies.uniform_naive import searched_features
from boostsample.strategy import Pool, Strategy, Stump

#: T of a first search of all examples is about N / 5.
_SHARE = 5
#: Examples of the smallest batch.
_LEAST_EXAMPLES = 32
#: With fewer batches before it, the last batch takes all that is left.
_FEW_HALVINGS = 3


@dataclass(eq=False, repr=False)
class Sparrow(Strategy):
    """Stop at the first feature that has surely more than a target edge.

    Parameters
    ----------
    n_features : int or None
        Q; None is max(10, 5 budget // N), for which the last batch has about N / 10 examples.
    target : float
        Target edge of the first round, above 0 and at most 1.
    delta : float
        Chance of a wrong decision on a stump that is given, above 0 and at most 1; the best of Q,
        with thresholds found on the sample, is wrong more often. 1e-6 in their code.
    scheme : str
        How samples are drawn, see `Step.draw`; one that promises unbiased edges.
    """

    leaves_budget = "it ends as soon as a feature surely has more than the target edge"

    n_features: int | None = None
    target: float = 0.5
    delta: float = 1e-6
    scheme: str = "iid"

    def settings_in_use(self, pool: Pool, budget: int, n_rounds: int) -> dict[str, float | str]:
        """With the number of features."""
        size = pool.n_examples, pool.n_features, budget
        q = searched_features(self.n_features, *size, share=_SHARE)
        return {**self.get_params(deep=False), "n_features": q}

    def start(self, pool: Pool, budget: int, n_rounds: int, rng: np.random.Generator) -> None:
        """Check the settings; begin with the target."""
        unbiased_scheme(self.scheme)
        check_number("delta", self.delta, 0.0, 1.0, above=True)
        self.target_ = check_number("target", self.target, 0.0, 1.0, above=True)
        check_n_features(self.n_features, pool.n_features, budget)

    def choose(self, step: Step) -> Stump:
        """Search growing batches until the rule stops them."""
        size = step.n_examples, step.n_features, step.budget
        features = step.sample_features(searched_features(self.n_features, *size, share=_SHARE))
        most = max(1, step.budget // (2 * features.size))  # all batches together pay for twice that
        halvings = max(0, (most // _LEAST_EXAMPLES).bit_length() - 1)
        sizes = [most >> k for k in range(halvings, -1, -1)]
        if halvings < _FEW_HALVINGS:  # the batches take half to seven eighths of the budget
            sizes[-1] = step.budget // features.size - sum(sizes[:-1])
        for sample in step.draw_nested(sizes, self.scheme):
            best = step.search(features, sample).best()
            if sparrow_accepts(best.edge, sample.size, self.target_, self.delta):
                return best
            if sample.exact:
                break
        if step.whole:
            self.target_ *= 0.5
        return best


def sparrow_accepts(edge: float, n_examples: int, target: float, delta: float) -> bool:
    """Whether T examples show that a stump has more than the target edge.

    With c_t = agreement - target, M = sum c_t and V = sum c_t^2, if M > sqrt(3 V (2 log log(3 V /
    (2 M)) + log(2 / delta))). Agreements have mean H; as +1 or -1, their V is that of K labels at
    most.
    """
    total = n_examples * (edge - target)
    squares = n_examples * (1.0 - 2.0 * target * edge + target**2)
    if total <= 0.0:
        return False
    inner = 1.5 * squares / total
    slow = math.log(math.log(inner)) if inner > math.e else 0.0
    return total > math.sqrt(3.0 * squares * (2.0 * slow + math.log(2.0 / delta)))
