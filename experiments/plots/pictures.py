"""Pictures: how they are checked, described and written; curves of a comparison just run.

A figure carries a sentence that says what it shows, for readers who cannot see it (`describe`).
"""

from __future__ import annotations

import importlib.util
import io
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from boostsample.errors import DataError, SettingError
from boostsample.experiments.common.files import atomic, one_line
from boostsample.experiments.plots.axes import (
    COLOURS,
    DASHES,
    METRICS,
    STYLE,
    draw_band,
    error_scale,
    legend_below,
    new_layout,
    repetitions,
    round_axis,
    thin,
)
from boostsample.experiments.results.comparison import Comparison
from boostsample.experiments.results.runs import Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "COLOURS",
    "DASHES",
    "FORMATS",
    "STYLE",
    "check_picture",
    "comparison_figure",
    "describe",
    "picture_bytes",
    "save_picture",
]

FORMATS = (".svg", ".png", ".pdf")
"""File names of pictures end in one of these."""

_PATH = re.compile(rb' d="[^"]*"')
_DIGITS = re.compile(rb"(\.\d\d)\d+")


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

    The test error has points where it was taken: at the marks, and between them.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    prepared = comparison.prepared
    plan = prepared.plan
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(10.0, 4.6), layout=new_layout())
        left, right = figure.subplots(1, 2)
        for number, variant in enumerate(prepared.variants):
            runs = [one for one in comparison.runs if one.variant is variant]
            draw_band(left, *_losses(runs), number, variant.label)
            draw_band(right, *_errors(runs), number, variant.label)
        error_scale(right)
        for axes, metric in zip((left, right), METRICS, strict=True):
            axes.set(xlabel="stumps", ylabel=METRICS[metric])
            round_axis(axes, 1, plan.n_rounds)
        legend_below(figure, (left,))
        spread = repetitions(plan.repeats)
        figure.suptitle(f"{prepared.data.name}: {spread}, {plan.weights} weights")
        figure.set_label(
            f"Loss and test error on {prepared.data.name} against the number of stumps, up to "
            f"{plan.n_rounds:,}, of {', '.join(one.label for one in prepared.variants)}: {spread}."
        )
    return figure


def _losses(runs: Sequence[Run]) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Rounds (n,) and losses (repetitions, n); a run that ended early keeps its last loss."""
    longest = max(one.n_rounds for one in runs)
    losses = np.array([one.loss + one.loss[-1:] * (longest - one.n_rounds) for one in runs])
    chosen = thin(longest)
    return chosen + 1, losses[:, chosen]


def _errors(runs: Sequence[Run]) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Numbers of stumps (n,) and errors (repetitions, n); a run that ended keeps its last error."""
    points = sorted(max(runs, key=lambda one: one.n_rounds).errors)
    errors = [
        [one.errors[max(at for at in one.errors if at <= point)] for point in points]
        for one in runs
    ]
    return np.array(points), np.array(errors)


def describe(figure: Figure) -> str:
    """What a figure shows, in a sentence or two."""
    return str(figure.get_label())


def picture_bytes(figure: Figure, kind: str = "svg") -> bytes:
    """A figure as the content of a file; figures made of the same data have the same bytes.

    Drawn a second time, a figure may have another layout by a hair.

    Parameters
    ----------
    figure : Figure
    kind : str
        One of `FORMATS`, without the dot.
    """
    import matplotlib as mpl

    title = figure.get_suptitle() or describe(figure)
    told: dict[str, dict[str, Any]] = {
        "svg": {"Date": None, "Title": title, "Description": describe(figure)},
        "pdf": {"CreationDate": None, "Title": title, "Subject": describe(figure)},
        "png": {"Title": title, "Description": describe(figure)},
    }
    stream = io.BytesIO()
    with mpl.rc_context(STYLE):
        figure.savefig(stream, format=kind, dpi=150, metadata=told[kind])
    return _PATH.sub(_rounded, stream.getvalue()) if kind == "svg" else stream.getvalue()


def _rounded(path: re.Match[bytes]) -> bytes:
    """A path of an SVG file to a hundredth of a point, which is a half of its size."""
    return _DIGITS.sub(rb"\1", path[0])


def save_picture(figure: Figure, path: Path) -> None:
    """Write a figure, as a whole or not at all.

    Raises
    ------
    DataError
        The file cannot be written.
    """
    content = picture_bytes(figure, path.suffix.lower().removeprefix("."))
    try:
        with atomic(path) as stream:
            stream.write(content)
    except OSError as error:
        raise _unwritable(path, error) from error
