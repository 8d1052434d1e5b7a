"""Shared parts of pictures: style, colours, bands, axes, panels and legends.

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
from boostsample.experiments.plots.drawing.layout import current_layout
from boostsample.experiments.results.titles import repetitions

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

COLOURS = (
    *("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"),
    *("#882255", "#999933", "#888888"),
)
"""Colours of Okabe and Ito (2008), which colour-blind readers can distinguish, and three more."""
DASHES: tuple[Any, ...] = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (8, 2)), (0, (2, 2)))
_MARKERS = "os^DvPX<>*p"
STYLE: dict[Any, Any] = {
    "figure.titlesize": "large",
    "axes.titlesize": "medium",
    "axes.formatter.useoffset": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "svg.hashsalt": "boostsample",  # the same picture has the same bytes
    "svg.fonttype": "none",
    "pdf.fonttype": 42,  # TrueType; journals refuse the default, Type 3
    "ps.fonttype": 42,
    "text.parse_math": False,  # names of files may contain dollar signs
}
BANDS = {
    "std": "bands: one standard deviation to each side",
    "range": "bands: lowest to highest repetition",
}
"""What bands show, in titles."""
_WIDTH = 10.0
_PANEL, _SMALL_PANEL = 3.0, 1.9
"""Least widths of panels. All lengths are in inches where letters have 10 points."""
_LETTER = 0.075
"""Width of a letter in legends."""
_HANDLE = 0.62
_SHAPE = 0.7
"""Largest height of a panel over its width."""
_LONG_BAND = 0.1
"""A log axis has no band that reaches below this part of the lowest mean."""
_Arguments = ParamSpec("_Arguments")


def check_drawing(purpose: str, *packages: str) -> None:
    """Raise SettingError unless these packages of the extra ``report`` are installed."""
    missing = [name for name in packages if importlib.util.find_spec(name) is None]
    if missing:
        raise SettingError(
            f"{purpose} need {' and '.join(missing)}, which {'is' if len(missing) == 1 else 'are'} "
            "not installed; run pip install 'boostsample[report]'"
        )


def current_style() -> dict[Any, Any]:
    """`STYLE` with the size of the letters of the current layout."""
    return {**STYLE, "font.size": current_layout().points}


def styled_axes(draw: Callable[_Arguments, Figure]) -> Callable[_Arguments, Figure]:
    """Decorate a function that draws a figure: it follows `STYLE` and the current layout."""

    @functools.wraps(draw)
    def drawn(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> Figure:
        import matplotlib as mpl

        with mpl.rc_context(current_style()):
            figure = draw(*args, **kwargs)
            current_layout().finish(figure)
            return figure

    return drawn


def figure_width(usual: float = _WIDTH) -> float:
    """Width of a figure, in inches where letters have 10 points; `usual` without a given size."""
    layout = current_layout()
    return layout.size[0] / layout.scale if layout.size else usual


def new_figure(height: float, width: float = _WIDTH) -> Figure:
    """An empty figure, with a margin for readers whose fonts are larger.

    `height` and `width` are in inches where letters have 10 points; a given size overrides them.
    """
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    layout = current_layout()
    size = figure_width(width) * layout.scale, height * layout.scale
    if layout.size is not None:
        size = layout.size[0], layout.size[1] or size[1]
    margins = ConstrainedLayoutEngine(h_pad=0.08 * layout.scale, w_pad=0.06 * layout.scale)
    return Figure(figsize=size, layout=margins)


def new_panels(
    n: int, n_columns: int, height: float, usual: float = _WIDTH
) -> tuple[Figure, list[Axes]]:
    """A figure with n panels in rows of `n_columns`, or of fewer if it is narrow.

    `height` is that of a panel, `usual` the width of the figure, both as in `new_figure`.
    """
    width = figure_width(usual)
    n_columns = max(1, min(n, n_columns, int(width / _PANEL)))
    n_rows = -(-n // n_columns)
    figure = new_figure(n_rows * min(height, _SHAPE * width / n_columns) + 1.3, usual)
    places = figure.subplots(n_rows, n_columns, squeeze=False).ravel()
    for axes in places[n:]:
        axes.set_visible(False)
    return figure, list(places[:n])


def repeats_title(groups: Iterable[Collection[Any]], bands: str = "std") -> str:
    """The part of a title on repetitions, from the runs of each strategy, and on `BANDS`, if any.

    >>> repeats_title([[0, 0, 0], [0, 0]])
    'mean of 2 to 3 repetitions, bands: one standard deviation to each side'
    >>> repeats_title([[0]]), repeats_title([[0, 0]], "")
    ('one repetition', 'mean of 2 repetitions')
    """
    counts = list(map(len, groups))
    title = repetitions(max(counts), "mean", min(counts))
    return f"{title}, {BANDS[bands]}" if bands and max(counts) > 1 else title


def line_style(number: int) -> dict[str, Any]:
    """Colour, dashes and marker of strategy `number`: ten differ in colour and in marker."""
    scale = current_layout().scale
    marker = _MARKERS[number % len(_MARKERS)]
    return {
        "color": COLOURS[number % len(COLOURS)],
        "linestyle": DASHES[number % len(DASHES)],
        "marker": marker,
        "markersize": (7.5 if marker == "*" else 4.5) * scale,
        "markeredgewidth": 0.0,
        "linewidth": 1.6 * scale,
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


def decade_ticks(axis: Axis, *, integer: bool = False) -> None:
    """Name at least three ticks of a log axis; `integer`: at whole numbers only."""
    from boostsample.experiments.plots.drawing.log_ticks import name_ticks

    name_ticks(axis, integer=integer)


def round_axis(axes: Axes, first: int, last: int) -> None:
    """Make the horizontal axis a log axis of numbers of stumps."""
    axes.set_xscale("log")
    axes.set_xlim(min(first, max(1, last // 2)), max(2, last))
    decade_ticks(axes.xaxis, integer=True)


def error_axis(axes: Axes) -> None:
    """Make the vertical axis a log axis of percentages, if all lines and bands are well above 0."""
    drawn = np.concatenate([np.asarray(line.get_ydata(), np.float64) for line in axes.lines])
    if not drawn.size:
        return
    if axes.dataLim.y0 > _LONG_BAND * drawn.min():
        axes.set_yscale("log")
        decade_ticks(axes.yaxis)
    elif axes.dataLim.y0 <= 0:
        axes.set_ylim(bottom=0)


def legend_below(figure: Figure, panels: Iterable[Axes], **settings: Any) -> None:
    """Draw one legend below all panels, each label once, in as many columns as fit."""
    handles: dict[str, Artist] = {}
    for axes in panels:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    widest = max(len(line) for label in handles for line in label.splitlines())
    layout = current_layout()
    dense: dict[str, Any] = {}
    if layout.size is not None:
        dense = {"fontsize": "small", "handlelength": 2.8, "labelspacing": 0.3}
    letters = _LETTER * (0.85 if dense else 1.0)
    room = int(figure.get_figwidth() / layout.scale / (_HANDLE + letters * widest))
    columns = max(1, min(len(handles), room))
    columns = -(-len(handles) // -(-len(handles) // columns))  # rows of about the same length
    chosen = {"ncols": columns, "handlelength": 3.2, "columnspacing": 1.2, **dense, **settings}
    figure.legend(
        list(handles.values()), list(handles), loc="outside lower center", frameon=False, **chosen
    )


def strategy_panels(
    labels: Sequence[str], xlabel: str, ylabel: str, height: float = 2.3
) -> tuple[Figure, dict[str, Axes]]:
    """A figure with a panel for each strategy and shared axes, in rows `height` inches high.

    Titles of the axes are below the lowest and left of the leftmost panels.
    """
    most = max(1, int(figure_width() / _SMALL_PANEL))
    n_rows = math.ceil(len(labels) / most)
    n_columns = math.ceil(len(labels) / n_rows)
    width = max(int(8 * figure_width()) // n_columns, 12)
    names = [label.replace(" (", ":(", 1).partition(":")[::2] for label in labels]
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
        axes.set_title("\n".join(title))
    return figure, panels
