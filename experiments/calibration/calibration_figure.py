"""The picture of a calibration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from boostsample.experiments.calibration.calibration import Calibration
from boostsample.experiments.plots.drawing.figures import (
    COLOURS,
    decade_ticks,
    legend_below,
    new_panels,
    styled_axes,
)
from boostsample.planning.expected_edge import expected_edge_curve

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@styled_axes
def calibration_figure(calibration: Calibration) -> Figure:
    """Plot E[G*] along the budget, a panel a round: measured, predicted, the choice, the best."""
    n = len(calibration.choices)
    n_columns = min(n, 2 if n <= 4 else 3)
    figure, panels = new_panels(n, n_columns, 2.8, 1.0 + 4.5 * n_columns)
    for axes, choice in zip(panels, calibration.choices, strict=True):
        _panel(axes, calibration, choice)
    place = panels[0].get_subplotspec()
    assert place is not None, "panels are places of a grid"
    n_columns = place.get_gridspec().ncols  # fewer in a narrow picture
    for axes in panels[max(0, n - n_columns) :]:
        axes.set_xlabel(
            f"features Q, on T = {calibration.budget:,} / Q examples, at most "
            f"{calibration.n_examples:,}"
        )
    for axes in panels[::n_columns]:
        axes.set_ylabel("true edge of the winner, E[G*]")
    legend_below(figure, panels, handlelength=2.0, columnspacing=2.0)
    figure.suptitle(
        f"{calibration.prepared.data.name}, a run of {calibration.variant.label}: "
        f"{calibration.repeats:,} searches a point"
    )
    return figure


def _panel(axes: Axes, calibration: Calibration, choice: Mapping[str, Any]) -> None:
    mark = choice["round"]
    points = [row for row in calibration.along_budget(mark) if row["kind"] == "grid"]
    features, edges, errors = (
        np.array([row[name] for row in points], dtype=np.float64)
        for name in ("n_features", "edge", "edge_error")
    )
    axes.plot(features, edges, color=COLOURS[0], marker="o", markersize=3, label="measured")
    band = (edges - 2 * errors, edges + 2 * errors)
    style: dict[str, Any] = {"color": COLOURS[0], "alpha": 0.2, "linewidth": 0}
    axes.fill_between(features, *band, **style, label="two standard errors to each side")
    if mark in calibration.models:
        pool = calibration.prepared.pool(0)
        model = calibration.models[mark]
        curve = expected_edge_curve(model, pool.n_features, pool.n_examples, calibration.budget)
        style = {"color": COLOURS[1], "linestyle": "--"}
        axes.plot(curve.n_features, curve.edges, **style, label="predicted")
    best = choice["best_features"], choice["best_examples"]
    height = next(
        row["edge"]
        for row in calibration.points(mark)
        if (row["n_features"], row["n_examples"]) == best
    )
    ring: dict[str, Any] = {"markersize": 11, "markerfacecolor": "none", "color": COLOURS[6]}
    axes.plot([best[0]], [height], "o", label="best point", **ring)
    axes.errorbar(
        [choice["n_features"]],
        [choice["edge_expected"]],
        yerr=[2 * choice["edge_expected_error"]],
        fmt="D",
        color=COLOURS[2],
        markersize=6,
        label="the strategy",
    )
    axes.set_xscale("log")
    decade_ticks(axes.xaxis, integer=True)
    axes.margins(y=0.08)
    axes.set_ylim(bottom=0.0)
    axes.set_title(f"round {mark:,}")
