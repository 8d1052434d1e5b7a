"""Plots of the numbers of features (Q) and examples (T) that strategies search, over rounds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from boostsample.errors import DataError
from boostsample.experiments.cells.cell_file import Cell
from boostsample.experiments.plots import drawing
from boostsample.experiments.plots.curves import shared_curve
from boostsample.experiments.results.labels import is_charged, label_of
from boostsample.experiments.results.levels import curves_for_levels
from boostsample.experiments.results.results import Results
from boostsample.experiments.results.runs import Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_PER_DECADE = 5
_FINE = 10
_TITLES = ("features searched, Q", "examples searched, T")

Curve = tuple[NDArray[np.float64], NDArray[np.float64]]


def sampling_windows(n_rounds: int, per_decade: int = _PER_DECADE) -> NDArray[np.int64]:
    """First rounds of windows of about equal width on a log scale, and the end of the last one.

    >>> sampling_windows(100).tolist()
    [1, 2, 3, 4, 6, 10, 16, 25, 40, 63, 101]
    """
    step = 10 ** (1 / per_decade)
    number = math.ceil(per_decade * math.log10(n_rounds + 1))
    starts = np.unique(np.floor(step ** np.arange(number) + 0.5).astype(np.int64))
    starts = starts[starts * math.sqrt(step) <= n_rounds + 1]  # merges a short last window
    return np.append(starts, n_rounds + 1)


def window_middles(edges: NDArray[np.int64]) -> NDArray[np.float64]:
    """Geometric means of the first and last round of each window.

    >>> window_middles(np.array([1, 2, 4, 9])).round(2).tolist()
    [1.0, 2.45, 5.66]
    """
    middle: NDArray[np.float64] = np.sqrt(edges[:-1] * (edges[1:] - 1.0))
    return middle


def window_means(cell: Cell, values: NDArray[Any], edges: NDArray[np.int64]) -> NDArray[np.float64]:
    """Mean over all searches of a cell in each window of rounds; NaN for windows without one.

    `values`, shape (n_searches,), has one number for each search; NaN is skipped.
    """
    there = np.isfinite(values)
    at = np.searchsorted(edges, cell.round, side="right") - 1
    n = len(edges) - 1
    counts = np.bincount(at[there], minlength=n)
    sums = np.bincount(at[there], weights=values[there].astype(np.float64), minlength=n)
    means: NDArray[np.float64] = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
    return means


def sampling_by_strategy(runs: Iterable[Run]) -> dict[str, list[Run]]:
    """The runs of each strategy by its label, in order of appearance; DataError without runs."""
    found: dict[str, list[Run]] = {}
    for run in runs:
        found.setdefault(label_of(run.row_names), []).append(run)
    if not found:
        raise DataError("the results must have runs, got none; run it again into a new folder")
    return found


def sampling_figure(name: str, runs: Sequence[Run]) -> Figure:
    """Plot Q and T of the searches over rounds, with bands from the lowest to the highest run."""
    found = sampling_by_strategy(runs)
    last = max(run.n_rounds for run in runs)
    edges = sampling_windows(last, _FINE)
    curves = {
        label: [
            (
                window_middles(edges),
                np.array([window_means(run.cell, run.cell.arrays[column], edges) for run in own]),
            )
            for column in ("n_features", "n_examples")
        ]
        for label, own in found.items()
    }
    return _figure(name, curves, last, "round", "of the searches, over rounds")


def mean_sampling_figure(name: str, curves: Iterable[Mapping[str, Any]]) -> Figure:
    """Plot the means of Q and T over all searches so far, for results without cells.

    `curves` are curve rows; DataError if there are none of data set `name`.
    """
    own = [dict(row) for row in curves if row["data"] == name and not is_charged(row["strategy"])]
    if not own:
        raise DataError(
            f"Q and T need the cells or the curves of {name}, but there are none; run compare "
            "again into a new folder"
        )
    (found,) = curves_for_levels(Results([], {"rounds": []}, None, curves=own))
    means = {
        label: [shared_curve(list(runs.values()), column) for column in ("features", "examples")]
        for label, runs in found.runs.items()
    }
    last = max(int(row["stumps"]) for row in own)
    return _figure(name, means, last, "stumps", "means over all searches so far")


@drawing.styled_axes
def _figure(
    name: str, curves: Mapping[str, Sequence[Curve]], last: int, axis: str, what: str
) -> Figure:
    figure = drawing.new_figure(4.8)
    panels = figure.subplots(1, 2)
    for at, (axes, title) in enumerate(zip(panels, _TITLES, strict=True)):
        for number, (label, both) in enumerate(curves.items()):
            drawing.draw_band(axes, *both[at], number, label, extremes=True)
        axes.set(xlabel=axis, ylabel=title, yscale="log")
        axes.margins(y=0.08)
        drawing.round_axis(axes, 1, last)
        drawing.decade_ticks(axes.yaxis)
    drawing.legend_below(figure, panels)
    repeats = drawing.spread_colours(
        (values for (_, values), _ in curves.values()), "mean and range"
    )
    figure.suptitle(f"{name}: Q and T {what}, {repeats}")
    ends = "; ".join(
        f"{label} ends at Q {_end(both[0]):,.0f} and T {_end(both[1]):,.0f}"
        for label, both in curves.items()
    )
    figure.set_label(f"Features Q and examples T on {name}: {what}, {repeats}; {ends}.")
    return figure


def _end(curve: Curve) -> float:
    """The last finite mean of a curve."""
    values = curve[1]
    there = np.isfinite(values).any(axis=0)
    return float(np.nanmean(values[:, there], axis=0)[-1]) if there.any() else math.nan
