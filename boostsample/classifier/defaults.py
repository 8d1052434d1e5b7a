"""Settings that are text: ``"auto"``, and strategies and learners by name.

The rules of "auto" were chosen on tables that no comparison uses, see docs/default.md.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, NamedTuple, Self

from sklearn.base import BaseEstimator

from boostsample.checks import budget_looks, check_number
from boostsample.errors import SettingError, unknown
from boostsample.learner import Learner
from boostsample.names import is_in_file, parse_name, write_name
from boostsample.objective import Objective
from boostsample.registry import named_class
from boostsample.rows.weights import StepSize
from boostsample.strategy import Strategy

AUTO = "auto"
"""The setting that stands for these rules."""
AUTO_LEARNER, AUTO_LEVELS = "tree", "oblivious-tree"
"""The learners that `learner` "auto" stands for; the first has its settings."""

MOST_ROUNDS = 200
"""Of `n_rounds` "auto", of each member of the committee."""
N_MEMBERS, N_MEMBERS_WIDE = 5, 10
"""Members of the committee of `n_rounds` "auto", and of many features for their rows."""
FEWEST_ROWS, MOST_ROWS, MOST_ROWS_WIDE, MOST_ROWS_VERY_WIDE = 20, 20_000, 1000, 5000
"""Of fewer rows, and of more, it is one model; `N_MEMBERS_WIDE` are of up to the others."""
MOST_ROUNDS_VERY_WIDE = 1000
"""Of one model above `MOST_WIDE` features."""
ROUNDS_OF_FEW = 100
"""Of `n_rounds` "auto" if no row is left out."""

MOST_NARROW, MOST_WIDE = 100, 3000
"""Features of tables for `_NARROW` and for `_WIDE`; of more `_VERY_WIDE` is chosen."""
_NARROW = "uniform-naive"
_MANY_ROWS, _MOST_ROWS_OF_SAMPLE = 500, 0.7
"""Examples from which more than two classes are searched on so many of them."""
_FEWEST_DRAWN = 6
"""Features of a search of two classes, at least."""
_WIDE, _WIDE_BUDGET = "adaptive-halving", "100N"
_NODE_SAMPLE = 0.85
"""Part of the examples of a node that is searched with that budget, of up to `MOST_ROWS_WIDE`."""
_VERY_WIDE = "screening"
_VERY_WIDE_SPREAD, _SPREAD_BUDGET = "successive-halving", "1000N"
"""Over shards, which cannot shuffle features among their rows."""
_KINDS = ("strategy", "learner")
"""Parameters of the classifier that may be names."""
_NARROW_LEAVES, _LEAVES_OF_MORE_CLASSES, _WIDE_LEAVES = (25, 8, 16), (25, 8, 32), (50, 4, 16)
"""Training examples for each leaf of a tree, fewest and most leaves."""
_ROWS_A_LEAF, _FEWEST_LEVELS, _MOST_LEVELS = 25, 4, 6
"""Of oblivious trees."""


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
    spread: bool = False,
    levels: bool = False,
) -> Chosen:
    """The settings in use, for N training examples, F features and K labels.

    - `strategy` "auto" is ``uniform-naive`` for F up to 100, with half of the features, at least
      6, on half of the examples, all different; for K above 1 with all features, for N from 500 on
      on seven tenths of the examples. With a budget that is given it searches all features.
      It is ``adaptive-halving`` for F up to 3,000, with a budget of 100 N, for N up to 1,000 with
      nodes on one sample; and ``screening`` with its own above; of rows that are spread over shards
      (`spread`) it is ``successive-halving`` with 1,000 N. A budget that is given takes the place
      of theirs, and nodes are then searched in stages.
      With a limit on the features of the model (`limited`) it is ``full`` for F up to 100, if the
      budget pays for it.
    - `learner` "auto" is a tree with one leaf for each 25 training examples, 8 to 16, or for K
      above 1 to 32, for F up to 100; else for each 50, 4 to 16. It takes the settings of a tree, as
      in "auto:n_leaves=8"; None leaves the number of leaves to the rule. Without such settings it
      is an oblivious tree with a leaf for each 25 examples, 4 to 6 levels, for one label and F up
      to 100 with the strategy "auto" and no budget, where these can be grown (`levels`).

    Two classes are one label.

    >>> choose_settings("auto", "auto", None, 1000, 21)
    Chosen(strategy='uniform-naive:n_features=11:scheme=distinct', learner='tree:n_leaves=16', \
budget='5.5N')
    >>> choose_settings("auto", "auto", None, 1000, 21, levels=True).learner
    'oblivious-tree:depth=5'
    >>> choose_settings("auto", "auto", None, 1000, 21, 3)
    Chosen(strategy='uniform-naive:n_features=21:scheme=distinct', learner='tree:n_leaves=32', \
budget='14.7N')
    >>> choose_settings("auto", "stump", None, 1000, 2000)
    Chosen(strategy='adaptive-halving:node_sample=0.85', learner='stump', budget='100N')
    >>> choose_settings("auto", "stump", None, 1000, 20_000)
    Chosen(strategy='screening', learner='stump', budget=None)
    """
    narrow, several = n_features <= MOST_NARROW, n_labels > 1
    if learner_is_auto(learner):
        of_tree = {
            name: value for name, value in parse_name(str(learner))[1].items() if value is not None
        }
        default = _is_auto(strategy) and budget is None
        if levels and default and narrow and not (several or limited or of_tree):
            depth = max(1, n_examples // _ROWS_A_LEAF).bit_length() - 1
            depth = min(_MOST_LEVELS, max(_FEWEST_LEVELS, depth))
            learner = write_name(AUTO_LEVELS, {"depth": depth})
        else:
            each, fewest, most = _LEAVES_OF_MORE_CLASSES if several else _NARROW_LEAVES
            if not narrow:
                each, fewest, most = _WIDE_LEAVES
            n_leaves = min(most, max(fewest, n_examples // each))
            learner = write_name(AUTO_LEARNER, {"n_leaves": n_leaves} | of_tree)
    if not _is_auto(strategy):
        return Chosen(strategy, learner, budget)
    if n_features > MOST_WIDE:
        if spread:
            return Chosen(_VERY_WIDE_SPREAD, learner, _SPREAD_BUDGET if budget is None else budget)
        return Chosen(_VERY_WIDE, learner, budget)
    if not narrow:
        if budget is not None or n_examples > MOST_ROWS_WIDE:
            return Chosen(_WIDE, learner, _WIDE_BUDGET if budget is None else budget)
        nodes = {"node_sample": _NODE_SAMPLE}
        return Chosen(write_name(_WIDE, nodes), learner, _WIDE_BUDGET)
    if limited:
        budget = f"{n_features}N" if budget is None else budget
        pays = budget_looks(budget, n_examples) >= n_features * n_examples
        return Chosen("full" if pays else _NARROW, learner, budget)
    searched = n_features
    if not several and budget is None:
        searched = min(n_features, max(_FEWEST_DRAWN, -(-n_features // 2)))
    part = _MOST_ROWS_OF_SAMPLE if several and n_examples >= _MANY_ROWS else 0.5
    if budget is None:
        budget = f"{part * searched:g}N"
        if part == 0.5 and searched * n_examples % 2:  # rounded up: a node of two can pay for it
            budget = (searched * n_examples + 1) // 2
    searched = min(searched, budget_looks(budget, n_examples))
    return Chosen(f"{_NARROW}:n_features={searched}:scheme=distinct", learner, budget)


def choose_objective(
    objective: str | Objective,
    learner: str | Learner = "stump",
    smoothing: float | str = AUTO,
    n_features: int = 0,
    n_members: int = 1,
) -> str | Objective:
    """The objective in use: "auto" is ``real-mh`` for default trees of a committee, else ``mh``.

    With a number of rounds and the rules of temperatures, neither has better probabilities.
    Smoothing is of votes, and F above 3,000 stays with ``mh``.
    """
    if not _is_auto(objective):
        return objective
    is_smoothed = not _is_auto(smoothing) and _check_smoothing(smoothing) > 0
    default = learner_is_auto(learner) and not is_smoothed and n_features <= MOST_WIDE
    return "real-mh" if default and n_members > 1 else "mh"


def choose_smoothing(smoothing: float | str, objective: Objective, learning_rate: float) -> float:
    """The smoothing in use: "auto" is 1 for steps below 1 that it bounds, else 0.

    A full step ends training at an edge of 1. Smaller ones do not: without smoothing each later
    round would add nearly the same base classifier with the largest alpha.
    """
    if not _is_auto(smoothing):
        return _check_smoothing(smoothing)
    return float(objective.smooths and not StepSize(learning_rate).is_full)


def _check_smoothing(smoothing: Any) -> float:
    """A number of mean examples; SettingError if it is none."""
    return check_number("smoothing", smoothing, 0.0, hint="or use smoothing='auto'")


def committee_size(n_rows: int, n_features: int) -> int:
    """Members of the committee of `n_rounds` "auto" on so many rows; 1 where it is one model.

    >>> [committee_size(n_rows, 20) for n_rows in (19, 20, 20_000, 20_001)]
    [1, 5, 5, 1]
    >>> [committee_size(*size) for size in ((1000, 101), (1001, 101), (1001, 3001), (5001, 3001))]
    [10, 5, 10, 1]
    """
    very_wide = n_features > MOST_WIDE
    if not FEWEST_ROWS <= n_rows <= (MOST_ROWS_VERY_WIDE if very_wide else MOST_ROWS):
        return 1
    wide = n_features > MOST_NARROW and n_rows <= MOST_ROWS_WIDE
    return N_MEMBERS_WIDE if very_wide or wide else N_MEMBERS


def _is_auto(setting: Any) -> bool:
    return isinstance(setting, str) and setting == AUTO


def learner_is_auto(learner: str | Learner) -> bool:
    """Whether the rules choose the learner, with settings of its tree or without."""
    return isinstance(learner, str) and learner.partition(":")[0].strip() == AUTO


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


class NamedSettings(BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no annotations
    """Base class of an estimator whose parameters `strategy` and `learner` may be names.

    Searches reach the settings of a name as those of an instance; the learner "auto" has those of
    the tree that it stands for.
    """

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters; if deep, also ``strategy__exploration`` and the like, of names, too."""
        params: dict[str, Any] = super().get_params(deep)
        for kind in _KINDS if deep else ():
            if isinstance(params[kind], str):
                settings = _settings_of_name(kind, params[kind])
                params |= {f"{kind}__{name}": value for name, value in settings.items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters: ``strategy__exploration=0.5`` makes "ucb" "ucb:exploration=0.5"."""
        super().set_params(**{key: params.pop(key) for key in [*params] if "__" not in key})
        for kind in _KINDS:
            value = getattr(self, kind)
            keys = [key for key in params if key.startswith(f"{kind}__")]
            if keys and not hasattr(value, "set_params"):
                settings = {key.removeprefix(f"{kind}__"): params.pop(key) for key in keys}
                setattr(self, kind, _with_settings(kind, value, settings))
        super().set_params(**params)
        return self


def _settings_of_name(kind: str, text: str) -> dict[str, Any]:
    """All settings of a named strategy or learner; none if the name is wrong: `fit` reports it."""
    try:
        name, named = parse_name(text)
        # Estimators are shown, and loaded from files, without running a file that they name.
        return named if is_in_file(name) else {**_defaults(kind, name), **named}
    except SettingError:
        return {}


def _with_settings(kind: str, text: Any, settings: Mapping[str, Any]) -> str:
    """The name with other settings; SettingError if one is unknown or cannot be written."""
    if not isinstance(text, str):
        raise SettingError(
            f"settings of a {kind} can be set if it is a name, got {text!r:.60}; pass it by name, "
            "or another instance"
        )
    name, named = parse_name(text)
    if (kind, name) == ("strategy", AUTO):
        raise SettingError(
            f"settings of a {kind} can be set if it has a name, but it is {AUTO!r}; set {kind}, "
            f"too, as in {kind}='laminating'"
        )
    known = _defaults(kind, name)
    for setting in settings:
        if setting not in known:
            raise unknown(f"setting of the {kind} {name!r}", setting, sorted(known))
    return write_name(name, {**named, **settings})


def _defaults(kind: str, name: str) -> dict[str, Any]:
    """Settings of a registered strategy or learner with their defaults."""
    if (kind, name) == ("learner", AUTO):
        return {**_defaults(kind, AUTO_LEARNER), "n_leaves": None}
    parameters = inspect.signature(named_class(kind, name)).parameters.values()
    wrong = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    known = [parameter for parameter in parameters if parameter.kind not in wrong]
    return {p.name: None if p.default is p.empty else p.default for p in known}
