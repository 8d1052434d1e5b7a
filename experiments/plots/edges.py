"""Pictures of edges: as expected before the search, as estimated on the sample, and as they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from boostsample.experiments.cells.cell import PREDICTED
from boostsample.experiments.plots.axes import (
    COLOURS,
    STYLE,
    decades,
    draw_band,
    legend_below,
    repetitions,
    round_axis,
    strategy_panels,
)
from boostsample.experiments.plots.sampling import by_strategy, middles, window_means, windows
from boostsample.experiments.results.runs import Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["edges_figure", "mean_edges"]

_PER_DECADE = 8
_LINES: dict[str, tuple[str, dict[str, Any]]] = {
    "edge": ("true edge G", {"color": COLOURS[6], "linestyle": "-", "marker": ""}),
    "estimated": (
        "estimated edge H of the winner",
        {"color": COLOURS[1], "linestyle": "--", "marker": ""},
    ),
    "expected": (
        "edge that the strategy expected, E[G*]",
        {"color": COLOURS[0], "linestyle": "none", "marker": "o", "markersize": 3.5},
    ),
}


def mean_edges(runs: Sequence[Run], edges: NDArray[np.int64]) -> dict[str, NDArray[np.float64]]:
    """Means of edges in windows of rounds, in each repetition of one strategy.

    Parameters
    ----------
    runs : sequence of Run
    edges : ndarray of int64, shape (n + 1,)
        As `boostsample.experiments.plots.sampling.windows` makes them.

    Returns
    -------
    dict of str to float64, shape (repetitions, n)
        ``edge``: the true edge G; ``estimated``: H, on the sample; ``expected``: what the strategy
        expected, over the searches before which it did, left out where it never did.
    """
    cells = [run.cell for run in runs]
    found = {
        "edge": np.array([window_means(cell, cell.arrays["edge"], edges) for cell in cells]),
        "estimated": np.array([window_means(cell, cell.edge_estimated, edges) for cell in cells]),
    }
    if any(PREDICTED in cell.arrays for cell in cells):
        nothing = np.full(len(edges) - 1, np.nan)
        found["expected"] = np.array(
            [
                window_means(cell, cell.arrays[PREDICTED], edges)
                if PREDICTED in cell.arrays
                else nothing
                for cell in cells
            ]
        )
    return found


def edges_figure(name: str, runs: Sequence[Run]) -> Figure:
    """Edges over rounds, a panel a strategy: true, estimated and, where there is one, expected.

    The estimated edge is a maximum over what was searched, and is too high where the sample is
    small; where it was taken on all examples it is the true one.

    Parameters
    ----------
    name : str
        Of the data set.
    runs : sequence of Run
        As `boostsample.experiments.results.results.read_runs` gives them.

    Raises
    ------
    DataError
        There are no runs.
    """
    import matplotlib as mpl

    found = by_strategy(runs)
    last = max(run.n_rounds for run in runs)
    edges = windows(last, _PER_DECADE)
    means = {label: mean_edges(own, edges) for label, own in found.items()}
    with mpl.rc_context(STYLE):
        figure, panels, left = strategy_panels(tuple(found), "round", 2.5)
        for label, axes in panels.items():
            for kind, values in means[label].items():
                title, style = _LINES[kind]
                draw_band(axes, middles(edges), values, 0, title, **{**style, "markevery": 1})
            round_axis(axes, 1, last)
        every = np.concatenate(
            [values.ravel() for one in means.values() for values in one.values()]
        )
        if (every[np.isfinite(every)] > 0).all():
            left[0].set_yscale("log")
            decades(left[0].yaxis)
        for axes in left:
            axes.set_ylabel("edge")
        legend_below(figure, panels.values())
        n_runs = [len(own) for own in found.values()]
        spread = repetitions(max(n_runs), least=min(n_runs))
        figure.suptitle(f"{name}: edges of the chosen stumps, {spread}")
        ratios = "; ".join(f"{label} {_optimism(one):.2f}" for label, one in means.items())
        figure.set_label(
            f"True, estimated and expected edges on {name} over rounds, {spread}. Estimated edge "
            f"over true edge in the last rounds: {ratios}."
        )
    return figure


def _optimism(means: dict[str, NDArray[np.float64]]) -> float:
    """Estimated by true edge, in the last window that any run has."""
    there = np.flatnonzero(np.isfinite(means["edge"]).any(axis=0))[-1]
    true = float(np.nanmean(means["edge"][:, there]))
    return float(np.nanmean(means["estimated"][:, there])) / true if true else np.nan
