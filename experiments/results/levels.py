"""Where strategies are compared: at equal stumps, at equal looks, at equal seconds.

A level is a number on an axis. At a number of stumps, values are those of the curve rows
(`boostsample.experiments.results.curves`) with exactly that many. At looks and seconds they lie between two
rows, and are interpolated against the logarithm of the axis by monotone cubics
(`scipy.interpolate.PchipInterpolator`), which never leave the range of the two. Nothing is
extrapolated: before its first row and behind its end a run has no value.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from boostsample.errors import DataError, SettingError, unknown
from boostsample.experiments.results.labels import METRICS, is_charged, label_of
from boostsample.experiments.results.results import Results

__all__ = [
    "AXES",
    "MEASURES",
    "Curves",
    "Measure",
    "check_disjoint",
    "curves_of",
    "parse_levels",
]

AXES = {
    "stumps": "stumps",
    "looks": "looks (search and modelling)",
    "seconds": "seconds of training",
}
"""What strategies can be given equally much of, with the titles of axes in pictures."""

_DIGITS = 3
"""Default levels are rounded down to so many digits, so that tables can show them in full."""


@dataclass(frozen=True)
class Measure:
    """Something that tables compare.

    Attributes
    ----------
    column : str
        Of the curve rows.
    title : str
        What it is, unit included.
    better : int
        -1 where lower is better, 1 where higher is, 0 where neither is.
    """

    column: str
    title: str
    better: int


MEASURES = {
    **{name: Measure(column, title, -1) for name, (column, title) in METRICS.items()},
    "auc": Measure("auc", "area under the ROC curve of the test examples", 1),
    "looks": Measure("looks", "looks so far, the finish apart", 0),
    "seconds": Measure("seconds", "seconds of training so far, evaluation apart", -1),
    "features": Measure("features", "features searched, mean over all searches so far", 0),
    "examples": Measure("examples", "examples drawn, mean over all searches so far", 0),
}
"""What can be compared, by name."""


@dataclass(frozen=True)
class Curves:
    """The curves of one data set.

    Attributes
    ----------
    data : str
        Its name.
    runs : mapping of str to mapping of int to list of dict
        Curve rows, ascending in stumps, of each strategy and repetition.
    marks : tuple of int
        Numbers of stumps at which results were taken.
    complete : bool
        False for folders that have rows at the marks only.
    """

    data: str
    runs: Mapping[str, Mapping[int, Sequence[Mapping[str, Any]]]] = field(repr=False)
    marks: tuple[int, ...]
    complete: bool = True

    def at(self, metric: str, axis: str, level: float) -> dict[str, dict[int, float]]:
        """The values of a metric at a level.

        Parameters
        ----------
        metric : str
            One of `MEASURES`.
        axis : str
            One of `AXES`.
        level : float
            Stumps, looks, or seconds of training.

        Returns
        -------
        dict of str to dict of int to float
            For each strategy, charged ones included, the value in each repetition; NaN where the
            run does not reach the level, or begins behind it.

        Raises
        ------
        SettingError
            Nobody has a row of so many stumps, or the metric cannot be had on this axis.
        DataError
            The results have no curves, which this needs.
        """
        self.check(metric, axis)
        if axis == "stumps":
            return self._at_stumps(metric, level)
        column = MEASURES[metric].column
        return {
            label: {one: _interpolated(rows, column, axis, level) for one, rows in mine.items()}
            for label, mine in self.runs.items()
        }

    def check(self, metric: str, axis: str) -> None:
        """Refuse a metric that cannot be had on an axis; see `at`."""
        if metric not in MEASURES:
            raise unknown("metric", metric, MEASURES)
        if axis not in AXES:
            raise unknown("axis", axis, AXES)
        if metric == axis:
            raise SettingError(f"all strategies have the same {metric} at equal {axis}")
        if metric == "auc" and axis != "stumps":
            raise SettingError(
                f"auc is known at the marks only, so that there is none at equal {axis}; take it "
                "at stumps, or the test error at equal looks or seconds"
            )
        if not self.complete and (axis != "stumps" or metric in ("auc", "features", "examples")):
            what = metric if axis == "stumps" else f"{metric} at equal {axis}"
            raise DataError(
                f"the results of {self.data} were written without curves, which {what} needs; run "
                "the command that made them again, into a new folder"
            )

    def _at_stumps(self, metric: str, level: float) -> dict[str, dict[int, float]]:
        points = self.marks if metric == "auc" else self._points()
        if level not in points:
            raise SettingError(self._no_such_point(metric, level, points))
        column = MEASURES[metric].column
        return {
            label: {
                one: next((row[column] for row in rows if row["stumps"] == level), math.nan)
                for one, rows in mine.items()
            }
            for label, mine in self.runs.items()
        }

    def _points(self) -> tuple[int, ...]:
        """Numbers of stumps at which all runs have rows, charged ones apart."""
        found = [
            {row["stumps"] for row in rows}
            for label, mine in self.runs.items()
            if not is_charged(label)
            for rows in mine.values()
        ]
        return tuple(sorted(set.intersection(*found))) if found else ()

    def _no_such_point(self, metric: str, level: float, points: Sequence[int]) -> str:
        marks = ", ".join(f"{mark:,}" for mark in self.marks)
        after = bisect.bisect(points, level)
        near = " and ".join(f"{point:,}" for point in points[max(0, after - 1) : after + 1])
        between = "" if set(points) <= set(self.marks) else f" (nearest rows: {near})"
        return f"{metric} of {self.data} is known at {marks} stumps{between}, got {level:,g}"

    def levels(self, axis: str) -> tuple[float, ...]:
        """Where strategies are compared if nobody says where.

        At stumps the marks. At looks and seconds, for each mark, the fewest that any run had spent
        there, so that every run has come as far; rounded down to three digits. Runs that ended
        before the mark (unless all did), and charged strategies, have no say in it.

        Returns
        -------
        tuple of float
            Ascending, all different.
        """
        if axis not in AXES:
            raise unknown("axis", axis, AXES)
        if axis == "stumps":
            return self.marks
        spent: dict[int, float] = {}
        ended: list[float] = []
        for label, mine in self.runs.items():
            for rows in mine.values() if not is_charged(label) else ():
                for before, row in zip([None, *rows], rows, strict=False):
                    if row["stumps"] not in self.marks:
                        continue
                    if before is None or row["looks"] > before["looks"]:
                        spent[row["stumps"]] = min(row[axis], spent.get(row["stumps"], math.inf))
                    else:
                        ended.append(row[axis])
        least = set(spent.values()) or set(ended)
        found = sorted({_rounded_down(one) for one in least if one > 0})
        return tuple(level for level in found if self._is_reached(axis, level))

    def _is_reached(self, axis: str, level: float) -> bool:
        """Whether the level lies on any curve."""
        return any(
            rows[0][axis] <= level <= rows[-1][axis]
            for label, mine in self.runs.items()
            for rows in mine.values()
            if not is_charged(label)
        )


def _rounded_down(value: float) -> float:
    """The largest number of three digits that is not above a positive one.

    >>> _rounded_down(5_987_331), _rounded_down(0.04217)
    (5980000.0, 0.0421)
    """
    unit = math.floor(math.log10(value)) - _DIGITS + 1
    nearest = float(f"{value:.{_DIGITS - 1}e}")
    return nearest if nearest <= value else float(f"{nearest - 10.0**unit:.{_DIGITS - 1}e}")


def _interpolated(rows: Sequence[Mapping[str, Any]], column: str, axis: str, level: float) -> float:
    """The value of a run at a level; NaN outside of its curve."""
    from scipy.interpolate import PchipInterpolator

    # Where a run ended early, rows repeat what it has spent: the last of them stands for all.
    known = {row[axis]: row[column] for row in rows if row[axis] > 0}
    known = {at: value for at, value in known.items() if not math.isnan(value)}
    if not known or not min(known) <= level <= max(known):
        return math.nan
    if level in known:
        return float(known[level])
    at, values = np.array(sorted(known.items()), np.float64).T
    return float(PchipInterpolator(np.log10(at), values)(math.log10(level)))


def curves_of(results: Results) -> list[Curves]:
    """The curves of a results folder, one for each data set that has any."""
    rows: Iterable[Mapping[str, Any]] = results.curves or results.rows
    found: dict[str, dict[str, dict[int, list[Mapping[str, Any]]]]] = {}
    for row in rows:
        of_data = found.setdefault(row["data"], {})
        of_data.setdefault(label_of(row), {}).setdefault(row["repetition"], []).append(row)
    marks = tuple(results.settings["rounds"])
    return [Curves(data, runs, marks, bool(results.curves)) for data, runs in found.items()]


def check_disjoint(names: Iterable[str]) -> None:
    """Refuse results folders that have a data set in common.

    Parameters
    ----------
    names : iterable of str
        The data sets of each folder, one folder after the other.

    Raises
    ------
    SettingError
        A data set is there twice.
    """
    there: set[str] = set()
    for name in names:
        if name in there:
            raise SettingError(
                f"the data set '{name}' is in two of the results folders; name folders with "
                "different data sets, or put their grids into one folder"
            )
        there.add(name)


def parse_levels(text: str) -> tuple[str, tuple[float, ...] | None]:
    """An axis and, where they are given, its levels.

    >>> parse_levels("stumps"), parse_levels("looks=6e6,6e7")
    (('stumps', None), ('looks', (6000000.0, 60000000.0)))

    Raises
    ------
    SettingError
        An unknown axis, or a level that is no positive number, or of stumps no whole one.
    """
    axis, equals, listed = text.partition("=")
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
