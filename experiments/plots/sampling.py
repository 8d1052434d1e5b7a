"""Plots of the numbers of features (Q) and examples (T) that strategies search, over rounds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from boostsample.errors import DataError
from boostsample.experiments.plots.drawing import figures
from boostsample.experiments.plots.drawing.windows import (
    round_windows,
    window_means,
    window_middles,
)
from boostsample.experiments.results.curves import curves_of_results, shared_curve
from boostsample.experiments.results.labels import (
    counted,
    is_charged,
    learners_of,
    with_learner,
)
from boostsample.experiments.results.read_folder import Results
from boostsample.experiments.results.runs import Run, runs_by_strategy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_FINE = 10
_TITLES = ("features searched, Q", "examples searched, T")

_Curve = tuple[NDArray[np.float64], NDArray[np.float64]]


def sampling_figure(name: str, runs: Sequence[Run]) -> Figure:
    """Plot Q and T of the searches over rounds, with bands from the lowest to the highest run."""
    found = runs_by_strategy(runs)
    last = max(run.n_rounds for run in runs)
    edges = round_windows(last, _FINE)
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
    title = with_learner(name, (run.learner for run in runs))
    return _figure(title, curves, last, "round", "of the searches, over rounds")


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
    (found,) = curves_of_results(Results({"rounds": []}, own))
    means = {
        label: [shared_curve(list(runs.values()), column) for column in ("features", "examples")]
        for label, runs in found.runs.items()
    }
    last = max(int(row["stumps"]) for row in own)
    learners = learners_of(own)
    title = with_learner(name, learners)
    return _figure(title, means, last, counted(learners), "means over all searches so far")


@figures.styled_axes
def _figure(
    name: str, curves: Mapping[str, Sequence[_Curve]], last: int, axis: str, what: str
) -> Figure:
    figure, panels = figures.new_panels(2, 2, 3.5)
    for at, (axes, title) in enumerate(zip(panels, _TITLES, strict=True)):
        for number, (label, both) in enumerate(curves.items()):
            figures.draw_band(axes, *both[at], number, label, extremes=True)
        axes.set(xlabel=axis, ylabel=title, yscale="log")
        axes.margins(y=0.08)
        figures.round_axis(axes, 1, last)
        figures.decade_ticks(axes.yaxis)
    figures.legend_below(figure, panels)
    repeats = figures.repeats_title((values for (_, values), _ in curves.values()), "range")
    figure.suptitle(f"{name}: Q and T {what}, {repeats}")
    ends = "; ".join(
        f"{label} ends at Q {_end(both[0]):,.0f} and T {_end(both[1]):,.0f}"
        for label, both in curves.items()
    )
    figure.set_label(f"Features Q and examples T on {name}: {what}, {repeats}; {ends}.")
    return figure


def _end(curve: _Curve) -> float:
    """The last finite mean of a curve."""
    values = curve[1]
    there = np.isfinite(values).any(axis=0)
    return float(np.nanmean(values[:, there], axis=0)[-1]) if there.any() else math.nan
