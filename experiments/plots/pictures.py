"""Check, describe and write pictures; the curves of a comparison that has just run.

The label of a figure (`describe`) says in words what it shows, for readers who cannot see it.
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

from boostsample.errors import SettingError
from boostsample.experiments.common.files import check_file, write
from boostsample.experiments.plots.axes import (
    COLOURS,
    DASHES,
    METRICS,
    STYLE,
    draw_band,
    error_scale,
    legend_below,
    new_figure,
    round_axis,
    styled,
    thin,
)
from boostsample.experiments.results.labels import repetitions
from boostsample.experiments.results.runs import Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from boostsample.experiments.results.comparison import Comparison

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
"""Endings of the file names of pictures."""

_PATH = re.compile(rb' d="[^"]*"')
_DIGITS = re.compile(rb"(\.\d\d)\d+")


def check_picture(path: str | os.PathLike[str]) -> Path:
    """Check that a picture can be drawn and written, before any work is done; return its path.

    Raises SettingError if the file name has another ending or matplotlib is not installed, and
    DataError if the file cannot be written.
    """
    ending = Path(path).suffix.lower()
    if ending not in FORMATS:
        raise SettingError(
            f"a picture's file name must end in one of {', '.join(FORMATS)}, got '{Path(path)}'"
        )
    if importlib.util.find_spec("matplotlib") is None:
        raise SettingError(
            "pictures need matplotlib, which is not installed; run "
            "pip install 'boostsample[report]', or leave the picture out"
        )
    return check_file(path, ending, "the picture", new=False)


@styled
def comparison_figure(comparison: Comparison) -> Figure:
    """Plot loss and test error against stumps, a curve a strategy, with bands of one std.

    The test error is drawn where it was measured: at the marks and at points between them.
    """
    prepared = comparison.prepared
    plan = prepared.plan
    figure = new_figure(4.6)
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
    repeats = repetitions(plan.repeats)
    figure.suptitle(f"{prepared.data.name}: {repeats}, {plan.weights} weights")
    figure.set_label(
        f"Loss and test error on {prepared.data.name} against the number of stumps, up to "
        f"{plan.n_rounds:,}, of {', '.join(one.label for one in prepared.variants)}: {repeats}."
    )
    return figure


def _losses(runs: Sequence[Run]) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Rounds (n,) and losses (repetitions, n); a run that ended early repeats its last loss."""
    longest = max(one.n_rounds for one in runs)
    losses = np.array([one.loss + one.loss[-1:] * (longest - one.n_rounds) for one in runs])
    chosen = thin(longest)
    return chosen + 1, losses[:, chosen]


def _errors(runs: Sequence[Run]) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Numbers of stumps (n,) and errors (repetitions, n), continued like `_losses`."""
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
    """The content of a picture file (`kind` svg, png or pdf), the same for the same data.

    Draw a figure only once: a second drawing may shift its layout slightly.
    """
    import matplotlib as mpl

    title = figure.get_suptitle() or describe(figure)
    metadata: dict[str, dict[str, Any]] = {
        "svg": {"Date": None, "Title": title, "Description": describe(figure)},
        "pdf": {"CreationDate": None, "Title": title, "Subject": describe(figure)},
        "png": {"Title": title, "Description": describe(figure)},
    }
    stream = io.BytesIO()
    with mpl.rc_context(STYLE):
        figure.savefig(stream, format=kind, dpi=150, metadata=metadata[kind])
    return _PATH.sub(_rounded, stream.getvalue()) if kind == "svg" else stream.getvalue()


def _rounded(path: re.Match[bytes]) -> bytes:
    """A path of an SVG file rounded to a hundredth of a point, which halves its size."""
    return _DIGITS.sub(rb"\1", path[0])


def save_picture(figure: Figure, path: Path) -> None:
    """Write a figure atomically; DataError if the file cannot be written."""
    content = picture_bytes(figure, path.suffix.lower().removeprefix("."))
    write(path, content, "the picture")
