"""Joins results of several setups; labels then name the values of the axes that differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from boostsample.errors import SettingError
from boostsample.experiments.plan.variants import CHARGED_VARIANT, Variant
from boostsample.experiments.results.read_folder import Results
from boostsample.experiments.results.run_curves import (
    AXIS_COLUMN,
    check_disjoint_curves,
    curves_of_data,
    with_labels,
)
from boostsample.experiments.results.runs import Run
from boostsample.experiments.results.titles import (
    SETTING_OF_AXIS,
    axis_values,
    is_charged,
    label_of,
)

if TYPE_CHECKING:
    import pandas as pd

_SAME = {
    "sha256": "examples (sha256)",
    "split": "splits",
    "n_train": "splits",
    "n_test": "splits",
    "seed": "seed",
    "families": "families",
}
"""What results must share to be joined, by its name in their settings, in words."""
_WITHIN_DATA = ("budget", "weight_init", "bank")
"""Axes that labels name only if they differ on a data set."""


def joined_results(results: Sequence[Results]) -> list[Results]:
    """Results of several setups with labels as ``laminating (budget=1N)``.

    Setups are those of a folder with axes, or of several folders. Those on the same data set become
    one, with the marks that all have, or else the last number of rounds that all have. A label
    names the axes that differ, and the bank only if nothing else does; results of one setup stay as
    they are. The settings ``axes`` of joined results list these axes, and the table has columns
    with their values, and the column `base` with the label without them.

    SettingError if a data set has the same setup twice, or other examples, splits or families.
    """
    setups = [setup for whole in results for setup in whole.setups]
    parts: dict[str, list[Results]] = {}
    for setup in setups:
        for name in setup.names:
            parts.setdefault(name, []).append(setup.part(name))
    axes = _axes(list(parts.values()))
    if not axes:
        check_disjoint_curves(name for setup in setups for name in setup.names)
        return setups
    return [_joined(name, of_data, axes) for name, of_data in parts.items()]


def values_of(part: Results) -> dict[str, str]:
    """The values of all axes of results of one setup."""
    (learner,) = part.learners or ("stump",)
    return axis_values({"learner": learner, **part.settings})


def _axes(by_data: Sequence[Sequence[Results]]) -> list[str]:
    everywhere = _different([values_of(part) for parts in by_data for part in parts])
    within = [_different([values_of(part) for part in of_data]) for of_data in by_data]
    axes = [
        axis
        for axis in everywhere
        if axis not in _WITHIN_DATA or any(axis in different for different in within)
    ]
    without_bank = [axis for axis in axes if axis != "bank"]
    tuples = ([tuple(values_of(p)[a] for a in without_bank) for p in parts] for parts in by_data)
    return without_bank if all(len(set(of)) == len(of) for of in tuples) else axes


def _different(values: Sequence[Mapping[str, str]]) -> list[str]:
    every = values[0] if values else {}
    return [axis for axis in every if len({of_setup[axis] for of_setup in values}) > 1]


def setup_label(values: Mapping[str, str], axes: Sequence[str]) -> str:
    """The values of some axes as labels have them.

    >>> setup_label({"learner": "stump", "budget": "10N"}, ["learner", "budget"])
    'stump:budget=10N'
    """
    return ":".join(values[a] if a == "learner" else f"{a}={values[a]}" for a in axes)


def _joined(name: str, parts: Sequence[Results], axes: Sequence[str]) -> Results:
    import pandas as pd

    labels = [setup_label(values_of(part), axes) for part in parts]
    check_disjoint_curves([name] * max(map(labels.count, labels)))
    settings = [{**part.settings, **part.settings_of(name)} for part in parts]
    for key, title in _SAME.items():
        values = [of_part[key] for of_part in settings]
        if key.startswith("n_"):  # of the repetitions that all have
            values = [sizes[: min(map(len, values))] for sizes in values]
        if any(value != values[0] for value in values):
            raise SettingError(
                f"the results of '{name}' must have the same {title} to be compared by "
                f"{' and '.join(axes)} ({', '.join(labels)}); run one of them again like the other"
            )
    shared = set.intersection(*(set(curves_of_data([part])[name].points) for part in parts))
    if not shared:
        raise SettingError(f"the results of '{name}' have no number of rounds in common")
    marks = sorted(shared & {mark for part in parts for mark in part.settings["rounds"]})
    pairs = list(zip(parts, labels, strict=True))
    notes, strategies = [], []
    for part, label in pairs:
        notes += _notes(part, name, label)
        named = {"named_budget": values_of(part)["budget"]} if "budget" in axes else {}
        for strategy in part.settings_of(name)["strategies"]:
            labelled = _labelled(label_of(strategy), label)
            strategies.append({**strategy, "strategy": labelled, "settings": "", **named})
    entry = {
        **parts[0].settings_of(name),
        "notes": list(dict.fromkeys(notes)),
        "strategies": strategies,
    }
    tables = [_with_setup(part, label, axes) for part, label in pairs]
    listed = {
        SETTING_OF_AXIS.get(axis, axis): ", ".join(
            dict.fromkeys(values_of(part)[axis] for part in parts)
        )
        for axis in axes
        if axis != "bank"
    }
    return Results(
        {
            **parts[0].settings,
            **listed,
            "rounds": marks or [max(shared)],
            "repeats": max(int(part.settings.get("repeats", 0)) for part in parts),
            "data_sets": [entry],
            "axes": list(axes),
        },
        pd.concat(tables, ignore_index=True),
        missing=sum(part.missing for part in parts),
        runs=[_run_with_setup(run, label) for part, label in pairs for run in part.runs],
    )


def _labelled(label: str, setup: str) -> str:
    charged = CHARGED_VARIANT if is_charged(label) else ""
    return f"{label.removesuffix(CHARGED_VARIANT)} ({setup}){charged}"


def _with_setup(part: Results, setup: str, axes: Sequence[str]) -> pd.DataFrame:
    bases = with_labels(part.table)["label"]
    names = [_labelled(label, setup) for label in bases]
    values = values_of(part)
    return part.table.assign(
        strategy=np.array(names, object),
        settings="",
        base=np.array(bases, object),
        **{f"{AXIS_COLUMN}{axis}": values[axis] for axis in axes},
    )


def _notes(part: Results, name: str, setup: str) -> list[str]:
    labels = set(with_labels(part.table)["label"])
    notes = []
    for note in part.settings_of(name).get("notes", ()):
        label, colon, text = note.partition(": ")
        notes.append(f"{_labelled(label, setup)}{colon}{text}" if label in labels else note)
    return notes


def _run_with_setup(run: Run, setup: str) -> Run:
    label = Variant(_labelled(label_of(run.row_names), setup))
    return replace(run, variant=label, trained=label)
