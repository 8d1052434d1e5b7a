"""The classifier's settings ``"auto"``: strategy, learner and budget by the size of the table.

The rules were chosen on synthetic data, see docs/default.md.
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

_FEWEST_LOOKS, _MOST_LOOKS = 100, 1000
_FEATURES_PER_LOOK = 30
"""The budget of a search: looks for each training example, more of them for wide tables."""
_FEWEST_LEAVES, _MOST_LEAVES = 4, 16
_EXAMPLES_PER_LEAF = 50
"""Trees of fewer training examples have fewer leaves."""


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
) -> Chosen:
    """The settings in use, for N training examples and F features.

    - `strategy` "auto" is ``full`` if the budget pays for all features of all examples, else
      ``laminating:scheme=distinct``. Its budget, if none is given, is N F / 30, at least 100 N,
      which pays for all of up to 100 features, and at most 1,000 N.
    - `learner` "auto" is a tree with one leaf for each 50 training examples, 4 to 16. It takes the
      settings of a tree, as in "auto:n_leaves=8"; None leaves the number of leaves to the rule.

    >>> choose_settings("auto", "auto", None, 1000, 20)
    Chosen(strategy='full', learner='tree:n_leaves=16', budget='100N')
    >>> choose_settings("auto", "stump", None, 1000, 2000)
    Chosen(strategy='laminating:scheme=distinct', learner='stump', budget='100N')
    >>> choose_settings("auto", "stump", None, 1000, 20_000)
    Chosen(strategy='laminating:scheme=distinct', learner='stump', budget='666N')
    """
    if isinstance(learner, str) and learner.partition(":")[0].strip() == AUTO:
        settings = {name: one for name, one in parse_name(learner)[1].items() if one is not None}
        n_leaves = min(_MOST_LEAVES, max(_FEWEST_LEAVES, n_examples // _EXAMPLES_PER_LEAF))
        learner = write_name(AUTO_LEARNER, {"n_leaves": n_leaves, **settings})
    if not (isinstance(strategy, str) and strategy == AUTO):
        return Chosen(strategy, learner, budget)
    looks = min(_MOST_LOOKS, max(_FEWEST_LOOKS, n_features // _FEATURES_PER_LOOK))
    given = f"{looks}N" if budget is None else budget
    enough = budget_looks(given, n_examples) >= n_features * n_examples
    return Chosen("full" if enough else "laminating:scheme=distinct", learner, given)
