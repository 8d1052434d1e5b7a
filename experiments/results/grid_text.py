"""The grid of a results folder as a TOML file, which `boostsample compare --grid` takes again.

Every strategy, setting and family that took part is written out, so that the file asks for the same
cells when the defaults of a later version differ.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from boostsample.banks.forms import BANKS
from boostsample.errors import BoostSampleError
from boostsample.experiments.cells.tasks import families_digest
from boostsample.experiments.data.datasets import dataset_names
from boostsample.experiments.plan.plan import DEFAULT_STRATEGIES
from boostsample.experiments.plan.variants import TUNED, Variant
from boostsample.registry import default_families

__all__ = ["grid_text", "usual_families"]

_WIDTH = 100
_OWN_FILE = "a file of your own: its path goes here"
_UNKNOWN_FAMILIES = "which families, only complete results tell: add them if you had chosen some"


def grid_text(
    settings: Mapping[str, Any],
    grid: Mapping[str, Any] | None = None,
    families: Mapping[str, Sequence[str] | None] | None = None,
) -> str:
    """The text of a grid's file that asks for the very cells of a results folder.

    Parameters
    ----------
    settings : mapping
        Of ``settings.json``, or of ``grid.json`` while the folder is not complete.
    grid : mapping, optional
        Of ``grid.json``, where it is there: its settings have their types. Without it they are read
        from text.
    families : mapping of str to sequence of str or None, optional
        Names of the families of a data set where `settings` does not tell them; None: not known.

    Returns
    -------
    str
        TOML. What a file cannot know, such as where a user's own data are, stands in a comment.
    """
    typed = {} if grid is None else {data["name"]: data for data in grid["data_sets"]}
    data_sets = [
        _Data(data, typed.get(data["name"], data), settings, (families or {}).get(data["name"]))
        for data in settings["data_sets"]
    ]
    lines = [f"title = {_value(settings['title'])}"] if settings.get("title") else []
    shared = data_sets[0].families
    if any(one.families != shared for one in data_sets):
        shared = None
    elif shared is None:
        lines.append(f"# {_UNKNOWN_FAMILIES}")
    entries = [one.entry(shared) for one in data_sets]
    lines += _array("data", entries, [one.comment for one in data_sets])
    lines += _shared_strategies([one.strategies for one in data_sets])
    if shared is not None:
        lines += _filled("families", list(shared))
    plain = {
        "rounds": settings["rounds"],
        "repeats": settings["repeats"],
        "budget": settings["budget"],
        "weights": settings["weights"],
        "learner": settings["learner"],
        "seed": settings["seed"],
        "bank": _bank(settings.get("bank", {"form": "memory"})),
        "history": settings.get("history") or None,
    }
    lines += [f"{key} = {_value(value)}" for key, value in plain.items() if value is not None]
    return "\n".join(lines) + "\n"


def _shared_strategies(lists: Sequence[Sequence[str]]) -> list[str]:
    """All strategies; the default ones by their absence where `full` had been left out of some."""
    union = list(dict.fromkeys(text for one in lists for text in one))
    usual = [_value(name) for name in DEFAULT_STRATEGIES]
    if set(union) == set(usual) and any(len(one) < len(union) for one in lists):
        return ["# strategies: the usual ones, full where it does not take too long"]
    return _array("strategies", union)


class _Data:
    """A data set of the record, as entries of a file."""

    def __init__(
        self,
        told: Mapping[str, Any],
        typed: Mapping[str, Any],
        settings: Mapping[str, Any],
        names: Sequence[str] | None,
    ) -> None:
        self.name = str(told["name"])
        self.strategies = list(dict.fromkeys(map(_strategy, _searches(typed))))
        self.families = names if "families" not in told else _families(told, settings["seed"])
        self.path, self.comment = self.name, ""
        if self.name.partition("(")[0] not in dataset_names():
            given = [str(word) for word in settings.get("command", ())]
            same = [word for word in given if _stem(word) == self.name and word != self.name]
            self.path = same[0] if same else self.name
            self.comment = "" if same else _OWN_FILE

    def entry(self, shared: Sequence[str] | None) -> str:
        """As an entry of ``data``, with families of its own where they are not shared."""
        if shared is not None or self.families is None:
            return _value(self.path)
        names = _value(list(self.families))
        return f"{{ name = {_value(self.path)}, families = {names} }}"


def _stem(path: str) -> str:
    return Path(Path(path).name.removesuffix(".gz")).stem


def _searches(data: Mapping[str, Any]) -> list[tuple[str, dict[str, Any], list[dict[str, Any]]]]:
    """Name, settings and grid of each strategy; of a tuned one those settings that it shares."""
    if "searches" in data:
        return [
            (one["name"], one["settings"], [each["settings"] for each in one["grid"]])
            for one in data["searches"]
        ]
    found = []
    for one in data["strategies"]:
        name = one["strategy"].partition(TUNED)[0]
        grid = [_read(name, text) for text in one.get("grid", ())]
        found.append((name, _read(name, one["settings"]), grid))
    return found


def _read(name: str, text: str) -> dict[str, Any]:
    return dict(Variant.parse(f"{name}:{text}" if text else name).settings)


def _strategy(search: tuple[str, Mapping[str, Any], Sequence[Mapping[str, Any]]]) -> str:
    """A strategy as an entry of ``strategies``: text, or a table where its settings are tuned."""
    name, settings, grid = search
    if not grid:
        label = Variant(name, settings).label
        if dict(Variant.parse(label).settings) == dict(settings):
            return _value(label)
    axes = dict(settings) | {key: values for key, values in _axes(grid).items() if len(values) > 1}
    pairs = [f"{key} = {_value(value)}" for key, value in axes.items()]
    return f"{{ {', '.join([f'name = {_value(name)}', *pairs])} }}"


def _axes(grid: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """The values of each setting of a product, the one that varies slowest first."""
    first_change = {
        key: next((at for at, one in enumerate(grid) if one[key] != grid[0][key]), len(grid))
        for key in (grid[0] if grid else ())
    }
    return {
        key: [json.loads(text) for text in dict.fromkeys(json.dumps(one[key]) for one in grid)]
        for key in sorted(first_change, key=lambda key: -first_change[key])
    }


def _families(data: Mapping[str, Any], seed: int) -> list[str] | None:
    """Families of a record by name, with those settings that the default ones do not have."""
    try:
        usual = {one.name: one.settings() for one in default_families(data["shape"][1:], seed=seed)}
    except BoostSampleError:
        usual = {}
    return [
        Variant(
            one["name"],
            {
                key: value
                for key, value in one["settings"].items()
                if value != usual.get(one["name"], {}).get(key, value)
                and not isinstance(value, list | dict)
            },
        ).label
        for one in data["families"]
    ]


def usual_families(
    shape: Sequence[int], seed: int, families: Sequence[tuple[str, int]], digest: str
) -> list[str] | None:
    """Names of the families that were in use, if these were the default ones; else None.

    Parameters
    ----------
    shape : sequence of int
        Of all examples.
    seed : int
    families : sequence of (str, int)
        Name and number of features of each.
    digest : str
        Their checksum, see `boostsample.experiments.cells.tasks`. Tables are told without: in it there
        are the names of the columns, but these families have no other settings.
    """
    try:
        usual = default_families(tuple(shape[1:]), seed=seed)
    except BoostSampleError:
        return None
    names = [one.name for one in usual]
    if len(shape) == 2:
        same = [(one.name, one.n_features) for one in usual] == [tuple(one) for one in families]
    else:
        same = families_digest(usual) == digest
    return names if same else None


def _bank(record: Mapping[str, Any]) -> str:
    form = record["form"]
    usual = BANKS.get(form, {})
    given = {key: value for key, value in record.items() if key != "form"}
    return Variant(form, {k: v for k, v in given.items() if usual.get(k, v) != v}).label


def _array(key: str, entries: Sequence[str], comments: Sequence[str] = ()) -> list[str]:
    """An array on one line, or with a line for each entry where it is long or has comments."""
    line = f"{key} = [{', '.join(entries)}]"
    told = list(comments) or [""] * len(entries)
    if len(line) <= _WIDTH and not any(told):
        return [line]
    both = zip(entries, told, strict=True)
    return [
        f"{key} = [",
        *(f"  {entry},{f'  # {comment}' if comment else ''}" for entry, comment in both),
        "]",
    ]


def _filled(key: str, names: Sequence[str]) -> list[str]:
    """An array of names, as many on a line as fit."""
    lines = _array(key, [_value(name) for name in names])
    if len(lines) == 1:
        return lines
    text = ", ".join(map(_value, names)) + ","
    filler = textwrap.TextWrapper(_WIDTH, break_long_words=False, break_on_hyphens=False)
    return [lines[0], *(f"  {line}" for line in filler.wrap(text)), lines[-1]]


def _value(value: Any) -> str:
    """A value as TOML has it; it has no null, but settings read the text ``none``."""
    if value is None:
        return '"none"'
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return repr(value)
