"""Curves of runs, and their values at equal stumps, looks, computed values or seconds of training.

A level is a number on one of these axes. At stumps, values are those of the table. On the others,
they are interpolated between two rows by monotone cubics on a log axis, which never leave
the range of the two. Nothing is extrapolated: before its first and after its last row, a run has
no value.
"""

from __future__ import annotations

import bisect
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from boostsample.checks import check_known
from boostsample.errors import DataError, SettingError
from boostsample.experiments.metrics import AREA, METRICS, SMOOTHED
from boostsample.experiments.plan.variants import CHARGED_VARIANT
from boostsample.experiments.results.read_folder import Results
from boostsample.experiments.results.titles import counted, is_charged, label_of
from boostsample.loop.smoothed import smoothed_error, window

if TYPE_CHECKING:
    import pandas as pd

AXES = {
    "stumps": "stumps",
    "looks": "looks (search and modelling)",
    "values_computed": "feature values computed",
    "cost": "nominal seconds of training",
    "seconds": "seconds of training",
}
"""Axes on which strategies are compared, with their titles in pictures; see `counted`."""

AXIS_COLUMN = "axis "
"""Before the names of axes of a grid in the columns of joined results."""
_POINTS = 60
_DIGITS = 3  # significant digits of default levels, so that tables can show them in full
_RUN = ["label", "repetition"]


def with_labels(table: pd.DataFrame) -> pd.DataFrame:
    """A table of results with one more column, `label`."""
    names = table[["strategy", "settings"]].to_dict("records")
    return table.assign(label=np.array([label_of(row) for row in names], object))


