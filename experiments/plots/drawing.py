"""How pictures are drawn, laid out and written: style, panels, bands, axes, legends, files.

Pictures drawn and written inside ``with using_layout(layout)`` follow `layout`. The label of a
figure (`describe`) says in words what it shows, for readers who cannot see it. This module imports
matplotlib only when it draws.
"""

from __future__ import annotations

import functools
import importlib.util
import io
import math
import os
import re
import textwrap
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec

import numpy as np
from numpy.typing import NDArray

from boostsample.checks import check_known
from boostsample.errors import SettingError, printable
from boostsample.experiments.results.titles import repetitions
from boostsample.files.atomic import check_writable_file, write_file
from boostsample.names import split_name

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

# -------------------------------------------------------------------------------------- layout

WIDTHS = {"one-column": 3.25, "two-columns": 6.75}
"""Widths of pictures by name, in inches; they fit the columns and pages of most journals."""
PARTS = ("title", "labels", "legend", "notes")
"""Parts that a picture can leave out: title, titles of axes, legend, and notes below it."""
_SCREEN_FONT, _PAPER_FONT = 10.0, 8.0
_SMALLEST, _LARGEST = 1.0, 100.0  # inches


@dataclass(frozen=True)
class Layout:
    """The layout of a picture; the default one is for screens.

    `size` is width and height in inches; a height of None fits the content. `font_size` is in
    points, by default 10, or 8 if a size is given. `dpi` is the resolution of .png files. `title`
    replaces the title. Raises SettingError if a value is out of range.
    """

    size: tuple[float, float | None] | None = None
    font_size: float | None = None
    dpi: int | None = None
    title: str | None = None
    without: tuple[str, ...] = ()  # of `PARTS`

    def __post_init__(self) -> None:
        if self.font_size is not None and not 4 <= self.font_size <= 40:
            raise SettingError(f"font-size must be between 4 and 40 points, got {self.font_size:g}")
        if self.dpi is not None and not 30 <= self.dpi <= 2400:
            raise SettingError(f"dpi must be between 30 and 2400, got {self.dpi}")
        if self.title is not None and "title" in self.without:
            raise SettingError("--title and --without title exclude each other; give one of them")

    @property
    def points(self) -> float:
        """Size of the font in points."""
        return self.font_size or (_PAPER_FONT if self.size else _SCREEN_FONT)

    @property
    def scale(self) -> float:
        """Size of the font relative to that for screens; lines and heights follow it."""
        return self.points / _SCREEN_FONT

    def finish(self, figure: Figure) -> None:
        """Replace the title, remove the parts that are left out, and wrap long lines."""
        if self.title is not None:
            figure.suptitle(self.title)
        if "title" in self.without and figure.get_suptitle():
            figure.suptitle("").set_in_layout(False)
        if "notes" in self.without and figure.get_supxlabel():
            figure.supxlabel("").set_in_layout(False)
        if "legend" in self.without:
            for legend in list(figure.legends):
                legend.remove()
        if "labels" in self.without:
            for axes in figure.axes:
                axes.set(xlabel="", ylabel="")
        if title := figure.get_suptitle():
            figure.suptitle(wrapped_text(title, figure.get_figwidth(), 1.2 * self.points))


_CURRENT: ContextVar[Layout] = ContextVar("layout", default=Layout())  # noqa: B039 (frozen)
current_layout = _CURRENT.get
"""The layout of the pictures that are drawn and written now."""


@contextmanager
def using_layout(layout: Layout) -> Iterator[None]:
    """Draw and write pictures with `layout`."""
    token = _CURRENT.set(layout)
    try:
        yield
    finally:
        _CURRENT.reset(token)


def wrapped_text(text: str, width: float, points: float) -> str:
    """Break lines that are longer than `width` inches in a font of this size."""
    letters = max(12, int(72 * width / (0.55 * points)))
    wrapper = textwrap.TextWrapper(letters, break_long_words=False, break_on_hyphens=False)
    return "\n".join(map(wrapper.fill, text.splitlines()))


def parse_size(text: str) -> tuple[float, float | None]:
    """Read width and height in inches, a width alone, or a name of `WIDTHS`.

    >>> parse_size("3.3x2.4"), parse_size("5.5"), parse_size("one-column")
    ((3.3, 2.4), (5.5, None), (3.25, None))
    """
    if text in WIDTHS:
        return WIDTHS[text], None
    try:
        sides = [float(part) for part in text.lower().split("x")]
    except ValueError:
        sides = []
    if len(sides) not in (1, 2) or not all(math.isfinite(side) for side in sides):
        raise SettingError(
            "size must be width and height in inches as in 3.3x2.4, a width alone as in 5.5, "
            f"{' or '.join(WIDTHS)}; got {text!r}"
        )
    if not all(_SMALLEST <= side <= _LARGEST for side in sides):
        raise SettingError(
            f"size must be between {_SMALLEST:g} and {_LARGEST:g} inches on each side, got {text}"
        )
    return sides[0], sides[1] if len(sides) == 2 else None


