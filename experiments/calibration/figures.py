"""Pictures of a calibration, and Figure 2 of [DF11] from the closed form."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from boostsample.experiments.calibration.calibration import Calibration
from boostsample.experiments.calibration.tables import (
    FIGURE_2_COSTS,
    FIGURE_2_VARIANCES,
    along_the_budget,
    gaussian_optimum,
    points_of,
)
from boostsample.experiments.plots.drawing import COLOURS, DASHES, RAISED, legend_below, styled_axes
from boostsample.planning.expected_edge import expected_edge_curve, gaussian_expected_edge

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["calibration_figure", "figure_2"]

_MOST_FEATURES, _MOST_EXAMPLES = 10_000, 100_000
_N_CURVE, _N_SURFACE = 120, 33
_LEGEND = {"handlelength": 2.0, "columnspacing": 2.0}


@styled_axes
def calibration_figure(calibration: Calibration) -> Figure:
    """Plot E[G*] along the budget, a panel a round: measured, predicted, the choice, the best."""
    from matplotlib.figure import Figure

    n = len(calibration.choices)
    n_columns = min(n, 2 if n <= 4 else 3)
    n_rows = -(-n // n_columns)
    figure = Figure(figsize=(1.0 + 4.5 * n_columns, 1.3 + 2.8 * n_rows), layout="constrained")
    panels = figure.subplots(n_rows, n_columns, squeeze=False).ravel()
    for axes, choice in zip(panels[:n], calibration.choices, strict=True):
        _panel(axes, calibration, choice)
    for axes in panels[n:]:
        axes.set_visible(False)
    for axes in panels[max(0, n - n_columns) : n]:
        axes.set_xlabel(
            f"features Q, on T = {calibration.budget:,} / Q examples, at most "
            f"{calibration.n_examples:,}"
        )
    for axes in panels[:n:n_columns]:
        axes.set_ylabel("true edge of the winner, E[G*]")
    legend_below(figure, panels[:n], ncols=5, **_LEGEND)
    figure.suptitle(
        f"{calibration.prepared.data.name}, a run of {calibration.variant.label}: "
        f"{calibration.repeats:,} searches a point"
    )
    return figure


def _panel(axes: Axes, calibration: Calibration, choice: Mapping[str, Any]) -> None:
    mark = choice["round"]
    points = [row for row in along_the_budget(calibration, mark) if row["kind"] == "grid"]
    features, edges, errors = (
        np.array([row[name] for row in points], dtype=np.float64)
        for name in ("n_features", "edge", "edge_error")
    )
    axes.plot(features, edges, color=COLOURS[0], marker="o", markersize=3, label="measured")
    band = (edges - 2 * errors, edges + 2 * errors)
    style: dict[str, Any] = {"color": COLOURS[0], "alpha": 0.2, "linewidth": 0}
    axes.fill_between(features, *band, **style, label="± 2 std. errors")
    if mark in calibration.models:
        pool = calibration.prepared.pool(0)
        model = calibration.models[mark]
        curve = expected_edge_curve(model, pool.n_features, pool.n_examples, calibration.budget)
        style = {"color": COLOURS[1], "linestyle": "--"}
        axes.plot(curve.n_features, curve.edges, **style, label="predicted")
    best = choice["best_features"], choice["best_examples"]
    height = next(
        row["edge"]
        for row in points_of(calibration, mark)
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
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.margins(y=0.08)
    axes.set_ylim(bottom=0.0)
    axes.set_title(f"round {mark:,}", fontsize=10)


@styled_axes
def figure_2() -> Figure:
    """Draw Figure 2 of [DF11] from eq. 17, one row a variance: over Q and T, and along three costs.

    Shows the paper's surfaces as contours, with lines of equal cost.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.0, 7.6), layout="constrained")
    rows = figure.subplots(len(FIGURE_2_VARIANCES), 2)
    for (left, right), variance in zip(rows, FIGURE_2_VARIANCES, strict=True):
        _surface(figure, left, variance)
        for number, cost in enumerate(FIGURE_2_COSTS):
            style = {"color": COLOURS[number], "linestyle": DASHES[number]}
            q = _integers(min(_MOST_FEATURES, cost), _N_CURVE)
            edges = [gaussian_expected_edge(n, cost / n, variance) for n in q.tolist()]
            right.plot(q, edges, label=f"T Q = {cost:,}", **style)
            best, highest = gaussian_optimum(variance, cost)
            right.plot([best], [highest], "o", color=style["color"])
            left.plot(q, cost / q, **{**style, "color": "white"}, linewidth=1.0)
            left.plot([best], [cost / best], "o", color="white")
        for axes in (left, right):
            axes.set_xscale("log")
            axes.set_xlim(1, _MOST_FEATURES)
            axes.set_xlabel("number of weak learners Q")
            axes.xaxis.set_major_formatter("{x:,.0f}")
        power = f"{math.log10(variance):.0f}".translate(RAISED)
        left.set_title(f"E[G*], G ~ N(0, 10{power})", fontsize=10)
        right.set_title(f"E[G*] at fixed costs, G ~ N(0, 10{power})", fontsize=10)
        right.set_ylim(bottom=0.0)
    legend_below(figure, [rows[0][1]], ncols=len(FIGURE_2_COSTS), **_LEGEND)
    figure.suptitle(
        "Expected true edge of the best of Q weak learners on T samples, Δ ~ N(0, 1/T): "
        "s² / √(s² + 1/T) · E[max of Q N(0, 1)]\n"
        "([DF11] Figure 2 from eq. 17; dots: the best Q of each cost)",
        fontsize=10,
    )
    return figure


def _surface(figure: Figure, axes: Axes, variance: float) -> None:
    """Draw contours of e(Q,T)."""
    q = _integers(_MOST_FEATURES, _N_SURFACE)
    t = np.geomspace(1, _MOST_EXAMPLES, _N_SURFACE)
    edges = [[gaussian_expected_edge(n, size, variance) for n in q.tolist()] for size in t.tolist()]
    drawn = axes.contourf(q, t, np.array(edges), levels=12)
    figure.colorbar(drawn, ax=axes)
    axes.set_yscale("log")
    axes.set_ylim(1, _MOST_EXAMPLES)
    axes.set_ylabel("number of samples T")
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.grid(visible=False)


def _integers(most: int, n: int) -> NDArray[np.int64]:
    """About n integers from 1 to `most`, at about equal ratios."""
    return np.unique(np.rint(np.geomspace(1, most, n)).astype(np.int64))