def uncharged(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of a table with labels that are not of charged strategies."""
    return table[~table["label"].map(is_charged).astype(bool)]


@dataclass(frozen=True, eq=False)
class Curves:
    """The curves of one data set.

    `table` has the rows of the runs, each ascending in stumps, with labels.
    """

    data: str  # name of the data set
    table: pd.DataFrame = field(repr=False)
    marks: tuple[int, ...]  # numbers of stumps of the result rows
    scored: tuple[int, ...] = field(default=(), repr=False)  # all stumps in rows, without charged

    @property
    def learners(self) -> tuple[str, ...]:
        """The different learners of the runs."""
        return tuple(self.table["learner"].unique())

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of the strategies, in order of appearance."""
        return tuple(self.table["label"].unique())

    @property
    def counted(self) -> str:
        """What the marks count: stumps or rounds."""
        return counted(self.learners)

    @cached_property
    def n_runs(self) -> dict[str, int]:
        """The number of repetitions of each strategy."""
        return dict(self.table.groupby("label", sort=False)["repetition"].nunique())

    def runs(self, metric: str = "loss") -> dict[str, dict[int, pd.DataFrame]]:
        """The rows of each run with the column of a metric, by label and repetition."""
        table = self._smoothed if metric == SMOOTHED else self.table
        runs: dict[str, dict[int, pd.DataFrame]] = {}
        for (label, repetition), run in table.groupby(_RUN, sort=False):
            runs.setdefault(label, {})[int(repetition)] = run
        return runs

    @cached_property
    def _smoothed(self) -> pd.DataFrame:
        import pandas as pd

        parts = []
        for label, repetitions in self.runs().items():
            for run in repetitions.values():
                errors = error_curve(run, () if is_charged(label) else self.scored)
                smoothed = [smoothed_error(errors, stumps) for stumps in run["stumps"].tolist()]
                parts.append(run.assign(**{METRICS[SMOOTHED].column: smoothed}))
        return pd.concat(parts)

    def at(self, metric: str, axis: str, level: float) -> dict[str, dict[int, float]]:
        """The values of a metric, one of `METRICS`, at a level of one of `AXES`.

        By strategy, charged ones included, and repetition; NaN outside the run. SettingError if no
        run has a row with this number of stumps, or if the metric is not defined on this axis;
        DataError if the runs were made without what it needs.
        """
        self.check(metric, axis)
        column, start = METRICS[metric].column, self.first(axis)
        if axis == "stumps":
            self._check_level(metric, level)

        def value(run: pd.DataFrame) -> float:
            if metric == AREA:
                x, loss = run[axis].to_numpy(np.float64), run["log10_loss"].to_numpy()
                return loss_area(x, loss, start, level)
            if axis == "stumps":
                return next(iter(run.loc[run["stumps"] == level, column].tolist()), math.nan)
            return _interpolated(run[axis].to_numpy(), run[column].to_numpy(), level)

        return {
            label: {repetition: value(run) for repetition, run in repetitions.items()}
            for label, repetitions in self.runs(metric).items()
        }

    def first(self, axis: str) -> float:
        """The least that a run had spent at its first row, where areas begin; 1 of stumps."""
        spent = self.table.loc[self.table[axis] > 0, axis]
        return float(spent.min()) if len(spent) else math.nan

    @cached_property
    def parts(self) -> dict[str, dict[str, str]]:
        """What each label names: `strategy`, and the values of the axes of joined results.

        A charged strategy is named as the tuned one.
        """
        columns = [name for name in self.table.columns if name.startswith(AXIS_COLUMN)]
        rows = self.table.drop_duplicates("label").to_dict("records")
        return {
            row["label"]: {
                "strategy": row.get("base", row["label"]).removesuffix(CHARGED_VARIANT),
                **{name.removeprefix(AXIS_COLUMN): row[name] for name in columns},
            }
            for row in rows
        }

    def smoothed_points(self) -> tuple[int, ...]:
        """Numbers of stumps at which all runs have rows and a smoothed error is defined."""
        points = self.points
        return tuple(stumps for stumps in points if window(points, stumps))

    def chosen(self, labels: Sequence[str]) -> Curves:
        """The curves of some strategies, in the order of their labels; SettingError for none."""
        order = {label: at for at, label in enumerate(labels)}
        table = self.table[self.table["label"].isin(order)]
        if table.empty:
            raise SettingError(
                f"the results of {self.data} must have one of the strategies {', '.join(labels)}, "
                "got none; choose others, or other data sets by --data"
            )
        table = table.sort_values("label", key=lambda names: names.map(order), kind="stable")
        return replace(self, table=table)

    def check(self, metric: str, axis: str) -> None:
        """Raise an error for a metric that is not defined on an axis; see `at`."""
        check_known("metric", metric, METRICS)
        check_known("axis", axis, AXES)
        column = METRICS[metric].column
        is_optional = metric == "regret" or METRICS[metric].stored
        if is_optional and (column not in self.table or not self.table[column].notna().any()):
            option = "--regret" if metric == "regret" else "--metric"
            raise DataError(
                f"the runs on {self.data} have no {metric}; run boostsample compare with {option}"
            )
        if metric == axis:
            raise SettingError(f"all strategies have the same {metric} at equal {axis}")
        if axis == "values_computed" and axis in self.table and not self.table[axis].any():
            raise DataError(
                f"the runs on {self.data} have computed no feature values, since their bank holds "
                "them; compare at looks, or run with --bank lazy"
            )
        if axis == "cost" and axis in self.table and not self.table[axis].any():
            raise DataError(
                f"the table of the runs on {self.data} is of a version without costs; compare at "
                "looks, or run the comparison again"
            )
        if metric == "auc" and axis != "stumps":
            raise SettingError(
                f"auc is known at the marks only, so that curves have none at equal {axis}; take "
                "it at stumps, or the test error at equal looks or seconds"
            )

    def _check_level(self, metric: str, level: float) -> None:
        points = self.marks if metric == "auc" else self.points
        if level in points:
            return
        marks = ", ".join(f"{mark:,}" for mark in self.marks)
        after = bisect.bisect(points, level)
        near = " and ".join(f"{point:,}" for point in points[max(0, after - 1) : after + 1])
        between = "" if set(points) <= set(self.marks) else f" (nearest rows: {near})"
        raise SettingError(
            f"{metric} of {self.data} is known at {marks} {self.counted}{between}, got {level:,g}"
        )

    @cached_property
    def points(self) -> tuple[int, ...]:
        """Numbers of stumps at which all runs have rows; charged ones count if they are alone."""
        table = uncharged(self.table)
        table = self.table if table.empty else table
        n_rows = table["stumps"].value_counts()
        return tuple(sorted(n_rows.index[n_rows == table.groupby(_RUN).ngroups].tolist()))

    def levels(self, axis: str, metric: str = "error") -> tuple[float, ...]:
        """Default levels of an axis for a metric, ascending.

        At stumps the marks. On other axes, for each mark, the least that any run had spent
        there, rounded down to three digits, so that every run has reached the level. Charged
        strategies do not count, nor runs that ended before the mark, unless all did. Of a smoothed
        error, the marks are those where it is defined, and the last such number of stumps.
        """
        if metric == SMOOTHED and (points := self.smoothed_points()):
            marks = sorted({points[-1], *set(points).intersection(self.marks)})
            return replace(self, marks=tuple(marks)).levels(axis)
        check_known("axis", axis, AXES)
        if axis == "stumps":
            return self.marks
        table = uncharged(self.table)
        runs = table.groupby(_RUN, sort=False)
        went_on = runs["looks"].diff().fillna(1) > 0  # else the run has ended
        at_marks = table["stumps"].isin(self.marks)
        least = table[at_marks & went_on].groupby("stumps")[axis].min()
        spent = least if len(least) else table.loc[at_marks, axis]
        levels = sorted({_rounded_down(level) for level in spent.tolist() if level > 0})
        first, last = runs[axis].first(), runs[axis].last()
        return tuple(level for level in levels if ((first <= level) & (level <= last)).any())


def error_curve(run: pd.DataFrame, points: Sequence[int] = ()) -> dict[int, float]:
    """The test errors of a run by number of stumps, ascending.

    A run that ended early also has its last error at those of the `points` that follow its end.
    """
    stumps, looks, errors = (run[name].tolist() for name in ("stumps", "looks", "test_error"))
    # It has rows at the later marks, which repeat what it has spent.
    end = stumps[looks.index(looks[-1])]
    later = {point: errors[-1] for point in points if end < point < stumps[-1]}
    return dict(sorted({**later, **dict(zip(stumps, errors, strict=True))}.items()))


def _rounded_down(value: float) -> float:
    """The largest number of three digits that is not above a positive one.

    >>> _rounded_down(5_987_331), _rounded_down(0.04217)
    (5980000.0, 0.0421)
    """
    unit = math.floor(math.log10(value)) - _DIGITS + 1
    nearest = float(f"{value:.{_DIGITS - 1}e}")
    return nearest if nearest <= value else float(f"{nearest - 10.0**unit:.{_DIGITS - 1}e}")


def _interpolated(x: NDArray[np.float64], y: NDArray[np.float64], level: float) -> float:
    from scipy.interpolate import PchipInterpolator

    known = (x > 0) & ~np.isnan(y)
    # Rows after the end of a run repeat what it has spent; the last one is used.
    values = dict(zip(x[known].tolist(), y[known].tolist(), strict=True))
    if not values or not min(values) <= level <= max(values):
        return math.nan
    if level in values:
        return float(values[level])
    at, ends = np.array(sorted(values.items()), np.float64).T
    if not np.isfinite(ends).all():  # metrics of users may not be
        return float(np.interp(math.log10(level), np.log10(at), ends))
    return float(PchipInterpolator(np.log10(at), ends)(math.log10(level)))


def loss_area(
    x: NDArray[np.float64], loss: NDArray[np.float64], start: float, level: float
) -> float:
    """Area under the curve of log10 loss against the logarithm of x, from `start` to `level`.

    The integral of log10 loss over d ln x, divided by ln(level / start): a mean of log10 loss, so
    that lower is better. It is linear in ln x between two rows, and before the first one 0, the
    log10 loss of no stump. NaN if the run ends before the level, or the range is empty. `x`, with
    rows after the end of a run that repeat it, and `loss` have shape (n,).

    >>> round(loss_area(np.array([1.0, 100.0]), np.array([0.0, -2.0]), 1.0, 100.0), 3)
    -1.0
    """
    known = (x > 0) & ~np.isnan(loss)
    values = dict(zip(x[known].tolist(), loss[known].tolist(), strict=True))
    if not values or not start < level <= max(values):
        return math.nan
    at, losses = np.array(sorted(values.items()), np.float64).T
    u, (low, high) = np.log(at), np.log([start, level])
    inside = at < level
    u_ends = np.append(u[inside], high)
    y_ends = np.append(losses[inside], np.interp(high, u, losses))
    area = float(np.sum(np.diff(u_ends) * (y_ends[1:] + y_ends[:-1]) / 2))
    return area / float(high - low)


def curves_of_results(results: Results) -> list[Curves]:
    """The curves of a results folder, one for each data set."""
    marks, table = tuple(results.settings["rounds"]), with_labels(results.table)
    parts = {name: table[table["data"] == name] for name in results.names}
    return [
        Curves(name, part, marks, tuple(sorted(uncharged(part)["stumps"].unique().tolist())))
        for name, part in parts.items()
    ]


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
    runs: Iterable[pd.DataFrame], column: str, against: str = "stumps"
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """A column of the runs of one strategy on a common axis, in the range that all of them cover.

    Interpolates linearly on the log axis `against`. Returns x, shape (n,), and values, shape
    (repetitions, n), both empty if the runs share no range. Against stumps, x are all numbers of
    stumps in the rows; else 60 points at equal ratios.
    """
    known = (run[(run[against] > 0) & run[column].notna()] for run in runs)
    unique = (run.drop_duplicates(against, keep="last") for run in known)
    lines = [
        (run[against].to_numpy(np.float64), run[column].to_numpy(np.float64))
        for run in unique
        if len(run)
    ]
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
    check_known("axis", axis, AXES)
    if not equals:
        return axis, None
    rule = "positive whole numbers" if axis == "stumps" else "positive numbers"
    example = "6e6,6e7" if axis in ("looks", "values_computed") else "10,100"
    levels = []
    for part in listed.split(","):
        try:
            level = float(part)
        except ValueError:
            level = math.nan
        if not 0 < level < math.inf or (axis == "stumps" and level % 1):
            raise SettingError(
                f"levels of {axis} must be {rule} separated by commas, as in {axis}={example}; got "
                f"{part.strip()!r}"
            )
        levels.append(level)
    return axis, tuple(sorted(set(levels)))
