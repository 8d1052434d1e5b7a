"""Loss and test error of results against stumps, looks or seconds: a row of panels a data set."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from boostsample.errors import DataError, unknown
from boostsample.experiments.plan.variants import CHARGED, is_tuned
from boostsample.experiments.plots.axes import (
    METRICS,
    STYLE,
    decades,
    draw_band,
    error_scale,
    legend_below,
    look,
    new_layout,
    repetitions,
    round_axis,
)
from boostsample.experiments.results.labels import METRICS as COLUMNS
from boostsample.experiments.results.labels import is_charged
from boostsample.experiments.results.levels import AXES, Curves, check_disjoint, curves_of
from boostsample.experiments.results.results import Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["curves_figure", "data_sets", "shared_curve", "weights_of"]

_POINTS = 60

Rows = Sequence[Mapping[str, Any]]


def data_sets(results: Sequence[Results]) -> dict[str, Curves]:
    """The curves of each data set of some results folders, marks alone where there are no others.

    Raises
    ------
    DataError
        There are no rows.
    SettingError
        A data set is in two of the folders.
    """
    every = [curves for result in results for curves in curves_of(result)]
    if not every:
        raise DataError("the results must have rows, got none; run it again into a new folder")
    check_disjoint(one.data for one in every)
    return {one.data: one for one in every}


def weights_of(results: Sequence[Results]) -> str:
    """The initial weights of results, as a title says it; empty where nothing is known."""
    kinds = dict.fromkeys(str(one.settings.get("weights", "")) for one in results)
    text = " or ".join(kind for kind in kinds if kind)
    return f", {text} weights" if text else ""


def shared_curve(
    runs: Sequence[Rows], column: str, against: str = "stumps"
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Runs of one strategy on one axis, in the range that all of them have.

    Straight lines on the log axis between the rows of a run. A run that ended early has rows that
    repeat its last state.

    Parameters
    ----------
    runs : sequence of rows
        Curve rows of each repetition, ascending.
    column : str
        What is wanted.
    against : str
        The column of the axis, one of `boostsample.experiments.results.levels.AXES`.

    Returns
    -------
    x : float64, shape (n,)
        Against stumps, the numbers that any run has; else 60 points at equal distances.
    values : float64, shape (repetitions, n)
        Empty where the runs share no range.
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
        grid = np.unique(np.concatenate([x for x, _ in lines]))
        grid = grid[(low <= grid) & (grid <= high)]
    else:
        grid = np.geomspace(low, high, _POINTS)
    return grid, np.array([np.interp(np.log(grid), np.log(x), y) for x, y in lines])


def curves_figure(
    results: Sequence[Results],
    against: str = "stumps",
    metrics: Sequence[str] = ("loss", "error"),
    charged: bool = False,
) -> Figure:
    """Metrics against stumps, looks or seconds, a curve a strategy, bands of one std.

    Parameters
    ----------
    results : sequence of Results
        Their data sets are drawn one below the other, each with a panel for each metric.
    against : str
        One of `boostsample.experiments.results.levels.AXES`. Looks and seconds are those of the runs that
        are drawn.
    metrics : sequence of str
        Of `boostsample.experiments.plots.axes.METRICS`.
    charged : bool
        Draw tuned strategies a second time, with the looks and seconds of their whole search.

    Raises
    ------
    DataError
        The results have no rows.
    SettingError
        A data set is in two of them, or there is no such axis or metric.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    if against not in AXES:
        raise unknown("axis", against, AXES)
    for metric in metrics:
        if metric not in METRICS:
            raise unknown("metric", metric, METRICS)
    data = {name: one.runs for name, one in data_sets(results).items()}
    labels = list(
        dict.fromkeys(label for runs in data.values() for label in runs if not is_charged(label))
    )
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(10.0, 3.3 * len(data) + 1.3), layout=new_layout())
        grid = figure.subplots(len(data), len(metrics), squeeze=False)
        for panels, (name, runs) in zip(grid, data.items(), strict=True):
            for axes, metric in zip(panels, metrics, strict=True):
                for label, own in runs.items():
                    if charged or not is_charged(label):
                        _strategy(axes, list(own.values()), metric, against, label, labels)
                _scales(axes, metric, against)
                axes.set(xlabel=AXES[against], ylabel=METRICS[metric])
                if len(data) > 1:
                    axes.set_title(name)
        legend_below(figure, grid.flat)
        n_runs = [
            len(own) for runs in data.values() for label, own in runs.items() if label in labels
        ]
        spread = repetitions(max(n_runs), least=min(n_runs)) + weights_of(results)
        note = "\n* tuned, without the cost of the search" if _has_tuned(labels, against) else ""
        figure.suptitle(f"{', '.join(data)}: {spread}{note}")
        what = " and ".join("loss" if metric == "loss" else "test error" for metric in metrics)
        figure.set_label(
            f"Curves of {what} on {', '.join(data)} against {AXES[against]}, {spread}. "
            + " ".join(_best(name, runs, labels, metrics) for name, runs in data.items())
        )
    return figure


def _has_tuned(labels: Iterable[str], against: str) -> bool:
    return against != "stumps" and any(map(is_tuned, labels))


def _strategy(
    axes: Axes, runs: Sequence[Rows], metric: str, against: str, label: str, labels: list[str]
) -> None:
    column, _ = COLUMNS[metric]
    x, values = shared_curve(runs, column, against)
    style: dict[str, Any] = {}
    if is_charged(label):  # the colour of the strategy that it is
        style = {"markerfacecolor": "white", "markeredgewidth": 1.0, "linewidth": 1.0}
    number = labels.index(label.removesuffix(CHARGED))
    if x.size:
        draw_band(axes, x, values, number, label, **style)
    else:
        axes.plot([], [], **{**look(number), **style}, label=label)


def _scales(axes: Axes, metric: str, against: str) -> None:
    drawn = np.concatenate([np.asarray(line.get_xdata(), np.float64) for line in axes.lines])
    if not drawn.size:
        return
    first, last = float(drawn.min()), float(drawn.max())
    if against == "stumps":
        round_axis(axes, int(first), int(last))
    else:
        axes.set_xscale("log")
        axes.set_xlim(first / 1.05, last * 1.05)
        decades(axes.xaxis)
    if metric == "error":
        error_scale(axes)


def _best(
    name: str,
    runs: Mapping[str, Mapping[int, Rows]],
    labels: Sequence[str],
    metrics: Sequence[str],
) -> str:
    """Which strategies come out lowest at the end, in words."""
    parts = []
    for metric in metrics:
        column, _ = COLUMNS[metric]
        ends = {
            label: float(np.mean([run[-1][column] for run in own.values()]))
            for label, own in runs.items()
            if label in labels
        }
        best = min(ends, key=ends.__getitem__)
        unit = " percent" if metric == "error" else ""
        title = "log10 loss" if metric == "loss" else "test error"
        parts.append(f"the lowest mean {title} is {ends[best]:.2f}{unit}, of {best}")
    last = max(int(run[-1]["stumps"]) for own in runs.values() for run in own.values())
    return f"After {last:,} stumps on {name} {'; '.join(parts)}."