def parse_parts(text: str) -> tuple[str, ...]:
    """Read parts to leave out.

    >>> parse_parts("title, legend")
    ('title', 'legend')
    """
    parts = tuple(part.strip() for part in text.split(","))
    for part in parts:
        check_known("part of a picture", part, PARTS)
    return parts


# ------------------------------------------------------------------------------------- figures

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
_LETTER = 0.075  # width of a letter in legends
_HANDLE = 0.62
_SHAPE = 0.7  # largest height of a panel over its width
_LONG_BAND = 0.1  # a log axis has no band that reaches below this part of the lowest mean
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
    """An empty figure; sizes are in inches where letters have 10 points, if none is given."""
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
    """A figure with n panels of a height in rows of `n_columns`, or of fewer if it is narrow."""
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

    `values`, shape (repetitions, n), may have NaN. `style` overrides the `line_style` of strategy
    `number`. With `extremes` the band reaches from the lowest to the highest repetition.
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
    from matplotlib.ticker import NullFormatter

    from boostsample.experiments.plots.log_ticks import LogNames, LogTicks

    axis.set_major_locator(LogTicks(integer=integer))
    axis.set_major_formatter(LogNames())
    axis.set_minor_formatter(NullFormatter())


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
    """A figure with a panel for each strategy and shared axes, in rows `height` inches high."""
    most = max(1, int(figure_width() / _SMALL_PANEL))
    n_rows = math.ceil(len(labels) / most)
    n_columns = math.ceil(len(labels) / n_rows)
    width = max(int(8 * figure_width()) // n_columns, 12)
    names = [split_name(label.replace(" (", ":(", 1)) for label in labels]
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


# --------------------------------------------------------------------------------------- files

FORMATS = (".svg", ".png", ".pdf")
"""Endings of the file names of pictures."""

_DPI = 150
_PATH = re.compile(rb' d="[^"]*"')
_DIGITS = re.compile(rb"(\.\d\d)\d+")


def check_picture(path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
    """Check that a picture can be drawn and written, before any work is done; return its path.

    SettingError for another ending, a file that exists and is not to `overwrite`, or if matplotlib
    is not installed; DataError if the file cannot be written.
    """
    ending = Path(path).suffix.lower()
    if ending not in FORMATS:
        raise SettingError(
            f"a picture's file name must end in one of {', '.join(FORMATS)}, got '{Path(path)}'"
        )
    dpi = current_layout().dpi
    if dpi is not None and ending != ".png":
        raise SettingError(
            f"--dpi is for .png files, got {dpi} for '{Path(path)}', which has no pixels; leave it "
            "out"
        )
    check_drawing("pictures", "matplotlib")
    return check_writable_file(path, ending, "the picture", overwrite=overwrite)


def describe(figure: Figure) -> str:
    """What a figure shows, in a sentence or two."""
    return str(figure.get_label())


def picture_bytes(figure: Figure, kind: str = "svg") -> bytes:
    """The content of a picture file (`kind` svg, png or pdf), the same for the same data.

    Draw a figure only once: a second drawing may shift its layout slightly. SettingError if its
    texts leave no room for its axes.
    """
    import matplotlib as mpl
    from matplotlib.text import Text

    for text in figure.findobj(Text):  # XML may not hold control characters
        text.set_text(printable(text.get_text(), "\n"))
    shown = printable(describe(figure))
    title = " ".join(figure.get_suptitle().split()) or shown
    metadata: dict[str, dict[str, Any]] = {
        "svg": {"Date": None, "Title": title, "Description": shown},
        "pdf": {"CreationDate": None, "Title": title, "Subject": shown},
        "png": {"Title": title, "Description": shown},
    }
    stream = io.BytesIO()
    with mpl.rc_context(current_style()), warnings.catch_warnings():
        warnings.filterwarnings("error", message="constrained_layout not applied")
        try:
            dpi = current_layout().dpi or _DPI
            figure.savefig(stream, format=kind, dpi=dpi, metadata=metadata[kind])
        except UserWarning as error:
            width, height = figure.get_size_inches()
            raise SettingError(
                f"the texts of the picture leave no room for its axes in {width:g} x {height:g} "
                "inches; give a larger --size, a smaller --font-size, or leave parts out with "
                "--without"
            ) from error
    if kind != "svg":
        return stream.getvalue()
    # Rounding paths to a hundredth of a point halves the size.
    return _PATH.sub(lambda path: _DIGITS.sub(rb"\1", path[0]), stream.getvalue())


def save_picture(figure: Figure, path: Path) -> None:
    """Write a figure atomically; DataError if the file cannot be written."""
    content = picture_bytes(figure, path.suffix.lower().removeprefix("."))
    write_file(path, content, "the picture")
