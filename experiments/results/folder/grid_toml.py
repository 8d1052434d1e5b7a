"""Writes a grid as TOML with which `boostsample compare --grid` makes the same cells.

All strategies, settings and families are written out, independent of the defaults of later
versions. A path to the user's own data is written as it was given.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from boostsample.experiments.data.datasets import dataset_names
from boostsample.experiments.plan.grid import Grid
from boostsample.experiments.plan.prepared import Prepared
from boostsample.experiments.plan.variants import Variant

_WIDTH = 100


def grid_toml(grid: Grid, prepared: Sequence[Prepared]) -> str:
    """The content of ``grid.toml``, from a grid and its plan fitted to each of its data sets."""
    plan = grid.plan
    families = [_families(one) for one in prepared]
    undrawn = {variant.label: variant for variant in plan.undrawn}
    strategies = [[_entry(undrawn[v.label]) for v in one.variants] for one in prepared]
    shared = all(one == families[0] for one in families)
    data: list[Any] = []
    for given, one, names in zip(grid.data, prepared, families, strict=True):
        is_named = given.name.partition("(")[0] in dataset_names()
        own = {} if is_named else dict(given.options)
        entry = {"path" if own else "name": one.data.name if is_named else given.name, **own}
        if not shared:
            entry["families"] = names
        data.append(entry if len(entry) > 1 else entry["name"])
    entries = {
        "title": grid.title or None,
        "data": data,
        # If some data sets leave out `full`, the default strategies must stay the default.
        "strategies": strategies[0] if all(one == strategies[0] for one in strategies) else None,
        "families": families[0] if shared else None,
        "rounds": list(plan.marks),
        "repeats": plan.repeats,
        "budget": plan.budget,
        "weight_init": plan.weights,
        "learner": plan.learner,
        **plan.step_settings,
        "seed": plan.seed,
        "draws": plan.draws,
        "score_every": plan.score_every,
        "bank": plan.bank.label,
        "history": plan.history or None,
    }
    return to_toml({key: value for key, value in entries.items() if value is not None})


def _families(prepared: Prepared) -> list[Any]:
    given = prepared.plan.families
    if given is None:
        return [family.name for family in prepared.families]
    return [_entry(variant) for variant in given]


def _entry(variant: Variant) -> str | dict[str, Any]:
    """A variant as text, or as a table if it is tuned or its settings cannot be read from text."""
    settings = dict(variant.settings)
    if not variant.grid and dict(Variant.parse(variant.label).settings) == settings:
        return variant.label
    for key in variant.grid[0].settings if variant.grid else ():
        values = list({repr(one.settings[key]): one.settings[key] for one in variant.grid}.values())
        if len(values) > 1:  # others are fixed, or come from the strategy's own tuning grid
            settings[key] = values
    return {"name": variant.name, **settings}


def to_toml(entries: Mapping[str, Any]) -> str:
    """Entries as TOML: numbers, text, true and false, lists and tables of these.

    >>> print(to_toml({"rounds": [1, 2], "data": [{"name": "usps"}]}), end="")
    rounds = [1, 2]
    data = [{ name = "usps" }]
    """
    lines = []
    for key, value in entries.items():
        line = f"{key} = {_value(value)}"
        if len(line) > _WIDTH and isinstance(value, list):
            line = "\n".join([f"{key} = [", *(f"  {_value(one)}," for one in value), "]"])
        lines.append(line)
    return "\n".join(lines) + "\n"


def _value(value: Any) -> str:
    if isinstance(value, bool | None):  # TOML has no null; settings read the text "none" as None
        return '"none"' if value is None else str(value).lower()
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{key} = {_value(one)}' for key, one in value.items())} }}"
    return repr(value)
