"""Critical-difference diagrams: mean ranks of strategies over data sets [D06].

- [D06] Demsar, Statistical comparisons of classifiers over multiple data sets, JMLR 7, 2006.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from boostsample.errors import SettingError
from boostsample.experiments.metrics import METRICS
from boostsample.experiments.plots.drawing import (
    current_layout,
    figure_width,
    new_figure,
    styled_axes,
    wrapped_text,
)
from boostsample.experiments.results.read_folder import Results
from boostsample.experiments.results.significance import (
    LEVEL,
    Ranking,
    critical_difference,
    friedman,
    least_data_sets,
    ranking,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LINE = 0.28  # height of a line of 10 points in inches, the unit of the vertical axis


def rank_bars(mean_ranks: NDArray[np.float64], difference: float) -> list[tuple[int, int]]:
    """Maximal groups of strategies whose mean ranks differ by less than the critical difference.

    Takes ascending ranks; returns the first and the last index of each group.

    >>> rank_bars(np.array([1.0, 1.5, 2.4, 4.0]), 1.0)
    [(0, 1), (1, 2)]
    """
    groups: list[tuple[int, int]] = []
    for first, rank in enumerate(mean_ranks):
        last = int(np.searchsorted(mean_ranks, rank + difference, side="left")) - 1
        if last > first and (not groups or last > groups[-1][1]):
            groups.append((first, last))
    return groups


@styled_axes
def ranks_figure(
    results: Sequence[Results],
    metric: str = "loss",
    stumps: int | None = None,
    axis: str = "stumps",
) -> Figure:
    """Draw a critical-difference diagram; bars join strategies that do not differ significantly.

    Arguments and errors are those of `boostsample.experiments.results.significance.ranking`.
    """
    order = ranking(results, metric, stumps, axis)
    n = len(order.labels)
    least = least_data_sets(n)
    if len(order.data) < least:
        raise SettingError(
            f"a critical-difference diagram of {n} strategies needs {least} data sets or more, got "
            f"{len(order.data)} ({', '.join(order.data)}): with fewer, Nemenyi's test at {LEVEL:g} "
            "finds no difference, whatever the ranks; give more results"
        )
    difference = critical_difference(n, len(order.data))
    groups = rank_bars(order.ranks, difference)
    depth = 1.0 + 0.5 * len(groups) + math.ceil(n / 2)
    notes = wrapped_text("\n".join(_notes(order, difference)), figure_width(), 9)
    figure = new_figure(_LINE * (depth + 4.4) + 0.2 * (3 + notes.count("\n")))
    _diagram(figure.subplots(), order, difference, groups, depth)
    marks = dict.fromkeys(f"{mark:,}" for mark in order.stumps.values())
    where = (
        f"after {' or '.join(marks)} {order.counted}" if axis == "stumps" else f"at equal {axis}"
    )
    where += f", {len(order.data)} data sets"
    title = f"Mean ranks (1 is best) by {METRICS[metric].axis_title} {where}"
    figure.suptitle(title)
    figure.supxlabel(notes, fontsize="small")
    placed = ", ".join(
        f"{label} {rank:.2f}" for label, rank in zip(order.labels, order.ranks, strict=True)
    )
    joined = "; ".join(" to ".join(order.labels[k] for k in pair) for pair in groups)
    figure.set_label(
        f"{title} ({', '.join(order.data)}): {placed}. Critical difference {difference:.2f}. "
        f"Not told apart: {joined or 'none'}."
    )
    return figure


def _notes(order: Ranking, difference: float) -> list[str]:
    rule = f"less than the critical difference {difference:.2f} (Nemenyi's test at {LEVEL:g})"
    notes = [f"Bars join strategies whose mean ranks differ by {rule}."]
    if len(order.labels) > 2:
        statistic, p = friedman(order.scores)
        shown = "p < 0.0001" if p < 0.0001 else f"p = {p:.2g}"
        notes.append(
            f"Friedman's test that all ranks are the same: chi-square {statistic:.1f}, {shown}."
        )
    if order.left_out:
        notes.append(f"Left out, as not in every data set: {', '.join(order.left_out)}.")
    if order.fewer:
        notes.append(f"Means of fewer repetitions than others: {', '.join(order.fewer)}.")
    return notes


def _diagram(
    axes: Axes,
    order: Ranking,
    difference: float,
    groups: Sequence[tuple[int, int]],
    depth: float,
) -> None:
    n = len(order.labels)
    room = 0.42 * (n - 1)
    axes.set_axis_off()
    axes.set_xlim(1 - room, n + room)
    axes.set_ylim(-depth - 0.3, 2.6)
    scale = current_layout().scale
    black: dict[str, Any] = {"color": "#000000", "linewidth": 1.2 * scale}
    axes.plot([1, n], [0, 0], **black)
    for rank in range(1, n + 1):
        axes.plot([rank, rank], [0, 0.18], **black)
        axes.text(rank, 0.3, str(rank), ha="center", va="bottom")
    axes.plot([1, 1 + difference], [1.7, 1.7], **black)
    for end in (1, 1 + difference):
        axes.plot([end, end], [1.55, 1.85], **black)
    axes.text(1 + difference / 2, 1.85, f"CD = {difference:.2f}", ha="center", va="bottom")
    butt: dict[str, Any] = {"solid_capstyle": "butt"}
    for number, (first, last) in enumerate(groups):
        ends = order.ranks[[first, last]] + 0.012 * n * np.array([-1, 1])
        height = -0.5 - 0.5 * number
        axes.plot(ends, [height, height], color="#D55E00", linewidth=4 * scale, **butt)
    top = 1.0 + 0.5 * len(groups)
    half = math.ceil(n / 2)
    for place, (label, rank) in enumerate(zip(order.labels, order.ranks, strict=True)):
        if place < half:
            height, end, side = -(top + place), 1 - 0.03 * n, "right"
            at, text = end - 0.01 * n, f"{label}  {rank:.2f}"
        else:
            height, end, side = -(top + n - 1 - place), n + 0.03 * n, "left"
            at, text = end + 0.01 * n, f"{rank:.2f}  {label}"
        axes.plot([rank, rank, end], [0, height, height], color="#555555", linewidth=0.9 * scale)
        axes.text(at, height, text, ha=side, va="center")
