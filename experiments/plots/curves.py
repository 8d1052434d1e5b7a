"""Plots of loss and test error against stumps, looks or seconds: one row of panels a data set."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from boostsample.errors import unknown
from boostsample.experiments.metrics import MAIN_METRICS, METRICS, SMOOTHED, drawn_metrics
from boostsample.experiments.plan.variants import CHARGED_VARIANT, is_tuned_variant
from boostsample.experiments.plots import drawing
from boostsample.experiments.plots.drawing import current_layout
from boostsample.experiments.results.joined import joined_results
from boostsample.experiments.results.read_folder import Results
from boostsample.experiments.results.run_curves import (
    AXES,
    Curves,
    curves_of_data,
    shared_curve,
)
from boostsample.experiments.results.titles import (
    counted,
    is_charged,
    with_learner,
)

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

    Each data set is a row of panels, one panel for each metric. With `charged`, tuned strategies
    have a second curve with the looks and seconds of their tuning. Raises DataError without rows,
    and SettingError if two results have the same data set, or the axis or metric is unknown;
    DataError also if the results lack a metric.
    """
    if against not in AXES:
        raise unknown("axis", against, AXES)
    for metric in metrics:
        if metric not in drawn_metrics():
            raise unknown("metric", metric, drawn_metrics())
    of_data = curves_of_data(results)
    if SMOOTHED in metrics:
        for curves in of_data.values():
            curves.check(SMOOTHED, against)
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


def comparison_figure(comparison: Results) -> Figure:
    """Plot the loss and test error of a comparison that has just run; see `curves_figure`."""
    return curves_figure(joined_results([comparison]))


def _strategy(
    axes: Axes,
    runs: Sequence[pd.DataFrame],
    metric: str,
    against: str,
    label: str,
    labels: list[str],
) -> None:
    x, values = shared_curve(runs, METRICS[metric].column, against)
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
    """A metric in a sentence, without its unit."""
    if metric == "loss":
        return METRICS[metric].title
    return METRICS[metric].axis_title.removesuffix(_PERCENT)


def _best(curves: Curves, runs: Mapping[str, Mapping[int, pd.DataFrame]], metrics: Any) -> str:
    """A sentence that names the strategy with the best final value of each metric."""
    parts = []
    for metric in metrics:
        column = METRICS[metric].column
        ends = {
            label: float(np.mean([run[column].ffill().iloc[-1] for run in of_label.values()]))
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
