"""Grid files: what to compare, in TOML, completed by the options of `boostsample compare`.

A file has entries such as

    data = ["digits", { name = "usps", families = ["identity", "haar"] }]
    strategies = ["laminating", { name = "ucb", exploration = [0.02, 2], reward_scale = 30 }]
    rounds = [10, 100, 1000]
    budget = "10N"

with the names, meanings and defaults of the options. An entry of `AXES` may be an array, as in
``budget = ["1N", "10N"]``: the grid has all combinations. A strategy is a text, as in an option, or
a table of its name and settings, in which an array gives alternatives to tune over and
``tune = true`` adds the strategy's own tuning grid. A data set is a text, as in an option, or a
table such as ``{ path = "x.csv", label = "target", drop = ["ID"], families = ["columns"] }``.
All errors of a file are reported at once. ``plan.json`` of a results folder has the same entries
with everything written out: strategies, settings and families, independent of later defaults.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from boostsample.errors import DataError, SettingError, os_fault, unknown
from boostsample.experiments.common.collected_errors import Faults
from boostsample.experiments.data.datasets import dataset_names
from boostsample.experiments.data.function_sets import is_function_set
from boostsample.experiments.data.table_reader import FILE_OPTIONS, check_file_option
from boostsample.experiments.plan.plan import (
    AXES,
    DataSource,
    Plan,
    axis_key,
    parse_marks,
    whole_number,
)
from boostsample.experiments.plan.prepared import Prepared
from boostsample.experiments.plan.variants import Variant, check_different
from boostsample.files.json_text import read_json, read_toml
from boostsample.names import Alternatives, read_setting

GRID_ENTRIES = {
    {"marks": "rounds", "weights": "weight_init"}.get(setting.name, setting.name): setting.name
    for setting in fields(Plan)
    if setting.name not in ("n_jobs", "axes")
}
"""Fields of `Plan` by the names of the entries that fill them."""


def shipped_grids() -> dict[str, Path]:
    """Return the files of the grids that come with the package, by name."""
    folder = Path(__file__).parent / "grids"
    return {path.stem: path for path in sorted(folder.glob("*.toml"))}


def read_grid_file(name_or_path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read a grid that comes with the package, or a file: its parsed entries by name.

    SettingError if there is no such grid, or with all its errors and their places; DataError if the
    file cannot be read.
    """
    shipped = shipped_grids()
    path = shipped.get(os.fspath(name_or_path), Path(name_or_path))
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        hint = "or the path of a .toml file"
        raise SettingError(f"{unknown('grid', name_or_path, shipped)}, {hint}") from None
    except OSError as error:
        raise DataError(f"the grid '{path}' cannot be read: {os_fault(error)}") from error
    is_plan = path.suffix == ".json"
    try:
        parsed = dict(read_json(content)["entries"]) if is_plan else read_toml(content)
    except (KeyError, TypeError, ValueError) as error:
        rule = "the plan.json of a results folder, with entries" if is_plan else "TOML in UTF-8"
        raise SettingError(f"the grid '{path}' must be {rule}: {error}") from error
    faults = Faults()
    entries = {}
    for name, value in parsed.items():
        with faults.at(name):
            entries[name] = _entry(name, value, faults)
    faults.raise_all(f"the grid '{path}'")
    return entries


def combined_grid(file: Mapping[str, Any] | None, options: Mapping[str, Any]) -> Plan:
    """The plan of the entries of a grid file and of parsed options, named as the entries.

    SettingError if an option contradicts the file.
    """
    entries = dict(file or {})
    faults = Faults()
    for name, option in options.items():
        is_one = GRID_ENTRIES[name] in AXES and not isinstance(option, tuple)
        value = (option,) if is_one else option
        with faults.at(f"--{name.replace('_', '-')}"):
            entry = entries.setdefault(name, value)
            if entry is not value and _meaning(name, entry) != _meaning(name, value):
                raise SettingError(
                    f"the grid has another {name} than this option; leave the option out, or edit "
                    "a copy of the file"
                )
    faults.raise_all("the grid" if file else "")
    settings = {GRID_ENTRIES[name]: value for name, value in entries.items()}
    axes = {name: settings.pop(name) for name in AXES if name in settings}
    settings |= {name: values[0] for name, values in axes.items() if len(values) == 1}
    plan = Plan(**settings, axes={name: v for name, v in axes.items() if len(v) > 1})
    if plan.draws is not None and not (plan.tune or any(variant.grid for variant in plan.variants)):
        raise SettingError(
            f"draws are settings to tune with, got {plan.draws} and no tuning; add --tune, or "
            "leave them out"
        )
    return plan


