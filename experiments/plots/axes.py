"""Plots of a metric against an axis of a grid, such as the budget: a line a strategy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from boostsample.errors import SettingError, unknown
from boostsample.experiments.metrics import METRICS
from boostsample.experiments.plots import drawing
from boostsample.experiments.results.joined import setup_label
from boostsample.experiments.results.read_folder import Results
from boostsample.experiments.results.run_curves import AXES, Curves, curves_of_data
from boostsample.experiments.results.titles import is_charged

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@drawing.styled_axes
def axis_figure(
    results: Sequence[Results],
    against: str,
    metrics: Sequence[str],
    axis: str = "stumps",
    levels: Sequence[float] | None = None,
) -> Figure:
    """Plot metrics at a level of one of `AXES` against an axis in which joined results differ.

    Numbers are on a log axis, budgets in multiples of N; other values at equal distances. A line is
    a strategy with the values of the other axes. `levels` has one level; by default the last one of
    `Curves.levels`. Each data set is a row of panels. SettingError if a data set has no such axis,
    or several levels are given; other errors are those of `Curves.at`.
    """
    if levels is not None and len(levels) > 1:
        raise SettingError(f"a picture against {against} shows one level, got {len(levels)}")
    for metric in metrics:
        if not METRICS.get(metric) or not METRICS[metric].axis_title:
            raise unknown("metric", metric, [m for m in METRICS if METRICS[m].axis_title])
    data = curves_of_data(results)
    for curves in data.values():
        known = [name for part in curves.parts.values() for name in part if name != "strategy"]
        if against not in known:
            raise unknown("axis", against, [*AXES, *dict.fromkeys(known)])
    figure, panels = drawing.new_panels(len(data) * len(metrics), len(metrics), 3.3)
    at = iter(panels)
    wheres: dict[str, None] = {}
    drawn: list[NDArray[np.float64]] = []
    for name, curves in data.items():
        for metric in metrics:
            axes = next(at)
            levels_here = curves.levels(axis, metric) if levels is None else tuple(levels)
            if not levels_here:
                raise SettingError(f"the runs of {name} share no level of {axis}; take stumps")
            level = levels_here[-1]
            unit = curves.counted if axis == "stumps" else axis
            wheres[f"at {level:,g} {unit}"] = None
            lines = _lines(curves, against, metric, axis, level)
            drawn += list(lines.values())
            _draw(axes, curves, against, lines)
            axes.set_ylabel(METRICS[metric].axis_title)
            if metric == "error":
                drawing.error_axis(axes)
            if len(data) > 1:
                axes.set_title(name)
    drawing.legend_below(figure, panels)
    where = " or ".join(wheres)
    repeats = drawing.repeats_title(drawn)
    figure.suptitle(f"{', '.join(data)} {where}: {repeats}")
    shown = " and ".join(METRICS[metric].axis_title for metric in metrics)
    figure.set_label(f"{shown} on {', '.join(data)} {where} against {against}, {repeats}.")
    return figure


def _heads(curves: Curves, against: str) -> list[str]:
    """The values of an axis in order of appearance."""
    return list(dict.fromkeys(part[against] for part in curves.parts.values()))


def _lines(
    curves: Curves, against: str, metric: str, axis: str, level: float
) -> dict[str, NDArray[np.float64]]:
    """The values of each line, (repetitions, values of the axis); NaN where there is none."""
    heads = _heads(curves, against)
    values = curves.at(metric, axis, level)
    repetitions = sorted({number for runs in values.values() for number in runs})
    lines: dict[str, NDArray[np.float64]] = {}
    for label, part in curves.parts.items():
        if is_charged(label):
            continue
        others = [name for name in part if name not in ("strategy", against)]
        setup = setup_label(part, others)
        line = f"{part['strategy']} ({setup})" if setup else part["strategy"]
        empty = np.full((len(repetitions), len(heads)), np.nan)
        column = lines.setdefault(line, empty)[:, heads.index(part[against])]
        column[:] = [values[label].get(number, np.nan) for number in repetitions]
    return lines


def _draw(axes: Axes, curves: Curves, against: str, lines: dict[str, NDArray[np.float64]]) -> None:
    heads = _heads(curves, against)
    numbers = _numbers(against, heads)
    x = np.arange(len(heads)) if numbers is None else np.array(numbers)
    order = np.argsort(x)
    for number, (label, values) in enumerate(lines.items()):
        drawing.draw_band(axes, x[order], values[:, order], number, label)
    if numbers is None:
        axes.set_xticks(x, heads)
        axes.set_xlabel(against)
        return
    axes.set_xscale("log")
    axes.set_xlim(x.min() / 1.1, x.max() * 1.1)
    drawing.decade_ticks(axes.xaxis)
    unit = " in multiples of N" if against == "budget" and heads[0].endswith("N") else ""
    unit = unit or (" in looks of a search" if against == "budget" else "")
    axes.set_xlabel(f"{against}{unit}")


def _numbers(against: str, heads: Sequence[str]) -> list[float] | None:
    """The values as positive numbers; None if they are not, or have different units."""
    of_n = [head.endswith("N") for head in heads]
    if against == "budget" and any(of_n) != all(of_n):
        return None
    try:
        numbers = [float(head.removesuffix("N").replace("_", "")) for head in heads]
    except ValueError:
        return None
    return numbers if min(numbers) > 0 else None
