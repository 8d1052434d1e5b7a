"""The classifier's settings ``"auto"``: strategy, learner, budget and rounds by the table's size.

The rules were chosen on tables that no comparison uses, see docs/default.md.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from boostsample.checks import budget_looks
from boostsample.errors import SettingError
from boostsample.learner import Learner
from boostsample.names import parse_name, write_name
from boostsample.strategy import Strategy

AUTO = "auto"
"""The setting that stands for these rules."""
AUTO_LEARNER = "tree"
"""The learner that `learner` "auto" stands for."""

MOST_ROUNDS = 200
"""Of `n_rounds` "auto", of each member of the committee."""
N_MEMBERS, FEWEST_ROWS, MOST_ROWS = 5, 20, 20_000
"""Members of the committee of `n_rounds` "auto"; of fewer rows, and of more, it is one model."""
ROUNDS_OF_FEW = 100
"""Of `n_rounds` "auto" if no row is left out."""

_MOST_NARROW, _MOST_WIDE = 100, 3000
"""Features of tables for `_NARROW` and for `_WIDE`; of more `_VERY_WIDE` is chosen."""
_NARROW = "uniform-naive"
_MANY_ROWS, _MOST_ROWS_OF_SAMPLE = 500, 0.7
"""Examples from which more than two classes are searched on so many of them, all different."""
_WIDE, _WIDE_BUDGET = "adaptive-halving", "100N"
_VERY_WIDE, _VERY_WIDE_BUDGET = "successive-halving", "1000N"
_NARROW_LEAVES, _LEAVES_OF_MORE_CLASSES, _WIDE_LEAVES = (25, 8, 16), (25, 8, 32), (50, 4, 16)
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
    n_labels: int = 1,
    *,
    limited: bool = False,
) -> Chosen:
    """The settings in use, for N training examples, F features and K labels.

    - `strategy` "auto" is ``uniform-naive`` with all features for F up to 100, on half of the
      examples, drawn by weight; for K above 1 and N from 500 on it is seven tenths, all different.
      It is ``adaptive-halving`` with a budget of 100 N for F up to 3,000, and
      ``successive-halving`` with 1,000 N above. A budget that is given takes the place of theirs.
      With a limit on the features of the model (`limited`) it is ``full`` for F up to 100, if the
      budget pays for it.
    - `learner` "auto" is a tree with one leaf for each 25 training examples, 8 to 16, or for K
      above 1 to 32, for F up to 100; else for each 50, 4 to 16. It takes the settings of a tree, as
      in "auto:n_leaves=8"; None leaves the number of leaves to the rule.

    Two classes are one label.

    >>> choose_settings("auto", "auto", None, 1000, 21)
    Chosen(strategy='uniform-naive:n_features=21', learner='tree:n_leaves=16', budget='10.5N')
    >>> choose_settings("auto", "auto", None, 1000, 21, 3)
    Chosen(strategy='uniform-naive:n_features=21:scheme=distinct', learner='tree:n_leaves=32', \
budget='14.7N')
    >>> choose_settings("auto", "stump", None, 1000, 2000)
    Chosen(strategy='adaptive-halving', learner='stump', budget='100N')
    >>> choose_settings("auto", "stump", None, 1000, 20_000)
    Chosen(strategy='successive-halving', learner='stump', budget='1000N')
    """
    narrow, several = n_features <= _MOST_NARROW, n_labels > 1
    if isinstance(learner, str) and learner.partition(":")[0].strip() == AUTO:
        each, fewest, most = _LEAVES_OF_MORE_CLASSES if several else _NARROW_LEAVES
        if not narrow:
            each, fewest, most = _WIDE_LEAVES
        tree = {"n_leaves": min(most, max(fewest, n_examples // each))}
        named = parse_name(learner)[1].items()
        tree |= {name: value for name, value in named if value is not None}
        learner = write_name(AUTO_LEARNER, tree)
    if not (isinstance(strategy, str) and strategy == AUTO):
        return Chosen(strategy, learner, budget)
    if n_features > _MOST_WIDE:
        return Chosen(_VERY_WIDE, learner, _VERY_WIDE_BUDGET if budget is None else budget)
    if not narrow:
        return Chosen(_WIDE, learner, _WIDE_BUDGET if budget is None else budget)
    if limited:
        budget = f"{n_features}N" if budget is None else budget
        pays = budget_looks(budget, n_examples) >= n_features * n_examples
        return Chosen("full" if pays else _NARROW, learner, budget)
    part, scheme = 0.5, ""
    if several and n_examples >= _MANY_ROWS:
        part, scheme = _MOST_ROWS_OF_SAMPLE, ":scheme=distinct"
    budget = f"{part * n_features:g}N" if budget is None else budget
    searched = min(n_features, budget_looks(budget, n_examples))
    return Chosen(f"{_NARROW}:n_features={searched}{scheme}", learner, budget)


def chooses_rounds(n_rounds: Any, warm_start: Any) -> bool:
    """Whether `n_rounds` is "auto"; SettingError if it is other text, or with `warm_start`."""
    if not isinstance(n_rounds, str):
        return False
    if n_rounds != AUTO:
        raise SettingError(f"n_rounds must be '{AUTO}' or a whole number, got {n_rounds!r}")
    if warm_start:
        raise SettingError(
            f"warm_start continues a fit up to n_rounds, but n_rounds='{AUTO}' chooses their number"
            " anew; set n_rounds to a number, or warm_start=False"
        )
    return True
