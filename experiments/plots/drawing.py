"""Shared parts of pictures: style, colours, bands, log axes, panels and legends.

This module imports matplotlib only when it draws.
"""

from __future__ import annotations

import functools
import importlib.util
import math
import textwrap
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any, ParamSpec

import numpy as np
from numpy.typing import NDArray

from boostsample.errors import SettingError
from boostsample.experiments.results.labels import repetitions

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

METRICS = {
    "loss": "log10 of the exponential loss",
    "error": "test error in percent",
    "balanced-accuracy": "balanced accuracy",
    "f1": "macro F1",
    "log-loss": "log loss of the test examples",
}
"""Metrics of curves and ranks, with the titles of their axes."""

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Colours of Okabe and Ito (2008), which colour-blind readers can distinguish."""
DASHES: tuple[Any, ...] = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)))
_MARKERS = "os^DvPX<>*p"
STYLE: dict[Any, Any] = {
    "font.size": 10.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "svg.hashsalt": "boostsample",  # the same picture has the same bytes
    "svg.fonttype": "none",
    "text.parse_math": False,  # names of files may contain dollar signs
}
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
"""Translates an exponent to superscript."""
_WIDTH = 10.0
_MOST_COLUMNS = 5
_LETTER = 0.075
"""Width of a letter in legends, in inches."""
_HANDLE = 0.62
_Arguments = ParamSpec("_Arguments")


def check_drawing(what: str, *packages: str) -> None:
    """Raise SettingError unless these packages of the extra ``report`` are installed."""
    missing = [name for name in packages if importlib.util.find_spec(name) is None]
    if missing:
        raise SettingError(
            f"{what} need {' and '.join(missing)}, which {'is' if len(missing) == 1 else 'are'} "
            "not installed; run pip install 'boostsample[report]'"
        )


def styled_axes(draw: Callable[_Arguments, Figure]) -> Callable[_Arguments, Figure]:
    """Decorate a function that draws a figure: it runs under `STYLE`."""

    @functools.wraps(draw)
    def drawn(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> Figure:
        import matplotlib as mpl

        with mpl.rc_context(STYLE):
            return draw(*args, **kwargs)

    return drawn


def new_figure(height: float) -> Figure:
    """An empty figure, `height` inches high, with a margin for readers whose fonts are larger."""
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    layout = ConstrainedLayoutEngine(h_pad=0.08, w_pad=0.06)
    return Figure(figsize=(_WIDTH, height), layout=layout)


def spread_colours(groups: Iterable[Collection[Any]], what: str = "mean and std") -> str:
    """The part of a title that gives the number of repetitions, from the runs of each strategy.

    >>> spread_colours([[0, 0, 0], [0, 0]], "mean")
    'mean of 2 to 3 repetitions'
    """
    counts = list(map(len, groups))
    return repetitions(max(counts), what, min(counts))


def line_style(number: int) -> dict[str, Any]:
    """Colour, dashes and marker of strategy `number`; 11 differ in marker, 35 in the rest."""
    return {
        "color": COLOURS[number % len(COLOURS)],
        "linestyle": DASHES[number % len(DASHES)],
        "marker": _MARKERS[number % len(_MARKERS)],
        "markersize": 4.5,
        "markeredgewidth": 0.0,
        "linewidth": 1.6,
    }


def draw_band(
    axes: Axes,
    x: NDArray[Any],
    values: NDArray[np.float64],
    number: int,
    label: str,
    *,
    extremes: bool = False,
    **style: Any,
) -> None:
    """Draw the mean over repetitions and, of several, a band of one std on both sides.

    `values` has shape (repetitions, n), with NaN where a repetition has no value. `number` is the
    index of the strategy; `style` overrides its `line_style`. With `extremes` the band reaches
    from the lowest to the highest repetition, which suits log axes.
    """
    there = np.isfinite(values).sum(axis=0)
    x, values, there = x[there > 0], values[:, there > 0], there[there > 0]
    if not x.size:
        return
    mean = np.nanmean(values, axis=0)
    every: Any = 1 if len(x) < 10 else (0.015 * (number % 10), 0.15)
    chosen = {**line_style(number), "label": label, "markevery": every, **style}
    axes.plot(x, mean, **chosen)
    if there.max() > 1:
        std = np.nanstd(values, axis=0) * np.sqrt(there / np.maximum(there - 1, 1))
        low, high = mean - std, mean + std
        if extremes:
            low, high = np.nanmin(values, axis=0), np.nanmax(values, axis=0)
        axes.fill_between(x, low, high, color=chosen["color"], alpha=0.15, linewidth=0)


def tick_name(value: float, _position: int | None = None) -> str:
    """The name of a tick of a log axis, with an exponent for large and small numbers.

    >>> [tick_name(value) for value in (0.001, 0.2, 1, 5_000, 10_000, 2e6, 5e-4)]
    ['0.001', '0.2', '1', '5,000', '10⁴', '2×10⁶', '5×10⁻⁴']
    """
    exponent = math.floor(math.log10(value) + 1e-9)
    digit = f"{value / 10.0**exponent:g}"
    if -4 < exponent < 4:
        return f"{value:,g}"
    power = "10" + str(exponent).translate(SUPERSCRIPTS)
    return power if digit == "1" else f"{digit}×{power}"


def decade_ticks(axis: Axis) -> None:
    """Name the ticks of a log axis at powers of ten, and at 2 and 5 times these on a short axis."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = sorted(axis.get_view_interval())
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high < 50 * low else (1.0,)))
    axis.set_major_formatter(FuncFormatter(tick_name))
    axis.set_minor_formatter(NullFormatter())


