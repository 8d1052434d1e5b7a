"""Records of a comparison for ``grid.json`` and ``settings.json``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from boostsample.banks.bank_forms import bank_settings
from boostsample.experiments.cells.tasks import TaskGroup, task_groups
from boostsample.experiments.common.machine import machine, versions
from boostsample.experiments.plan.plan import Plan
from boostsample.experiments.plan.prepared import Prepared
from boostsample.experiments.plan.variants import Variant, plain_setting
from boostsample.experiments.results.comparison import Comparison
from boostsample.experiments.results.tuning import tuning_record
from boostsample.loop.numerics import NUMERICS

__all__ = ["grid_record", "settings_record"]


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
    return {
        "name": variant.name,
        "settings": {k: plain_setting(v) for k, v in variant.settings.items()},
    }


def grid_record(prepared: Sequence[Prepared]) -> dict[str, Any]:
    """The content of ``grid.json``: the settings of a grid and the file of each cell."""
    return {
        **_plan_record(prepared[0].plan),
        "data_sets": [
            {**_splits(one), "searches": [_group_record(group) for group in task_groups(one)]}
            for one in prepared
        ],
    }


def _splits(prepared: Prepared) -> dict[str, Any]:
    """Name of the data, sizes by repetition, and whether the splits of repetitions differ."""
    return {
        "name": prepared.data.name,
        "split": "drawn" if prepared.data.n_train is None else "fixed",
        "n_train": [len(train) for train, _ in prepared.splits],
        "n_test": [len(test) for _, test in prepared.splits],
    }


def _group_record(group: TaskGroup) -> dict[str, Any]:
    return {
        **_variant_record(group.variant),
        "grid": [_variant_record(one) for one in group.variant.grid],
        "repetition": group.repetition,
        "budgets": [task.budget for task in group.tasks],
        "keys": [task.key for task in group.tasks],
        "files": [task.file_name for task in group.tasks],
    }


def settings_record(comparisons: Sequence[Comparison]) -> dict[str, Any]:
    """The content of ``settings.json``: everything needed to repeat comparisons of one plan."""
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
    return {
        **_splits(prepared),
        "sha256": prepared.digest,
        "shape": list(prepared.data.X.shape),
        "classes": list(prepared.data.classes),
        "families": [
            {"name": f.name, "n_features": f.n_features, "settings": f.settings()}
            for f in prepared.families
        ],
        "strategies": [_strategy_record(variant, comparison) for variant in prepared.variants],
        "notes": list(comparison.notes),
    }


def _cells_record(comparisons: Sequence[Comparison]) -> dict[str, Any]:
    """When and where the kept cells were trained, possibly by earlier commands elsewhere."""
    about = [one.cell.about for comparison in comparisons for one in comparison.runs]
    started = sorted(str(one["started"]) for one in about)
    return {
        "first": started[0],
        "last": started[-1],
        "seconds": sum(float(one["wall"]) for one in about),
        "machines": _different([one["machine"] for one in about]),
        "versions": _different([one["versions"] for one in about]),
    }


def _different(values: Sequence[Any]) -> list[Any]:
    return [json.loads(text) for text in dict.fromkeys(map(json.dumps, values))]


def _strategy_record(variant: Variant, comparison: Comparison) -> dict[str, Any]:
    """A strategy with its parameters; the tuned ones are listed with the tuning instead."""
    prepared, seed = comparison.prepared, comparison.prepared.plan.seed
    runs = [one for one in comparison.runs if one.variant is variant]
    tuned = {key for one in variant.grid for key in one.settings} - set(variant.settings)
    return {
        "strategy": runs[0].row_names["strategy"],
        "settings": variant.settings_text,
        "parameters": {
            key: plain_setting(value)
            for key, value in variant.strategy().get_params().items()
            if key not in tuned
        },
        "budget": [one.budget for one in runs],
        "stream": [
            str(one.trained.stream(prepared.data.name, seed, one.repetition).entropy)
            for one in runs
        ],
        **(tuning_record(variant, runs) if variant.grid else {}),
    }
