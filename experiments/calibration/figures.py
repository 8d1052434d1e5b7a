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
    cells_of,
    gaussian_optimum,
)
from boostsample.experiments.plots.pictures import COLOURS, DASHES, STYLE
from boostsample.planning.expected_edge import gaussian_expected_edge, plan_curve

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["calibration_figure", "figure_2"]

_MOST_FEATURES, _MOST_EXAMPLES = 10_000, 100_000
_N_CURVE, _N_SURFACE = 120, 33
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def calibration_figure(calibration: Calibration) -> Figure:
    """A panel a round: E[G*] along the budget, measured and predicted, with choice and best."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    n = len(calibration.choices)
    n_columns = min(n, 2 if n <= 4 else 3)
    n_rows = -(-n // n_columns)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(1.0 + 4.5 * n_columns, 1.3 + 2.8 * n_rows), layout="constrained")
        panels = figure.subplots(n_rows, n_columns, squeeze=False).ravel()
        handles: dict[str, Any] = {}
        for axes, choice in zip(panels[:n], calibration.choices, strict=True):
            _panel(axes, calibration, choice)
            drawn, labels = axes.get_legend_handles_labels()
            handles |= dict(zip(labels, drawn, strict=True))
        for axes in panels[n:]:
            axes.set_visible(False)
        for axes in panels[max(0, n - n_columns) : n]:
            axes.set_xlabel(
                f"features Q, on T = {calibration.budget:,} / Q examples, at most "
                f"{calibration.n_examples:,}"
            )
        for axes in panels[:n:n_columns]:
            axes.set_ylabel("true edge of the winner, E[G*]")
        figure.legend(
            list(handles.values()),
            list(handles),
            loc="outside lower center",
            ncols=5,
            frameon=False,
        )
        figure.suptitle(
            f"{calibration.prepared.data.name}, a run of {calibration.variant.label}: "
            f"{calibration.repeats:,} searches a point"
        )
    return figure


def _panel(axes: Axes, calibration: Calibration, choice: Mapping[str, Any]) -> None:
    mark = choice["round"]
    cells = [row for row in along_the_budget(calibration, mark) if row["kind"] == "grid"]
    features, edges, errors = (
        np.array([row[name] for row in cells], dtype=np.float64)
        for name in ("n_features", "edge", "edge_error")
    )
    axes.plot(features, edges, color=COLOURS[0], marker="o", markersize=3, label="measured")
    axes.fill_between(
        features,
        edges - 2 * errors,
        edges + 2 * errors,
        color=COLOURS[0],
        alpha=0.2,
        linewidth=0,
        label="± 2 std. errors",
    )
    if mark in calibration.models:
        pool = calibration.prepared.pool(0)
        curve = plan_curve(
            calibration.models[mark], pool.n_features, pool.n_examples, calibration.budget
        )
        axes.plot(
            curve.n_features,
            curve.edges,
            color=COLOURS[1],
            linestyle="--",
            label="predicted",
        )
    best = choice["best_features"], choice["best_examples"]
    height = next(
        row["edge"]
        for row in cells_of(calibration, mark)
        if (row["n_features"], row["n_examples"]) == best
    )
    ring: dict[str, Any] = {
        "marker": "o",
        "markersize": 11,
        "markerfacecolor": "none",
        "linestyle": "none",
    }
    axes.plot([best[0]], [height], color=COLOURS[6], label="best cell", **ring)
    axes.errorbar(
        [choice["n_features"]],
        [choice["edge_expected"]],
        yerr=[2 * choice["edge_expected_error"]],
        color=COLOURS[2],
        marker="D",
        markersize=6,
        linestyle="none",
        label="the strategy",
    )
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.margins(y=0.08)
    axes.set_ylim(bottom=0.0)
    axes.set_title(f"round {mark:,}", fontsize=10)


def figure_2() -> Figure:
    """Figure 2 of [DF11] from eq. 17, one row a variance: over Q and T, and along three costs.

    What the paper draws as surfaces are contours here, with the lines of equal cost in them.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(10.0, 7.6), layout="constrained")
        rows = figure.subplots(len(FIGURE_2_VARIANCES), 2)
        for (left, right), variance in zip(rows, FIGURE_2_VARIANCES, strict=True):
            _surface(figure, left, variance)
            for number, cost in enumerate(FIGURE_2_COSTS):
                style = {"color": COLOURS[number], "linestyle": DASHES[number]}
                q = _whole(min(_MOST_FEATURES, cost), _N_CURVE)
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
            power = f"{math.log10(variance):.0f}".translate(_RAISED)
            left.set_title(f"E[G*], G ~ N(0, 10{power})", fontsize=10)
            right.set_title(f"E[G*] at fixed costs, G ~ N(0, 10{power})", fontsize=10)
            right.set_ylim(bottom=0.0)
        figure.legend(
            *rows[0][1].get_legend_handles_labels(),
            loc="outside lower center",
            ncols=len(FIGURE_2_COSTS),
            frameon=False,
        )
        figure.suptitle(
            "Expected true edge of the best of Q weak learners on T samples, Δ ~ N(0, 1/T): "
            "s² / √(s² + 1/T) · E[max of Q N(0, 1)]\n"
            "([DF11] Figure 2 from eq. 17; dots: the best Q of each cost)",
            fontsize=10,
        )
    return figure


def _surface(figure: Figure, axes: Axes, variance: float) -> None:
    """Contours of e(Q,T), Q and T from 1."""
    q = _whole(_MOST_FEATURES, _N_SURFACE)
    t = np.geomspace(1, _MOST_EXAMPLES, _N_SURFACE)
    edges = [[gaussian_expected_edge(n, size, variance) for n in q.tolist()] for size in t.tolist()]
    drawn = axes.contourf(q, t, np.array(edges), levels=12)
    figure.colorbar(drawn, ax=axes)
    axes.set_yscale("log")
    axes.set_ylim(1, _MOST_EXAMPLES)
    axes.set_ylabel("number of samples T")
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.grid(visible=False)


def _whole(most: int, n: int) -> NDArray[np.int64]:
    """About n whole numbers from 1 to `most`, in equal ratios where they are large."""
    return np.unique(np.rint(np.geomspace(1, most, n)).astype(np.int64))
