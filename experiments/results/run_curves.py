"""Curves of runs, and their values at equal stumps, equal looks or equal seconds of training.

A level is a number on one of these axes. At stumps, values are those of the curve rows
(`boostsample.experiments.results.runs`). At looks and seconds, they are interpolated between two
rows by monotone cubics on a log axis, which never leave the range of the two. Nothing is
extrapolated: before its first and after its last row, a run has no value.
"""

from __future__ import annotations

import bisect
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostsample.errors import DataError, SettingError, unknown
from boostsample.experiments.metrics import MAIN_METRICS, METRICS, RANKED_METRICS, SMOOTHED
from boostsample.experiments.results.read_folder import Results
from boostsample.experiments.results.titles import (
    counted,
    is_charged,
    label_of,
    learners_of,
)
from boostsample.loop.smoothed import smoothed_error, window

_Rows = Sequence[Mapping[str, Any]]
AXES = {
    "stumps": "stumps",
    "looks": "looks (search and modelling)",
    "seconds": "seconds of training",
}
"""Axes on which strategies are compared, with their titles in pictures; see `counted`."""

_POINTS = 60
_DIGITS = 3  # significant digits of default levels, so that tables can show them in full


@dataclass(frozen=True)
class Curves:
    """The curves of one data set.

    `runs` has the curve rows, ascending in stumps, by strategy and repetition.
    """

    data: str  # name of the data set
    runs: Mapping[str, Mapping[int, Sequence[Mapping[str, Any]]]] = field(repr=False)
    marks: tuple[int, ...]  # numbers of stumps of the result rows
    complete: bool = True  # False if there are rows at the marks only
    scored: tuple[int, ...] = field(default=(), repr=False)  # see `scored_points`, without charged

    @property
    def learners(self) -> tuple[str, ...]:
        """The different learners of the runs."""
        return learners_of(
            rows[0] for repetitions in self.runs.values() for rows in repetitions.values()
        )

    @property
    def counted(self) -> str:
        """What the marks count: stumps or rounds."""
        return counted(self.learners)

    def at(self, metric: str, axis: str, level: float) -> dict[str, dict[int, float]]:
        """The values of a metric, one of `METRICS`, at a level of one of `AXES`.

        By strategy, charged ones included, and repetition; NaN outside the run. SettingError if no
        run has a row with this number of stumps, or if the metric is not defined on this axis;
        DataError if the results lack the curves that are needed.
        """
        self.check(metric, axis)
        if axis == "stumps":
            return self._at_stumps(metric, level)
        column = METRICS[metric].column
        return {
            label: {
                repetition: _interpolated(rows, column, axis, level)
                for repetition, rows in repetitions.items()
            }
            for label, repetitions in self.runs_with(metric).items()
        }

    def runs_with(self, metric: str) -> Mapping[str, Mapping[int, Sequence[Mapping[str, Any]]]]:
        """The curve rows with the column of a metric."""
        return self._smoothed if metric == SMOOTHED else self.runs

    @cached_property
    def _smoothed(self) -> dict[str, dict[int, list[dict[str, Any]]]]:
        return smoothed_runs(self.runs, self.scored)

    def smoothed_points(self) -> tuple[int, ...]:
        """Numbers of stumps at which all runs have rows and a smoothed error is defined."""
        points = self.points
        return tuple(stumps for stumps in points if window(points, stumps))

    def chosen(self, labels: Sequence[str]) -> Curves:
        """The curves of some strategies, in the order of their labels; SettingError for none."""
        runs = {label: self.runs[label] for label in labels if label in self.runs}
        if not runs:
            raise SettingError(
                f"the results of {self.data} must have one of the strategies {', '.join(labels)}, "
                "got none; choose others, or other data sets by --data"
            )
        return replace(self, runs=runs)

    def check(self, metric: str, axis: str) -> None:
        """Raise an error for a metric that is not defined on an axis; see `at`."""
        if metric not in METRICS:
            raise unknown("metric", metric, METRICS)
        if axis not in AXES:
            raise unknown("axis", axis, AXES)
        if metric == axis:
            raise SettingError(f"all strategies have the same {metric} at equal {axis}")
        if metric == "auc" and axis != "stumps":
            raise SettingError(
                f"auc is known at the marks only, so that curves have none at equal {axis}; take "
                "it at stumps, or the test error at equal looks or seconds"
            )
        on_curves = ("auc", SMOOTHED, "features", "examples")
        if not self.complete and (axis != "stumps" or metric in on_curves):
            asked = metric if axis == "stumps" else f"{metric} at equal {axis}"
            raise DataError(
                f"the results of {self.data} were written without curves, which {asked} needs; run "
                "the command that made them again, into a new folder"
            )
        self.check_known(metric)

    def check_known(self, *metrics: str) -> None:
        """Raise DataError if no row has a value of one of the metrics that came later."""
        for metric in metrics:
            if metric in MAIN_METRICS or metric not in RANKED_METRICS:
                continue
            column = METRICS[metric].column
            runs = (rows for repetitions in self.runs.values() for rows in repetitions.values())
            if any(not math.isnan(row.get(column, math.nan)) for rows in runs for row in rows):
                continue
            raise DataError(
                f"the results of {self.data} were written without {metric}; run the command that "
                "made them again: with --results and their folder, whose cells are then scored "
                "without training, or without cells into a new folder"
            )

    def _at_stumps(self, metric: str, level: float) -> dict[str, dict[int, float]]:
        points = self.marks if metric == "auc" else self.points
        if level not in points:
            marks = ", ".join(f"{mark:,}" for mark in self.marks)
            after = bisect.bisect(points, level)
            near = " and ".join(f"{point:,}" for point in points[max(0, after - 1) : after + 1])
            between = "" if set(points) <= set(self.marks) else f" (nearest rows: {near})"
            raise SettingError(
                f"{metric} of {self.data} is known at {marks} {self.counted}{between}, got "
                f"{level:,g}"
            )
        column = METRICS[metric].column
        return {
            label: {
                repetition: next((row[column] for row in rows if row["stumps"] == level), math.nan)
                for repetition, rows in repetitions.items()
            }
            for label, repetitions in self.runs_with(metric).items()
        }

    @property
    def points(self) -> tuple[int, ...]:
        """Numbers of stumps at which all runs have rows; charged ones count if they are alone."""
        every = [rows for repetitions in self.runs.values() for rows in repetitions.values()]
        stumps_of_runs = [
            {row["stumps"] for row in rows} for rows in _uncharged(self.runs) or every
        ]
        return tuple(sorted(set.intersection(*stumps_of_runs))) if stumps_of_runs else ()

    def levels(self, axis: str, metric: str = "error") -> tuple[float, ...]:
        """Default levels of an axis for a metric, ascending.

        At stumps the marks. At looks and seconds, for each mark, the least that any run had spent
        there, rounded down to three digits, so that every run has reached the level. Charged
        strategies do not count, nor runs that ended before the mark, unless all did. Of a smoothed
        error, the marks are those where it is defined, and the last such number of stumps.
        """
        if metric == SMOOTHED and (points := self.smoothed_points()):
            marks = sorted({points[-1], *set(points).intersection(self.marks)})
            return replace(self, marks=tuple(marks)).levels(axis)
        if axis not in AXES:
            raise unknown("axis", axis, AXES)
        if axis == "stumps":
            return self.marks
        spent: dict[int, float] = {}
        ended: list[float] = []
        runs = _uncharged(self.runs)
        for rows in runs:
            for before, row in zip([None, *rows], rows, strict=False):
                if row["stumps"] not in self.marks:
                    continue
                if before is None or row["looks"] > before["looks"]:
                    spent[row["stumps"]] = min(row[axis], spent.get(row["stumps"], math.inf))
                else:
                    ended.append(row[axis])
        least = set(spent.values()) or set(ended)
        levels = sorted({_rounded_down(level) for level in least if level > 0})
        ends = [(rows[0][axis], rows[-1][axis]) for rows in runs]
        return tuple(level for level in levels if any(a <= level <= b for a, b in ends))


