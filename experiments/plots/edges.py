"""Plots of edges over rounds: expected by the strategy, estimated on the sample, and true."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from boostsample.experiments.cells.cell_file import PREDICTED
from boostsample.experiments.plots.drawing import figures
from boostsample.experiments.plots.drawing.layout import current_layout
from boostsample.experiments.plots.drawing.windows import (
    round_windows,
    window_means,
    window_middles,
)
from boostsample.experiments.results.labels import counted, with_learner
from boostsample.experiments.results.runs import Run, runs_by_strategy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_PER_DECADE = 8
_LINES = {
    "edge": ("true edge G", 6, "-", ""),
    "estimated": ("estimated edge H of the winner", 1, "--", ""),
    "expected": ("edge that the strategy expected, E[G*]", 0, "none", "o"),
}
"""Label, number of the colour, dashes and marker of each kind of edge."""


def mean_edges(runs: Sequence[Run], edges: NDArray[np.int64]) -> dict[str, NDArray[np.float64]]:
    """Mean edges in windows of rounds (`round_windows`), for each repetition of one strategy.

    Arrays of shape (repetitions, n_windows): ``edge`` is the true edge G, ``estimated`` is H on the
    sample, ``expected`` is noted by the strategy before the search, and absent if it never was.
    """
    values = {
        "edge": [run.cell.arrays["edge"] for run in runs],
        "estimated": [run.cell.edge_estimated for run in runs],
    }
    if any(PREDICTED in run.cell.arrays for run in runs):
        values["expected"] = [
            run.cell.arrays.get(PREDICTED, np.full(len(run.cell.round), np.nan)) for run in runs
        ]
    return {
        kind: np.array(
            [window_means(run.cell, one, edges) for run, one in zip(runs, own, strict=True)]
        )
        for kind, own in values.items()
    }


@figures.styled_axes
def edges_figure(name: str, runs: Sequence[Run]) -> Figure:
    """Plot edges over rounds, a panel a strategy: true, estimated and, if noted, expected.

    The estimated edge is a maximum over all searched stumps and therefore too high on a small
    sample. On all examples it is the true edge.
    """
    found = runs_by_strategy(runs)
    last = max(run.n_rounds for run in runs)
    edges = round_windows(last, _PER_DECADE)
    means = {label: mean_edges(own, edges) for label, own in found.items()}
    figure, panels = figures.strategy_panels(tuple(found), "round", "edge", 2.5)
    every = np.concatenate([values.ravel() for one in means.values() for values in one.values()])
    is_log = bool((every[np.isfinite(every)] > 0).all())
    for label, axes in panels.items():
        for kind, values in means[label].items():
            title, colour, dashes, marker = _LINES[kind]
            style: dict[str, Any] = {"linestyle": dashes, "marker": marker, "markevery": 1}
            style |= {"color": figures.COLOURS[colour], "markersize": 3.5 * current_layout().scale}
            at = window_middles(edges)
            figures.draw_band(axes, at, values, 0, title, extremes=is_log, **style)
        figures.round_axis(axes, 1, last)
    if is_log:
        first = next(iter(panels.values()))
        first.set_yscale("log")
        figures.decade_ticks(first.yaxis)
    figures.legend_below(figure, panels.values())
    repeats = figures.repeats_title(found.values(), "range" if is_log else "std")
    learners = [run.learner for run in runs]
    title = with_learner(name, learners)
    chosen = "the chosen stumps" if counted(learners) == "stumps" else "all searches"
    figure.suptitle(f"{title}: edges of {chosen}, {repeats}")
    ratios = "; ".join(f"{label} {_optimism(one):.2f}" for label, one in means.items())
    figure.set_label(
        f"True, estimated and expected edges on {title} over rounds, {repeats}. "
        f"Estimated edge over true edge in the last rounds: {ratios}."
    )
    return figure


def _optimism(means: dict[str, NDArray[np.float64]]) -> float:
    """Estimated edge divided by true edge, in the last window that any run reaches."""
    there = np.flatnonzero(np.isfinite(means["edge"]).any(axis=0))[-1]
    true = float(np.nanmean(means["edge"][:, there]))
    return float(np.nanmean(means["estimated"][:, there])) / true if true else np.nan
