"""What pictures of strategies share: colours, bands, log axes, panels, legends."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from boostsample.experiments.results.labels import repetitions

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import LayoutEngine

__all__ = [
    "COLOURS",
    "DASHES",
    "METRICS",
    "STYLE",
    "decades",
    "draw_band",
    "error_scale",
    "legend_below",
    "look",
    "new_layout",
    "repetitions",
    "round_axis",
    "strategy_panels",
    "thin",
    "tick_name",
]

METRICS = {"loss": "log10 of the exponential loss", "error": "test error in percent"}
"""What curves and ranks are drawn of, with the titles of their axes."""

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Those of Okabe and Ito (2008), told apart by colour-blind readers; dashes help in grey."""
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
    "text.parse_math": False,  # a dollar in the name of a file is a dollar
}
_MOST_POINTS = 400
_MOST_COLUMNS = 5
_LETTER = 0.075
"""Width of a letter of legends, in inches."""
_HANDLE = 0.62
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def look(number: int) -> dict[str, Any]:
    """Colour, dashes and marker of a strategy by its place: 11 differ in marker, 35 in the rest."""
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
    """Draw the mean over repetitions, and a band of one std on both sides where there are several.

    Parameters
    ----------
    axes : Axes
    x : ndarray, shape (n,)
    values : ndarray of float64, shape (repetitions, n)
        NaN where a repetition has no value.
    number : int
        Place of the strategy, for its `look`; its markers stand elsewhere than those of others.
    label : str
        For the legend.
    extremes : bool
        Let the band go from the lowest to the highest repetition, which suits log axes.
    style : dict
        Of the line, where it differs from `look`.
    """
    there = np.isfinite(values).sum(axis=0)
    x, values, there = x[there > 0], values[:, there > 0], there[there > 0]
    if not x.size:
        return
    mean = np.nanmean(values, axis=0)
    every: Any = 1 if len(x) < 10 else (0.015 * (number % 10), 0.15)
    chosen = {**look(number), "label": label, "markevery": every, **style}
    axes.plot(x, mean, **chosen)
    if there.max() > 1:
        spread = np.nanstd(values, axis=0) * np.sqrt(there / np.maximum(there - 1, 1))
        low, high = mean - spread, mean + spread
        if extremes:
            low, high = np.nanmin(values, axis=0), np.nanmax(values, axis=0)
        axes.fill_between(x, low, high, color=chosen["color"], alpha=0.15, linewidth=0)


def new_layout() -> LayoutEngine:
    """Room for everything, with a margin for readers whose fonts are larger."""
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    return ConstrainedLayoutEngine(h_pad=0.08, w_pad=0.06)


def thin(n: int, most: int = _MOST_POINTS) -> NDArray[np.int64]:
    """Positions among n points, at most `most`, about equally far apart on a log scale.

    >>> thin(4).tolist(), thin(10_000).size <= 400
    ([0, 1, 2, 3], True)
    """
    if n <= most:
        return np.arange(n)
    chosen: NDArray[np.int64] = np.unique(np.rint(np.geomspace(1, n, most)).astype(np.int64)) - 1
    return chosen


def tick_name(value: float, _position: int | None = None) -> str:
    """The name of a tick of a log axis, short where the number is large or small.

    >>> [tick_name(value) for value in (0.001, 0.2, 1, 5_000, 10_000, 2e6, 5e-4)]
    ['0.001', '0.2', '1', '5,000', '10⁴', '2×10⁶', '5×10⁻⁴']
    """
    exponent = math.floor(math.log10(value) + 1e-9)
    digit = f"{value / 10.0**exponent:g}"
    if -4 < exponent < 4:
        return f"{value:,g}"
    power = "10" + str(exponent).translate(_RAISED)
    return power if digit == "1" else f"{digit}×{power}"


def decades(axis: Axis) -> None:
    """Log axis with ticks named at powers of ten; in between, too, where there are few of these."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = sorted(axis.get_view_interval())
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high < 50 * low else (1.0,)))
    axis.set_major_formatter(FuncFormatter(tick_name))
    axis.set_minor_formatter(NullFormatter())


def round_axis(axes: Axes, first: int, last: int) -> None:
    """Log axis of numbers of stumps."""
    axes.set_xscale("log")
    axes.set_xlim(min(first, max(1, last // 2)), max(2, last))
    decades(axes.xaxis)


def error_scale(axes: Axes) -> None:
    """Log axis of errors in percent, unless one of the values drawn is none."""
    from matplotlib.ticker import LogLocator, NullFormatter

    drawn = np.concatenate([np.asarray(line.get_ydata(), np.float64) for line in axes.lines])
    if not drawn.size or drawn.min() <= 0:
        return
    axes.set_yscale("log", nonpositive="clip")
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter(NullFormatter())


def legend_below(figure: Figure, panels: Iterable[Axes], **settings: Any) -> None:
    """One legend below all panels, each name once, in as many columns as there is room for."""
    found: dict[str, Artist] = {}
    for axes in panels:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    widest = max(len(line) for label in found for line in label.splitlines())
    room = int(figure.get_figwidth() / (_HANDLE + _LETTER * widest))
    columns = max(1, min(len(found), room))
    columns = -(-len(found) // -(-len(found) // columns))  # rows of about the same length
    figure.legend(
        list(found.values()),
        list(found),
        loc="outside lower center",
        ncols=columns,
        frameon=False,
        **{"handlelength": 3.2, "columnspacing": 1.2, **settings},
    )


def strategy_panels(
    labels: Sequence[str], xlabel: str, height: float = 2.3
) -> tuple[Figure, dict[str, Axes], list[Axes]]:
    """A figure with a panel a strategy and shared axes, to be called under `STYLE`.

    Parameters
    ----------
    labels : sequence of str
        Of the strategies, which become titles.
    xlabel : str
        Title of the horizontal axis, below the lowest panel of each column.
    height : float
        Of a row of panels, in inches.

    Returns
    -------
    figure : Figure
    panels : dict of str to Axes
    left : list of Axes
        Those at the left, for the title of the vertical axis.
    """
    from matplotlib.figure import Figure

    n_rows = math.ceil(len(labels) / _MOST_COLUMNS)
    n_columns = math.ceil(len(labels) / n_rows)
    lines = {label: _title_lines(label, int(80 / n_columns)) for label in labels}
    tallest = max(map(len, lines.values()))
    size = (10.0, (height + 0.16 * tallest) * n_rows + 1.5)
    figure = Figure(figsize=size, layout=new_layout())
    grid = figure.subplots(n_rows, n_columns, squeeze=False, sharex=True, sharey=True)
    for axes in grid.flat[len(labels) :]:
        axes.set_axis_off()
    for place in range(len(labels)):
        if place + n_columns >= len(labels):
            grid.flat[place].tick_params(labelbottom=True)
            grid.flat[place].set_xlabel(xlabel)
    panels = dict(zip(labels, grid.flat, strict=False))
    for label, axes in panels.items():
        axes.set_title("\n".join(lines[label]), fontsize=10)
    return figure, panels, list(grid[:, 0])


def _title_lines(label: str, width: int) -> list[str]:
    strategy, _, settings = label.partition(":")
    return [strategy, *textwrap.wrap(settings.replace(":", ", "), max(width, 12))]
