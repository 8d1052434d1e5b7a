"""Figure 2 of [DF11] from the closed form: its picture, and a table of its optima."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from boostsample.experiments.plots.drawing.figures import (
    COLOURS,
    DASHES,
    decade_ticks,
    legend_below,
    new_figure,
    styled_axes,
)
from boostsample.experiments.tables.tables import Table
from boostsample.planning.expected_edge import gaussian_expected_edge

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FIGURE_2_VARIANCES = (1e-2, 1e-4)
"""Var(G) of the upper and the lower half of Figure 2 of [DF11]."""
FIGURE_2_COSTS = (1_000, 10_000, 100_000)
"""Q T of its curves; the paper's text does not give its costs."""
_MOST_FEATURES, _MOST_EXAMPLES = 10_000, 100_000
_N_CURVE, _N_SURFACE = 120, 33


def figure_2_table() -> Table:
    """The best Q and T of Figure 2 for each variance and cost, with their edges."""
    rows = []
    for variance in FIGURE_2_VARIANCES:
        for cost in FIGURE_2_COSTS:
            q, edge = figure_2_optimum(variance, cost)
            rows.append((f"{cost:,}", f"{variance:g}", f"{q:,}", f"{cost / q:,.1f}", f"{edge:.4f}"))
    return Table(
        "the largest E[G*] for edges N(0, variance) and noise N(0, 1/T), at cost Q T",
        ("cost", "variance", "Q", "T", "E[G*]"),
        tuple(rows),
    )


def figure_2_optimum(variance: float, cost: int) -> tuple[int, float]:
    """The integer Q from 1 to `cost` of largest e(Q, cost / Q) for edges N(0, variance), and e.

    >>> [figure_2_optimum(variance, 10_000)[0] for variance in (1e-2, 1e-4)]
    [52, 6]
    """

    def edge(q: int) -> float:
        return gaussian_expected_edge(q, cost / q, variance)

    low, high = 1, cost
    while high - low > 2:  # e has one peak: c_Q grows more and more slowly, the noise faster
        third = (high - low) // 3
        left, right = low + third, high - third
        low, high = (left, high) if edge(left) < edge(right) else (low, right)
    best = max(range(low, high + 1), key=edge)
    return best, edge(best)


@styled_axes
def figure_2() -> Figure:
    """Draw Figure 2 of [DF11] from eq. 17, one row a variance: over Q and T, and along three costs.

    Shows the paper's surfaces as contours, with lines of equal cost.
    """
    from boostsample.experiments.plots.drawing.log_ticks import tick_name

    figure = new_figure(7.6)
    rows = figure.subplots(len(FIGURE_2_VARIANCES), 2)
    for (left, right), variance in zip(rows, FIGURE_2_VARIANCES, strict=True):
        _surface(figure, left, variance)
        for number, cost in enumerate(FIGURE_2_COSTS):
            style = {"color": COLOURS[number], "linestyle": DASHES[number]}
            q = _integers(min(_MOST_FEATURES, cost), _N_CURVE)
            edges = [gaussian_expected_edge(n, cost / n, variance) for n in q.tolist()]
            right.plot(q, edges, label=f"T Q = {cost:,}", **style)
            best, highest = figure_2_optimum(variance, cost)
            right.plot([best], [highest], "o", color=style["color"])
            left.plot(q, cost / q, **{**style, "color": "white"}, linewidth=1.0)
            left.plot([best], [cost / best], "o", color="white")
        for axes in (left, right):
            axes.set_xscale("log")
            axes.set_xlim(1, _MOST_FEATURES)
            axes.set_xlabel("number of weak learners Q")
            decade_ticks(axes.xaxis)
        power = tick_name(variance, powers=True)
        left.set_title(f"E[G*], G ~ N(0, {power})")
        right.set_title(f"E[G*] at fixed costs, G ~ N(0, {power})")
        right.set_ylim(bottom=0.0)
    legend_below(
        figure, [rows[0][1]], ncols=len(FIGURE_2_COSTS), handlelength=2.0, columnspacing=2.0
    )
    figure.suptitle(
        "Expected true edge of the best of Q weak learners on T samples, Δ ~ N(0, 1/T):\n"
        "s² / √(s² + 1/T) · E[max of Q N(0, 1)]\n"
        "([DF11] Figure 2 from eq. 17; dots: the best Q of each cost)"
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
    decade_ticks(axes.yaxis)
    axes.grid(visible=False)


def _integers(most: int, n: int) -> NDArray[np.int64]:
    """About n integers from 1 to `most`, at about equal ratios."""
    return np.unique(np.rint(np.geomspace(1, most, n)).astype(np.int64))