def _meaning(name: str, value: Any) -> Any:
    """An entry in a form that is equal for equal meanings."""
    setting = GRID_ENTRIES[name]
    return [axis_key(setting, each) for each in value] if setting in AXES else value


def grid_entries(plan: Plan, prepared: Sequence[Prepared]) -> dict[str, Any]:
    """The entries of a grid file that makes the same cells, from a plan and its data sets.

    A path to the user's own data stays as it was given.
    """
    first = plan.setups[0]
    undrawn = {variant.label: variant for variant in first.undrawn}
    strategies = [
        [_variant_entry(undrawn[v.label]) for v in data_plan.variants] for data_plan in prepared
    ]
    of_data = prepared[:: len(plan.setups)]  # the first setup of each data set
    families = [
        [family.name for family in setup.families]
        if setup.plan.families is None
        else list(map(_variant_entry, setup.plan.families))
        for setup in of_data
    ]
    shared = all(names == families[0] for names in families)
    data: list[Any] = []
    for source, data_plan, names in zip(plan.data, of_data, families, strict=True):
        is_named = source.name.partition("(")[0] in dataset_names()
        options = {} if is_named else dict(source.options)
        name = data_plan.data.name if is_named else source.name
        entry = {"path" if options else "name": name, **options}
        if not shared:
            entry["families"] = names
        data.append(entry if len(entry) > 1 else entry["name"])
    entries = {
        "title": plan.title or None,
        "data": data,
        # If some data sets leave out `full`, the default strategies must stay the default.
        "strategies": strategies[0] if all(s == strategies[0] for s in strategies) else None,
        "families": families[0] if shared else None,
        "rounds": list(plan.marks),
        "repeats": plan.repeats,
        "budget": first.budget,
        "weight_init": first.weights,
        "learner": first.learner,
        **first.run_settings,
        **plan.limits,
        "seed": plan.seed,
        "draws": plan.draws,
        "score_every": plan.score_every,
        "bank": first.bank.label,
        "history": plan.history or None,
        "regret": plan.regret,
        "metrics": list(plan.metrics) or None,
    }
    for key, name in GRID_ENTRIES.items():
        if name in plan.axes:
            values = [v.label if isinstance(v, Variant) else v for v in plan.axes[name]]
            entries[key] = values
    return {key: value for key, value in entries.items() if value is not None}


def _variant_entry(variant: Variant) -> str | dict[str, Any]:
    """A variant as text, or as a table if it is tuned or its settings cannot be read from text."""
    settings = dict(variant.settings)
    text = ":".join(filter(None, [variant.name, variant.settings_text]))
    if not variant.grid and dict(Variant.parse(text).settings) == settings:
        return text
    for key in variant.grid[0].settings if variant.grid else ():
        tried = [point.settings[key] for point in variant.grid]
        values = list(dict(zip(map(repr, tried), tried, strict=True)).values())
        if len(values) > 1:  # others are fixed, or come from the strategy's own tuning grid
            settings[key] = values
    return {"name": variant.name, **settings}


# ---------------------------------------------------------------------------- parsers of entries


def _wrong(name: str, rule: str, value: Any) -> SettingError:
    return SettingError(f"{name} must be {rule}, got {value!r:.200}")


def _entry(name: str, value: Any, faults: Faults) -> Any:
    if name in _ITEMS:
        return _items(name, value, faults)
    if GRID_ENTRIES.get(name) in AXES:
        if not isinstance(value, list):
            return (_value(name, value),)
        if not value:
            raise _wrong(name, "a value, or an array with at least one", value)
        values = tuple(_value(name, item) for item in value)
        if len(values) > 1:
            Plan(axes={GRID_ENTRIES[name]: values})  # checks that they differ
        return values
    return _value(name, value)


def _value(name: str, value: Any) -> Any:
    if name not in _VALUES:
        raise unknown("entry", name, [*_ITEMS, *_VALUES])
    kinds, rule = _VALUES[name]
    if type(value) not in kinds:
        raise _wrong(name, rule, value)
    if name == "max_looks":
        value = whole_number(name, value)
    elif name == "rounds":
        value = parse_marks(value) if isinstance(value, str) else tuple(value)
    elif name == "metrics":
        value = tuple([value] if isinstance(value, str) else value)
    elif name == "bank":
        value = Variant.parse(value)
    elif name == "budget":
        value = str(value)  # as on the command line
    Plan(**{GRID_ENTRIES[name]: value})  # checks the range
    return value


