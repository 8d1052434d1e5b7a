"""Pictures of a comparison: loss and test error against the number of stumps."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from boostsample.errors import DataError, SettingError
from boostsample.experiments.compare import Comparison, Run
from boostsample.experiments.content import one_line
from boostsample.experiments.results import atomic

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["FORMATS", "check_picture", "comparison_figure", "save_picture"]

FORMATS = (".svg", ".png", ".pdf")
"""File names of pictures end in one of these."""

# Colours of Okabe and Ito (2008), told apart by colour-blind readers; dashes help in grey.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_DASHES: tuple[Any, ...] = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)))
_STYLE: dict[Any, Any] = {
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


def check_picture(path: str | os.PathLike[str]) -> Path:
    """The path of a picture that can be drawn and written, checked before any work is done.

    Raises
    ------
    SettingError
        Another kind of file, or matplotlib is not installed.
    DataError
        The file cannot be written.
    """
    target = Path(path)
    if target.suffix.lower() not in FORMATS:
        raise SettingError(
            f"a picture's file name must end in one of {', '.join(FORMATS)}, got '{target}'"
        )
    if importlib.util.find_spec("matplotlib") is None:
        raise SettingError(
            "pictures need matplotlib, which is not installed; run "
            "pip install 'boostsample[report]', or leave the picture out"
        )
    if target.is_dir():
        raise DataError(f"the picture '{target}' must be a file, but there is a folder")
    try:
        probe = target.with_name(f".{target.name[:100]}.{os.getpid()}.probe")
        with probe.open("xb"):
            pass
        probe.unlink()
    except OSError as error:
        raise _unwritable(target, error) from error
    return target


def _unwritable(path: Path, error: OSError) -> DataError:
    reason = error.strerror or one_line(error)
    return DataError(f"the picture '{path}' cannot be written: {reason}; name another file")


def comparison_figure(comparison: Comparison) -> Figure:
    """Loss and test error against stumps, one curve a strategy, bands of one std over repetitions.

    The test error has points where it was taken: at the marks, and between them if the plan has
    `curves`.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogLocator, NullFormatter

    prepared = comparison.prepared
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(10.0, 4.4), layout="constrained")
        left, right = figure.subplots(1, 2)
        for number, variant in enumerate(prepared.variants):
            runs = [one for one in comparison.runs if one.variant is variant]
            style: dict[str, Any] = {
                "color": _COLOURS[number % len(_COLOURS)],
                "linestyle": _DASHES[number % len(_DASHES)],
                "label": variant.label,
            }
            rounds, loss = _losses(runs)
            _curve(left, rounds, loss, style)
            _curve(right, *_errors(runs), style)
        left.set_ylabel("log10 of the exponential loss")
        right.set_ylabel("test error in percent")
        for axes in (left, right):
            axes.set_xscale("log")
            axes.set_xlim(1, max(2, prepared.plan.n_rounds))
            axes.set_xlabel("stumps")
            axes.xaxis.set_major_formatter("{x:,.0f}")
        if all(error > 0 for one in comparison.runs for error in one.errors.values()):
            right.set_yscale("log")
            right.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
            right.yaxis.set_major_formatter("{x:g}")
            right.yaxis.set_minor_formatter(NullFormatter())
        figure.legend(
            *left.get_legend_handles_labels(),
            loc="outside lower center",
            ncols=min(len(prepared.variants), 5),
            frameon=False,
        )
        n = prepared.plan.repeats
        spread = f"mean and std of {n} repetitions" if n > 1 else "one repetition"
        figure.suptitle(f"{prepared.data.name}: {spread}, {prepared.plan.weights} weights")
    return figure


def _losses(runs: Sequence[Run]) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Rounds (n,) and losses (repetitions, n); a run that ended early keeps its last loss."""
    longest = max(one.n_rounds for one in runs)
    losses = [one.loss + one.loss[-1:] * (longest - one.n_rounds) for one in runs]
    return np.arange(1, longest + 1), np.array(losses)


def _errors(runs: Sequence[Run]) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Numbers of stumps (n,) and errors (repetitions, n); a run that ended keeps its last error."""
    points = sorted(max(runs, key=lambda one: one.n_rounds).errors)
    errors = [
        [one.errors[max(at for at in one.errors if at <= point)] for point in points]
        for one in runs
    ]
    return np.array(points), np.array(errors)


def _curve(
    axes: Axes, x: NDArray[Any], values: NDArray[np.float64], style: Mapping[str, Any]
) -> None:
    mean = values.mean(axis=0)
    marker: dict[str, Any] = {"marker": "o", "markersize": 3} if len(x) < 10 else {}
    axes.plot(x, mean, linewidth=1.6, **style, **marker)
    if len(values) > 1:
        spread = values.std(axis=0, ddof=1)
        axes.fill_between(
            x, mean - spread, mean + spread, color=style["color"], alpha=0.15, linewidth=0
        )


def save_picture(figure: Figure, path: Path) -> None:
    """Write a figure, as a whole or not at all.

    Raises
    ------
    DataError
        The file cannot be written.
    """
    import matplotlib as mpl

    kind = path.suffix.lower().removeprefix(".")
    nothing: dict[str, Any] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind, {})
    try:
        with mpl.rc_context(_STYLE), atomic(path) as stream:
            figure.savefig(stream, format=kind, dpi=150, metadata=nothing)
    except OSError as error:
        raise _unwritable(path, error) from error
