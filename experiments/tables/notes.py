"""Notes below a table of results: how it was tested and tuned, and what is missing."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from boostsample.experiments.plan.variants import is_tuned_variant
from boostsample.experiments.results.curves import Curves
from boostsample.experiments.results.labels import is_charged, label_of
from boostsample.experiments.results.read_folder import Results
from boostsample.experiments.results.significance import LEVEL, Verdict
from boostsample.experiments.results.smoothed import SMOOTHED
from boostsample.loop.smoothed import window

_DRAWN = 1 / 3
"""n_test / n_train of drawn splits, which test on a quarter (`Dataset.split`)."""


def overlap_for_notes(facts: Mapping[str, Any]) -> float:
    """n_test / n_train if each repetition draws a split, 0 if all share one.

    Folders of earlier versions do not record the split. They are treated as drawn, which errs
    towards fewer differences.

    >>> overlap_for_notes({"split": "drawn", "n_train": [60, 60], "n_test": [20, 20]})
    0.3333333333333333
    """
    if facts.get("split") == "fixed":
        return 0.0
    if "n_train" not in facts:
        return _DRAWN
    return statistics.fmean(
        tests / trains for tests, trains in zip(facts["n_test"], facts["n_train"], strict=True)
    )


def table_notes(
    results: Results,
    curves: Curves,
    labels: Sequence[str],
    metric: str,
    axis: str,
    levels: Sequence[float] | None,
    verdicts: Sequence[Verdict],
) -> tuple[str, ...]:
    """The notes of a table of one data set.

    `labels` are the strategies shown, `levels` those named by the user or None for the default,
    and `verdicts` the outcomes of the test at each level.
    """
    facts = results.settings_of(curves.data)
    return (
        *_test_notes(verdicts, facts),
        *_smoothing_notes(curves, metric),
        *_level_notes(axis, levels, curves.counted),
        *_tuning_notes(axis, labels, facts, curves.counted),
        *_missing_notes(results, curves, labels, facts),
    )


def _test_notes(verdicts: Sequence[Verdict], facts: Mapping[str, Any]) -> list[str]:
    if all(one.best is None for one in verdicts):
        return []
    if not any(one.p_values for one in verdicts):
        return ["no difference is tested, which takes at least two repetitions"]
    overlap = overlap_for_notes(facts)
    if overlap:
        variance = (
            "its variance corrected for training sets that overlap between repetitions, by n_test "
            f"/ n_train = {overlap:.2f} (Nadeau and Bengio 2003)"
        )
        if "split" not in facts:
            variance += ", as the results do not record whether all have the same split"
    else:
        variance = "all of them on the same split, so that it holds for this split only"
    method = (
        "the best is compared with each other strategy by a two-sided paired t-test over the "
        f"repetitions that both have, {variance}; Holm's correction (1979) for the comparisons "
        f"with one best; level {LEVEL}"
    )
    notes = [method]
    untested = sorted({label for one in verdicts for label in one.untested})
    if untested:
        names = ", ".join(untested)
        notes.append(f"not tested, with fewer than two repetitions beside the best: {names}")
    return notes


def _smoothing_notes(curves: Curves, metric: str) -> list[str]:
    if metric != SMOOTHED:
        return []
    points = curves.smoothed_points()
    n_scored = len(window(curves.points, points[-1])) if points else 0
    note = (
        "a smoothed error is the mean of the test errors at the scored numbers of stumps from 4/5 "
        "to 6/5 of its own ([BK10] 4.2), so that it ends at 5/6 of the rounds, there a mean of "
        f"{n_scored:,}; compare --score-every 1 scores more"
    )
    return [note]


def _level_notes(axis: str, levels: Sequence[float] | None, counted: str) -> list[str]:
    if axis == "stumps":
        return []
    note = (
        f"values at equal {axis} are interpolated along each run; '-' where a run has none, before "
        f"its first {counted.removesuffix('s')} or after its end"
    )
    if levels is None:
        note += f"; the {axis} are the fewest that any run had spent at each mark, rounded down"
    return [note]


def _tuning_notes(
    axis: str, labels: Sequence[str], facts: Mapping[str, Any], counted: str
) -> list[str]:
    """The notes of the comparison; results without notes get the usual one."""
    notes = [note for note in facts.get("notes", ()) if _concerns(note, labels)]
    if "notes" not in facts and any(map(is_tuned_variant, labels)):
        notes.append(
            "strategies with a * were tuned: in each repetition all settings of their grid were "
            "trained, and the run with the smallest training loss at the last mark was kept"
        )
    if any(map(is_charged, labels)) and (axis != "stumps" or "notes" not in facts):
        where = f"after m / M {counted} in the row of m" if axis == "stumps" else "at the level"
        notes.append(
            "a column 'charged' has the same runs with the cost of all M runs of their search, "
            f"{where}"
        )
    return notes


def _concerns(note: str, labels: Sequence[str]) -> bool:
    """Whether a note of a comparison is about the strategies shown."""
    if note.startswith("strategies with a *"):
        return any(map(is_tuned_variant, labels))
    label, ended, _ = note.partition(": training ended early")
    return not ended or label in labels


def _missing_notes(
    results: Results, curves: Curves, labels: Sequence[str], facts: Mapping[str, Any]
) -> list[str]:
    notes = []
    counts = {label: len(curves.runs[label]) for label in labels if not is_charged(label)}
    most = max([int(results.settings.get("repeats", 0)), *counts.values()])
    fewer = [f"{label} {count}" for label, count in counts.items() if count < most]
    if fewer:
        notes.append(f"fewer than {most} repetitions: {', '.join(fewer)}")
    planned = dict.fromkeys(label_of(strategy) for strategy in facts.get("strategies", ()))
    there = {label_of(row) for row in results.rows if row["data"] == curves.data}
    absent = [label for label in planned if label not in there]
    if absent:
        notes.append(f"without a result yet: {', '.join(absent)}")
    return notes
