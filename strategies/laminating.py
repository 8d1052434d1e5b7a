"""Laminating: search many features on few examples, keep the better half, double the examples.

Cost per iteration: log2(Q0) stages of Q0 * T0 looks. Each stage searches the surviving features
again, thresholds and votes included, on its sample. Source: [DF11] section 4.2, with log2(Q0) Q0 T0
= budget. The paper leaves open: Q0 and T0, budgets that do not divide, ties between features (the
first wins), how Q0 features are drawn (see `Step.sample_features`), and whether samples are new or
nested (nested here, which takes half of the time). The last stage uses T = Q0 T0 / 2 examples. The
default Q0 is the power of two nearest to 256, the best of the sweep in docs/laminating.md, with
that T at most N and T0 at least 50. Stages that leave a tenth of the budget, as for few examples or
features, are replaced by those of `successive_halving` with eta = 2, which end with more than two
features; a budget for all features on all examples makes one stage.
The one public implementation known, in lbcpp (2011; described to us, not read), starts from all
features, with N0 = budget / (W0 log2 W0) examples and at least 5, and draws uniform subsets anew in
each stage: ``laminating:n_features=all:new_samples=true:scheme=uniform``. Where the budget does not
pay for 5 examples of all features, as many as it pays for are drawn.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from boostsample.checks import check_flag, check_integer
from boostsample.errors import SettingError
from boostsample.rows.sampling_schemes import known_scheme
from boostsample.step import Step
from boostsample.strategies.successive_halving import Stage, first_features, stages_that_spend
from boostsample.strategy import Pool, Strategy, Stump

#: Default Q0 if the budget allows it.
_PREFERRED = 256
#: Minimum number of examples in the first stage.
_LEAST_EXAMPLES = 50
#: The same from all features.
_LEAST_OF_ALL = 5


class Laminating(Strategy):
    """Halve the features and double the examples, stage after stage.

    Parameters
    ----------
    n_features : int, "all" or None
        Q0, a power of two of at least 2, or all features; None chooses it from the budget.
    scheme : str
        How samples are drawn, see `Step.draw`.
    new_samples : bool
        Whether each stage draws a new sample, or one that contains those of the stages before.
    """

    added_settings: ClassVar[Mapping[str, Any]] = {"new_samples": False}

    def __init__(
        self, n_features: int | str | None = None, scheme: str = "iid", new_samples: bool = False
    ) -> None:
        self.n_features = n_features
        self.scheme = scheme
        self.new_samples = new_samples

    def settings_in_use(self, pool: Pool, budget: int, n_rounds: int) -> Mapping[str, Any]:
        """With the number of features of the first stage."""
        size = pool.n_examples, pool.n_features
        stages = laminating_stages(self.n_features, *size, budget)
        used = {"n_features": stages[0][0], "scheme": self.scheme}
        return {**used, "new_samples": True} if self.new_samples else used

    def start(self, pool: Pool, budget: int, n_rounds: int, rng: np.random.Generator) -> None:
        """Check the settings."""
        known_scheme(self.scheme)
        check_flag("new_samples", self.new_samples)
        laminating_stages(self.n_features, pool.n_examples, pool.n_features, budget)

    def choose(self, step: Step) -> Stump:
        """Run the stages; the last one leaves one stump."""
        size = step.n_examples, step.n_features
        stages = laminating_stages(_affordable(self.n_features, step.budget), *size, step.budget)
        if not self.new_samples:
            return step.race(*first_features(step, stages), self.scheme).best()
        features = step.sample_features(stages[0][0])
        for q, n_examples in stages:
            stumps = step.search(features[:q], step.draw(n_examples, self.scheme))
            features = stumps.feature[np.argsort(-stumps.edge, kind="stable")]
        return stumps.best()


def _affordable(n_first: int | str | None, budget: int) -> int | str | None:
    """Q0 as it was set, or half of it again and again, for nodes of trees with small budgets."""
    while isinstance(n_first, int) and n_first > 2 and _first(n_first, budget) < 1:
        n_first //= 2
    return n_first


def laminating_stages(
    n_first: int | str | None, n_examples: int, n_features: int, budget: int
) -> list[Stage]:
    """Features and examples of each stage, within the budget: [(Q0, T0), ...].

    >>> laminating_stages(None, 60_000, 16_000, 600_000)
    [(256, 292), (128, 584), (64, 1168), (32, 2336), (16, 4672), (8, 9344), (4, 18688), (2, 37376)]
    >>> laminating_stages(None, 29, 7, 290)
    [(7, 29)]
    """
    most = 1 << (min(n_features, budget).bit_length() - 1)
    if n_first is None:
        q = min(_PREFERRED, most)
        while q > 2 and _first(q, budget) < _LEAST_EXAMPLES:
            q //= 2
        # A last stage of more than N examples would leave looks: more features spend them.
        while 2 * q <= most and _first(2 * q, budget) >= _LEAST_EXAMPLES:
            if _last(q, budget) <= n_examples:
                break
            q *= 2
    elif n_first == "all":
        q = min(2, n_features)
        for n in range(_halvings(n_features), 0, -1):  # the most features of n halvings
            paid = min(n_features, (2 << n) - 1, budget // (_LEAST_OF_ALL * n))
            if paid >= 1 << n:
                q = paid
                break
    else:
        q = check_integer("n_features", n_first, 2, n_features, hint="all, or None for a choice")
        if q & (q - 1):
            raise SettingError(
                f"n_features must be a power of two, got {q}; laminating chooses one if it is None"
            )
    first = _first(q, budget)
    if first < 1:
        raise SettingError(
            f"laminating from {q} features costs at least {q * _halvings(q)} looks, but the budget "
            f"is {budget}; raise the budget or start from fewer features"
        )
    stages = [(q >> s, min(first << s, n_examples)) for s in range(_halvings(q))]
    if n_first is None or n_first == "all":
        stages = stages_that_spend(stages, n_examples, n_features, budget)
    return stages


def _halvings(q: int) -> int:
    """log2 Q0, at least 1: a single feature is searched once."""
    return max(1, q.bit_length() - 1)


def _first(q: int, budget: int) -> int:
    return budget // (q * _halvings(q))


def _last(q: int, budget: int) -> int:
    return _first(q, budget) << (_halvings(q) - 1)
