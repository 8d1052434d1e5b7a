"""Pictures of results: loss and test error against the number of stumps; how pictures are written.

The same two panels are drawn of a comparison that was just run, with the loss after every round,
and of the rows of a results folder, which has the marks alone.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from boostsample.errors import DataError, SettingError
from boostsample.experiments.compare import Comparison, Run
from boostsample.experiments.content import one_line
from boostsample.experiments.results import Results, atomic
from boostsample.experiments.tables import label_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "COLOURS",
    "DASHES",
    "FORMATS",
    "STYLE",
    "check_picture",
    "comparison_figure",
    "repetitions",
    "results_figure",
    "save_picture",
]

FORMATS = (".svg", ".png", ".pdf")
"""File names of pictures end in one of these."""

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Those of Okabe and Ito (2008), told apart by colour-blind readers; dashes help in grey."""
DASHES: tuple[Any, ...] = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)))
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


@dataclass(frozen=True)
class _Curves:
    """A strategy's loss and test error: numbers of stumps (n,) and values (repetitions, n)."""

    label: str
    loss: tuple[NDArray[Any], NDArray[np.float64]]
    error: tuple[NDArray[Any], NDArray[np.float64]]


def comparison_figure(comparison: Comparison) -> Figure:
    """Loss and test error against stumps, one curve a strategy, bands of one std over repetitions.

    The test error has points where it was taken: at the marks, and between them.
    """
    prepared = comparison.prepared
    curves = []
    for variant in prepared.variants:
        runs = [one for one in comparison.runs if one.variant is variant]
        curves.append(_Curves(variant.label, _losses(runs), _errors(runs)))
    plan = prepared.plan
    return _figure(curves, prepared.data.name, plan.n_rounds, plan.repeats, plan.weights)


def results_figure(results: Results) -> Figure:
    """The same from a results folder, at the marks that its rows have.

    Raises
    ------
    DataError
        The results have no rows, or rows of some repetitions are missing.
    """
    cells: dict[str, dict[int, dict[int, Mapping[str, Any]]]] = {}
    several = len({row["data"] for row in results.rows}) > 1
    for row in results.rows:
        label = f"{row['data']}: {label_of(row)}" if several else label_of(row)
        cells.setdefault(label, {}).setdefault(row["repetition"], {})[row["stumps"]] = row
    curves = []
    for label, runs in cells.items():
        marks = sorted(next(iter(runs.values())))
        if any(sorted(run) != marks for run in runs.values()):
            raise DataError(
                f"the rows of {label} must have the same numbers of stumps in each repetition; "
                "run it again into a new folder"
            )
        loss, error = (
            np.array([[run[mark][column] for mark in marks] for run in runs.values()])
            for column in ("log10_loss", "test_error")
        )
        curves.append(_Curves(label, (np.array(marks), loss), (np.array(marks), error)))
    if not curves:
        raise DataError("the results must have rows, got none; run it again into a new folder")
    names = " and ".join(dict.fromkeys(str(row["data"]) for row in results.rows))
    last = max(int(one.loss[0][-1]) for one in curves)
    repeats = max(len(one.loss[1]) for one in curves)
    return _figure(curves, names, last, repeats, str(results.settings.get("weights", "")))


def repetitions(n: int, what: str = "mean and std") -> str:
    """What a title says of repetitions.

    >>> repetitions(3), repetitions(1)
    ('mean and std of 3 repetitions', 'one repetition')
    """
    return f"{what} of {n} repetitions" if n > 1 else "one repetition"


def _figure(
    curves: Sequence[_Curves], name: str, n_rounds: int, repeats: int, weights: str
) -> Figure:
    import matplotlib as mpl
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogLocator, NullFormatter

    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(10.0, 4.4), layout="constrained")
        left, right = figure.subplots(1, 2)
        for number, one in enumerate(curves):
            style: dict[str, Any] = {
                "color": COLOURS[number % len(COLOURS)],
                "linestyle": DASHES[number % len(DASHES)],
                "label": one.label,
            }
            _curve(left, *one.loss, style)
            _curve(right, *one.error, style)
        left.set_ylabel("log10 of the exponential loss")
        right.set_ylabel("test error in percent")
        first = min(int(one.loss[0][0]) for one in curves)
        for axes in (left, right):
            axes.set_xscale("log")
            axes.set_xlim(min(first, max(1, n_rounds // 2)), max(2, n_rounds))
            axes.set_xlabel("stumps")
            axes.xaxis.set_major_formatter("{x:,.0f}")
        if not any((one.error[1] <= 0).any() for one in curves):
            right.set_yscale("log")
            right.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
            right.yaxis.set_major_formatter("{x:g}")
            right.yaxis.set_minor_formatter(NullFormatter())
        figure.legend(
            *left.get_legend_handles_labels(),
            loc="outside lower center",
            ncols=min(len(curves), 5),
            frameon=False,
        )
        figure.suptitle(f"{name}: {repetitions(repeats)}, {weights} weights")
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
    marker: dict[str, Any] = (
        {"marker": "o", "markersize": 3, "clip_on": False} if len(x) < 10 else {}
    )
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
        with mpl.rc_context(STYLE), atomic(path) as stream:
            figure.savefig(stream, format=kind, dpi=150, metadata=nothing)
    except OSError as error:
        raise _unwritable(path, error) from error