def _items(name: str, value: Any, faults: Faults) -> tuple[Any, ...]:
    items = [value] if isinstance(value, str) else value
    if not isinstance(items, list) or not items:
        raise _wrong(name, "an array with at least one entry", value)
    parsed: list[Any] = []
    for number, item in enumerate(items, start=1):
        place = f"{name}[{number}]"
        with faults.at(place):
            found = _ITEMS[name.rpartition(".")[2]](item, parsed, place, faults)
            parsed += found.parts() if isinstance(found, DataSource) else [found]
    return tuple(parsed)


def _strategy(item: Any, before: list[Variant], place: str, faults: Faults) -> Variant:
    tune = False
    if isinstance(item, dict) and "tune" in item:
        tune = _entry("tune", item["tune"], faults)
        item = {key: value for key, value in item.items() if key != "tune"}
    variant = _variant("strategies", item)
    if tune or any(isinstance(value, Alternatives) for value in variant.settings.values()):
        variant = variant.tuned()
    Plan(strategies=(*before, variant))
    return variant


def _family(item: Any, before: list[Variant], place: str, faults: Faults) -> Variant:
    variant = _variant(place.rpartition("[")[0], item)
    check_different((*before, variant))
    return variant


def _data(item: Any, before: list[DataSource], place: str, faults: Faults) -> DataSource:
    table = {"name": item} if isinstance(item, str) else item
    source = "path" if isinstance(table, dict) and "path" in table else "name"
    if not isinstance(table, dict) or not isinstance(table.get(source), str):
        raise _wrong(
            "a data set",
            'text, or a table as in { name = "usps", families = [...] } or { path = "x.csv", '
            'label = "target" }',
            item,
        )
    entries = {key: value for key, value in table.items() if key not in (source, "families")}
    for key, value in entries.items():
        if is_function_set(table[source]):
            break  # `load_dataset` checks its settings
        if key not in FILE_OPTIONS:
            raise unknown("entry of a data set", key, ("path", "families", *FILE_OPTIONS))
        entries[key] = check_file_option(key, value)
    name, _, written = DataSource.parse(table[source])
    for key in entries.keys() & written.keys():
        raise SettingError(f"{key} must be given once, got it twice in {item!r}")
    options = {**written, **entries}
    if any((other.name, other.options) == (name, options) for other in before):
        raise SettingError(f"each data set must be given once, got {table[source]!r} twice")
    families = table.get("families")
    if families is not None:
        families = _items(f"{place}.families", families, faults)
    return DataSource(name, families, options)


def _variant(kind: str, item: Any) -> Variant:
    if isinstance(item, str):
        return Variant.parse(item)
    if not isinstance(item, dict) or not isinstance(item.get("name"), str):
        raise _wrong(
            f"an entry of {kind}",
            'text as in "laminating:n_features=64", or a table with a name as in '
            '{ name = "laminating", n_features = 64 }',
            item,
        )
    settings = {key: _setting(key, value) for key, value in item.items() if key != "name"}
    return Variant(item["name"], settings)


def _setting(key: str, value: Any) -> Any:
    if isinstance(value, list):
        if len(value) < 2:
            raise _wrong(key, "one value, or an array of two or more alternatives", value)
        return Alternatives(tuple(_setting(key, alternative) for alternative in value))
    if isinstance(value, str):
        return read_setting(value)
    if value is None or isinstance(value, bool | int | float):  # TOML has no None, plan.json has
        return value
    raise _wrong(key, "a number, text, true or false, or an array of these", value)


_ITEMS: dict[str, Callable[..., Any]] = {
    "data": _data,
    "strategies": _strategy,
    "families": _family,
}
"""Parsers of the items of arrays: item, items before it, its place in the file, errors."""
_NUMBERS = ("repeats", "budget", "weight_init", "learner", "objective", "seed", "draws")
_TEXTS = ("title", "bank", "code", "decoding")
_VALUES: dict[str, tuple[tuple[type, ...], str]] = {
    **dict.fromkeys(_TEXTS, ((str,), "text in quotes")),
    **dict.fromkeys(("tune", "history"), ((bool,), "true or false")),
    **dict.fromkeys(_NUMBERS, ((int, str), "a number or text")),
    **dict.fromkeys(("learning_rate", "smoothing"), ((int, float), "a number as in 0.1")),
    "max_seconds": ((int, float), "a number of seconds as in 60"),
    "max_looks": ((int, float), "a whole number of looks as in 1e9"),
    "max_cost": ((int, float), "a number of nominal seconds as in 60"),
    "regret": ((int,), "a whole number of rounds as in 10, or 0"),
    "score_every": ((int, float), "a percentage as in 1"),
    "metrics": ((list, str), 'text as in "my_file.py:f", or an array of it'),
    "rounds": ((list, str), "an array of whole numbers as in [10, 100]"),
}
"""Types of the other entries, and how messages describe them."""
