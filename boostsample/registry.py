"""Strategies and feature families by name: the only place of the engine that loads them.

Names map to "module:class", so that listing them imports nothing. Other distributions register
strategies by the entry-point group `boostsample.strategies`.
"""

from __future__ import annotations

import importlib
from importlib.metadata import entry_points
from typing import Any

from boostsample.errors import SettingError, unknown

__all__ = [
    "ENTRY_POINTS",
    "STRATEGIES",
    "column_families",
    "default_families",
    "make_strategy",
    "strategy_class",
    "strategy_names",
]

ENTRY_POINTS = "boostsample.strategies"

#: The strategies of this distribution.
STRATEGIES = {
    "full": "boostsample.strategies.full:Full",
    "uniform-naive": "boostsample.strategies.uniform_naive:UniformNaive",
    "uniform-1q": "boostsample.strategies.uniform_1q:Uniform1Q",
    "uniform-q1": "boostsample.strategies.uniform_q1:UniformQ1",
    "ucb": "boostsample.strategies.ucb:UCB",
    "ucbv": "boostsample.strategies.ucbv:UCBV",
    "exp3p": "boostsample.strategies.exp3p:Exp3P",
    "epsilon-greedy": "boostsample.strategies.epsilon_greedy:EpsilonGreedy",
    "explore-then-commit": "boostsample.strategies.explore_then_commit:ExploreThenCommit",
    "mas-naive": "boostsample.strategies.mas_naive:MASNaive",
    "mas-1q": "boostsample.strategies.mas_1q:MAS1Q",
    "mas-q1": "boostsample.strategies.mas_q1:MASQ1",
    "laminating": "boostsample.strategies.laminating:Laminating",
}


def _known() -> dict[str, str]:
    foreign = {point.name: point.value for point in entry_points(group=ENTRY_POINTS)}
    return {**foreign, **STRATEGIES}


def strategy_names() -> tuple[str, ...]:
    """Names of all installed strategies, those of boostsample first."""
    known = _known()
    return (*STRATEGIES, *sorted(set(known) - set(STRATEGIES)))


def strategy_class(name: str) -> type[Any]:
    """The class of a registered strategy; SettingError if it is unknown or cannot be loaded."""
    known = _known()
    if name not in known:
        raise unknown("strategy", name, strategy_names())
    module, _, attribute = known[name].partition(":")
    try:
        found: type[Any] = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise SettingError(
            f"strategy {name!r} cannot be loaded from {known[name]!r} ({error}); "
            "repair or uninstall the distribution that registers it"
        ) from error
    return found


def make_strategy(name: str, **settings: Any) -> Any:
    """A strategy from its name and settings; SettingError lists the known ones.

    >>> make_strategy("uniform-naive", n_features=20)
    UniformNaive(n_features=20)
    """
    kind = strategy_class(name)
    known = kind._get_param_names()
    for setting in settings:
        if setting not in known:
            if not known:
                raise SettingError(f"strategy {name!r} has no settings, got {setting!r}")
            raise unknown(f"setting of {name}", setting, known)
    return kind(**settings)


def default_families(example_shape: tuple[int, ...], **settings: Any) -> list[Any]:
    """Default families for examples of the given shape."""
    module = importlib.import_module("boostsample.families.default_sets")
    families: list[Any] = module.families_for(example_shape, **settings)
    return families


def column_families(groups: Any, table: Any, **settings: Any) -> list[Any]:
    """Families of columns, one for each group that the user names."""
    module = importlib.import_module("boostsample.families.columns")
    families: list[Any] = module.column_groups(groups, table, **settings)
    return families
