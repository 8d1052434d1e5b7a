"""Chosen data sets and strategies of tables, in the chosen order."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

from boostsample.errors import unknown
from boostsample.experiments.plan.variants import CHARGED_VARIANT, TUNED_VARIANT


def split_names(texts: Iterable[str]) -> tuple[str, ...]:
    """Names separated by commas; commas in parentheses are part of a name.

    >>> split_names(["digits, chess(d=3,J=3)", "usps"])
    ('digits', 'chess(d=3,J=3)', 'usps')
    """
    parts = (part for text in texts for part in re.split(r",(?![^(]*\))", text))
    return tuple(dict.fromkeys(part.strip() for part in parts))


def chosen_data(wanted: Sequence[str], there: Collection[str]) -> tuple[str, ...]:
    """The wanted data sets, in their order; SettingError if one is not there."""
    for name in wanted:
        if name not in there:
            raise unknown("data set of these results", name, there)
    return tuple(wanted)


def chosen_strategies(wanted: Sequence[str], labels: Collection[str]) -> tuple[str, ...]:
    """The labels that are wanted, in the order of `wanted`.

    A label means itself, without its learner in parentheses all learners; another name, without
    settings, means all its variants. Charged ones go with their own. SettingError if one is not
    there.

    >>> chosen_strategies(["ucb", "full"], ["full", "ucb*", "ucb:exploration=1"])
    ('ucb*', 'ucb:exploration=1', 'full')
    """
    found: dict[str, None] = {}
    for name in wanted:
        if name in labels:
            own = [one for one in (name, f"{name}{CHARGED_VARIANT}") if one in labels]
        else:
            own = [label for label in labels if name in _names(label)]
        if not own:
            raise unknown("strategy of these results", name, labels)
        found |= dict.fromkeys(own)
    return tuple(found)


def _names(label: str) -> tuple[str, ...]:
    """The label without its learner; without settings; and without the mark of tuning."""
    strategy = label.removesuffix(CHARGED_VARIANT).partition(" (")[0]
    name = strategy.partition(":")[0]
    return strategy, name, name.removesuffix(TUNED_VARIANT)