def error_curve(rows: _Rows, points: Sequence[int] = ()) -> dict[int, float]:
    """The test errors of a run by number of stumps, ascending, from its curve rows.

    A run that ended early also has its last error at those of the `points` that follow its end.
    """
    known = {int(row["stumps"]): float(row["test_error"]) for row in rows}
    # It has rows at the later marks, which repeat what it has spent.
    end = next(row["stumps"] for row in rows if row["looks"] == rows[-1]["looks"])
    for point in points:
        if end < point < rows[-1]["stumps"]:
            known.setdefault(point, float(rows[-1]["test_error"]))
    return dict(sorted(known.items()))


def smoothed_runs(
    runs: Mapping[str, Mapping[int, _Rows]], points: Sequence[int]
) -> dict[str, dict[int, list[dict[str, Any]]]]:
    """The curve rows of runs, by label and repetition, with the column of the smoothed error.

    `points` are the `scored_points` of all runs on the data set.
    """
    column = METRICS[SMOOTHED].column
    smoothed: dict[str, dict[int, list[dict[str, Any]]]] = {}
    for label, repetitions in runs.items():
        for repetition, rows in repetitions.items():
            errors = error_curve(rows, () if is_charged(label) else points)
            smoothed.setdefault(label, {})[repetition] = [
                {**row, column: smoothed_error(errors, int(row["stumps"]))} for row in rows
            ]
    return smoothed


def scored_points(runs: Iterable[_Rows]) -> tuple[int, ...]:
    """All numbers of stumps in the rows of runs, ascending."""
    return tuple(sorted({int(row["stumps"]) for rows in runs for row in rows}))


def _rounded_down(value: float) -> float:
    """The largest number of three digits that is not above a positive one.

    >>> _rounded_down(5_987_331), _rounded_down(0.04217)
    (5980000.0, 0.0421)
    """
    unit = math.floor(math.log10(value)) - _DIGITS + 1
    nearest = float(f"{value:.{_DIGITS - 1}e}")
    return nearest if nearest <= value else float(f"{nearest - 10.0**unit:.{_DIGITS - 1}e}")


