"""Joins results folders of different learners, whose labels then name the learner."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from boostsample.errors import SettingError
from boostsample.experiments.plan.variants import CHARGED_VARIANT, Variant
from boostsample.experiments.results.read_folder import Results
from boostsample.experiments.results.run_curves import (
    check_disjoint_curves,
    curves_of_data,
    with_labels,
)
from boostsample.experiments.results.runs import Run
from boostsample.experiments.results.titles import is_charged, label_of

if TYPE_CHECKING:
    import pandas as pd

_SAME = {
    "sha256": "examples (sha256)",
    "split": "splits",
    "n_train": "splits",
    "n_test": "splits",
    "seed": "seed",
    "families": "families",
    "weights": "initial weights (weight_init)",
    "budget": "budget",
}
"""What results must share to be joined, by its name in their settings, in words."""


def joined_results(results: Sequence[Results]) -> list[Results]:
    """Results of several learners with labels as ``laminating (tree:n_leaves=8)``.

    Those on the same data set become one, with the marks that all have, or else the last number of
    rounds that all have. Results of one learner stay as they are.

    SettingError if a data set has the same learner twice, or other examples, splits, families or
    settings.
    """
    if len({learner for part in results for learner in part.learners}) < 2:
        return list(results)
    parts: dict[str, list[Results]] = {}
    for whole in results:
        for name in whole.names:
            parts.setdefault(name, []).append(whole.part(name))
    return [_joined(name, of_data) for name, of_data in parts.items()]


def _joined(name: str, parts: Sequence[Results]) -> Results:
    """The results on one data set as one."""
    import pandas as pd

    learners = [learner for part in parts for learner in part.learners]
    check_disjoint_curves([name] * max(map(learners.count, learners)))
    settings = [{**part.settings, **part.settings_of(name)} for part in parts]
    for key, title in _SAME.items():
        known = [of_part[key] for of_part in settings if key in of_part]
        if any(value != known[0] for value in known):
            raise SettingError(
                f"the results of '{name}' must have the same {title} to be compared by learner "
                f"({', '.join(learners)}); run one of them again like the other"
            )
    shared = set.intersection(*(set(curves_of_data([part])[name].points) for part in parts))
    if not shared:
        raise SettingError(f"the results of '{name}' have no number of rounds in common")
    marks = sorted(shared & {mark for part in parts for mark in part.settings["rounds"]})
    notes = [note for part in parts for note in _notes(part, name)]
    entry = {**parts[0].settings_of(name), "notes": list(dict.fromkeys(notes))}
    entry.pop("strategies", None)  # their labels lack the learner
    whole = all(part.has_curves for part in parts)
    tables = [_with_learner(part.table if whole else part.at_marks) for part in parts]
    return Results(
        {
            **parts[0].settings,
            "rounds": marks or [max(shared)],
            "repeats": max(int(part.settings.get("repeats", 0)) for part in parts),
            "data_sets": [entry],
            "curves": whole,
        },
        pd.concat(tables, ignore_index=True),
        missing=sum(part.missing for part in parts),
        runs=[_run_with_learner(run) for part in parts for run in part.runs],
    )


def _with_learner(table: pd.DataFrame) -> pd.DataFrame:
    """A table whose labels name the learner."""
    pairs = zip(with_labels(table)["label"], table["learner"], strict=True)
    names = [
        f"{label.removesuffix(CHARGED_VARIANT)} ({learner})"
        f"{CHARGED_VARIANT if is_charged(label) else ''}"
        for label, learner in pairs
    ]
    return table.assign(strategy=np.array(names, object), settings="")


def _notes(part: Results, name: str) -> list[str]:
    """The notes of a data set; those on a strategy name the learner."""
    (learner,) = part.learners
    labels = set(with_labels(part.table)["label"])
    notes = []
    for note in part.settings_of(name).get("notes", ()):
        label, colon, text = note.partition(": ")
        notes.append(f"{label} ({learner}){colon}{text}" if label in labels else note)
    return notes


def _run_with_learner(run: Run) -> Run:
    label = Variant(f"{label_of(run.row_names)} ({run.learner})")
    return replace(run, variant=label, trained=label)
