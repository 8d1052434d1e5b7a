"""Growth of grids: whether a grid contains another one, whose results folder it may continue."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from boostsample.errors import SettingError
from boostsample.experiments.plan.variants import Variant

_Group = tuple[str, str, int, tuple[str, ...]]


def check_growth(
    old: Mapping[str, Any],
    new: Mapping[str, Any],
    with_same_rounds: Mapping[str, Any],
    place: str,
) -> None:
    """Raise SettingError, with the difference, if the old grid has rows that the new one lacks.

    The arguments are contents of ``grid.json``; `with_same_rounds` is the new grid with the cells
    that it would have with the number of rounds of the old one.
    """
    before, now = _groups(old), _groups(with_same_rounds)
    lost = before - now
    shrunk = bool(old["history"]) and not new["history"]
    if not lost and set(old["rounds"]) <= set(new["rounds"]) and not shrunk:
        return
    faults = [
        f"{name} was {_text(old[name])}, is {_text(value)}"
        for name, value in new.items()
        if name not in ("format", "data_sets")
        and old[name] != value
        and not (name == "rounds" and set(old[name]) <= set(value))
    ]
    names = sorted({group[:3] for group in lost} - {group[:3] for group in now})
    if names and not faults:
        faults.append(f"{' '.join(map(str, names[0]))} is not in the new one (name it, too)")
    if not faults and lost:
        data, label, *_ = min(lost)
        faults.append(f"{label} of {data} has other rows, families, values to tune or code")
    raise SettingError(
        f"the results folder {place} holds another grid: {'; '.join(faults)}; a "
        "grid may grow there (more strategies, data sets, repetitions or rounds), but must "
        "keep all its rows: name another folder"
    )


def _text(value: Any) -> str:
    if isinstance(value, dict):
        settings = (f"{key}={one}" for key, one in value.items() if key != "form")
        return ":".join([str(value["form"]), *settings])
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def _groups(record: Mapping[str, Any]) -> set[_Group]:
    """Data set, strategy, repetition and keys of each task group of a ``grid.json``."""
    return {
        (
            data["name"],
            Variant(group["name"], group["settings"]).label,
            group["repetition"],
            tuple(group["keys"]),
        )
        for data in record["data_sets"]
        for group in data["searches"]
    }