def _interpolated(rows: Sequence[Mapping[str, Any]], column: str, axis: str, level: float) -> float:
    """The value of a run at a level; NaN outside its curve."""
    from scipy.interpolate import PchipInterpolator

    # Rows after the end of a run repeat what it has spent; the last one is used.
    known = {row[axis]: row[column] for row in rows if row[axis] > 0}
    known = {at: value for at, value in known.items() if not math.isnan(value)}
    if not known or not min(known) <= level <= max(known):
        return math.nan
    if level in known:
        return float(known[level])
    at, values = np.array(sorted(known.items()), np.float64).T
    return float(PchipInterpolator(np.log10(at), values)(math.log10(level)))


def curves_of_results(results: Results) -> list[Curves]:
    """The curves of a results folder, one for each data set."""
    by_data: dict[str, dict[str, dict[int, list[Mapping[str, Any]]]]] = {}
    for row in results.table:
        of_data = by_data.setdefault(row["data"], {})
        of_data.setdefault(label_of(row), {}).setdefault(row["repetition"], []).append(row)
    marks = tuple(results.settings["rounds"])
    return [
        Curves(data, runs, marks, bool(results.curves), scored_points(_uncharged(runs)))
        for data, runs in by_data.items()
    ]


def _uncharged(
    runs: Mapping[str, Mapping[int, Sequence[Mapping[str, Any]]]],
) -> list[Sequence[Mapping[str, Any]]]:
    """The rows of each run of all strategies but the charged ones."""
    plain = (repetitions for label, repetitions in runs.items() if not is_charged(label))
    return [rows for repetitions in plain for rows in repetitions.values()]


def check_disjoint_curves(names: Iterable[str]) -> None:
    """Raise SettingError if results of one learner have the same data set, given all names."""
    for name, count in Counter(names).items():
        if count > 1:
            raise SettingError(
                f"the data set '{name}' is in two of the results folders; name folders with "
                "different data sets, or put their grids into one folder (table and plot also "
                "take folders with different learners)"
            )


def curves_of_data(results: Sequence[Results]) -> dict[str, Curves]:
    """The curves of each data set of several results folders.

    Raises DataError without rows, and SettingError if two folders have the same data set.
    """
    every = [curves for result in results for curves in curves_of_results(result)]
    if not every:
        raise DataError("the results must have rows, got none; run it again into a new folder")
    check_disjoint_curves(curves.data for curves in every)
    return {curves.data: curves for curves in every}


def shared_curve(
    runs: Sequence[Sequence[Mapping[str, Any]]], column: str, against: str = "stumps"
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """A column of the runs of one strategy on a common axis, in the range that all of them cover.

    Interpolates linearly on the log axis `against`. Returns x, shape (n,), and values, shape
    (repetitions, n), both empty if the runs share no range. Against stumps, x are all numbers of
    stumps in the rows; else 60 points at equal ratios.
    """
    lines = []
    for run in runs:
        points = {
            float(row[against]): float(row[column])
            for row in run
            if row[against] > 0 and not math.isnan(row[column])
        }
        if points:
            lines.append((np.array(list(points)), np.array(list(points.values()))))
    if not lines:
        return np.empty(0), np.empty((0, 0))
    low, high = max(x[0] for x, _ in lines), min(x[-1] for x, _ in lines)
    if against == "stumps" or low >= high:
        nodes = np.unique(np.concatenate([x for x, _ in lines]))
        nodes = nodes[(low <= nodes) & (nodes <= high)]
    else:
        nodes = np.geomspace(low, high, _POINTS)
    return nodes, np.array([np.interp(np.log(nodes), np.log(x), y) for x, y in lines])


def parse_levels(text: str) -> tuple[str, tuple[float, ...] | None]:
    """Read an axis and optional levels; SettingError if they are not usable.

    >>> parse_levels("stumps"), parse_levels("looks=6e6,6e7")
    (('stumps', None), ('looks', (6000000.0, 60000000.0)))

    A round of stumps is one stump: the axis has both names.

    >>> parse_levels("rounds=10")
    ('stumps', (10.0,))
    """
    axis, equals, listed = text.partition("=")
    axis = "stumps" if axis == "rounds" else axis
    if axis not in AXES:
        raise unknown("axis", axis, AXES)
    if not equals:
        return axis, None
    rule = "positive whole numbers" if axis == "stumps" else "positive numbers"
    levels = []
    for part in listed.split(","):
        try:
            level = float(part)
        except ValueError:
            level = math.nan
        if not 0 < level < math.inf or (axis == "stumps" and level % 1):
            raise SettingError(
                f"levels of {axis} must be {rule} separated by commas, as in "
                f"{axis}={'10,1000' if axis == 'stumps' else '6e6,6e7'}; got {part.strip()!r}"
            )
        levels.append(level)
    return axis, tuple(sorted(set(levels)))
