"""The picture of how a round's cost grows with the number of examples."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from boostsample.experiments.bench.growth import FITTED_FROM, Growth
from boostsample.experiments.bench.rounds import BASELINE
from boostsample.experiments.plots.pictures import COLOURS, STYLE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["growth_figure"]


def growth_figure(growth: Growth) -> Figure:
    """Milliseconds a round and nanoseconds a look against N, with slopes.

    That of all large sizes, and that of those from `growth.fitted_from` on, beyond the caches.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(10.0, 4.2), layout="constrained")
        left, right = figure.subplots(1, 2)
        _milliseconds(left, growth)
        _nanoseconds(right, growth)
        for axes in (left, right):
            axes.set_xscale("log")
            axes.set_xlabel("examples N")
            axes.xaxis.set_major_formatter("{x:,.0f}")
        figure.legend(
            *left.get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False
        )
        figure.suptitle(f"{growth.work} of {BASELINE}: 10 features, all N examples, 10 classes")
    return figure


def _milliseconds(axes: Axes, growth: Growth) -> None:
    sizes = np.array(growth.sizes)
    _points(axes, growth, np.full(sizes.size, 1e3))
    for fit, style in ((replace(growth, fitted_from=FITTED_FROM), "--"), (growth, "-")):
        power, factor = fit.slope()
        start = fit.fitted_sizes[0]
        line = np.array([start, sizes[-1]], dtype=np.float64)
        axes.plot(
            line,
            1e3 * factor * line**power,
            color=COLOURS[1],
            linestyle=style,
            linewidth=1.2,
            label=f"slope {power:.2f} from N = {start:,} on",
            zorder=1,
        )
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter("{x:g}")
    axes.set_ylabel(f"milliseconds {growth.work}")


def _nanoseconds(axes: Axes, growth: Growth) -> None:
    _points(axes, growth, 1e9 / np.array(growth.looks))
    axes.set_ylim(bottom=0.0)
    axes.set_ylabel(f"nanoseconds a look, {growth.work.removeprefix('a ')} as a whole")


def _points(axes: Axes, growth: Growth, scale: NDArray[np.float64]) -> None:
    for number, (label, seconds) in enumerate(
        (
            ("median", np.median(growth.seconds, axis=0)),
            ("least", growth.seconds.min(axis=0)),
        )
    ):
        axes.plot(
            growth.sizes,
            scale * seconds,
            color=COLOURS[0] if number == 0 else COLOURS[2],
            marker="o" if number == 0 else "v",
            markersize=5,
            linewidth=1.2,
            linestyle="-" if number == 0 else ":",
            label=label,
        )
