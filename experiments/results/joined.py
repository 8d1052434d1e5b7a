"""Joins results folders of different learners, whose labels then name the learner."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from boostsample.errors import SettingError
from boostsample.experiments.plan.variants import CHARGED_VARIANT, Variant
from boostsample.experiments.results.read_folder import Results
from boostsample.experiments.results.run_curves import check_disjoint_curves, curves_of_results
from boostsample.experiments.results.runs import Run
from boostsample.experiments.results.titles import is_charged, label_of, learners_of

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
    if len(learners_of(row for part in results for row in part.rows)) < 2:
        return list(results)
    parts: dict[str, list[Results]] = {}
    for whole in results:
        for name in dict.fromkeys(str(row["data"]) for row in whole.rows):
            parts.setdefault(name, []).append(whole.part(name))
    return [_joined(name, of_data) for name, of_data in parts.items()]


def _joined(name: str, parts: Sequence[Results]) -> Results:
    """The results on one data set as one."""
    learners = [learner for part in parts for learner in learners_of(part.rows)]
    check_disjoint_curves([name] * max(map(learners.count, learners)))
    first = parts[0]
    for key, title in _SAME.items():
        entries = [{**part.settings, **part.settings_of(name)} for part in parts]
        known = [entry_of_part[key] for entry_of_part in entries if key in entry_of_part]
        if any(value != known[0] for value in known):
            raise SettingError(
                f"the results of '{name}' must have the same {title} to be compared by learner "
                f"({', '.join(learners)}); run one of them again like the other"
            )
    points = [set(curves.points) for part in parts for curves in curves_of_results(part)]
    shared = set.intersection(*points)
    if not shared:
        raise SettingError(f"the results of '{name}' have no number of rounds in common")
    marks = sorted(shared & {mark for part in parts for mark in part.settings["rounds"]})
    notes = [note for part in parts for note in _notes(part, name)]
    entry = {**first.settings_of(name), "notes": list(dict.fromkeys(notes))}
    entry.pop("strategies", None)  # their labels lack the learner
    whole = all(part.curves for part in parts)
    settings = {
        **first.settings,
        "rounds": marks or [max(shared)],
        "repeats": max(int(part.settings.get("repeats", 0)) for part in parts),
        "data_sets": [entry],
        "curves": whole,
    }
    return replace(
        first,
        settings=settings,
        table=[
            _with_learner(row) for part in parts for row in (part.curves if whole else part.rows)
        ],
        history=[],
        missing=sum(part.missing for part in parts),
    )


def _with_learner(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row whose label names the learner."""
    label = label_of(row)
    plain = label.removesuffix(CHARGED_VARIANT)
    ending = CHARGED_VARIANT if is_charged(label) else ""
    return {**row, "strategy": f"{plain} ({row['learner']}){ending}", "settings": ""}


def _notes(part: Results, name: str) -> list[str]:
    """The notes of a data set; those on a strategy name the learner."""
    (learner,) = learners_of(part.rows)
    labels = {label_of(row) for row in part.rows}
    notes = []
    for note in part.settings_of(name).get("notes", ()):
        label, colon, text = note.partition(": ")
        notes.append(f"{label} ({learner}){colon}{text}" if label in labels else note)
    return notes


def joined_runs(folders: Sequence[Mapping[str, Sequence[Run]]]) -> dict[str, list[Run]]:
    """The runs of several folders by data set, with labels as in `joined_results`.

    SettingError if two folders have the same data set and learner.
    """
    every = [(name, list(runs)) for runs_by_data in folders for name, runs in runs_by_data.items()]
    if len({run.learner for _, runs in every for run in runs}) < 2:
        check_disjoint_curves(name for name, _ in every)
        return dict(every)
    joined: dict[str, list[Run]] = {}
    for name, runs in every:
        there = {run.learner for run in joined.get(name, ())}
        check_disjoint_curves([name] * (1 + len(there & {run.learner for run in runs})))
        joined.setdefault(name, []).extend(map(_run_with_learner, runs))
    return joined


def _run_with_learner(run: Run) -> Run:
    label = Variant(f"{label_of(run.row_names)} ({run.learner})")
    return replace(run, variant=label, trained=label)
