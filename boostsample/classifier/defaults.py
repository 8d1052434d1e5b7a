"""The classifier's settings ``"auto"``: strategy, learner and budget by the size of the table.

The rules were chosen on tables that no comparison uses, see docs/default.md.
"""

from __future__ import annotations

from typing import NamedTuple

from boostsample.checks import budget_looks
from boostsample.learner import Learner
from boostsample.names import parse_name, write_name
from boostsample.strategy import Strategy

__all__ = ["AUTO", "AUTO_LEARNER", "Chosen", "choose_settings"]

AUTO = "auto"
"""The setting that stands for these rules."""
AUTO_LEARNER = "tree"
"""The learner that `learner` "auto" stands for."""

_MOST_NARROW, _MOST_WIDE = 100, 3000
"""Features of tables for `_NARROW` and for `_WIDE`; of more `_VERY_WIDE` is chosen."""
_NARROW = "uniform-naive"
_WIDE, _WIDE_BUDGET = "adaptive-halving", "100N"
_VERY_WIDE, _VERY_WIDE_BUDGET = "successive-halving", "1000N"
_NARROW_LEAVES, _WIDE_LEAVES = (25, 8, 32), (50, 4, 16)
"""Training examples for each leaf of a tree, fewest and most leaves."""


class Chosen(NamedTuple):
    """Settings for a `boostsample.loop.booster.Booster`."""

    strategy: str | Strategy
    learner: str | Learner
    budget: int | str | None


def choose_settings(
    strategy: str | Strategy,
    learner: str | Learner,
    budget: int | str | None,
    n_examples: int,
    n_features: int,
    *,
    limited: bool = False,
) -> Chosen:
    """The settings in use, for N training examples and F features.

    - `strategy` "auto" is ``uniform-naive`` with all features and half of the examples, drawn by
      weight, for F up to 100; ``adaptive-halving`` with a budget of 100 N for F up to 3,000; and
      ``successive-halving`` with 1,000 N above. A budget that is given takes the place of theirs.
      With a limit on the features of the model (`limited`) it is ``full`` for F up to 100, if the
      budget pays for it.
    - `learner` "auto" is a tree with one leaf for each 25 training examples, 8 to 32, for F up to
      100; else for each 50, 4 to 16. It takes the settings of a tree, as in "auto:n_leaves=8"; None
      leaves the number of leaves to the rule.

    >>> choose_settings("auto", "auto", None, 1000, 21)
    Chosen(strategy='uniform-naive:n_features=21', learner='tree:n_leaves=32', budget='10.5N')
    >>> choose_settings("auto", "stump", None, 1000, 2000)
    Chosen(strategy='adaptive-halving', learner='stump', budget='100N')
    >>> choose_settings("auto", "stump", None, 1000, 20_000)
    Chosen(strategy='successive-halving', learner='stump', budget='1000N')
    """
    if isinstance(learner, str) and learner.partition(":")[0].strip() == AUTO:
        given = {name: value for name, value in parse_name(learner)[1].items() if value is not None}
        each, fewest, most = _NARROW_LEAVES if n_features <= _MOST_NARROW else _WIDE_LEAVES
        n_leaves = min(most, max(fewest, n_examples // each))
        learner = write_name(AUTO_LEARNER, {"n_leaves": n_leaves, **given})
    if not (isinstance(strategy, str) and strategy == AUTO):
        return Chosen(strategy, learner, budget)
    if n_features > _MOST_WIDE:
        return Chosen(_VERY_WIDE, learner, _VERY_WIDE_BUDGET if budget is None else budget)
    if n_features > _MOST_NARROW:
        return Chosen(_WIDE, learner, _WIDE_BUDGET if budget is None else budget)
    if limited:
        budget = f"{n_features}N" if budget is None else budget
        pays = budget_looks(budget, n_examples) >= n_features * n_examples
        return Chosen("full" if pays else _NARROW, learner, budget)
    budget = f"{n_features / 2:g}N" if budget is None else budget
    searched = min(n_features, budget_looks(budget, n_examples))
    return Chosen(f"{_NARROW}:n_features={searched}", learner, budget)
