"""What a results folder tells of itself: which cells its grid has, and all needed to repeat it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from boostsample.banks.forms import bank_settings
from boostsample.errors import SettingError
from boostsample.experiments.cells.tasks import Search, plain, searches_of
from boostsample.experiments.cells.training import machine, versions
from boostsample.experiments.plan.plan import Plan, Prepared
from boostsample.experiments.plan.variants import Variant
from boostsample.experiments.results.comparison import Comparison
from boostsample.experiments.results.tuning import tuning_record
from boostsample.numerics import NUMERICS

__all__ = ["check_growth", "grid_record", "settings_of"]

_PLAN = ("learner", "rounds", "repeats", "budget", "weights", "seed", "bank", "history")
"""What a grid has in common, by the names of the record and of the files of grids."""


def _plan_record(plan: Plan) -> dict[str, Any]:
    """The settings that all data sets of a grid share."""
    return {
        "learner": plan.learner,
        "rounds": list(plan.marks),
        "repeats": plan.repeats,
        "budget": None if plan.budget is None else str(plan.budget),
        "weights": plan.weights,
        "seed": plan.seed,
        "bank": {"form": plan.bank.name, **bank_settings(plan.bank.name, plan.bank.settings)},
        "history": plan.history,
    }


def _variant_record(variant: Variant) -> dict[str, Any]:
    return {"name": variant.name, "settings": {k: plain(v) for k, v in variant.settings.items()}}


def grid_record(prepared: Sequence[Prepared]) -> dict[str, Any]:
    """The grid of a folder, as JSON takes it: its settings, and the file of each cell."""
    return {
        **_plan_record(prepared[0].plan),
        "data_sets": [
            {**_splits(one), "searches": [_search_record(s) for s in searches_of(one)]}
            for one in prepared
        ],
    }


def _splits(prepared: Prepared) -> dict[str, Any]:
    """Name of the data, sizes by repetition, and whether all repetitions have the same split."""
    return {
        "name": prepared.data.name,
        "split": "drawn" if prepared.data.n_train is None else "fixed",
        "n_train": [len(train) for train, _ in prepared.splits],
        "n_test": [len(test) for _, test in prepared.splits],
    }


def _search_record(search: Search) -> dict[str, Any]:
    return {
        **_variant_record(search.variant),
        "grid": [_variant_record(one) for one in search.variant.grid],
        "repetition": search.repetition,
        "budgets": [task.budget for task in search.tasks],
        "keys": [task.key for task in search.tasks],
        "files": [task.file_name for task in search.tasks],
    }


def check_growth(old: Mapping[str, Any], new: Mapping[str, Any], place: str) -> None:
    """Refuse a grid that would take rows out of a folder's results; more rows are welcome.

    Raises
    ------
    SettingError
        The folder holds another grid; the message says what differs.
    """
    lost = _searches(old) - _searches(new)
    shrunk = bool(old["history"]) and not new["history"]
    if not lost and set(old["rounds"]) <= set(new["rounds"]) and not shrunk:
        return
    differing = [name for name in _PLAN if old[name] != new[name]]
    told = [f"{name} was {_text(old[name])}, is {_text(new[name])}" for name in differing]
    names = sorted({search[:3] for search in lost} - {search[:3] for search in _searches(new)})
    if names and not told:
        told.append(f"{' '.join(map(str, names[0]))} is not in the new one")
    raise SettingError(
        f"the results folder {place} holds another grid: {'; '.join(told) or 'other data'}; a grid "
        "may grow there (more strategies, data sets, repetitions or rows between), but loses no "
        "row: name another folder"
    )


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return ":".join(
            [str(value["form"]), *(f"{k}={v}" for k, v in value.items() if k != "form")]
        )
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def _searches(record: Mapping[str, Any]) -> set[tuple[str, str, int, tuple[str, ...]]]:
    return {
        (
            data["name"],
            Variant(search["name"], search["settings"]).label,
            search["repetition"],
            tuple(search["keys"]),
        )
        for data in record["data_sets"]
        for search in data["searches"]
    }


def settings_of(comparisons: Sequence[Comparison]) -> dict[str, Any]:
    """Everything needed to repeat comparisons that share a plan, as JSON takes it."""
    return {
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        **_plan_record(comparisons[0].prepared.plan),
        "data_sets": [_data_record(one) for one in comparisons],
        "numerics": NUMERICS,
        "versions": versions(),
        "machine": machine(),
        "cells": _cells_record(comparisons),
    }


def _data_record(comparison: Comparison) -> dict[str, Any]:
    prepared = comparison.prepared
    data = prepared.data
    return {
        **_splits(prepared),
        "sha256": prepared.digest,
        "shape": list(data.X.shape),
        "classes": list(data.classes),
        "families": [
            {"name": f.name, "n_features": f.n_features, "settings": f.settings()}
            for f in prepared.families
        ],
        "strategies": [_strategy_record(variant, comparison) for variant in prepared.variants],
        "notes": list(comparison.notes),
    }


def _cells_record(comparisons: Sequence[Comparison]) -> dict[str, Any]:
    """Where and when the kept cells were trained, which need not have been now and here."""
    cells = [one.cell for comparison in comparisons for one in comparison.runs]
    started = sorted(str(cell.about["started"]) for cell in cells)
    return {
        "first": started[0],
        "last": started[-1],
        "seconds": sum(float(cell.about["wall"]) for cell in cells),
        "machines": _different([cell.about["machine"] for cell in cells]),
        "versions": _different([cell.about["versions"] for cell in cells]),
    }


def _different(values: Sequence[Any]) -> list[Any]:
    found: list[Any] = []
    for value in values:
        if value not in found:
            found.append(value)
    return found


def _strategy_record(variant: Variant, comparison: Comparison) -> dict[str, Any]:
    """A strategy of a comparison; of a tuned one also the search, and `parameters` without it."""
    prepared, seed = comparison.prepared, comparison.prepared.plan.seed
    runs = [one for one in comparison.runs if one.variant is variant]
    searched = {key for one in variant.grid for key in one.settings} - set(variant.settings)
    return {
        "strategy": runs[0].row_names["strategy"],
        "settings": variant.settings_text,
        "parameters": {
            key: plain(value)
            for key, value in variant.strategy().get_params().items()
            if key not in searched
        },
        "budget": [one.budget for one in runs],
        "stream": [
            str(one.trained.stream(prepared.data.name, seed, one.repetition).entropy)
            for one in runs
        ],
        **(tuning_record(variant, runs) if variant.grid else {}),
    }