def round_axis(axes: Axes, first: int, last: int) -> None:
    """Make the horizontal axis a log axis of numbers of stumps."""
    axes.set_xscale("log")
    axes.set_xlim(min(first, max(1, last // 2)), max(2, last))
    decade_ticks(axes.xaxis)


def error_axis(axes: Axes) -> None:
    """Make the vertical axis a log axis of percentages, unless a drawn value is 0."""
    from matplotlib.ticker import LogLocator, NullFormatter

    drawn = np.concatenate([np.asarray(line.get_ydata(), np.float64) for line in axes.lines])
    if not drawn.size or drawn.min() <= 0:
        return
    axes.set_yscale("log", nonpositive="clip")
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter(NullFormatter())


def legend_below(figure: Figure, panels: Iterable[Axes], **settings: Any) -> None:
    """Draw one legend below all panels, each label once, in as many columns as fit."""
    found: dict[str, Artist] = {}
    for axes in panels:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    widest = max(len(line) for label in found for line in label.splitlines())
    room = int(figure.get_figwidth() / (_HANDLE + _LETTER * widest))
    columns = max(1, min(len(found), room))
    columns = -(-len(found) // -(-len(found) // columns))  # rows of about the same length
    chosen = {"ncols": columns, "handlelength": 3.2, "columnspacing": 1.2, **settings}
    figure.legend(
        list(found.values()), list(found), loc="outside lower center", frameon=False, **chosen
    )


def strategy_panels(
    labels: Sequence[str], xlabel: str, ylabel: str, height: float = 2.3
) -> tuple[Figure, dict[str, Axes]]:
    """A figure with a panel for each strategy and shared axes, in rows `height` inches high.

    Titles of the axes are below the lowest and left of the leftmost panels.
    """
    n_rows = math.ceil(len(labels) / _MOST_COLUMNS)
    n_columns = math.ceil(len(labels) / n_rows)
    width = max(80 // n_columns, 12)
    names = [label.partition(":")[::2] for label in labels]
    titles = [[name, *textwrap.wrap(more.replace(":", ", "), width)] for name, more in names]
    figure = new_figure((height + 0.16 * max(map(len, titles))) * n_rows + 1.5)
    places = figure.subplots(n_rows, n_columns, squeeze=False, sharex=True, sharey=True)
    panels = dict(zip(labels, places.flat, strict=False))
    for axes in places.flat[len(labels) :]:
        axes.set_axis_off()
    for axes in list(panels.values())[-n_columns:]:
        axes.tick_params(labelbottom=True)
        axes.set_xlabel(xlabel)
    for axes in places[:, 0]:
        axes.set_ylabel(ylabel)
    for title, axes in zip(titles, panels.values(), strict=True):
        axes.set_title("\n".join(title), fontsize=10)
    return figure, panels
