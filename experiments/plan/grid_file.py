"""Grids as TOML files, checked at once with all their errors.

    title = "Three strategies on two data sets"
    data = ["digits", { name = "usps", families = ["identity", "haar"] }]
    strategies = [
      "uniform-naive",
      "laminating:scheme=distinct",
      { name = "ucb", exploration = [0.02, 2], reward_scale = [1, 30, 1000] },
    ]
    rounds = [10, 100, 1000]
    repeats = 10
    budget = "10N"

Entries have the names, meanings and defaults of the options of `boostsample compare`. A strategy is
text as there, or a table of its name and settings: an array stands for alternatives, which are
tuned over, and ``tune = true`` searches the strategy's own grid.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from boostsample.errors import DataError, SettingError, unknown
from boostsample.experiments.common.faults import Faults
from boostsample.experiments.common.files import reason
from boostsample.experiments.plan.plan import Plan, parse_marks
from boostsample.experiments.plan.variants import Alternatives, Variant, read_value

__all__ = ["DataEntry", "GridFile", "read_grid_file", "shipped_grids"]


@dataclass(frozen=True)
class DataEntry:
    """A data set of a grid.

    Parameters
    ----------
    name : str
        As `boostsample.experiments.data.datasets.load_dataset` takes it.
    families : tuple of Variant or None
        Families of this data set; None: those of the plan.
    """

    name: str
    families: tuple[Variant, ...] | None = None

    def plan(self, common: Plan) -> Plan:
        """The plan for this data set."""
        return common if self.families is None else replace(common, families=self.families)


@dataclass(frozen=True)
class GridFile:
    """A grid's file as read.

    Parameters
    ----------
    path : Path
    entries : mapping
        Parsed, by name; only those that are there.
    """

    path: Path
    entries: Mapping[str, Any]


def shipped_grids() -> dict[str, Path]:
    """Files of the grids that come with the package, by name."""
    folder = Path(__file__).parent / "grids"
    return {path.stem: path for path in sorted(folder.glob("*.toml"))}


def read_grid_file(name_or_path: str | os.PathLike[str]) -> GridFile:
    """Read a grid that comes with the package, or a file.

    Raises
    ------
    SettingError
        There is none, or it has errors: the message tells all of them, each with its place.
    DataError
        It cannot be read.
    """
    shipped = shipped_grids()
    path = shipped.get(os.fspath(name_or_path), Path(name_or_path))
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        hint = "or the path of a .toml file"
        raise SettingError(f"{unknown('grid', name_or_path, shipped)}, {hint}") from None
    except OSError as error:
        raise DataError(f"the grid '{path}' cannot be read: {reason(error)}") from error
    try:
        found = tomllib.loads(content.decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingError(f"the grid '{path}' must be TOML in UTF-8: {error}") from error
    faults = Faults()
    entries = {}
    for name, value in found.items():
        with faults.at(name):
            if name not in _ENTRIES:
                raise unknown("entry", name, _ENTRIES)
            entries[name] = _ENTRIES[name](name, value, faults)
    if entries.get("tune") and "strategies" in entries and not faults:
        with faults.at("strategies"):
            Plan(strategies=entries["strategies"], tune=True)
    faults.raise_all(f"the grid '{path}'")
    return GridFile(path, entries)


def _wrong(name: str, rule: str, value: Any) -> SettingError:
    return SettingError(f"{name} must be {rule}, got {value!r}")


def _text(name: str, value: Any, faults: Faults) -> str:
    if not isinstance(value, str):
        raise _wrong(name, "text in quotes", value)
    return value


def _yes_or_no(name: str, value: Any, faults: Faults) -> bool:
    if not isinstance(value, bool):
        raise _wrong(name, "true or false", value)
    return value


def _field(field: str) -> Callable[[str, Any, Faults], Any]:
    """What a field of the plan takes, checked by the plan."""

    def read(name: str, value: Any, faults: Faults) -> Any:
        if isinstance(value, list | dict | bool | float):
            raise _wrong(name, "a number or text", value)
        checked: Any = {field: value}
        Plan(**checked)
        return value

    return read


def _rounds(name: str, value: Any, faults: Faults) -> tuple[int, ...]:
    if isinstance(value, str):
        marks = parse_marks(value)
    elif isinstance(value, list):
        marks = tuple(value)
    else:
        raise _wrong(name, "an array of whole numbers as in [10, 100]", value)
    Plan(marks=marks)
    return marks


def _bank(name: str, value: Any, faults: Faults) -> Variant:
    bank = Variant.parse(_text(name, value, faults))
    Plan(bank=bank)
    return bank


def _array(name: str, value: Any) -> list[Any]:
    given = [value] if isinstance(value, str) else value
    if not isinstance(given, list) or not given:
        raise _wrong(name, "an array with at least one entry", value)
    return given


def _families(name: str, value: Any, faults: Faults) -> tuple[Variant, ...]:
    variants: list[Variant] = []
    for number, entry in enumerate(_array(name, value), start=1):
        with faults.at(f"{name}[{number}]"):
            variant = _variant(name, entry)
            if any(one.label == variant.label for one in variants):
                raise SettingError(f"each must be there once, got {variant.label!r} twice")
            variants.append(variant)
    return tuple(variants)


def _strategies(name: str, value: Any, faults: Faults) -> tuple[Variant, ...]:
    variants: list[Variant] = []
    for number, entry in enumerate(_array(name, value), start=1):
        with faults.at(f"{name}[{number}]"):
            tune = False
            if isinstance(entry, dict) and "tune" in entry:
                entry = dict(entry)
                tune = _yes_or_no("tune", entry.pop("tune"), faults)
            variant = _variant(name, entry)
            if tune or any(isinstance(v, Alternatives) for v in variant.settings.values()):
                variant = variant.tuned()
            Plan(strategies=(variant,))
            Plan(strategies=(*variants, variant))
            variants.append(variant)
    return tuple(variants)


def _variant(kind: str, entry: Any) -> Variant:
    """A strategy or family from text, or from a table of name and settings."""
    if isinstance(entry, str):
        return Variant.parse(entry)
    if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
        raise _wrong(
            f"an entry of {kind}",
            'text as in "laminating:n_features=64", or a table with a name as in '
            '{ name = "laminating", n_features = 64 }',
            entry,
        )
    settings = {key: _setting(key, value) for key, value in entry.items() if key != "name"}
    return Variant(entry["name"], settings)


def _setting(key: str, value: Any) -> Any:
    if isinstance(value, list):
        if len(value) < 2:
            raise _wrong(key, "one value, or an array of two or more alternatives", value)
        return Alternatives(tuple(_setting(key, one) for one in value))
    if isinstance(value, str):
        return read_value(value)
    if isinstance(value, bool | int | float):
        return value
    raise _wrong(key, "a number, text, true or false, or an array of these", value)


def _data(name: str, value: Any, faults: Faults) -> tuple[DataEntry, ...]:
    found: list[DataEntry] = []
    for number, entry in enumerate(_array(name, value), start=1):
        place = f"{name}[{number}]"
        with faults.at(place):
            if isinstance(entry, str):
                made = DataEntry(entry)
            elif isinstance(entry, dict) and isinstance(entry.get("name"), str):
                for key in entry.keys() - {"name", "families"}:
                    raise unknown("entry of a data set", key, ("name", "families"))
                own = entry.get("families")
                families = None if own is None else _families(f"{place}.families", own, faults)
                made = DataEntry(entry["name"], families)
            else:
                raise _wrong(
                    "a data set",
                    'text, or a table as in { name = "usps", families = [...] }',
                    entry,
                )
            if any(one.name == made.name for one in found):
                raise SettingError(f"each data set must be there once, got {made.name!r} twice")
            found.append(made)
    return tuple(found)


_ENTRIES: dict[str, Callable[[str, Any, Faults], Any]] = {
    "title": _text,
    "data": _data,
    "strategies": _strategies,
    "tune": _yes_or_no,
    "families": _families,
    "bank": _bank,
    "rounds": _rounds,
    "repeats": _field("repeats"),
    "budget": _field("budget"),
    "weights": _field("weights"),
    "learner": _field("learner"),
    "seed": _field("seed"),
    "history": _yes_or_no,
}
