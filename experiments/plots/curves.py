"""Plots of metrics against stumps, looks or seconds, or against an axis of a grid as the budget.

Each data set is a row of panels, one for each metric; a line is a strategy.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from boostsample.checks import check_known
from boostsample.errors import SettingError, unknown
from boostsample.experiments.metrics import MAIN_METRICS, METRICS, SMOOTHED, drawn_metrics
from boostsample.experiments.plan.variants import CHARGED_VARIANT, is_tuned_variant
from boostsample.experiments.plots import drawing
from boostsample.experiments.plots.drawing import current_layout
from boostsample.experiments.results.joined import setup_label
from boostsample.experiments.results.read_folder import Results
from boostsample.experiments.results.run_curves import AXES, Curves, curves_of_data, shared_curve
from boostsample.experiments.results.significance import comparable
from boostsample.experiments.results.titles import counted, is_charged, with_learner

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_PERCENT = " in percent"


@drawing.styled_axes
def curves_figure(
    results: Sequence[Results],
    against: str = "stumps",
    metrics: Sequence[str] = MAIN_METRICS,
    charged: bool = True,
) -> Figure:
    """Plot `metrics` along an axis of `AXES`: a curve a strategy, with bands of one std.

    With `charged`, tuned strategies have a second curve with the looks and seconds of their tuning.
    Raises DataError without rows, and SettingError if two results have the same data set, or the
    axis or metric is unknown; DataError also if the results lack a metric or the axis.
    """
    check_known("axis", against, AXES)
    for metric in metrics:
        check_known("metric", metric, drawn_metrics())
    of_data = curves_of_data(results)
    for curves, metric in itertools.product(of_data.values(), metrics):
        curves.check(metric, against)
    shown = SMOOTHED if SMOOTHED in metrics else metrics[0]
    data = {name: curves.runs(shown) for name, curves in of_data.items()}
    learners = [learner for curves in of_data.values() for learner in curves.learners]
    axis = counted(learners) if against == "stumps" else AXES[against]
    title = with_learner(", ".join(data), learners)
    labels = list(
        dict.fromkeys(label for runs in data.values() for label in runs if not is_charged(label))
    )
    figure, panels = drawing.new_panels(len(data) * len(metrics), len(metrics), 3.3)
    contents = itertools.product(data.items(), metrics)
    for axes, ((name, runs), metric) in zip(panels, contents, strict=True):
        for label, by_repetition in runs.items():
            if charged or not is_charged(label):
                _strategy(axes, list(by_repetition.values()), metric, against, label, labels)
        _scales(axes, metric, against)
        axes.set(xlabel=axis, ylabel=METRICS[metric].axis_title)
        if len(data) > 1:
            axes.set_title(name)
    drawing.legend_below(figure, panels)
    drawn = [runs[label] for runs in data.values() for label in runs if label in labels]
    weights = dict.fromkeys(str(folder.settings.get("weights", "")) for folder in results)
    repeats = drawing.repeats_title(drawn)
    if any(weights):
        repeats += f"; {' or '.join(filter(None, weights))} weights"
    has_tuned = against != "stumps" and any(map(is_tuned_variant, labels))
    note = "\n* tuned, without the cost of the search" if has_tuned else ""
    figure.suptitle(f"{title}: {repeats}{note}")
    shown_metrics = " and ".join("loss" if name == "loss" else _in_words(name) for name in metrics)
    figure.set_label(
        f"Curves of {shown_metrics} on {title} against {axis}, {repeats}. "
        + " ".join(_best(curves, data[name], metrics) for name, curves in of_data.items())
    )
    return figure


def _strategy(
    axes: Axes,
    runs: Sequence[pd.DataFrame],
    metric: str,
    against: str,
    label: str,
    labels: list[str],
) -> None:
    x, values = shared_curve(runs, METRICS[metric].column, against)
    is_finite = np.isfinite(values).all(axis=0)  # metrics of users may not be
    x, values = x[is_finite], values[:, is_finite]
    style: dict[str, Any] = {}
    if is_charged(label):  # in the colour of the strategy without charge
        thin = current_layout().scale
        style = {"markerfacecolor": "white", "markeredgewidth": thin, "linewidth": thin}
    number = labels.index(label.removesuffix(CHARGED_VARIANT))
    if x.size:
        drawing.draw_band(axes, x, values, number, label, **style)
    else:
        axes.plot([], [], **{**drawing.line_style(number), **style}, label=label)


def _scales(axes: Axes, metric: str, against: str) -> None:
    drawn = np.concatenate([np.asarray(line.get_xdata(), np.float64) for line in axes.lines])
    if not drawn.size:
        return
    first, last = float(drawn.min()), float(drawn.max())
    if against == "stumps":
        drawing.round_axis(axes, int(first), int(last))
    else:
        axes.set_xscale("log")
        axes.set_xlim(first / 1.05, last * 1.05)
        drawing.decade_ticks(axes.xaxis)
    if metric in ("error", SMOOTHED):
        drawing.error_axis(axes)


def _in_words(metric: str) -> str:
    if metric == "loss":
        return METRICS[metric].title
    return METRICS[metric].axis_title.removesuffix(_PERCENT)


def _best(curves: Curves, runs: Mapping[str, Mapping[int, pd.DataFrame]], metrics: Any) -> str:
    parts = []
    for metric in metrics:
        column = METRICS[metric].column
        ends = {
            label: comparable(np.mean([run[column].ffill().iloc[-1] for run in of_label.values()]))
            for label, of_label in runs.items()
            if not is_charged(label)
        }
        higher = METRICS[metric].better > 0
        best = (max if higher else min)(ends, key=ends.__getitem__)
        unit = " percent" if METRICS[metric].axis_title.endswith(_PERCENT) else ""
        unit += " where last defined" if metric == SMOOTHED else ""
        order = "highest" if higher else "lowest"
        parts.append(f"the {order} mean {_in_words(metric)} is {ends[best]:.2f}{unit}, of {best}")
    last = int(curves.table["stumps"].max())
    return f"After {last:,} {curves.counted} on {curves.data} {'; '.join(parts)}."


# -------------------------------------------------------------------------------- axes of grids


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
    `Curves.levels`. SettingError if a data set has no such axis, or several levels are given; other
    errors are those of `Curves.at`.
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
    contents = itertools.product(data.items(), metrics)
    wheres: dict[str, None] = {}
    drawn: list[NDArray[np.float64]] = []
    for axes, ((name, curves), metric) in zip(panels, contents, strict=True):
        levels_here = curves.levels(axis, metric) if levels is None else tuple(levels)
        if not levels_here:
            raise SettingError(f"the runs of {name} share no level of {axis}; take stumps")
        unit = curves.counted if axis == "stumps" else axis
        wheres[f"at {levels_here[-1]:,g} {unit}"] = None
        heads = list(dict.fromkeys(part[against] for part in curves.parts.values()))
        values = curves.at(metric, axis, levels_here[-1])
        lines = _lines(curves, against, heads, values)
        if np.isnan(list(lines.values())).all():
            raise SettingError(
                f"no strategy on {name} has a value at {levels_here[-1]:,g} {unit} in all of its "
                "runs; take a level that they reach"
            )
        drawn += list(lines.values())
        _draw_lines(axes, against, heads, lines)
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


def _lines(
    curves: Curves,
    against: str,
    heads: Sequence[str],
    values: Mapping[str, Mapping[int, float]],
) -> dict[str, NDArray[np.float64]]:
    """The values of each line, (repetitions, heads); NaN where there is none.

    A head has no values if one of its runs has none, or an infinite one: a mean of the others
    would be biased.
    """
    repetitions = sorted({number for runs in values.values() for number in runs})
    lines: dict[str, NDArray[np.float64]] = {}
    for label, part in curves.parts.items():
        if is_charged(label):
            continue
        setup = setup_label(part, [name for name in part if name not in ("strategy", against)])
        line = f"{part['strategy']} ({setup})" if setup else part["strategy"]
        empty = np.full((len(repetitions), len(heads)), np.nan)
        column = lines.setdefault(line, empty)[:, heads.index(part[against])]
        if np.isfinite(list(values[label].values())).all():
            column[:] = [values[label].get(number, np.nan) for number in repetitions]
    return lines


def _draw_lines(
    axes: Axes, against: str, heads: Sequence[str], lines: Mapping[str, NDArray[np.float64]]
) -> None:
    numbers = _numbers(against, heads)
    x = np.arange(len(heads)) if numbers is None else np.array(numbers)
    order = np.argsort(x)
    for number, (label, values) in enumerate(lines.items()):
        if np.isnan(values).all():
            axes.plot([], [], **drawing.line_style(number), label=label)
        drawing.draw_band(axes, x[order], values[:, order], number, label)
    axes.set_xlabel(against)
    if numbers is None:
        axes.set_xticks(x, heads)
        return
    axes.set_xscale("log")
    axes.set_xlim(x.min() / 1.1, x.max() * 1.1)
    drawing.decade_ticks(axes.xaxis)
    if against == "budget":
        unit = "in multiples of N" if heads[0].endswith("N") else "in looks of a search"
        axes.set_xlabel(f"budget {unit}")


def _numbers(against: str, heads: Sequence[str]) -> list[float] | None:
    """The values as positive numbers; None if they are not, or have different units."""
    if against == "budget" and len({head.endswith("N") for head in heads}) > 1:
        return None
    try:
        numbers = [float(head.removesuffix("N").replace("_", "")) for head in heads]
    except ValueError:
        return None
    return numbers if min(numbers) > 0 else None
