"""Pictures of which families the stumps come from, strategy by strategy, over the rounds."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from boostsample.errors import DataError
from boostsample.experiments.plots import STYLE, repetitions
from boostsample.experiments.results import Results
from boostsample.experiments.tables import label_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["FamilyShares", "family_shares", "shares_figure", "windows"]

# Colours of Okabe and Ito (2008), grey for their black: areas are heavier than lines.
_COLOURS = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#CC79A7",
    "#56B4E9",
    "#D55E00",
    "#F0E442",
    "#999999",
)
_HATCHES = ("", "//", "..", "xx")
_PER_DECADE = 5
_MOST_COLUMNS = 4


@dataclass(frozen=True)
class FamilyShares:
    """How many of the stumps come from which family.

    Attributes
    ----------
    families : tuple of str
        In the order of the feature bank.
    edges : int array, shape (n_windows + 1,)
        Window k is the rounds from edges[k] to edges[k + 1] - 1; rounds count from 1.
    shares : dict of str to float array, shape (n_families, n_windows)
        For each strategy, by its label: means over repetitions; columns sum to 1, or are NaN where
        all runs had ended.
    n_repetitions : int
    """

    families: tuple[str, ...]
    edges: NDArray[np.int64]
    shares: dict[str, NDArray[np.float64]]
    n_repetitions: int


def windows(n_rounds: int, per_decade: int = _PER_DECADE) -> NDArray[np.int64]:
    """Rounds at which windows begin that are about equal on a log scale, and the end of the last.

    >>> windows(100).tolist()
    [1, 2, 3, 4, 6, 10, 16, 25, 40, 63, 101]
    """
    step = 10 ** (1 / per_decade)
    number = math.ceil(per_decade * math.log10(n_rounds + 1))
    starts = np.unique(np.floor(step ** np.arange(number) + 0.5).astype(np.int64))
    starts = starts[starts * math.sqrt(step) <= n_rounds + 1]  # the last is no tiny rest
    return np.append(starts, n_rounds + 1)


def family_shares(results: Results) -> FamilyShares:
    """Count the stumps of each family in windows of rounds, from the history of a results folder.

    Raises
    ------
    DataError
        There is no history, or no such columns in it.
    """
    if not results.history:
        raise DataError(
            "shares of families need a row for each search, but these results have no history.csv; "
            "run compare again with --history"
        )
    sizes = _sizes(results)
    try:
        found = [
            (label_of(row), row["repetition"], int(row["round"]), row["family"])
            for row in results.history
        ]
    except (KeyError, ValueError) as error:
        raise DataError(
            f"history.csv must have columns strategy, settings, repetition, round and family: "
            f"{error}; run compare again with --history"
        ) from error
    families = tuple(dict.fromkeys([*sizes, *(family for *_, family in found)]))
    number = {family: at for at, family in enumerate(families)}
    edges = windows(max(round_ for _, _, round_, _ in found))
    counts: dict[str, dict[str, NDArray[np.float64]]] = {}
    window = np.searchsorted(edges, [round_ for _, _, round_, _ in found], side="right") - 1
    for (label, repetition, _, family), at in zip(found, window.tolist(), strict=True):
        runs = counts.setdefault(label, {})
        if repetition not in runs:
            runs[repetition] = np.zeros((len(families), len(edges) - 1))
        runs[repetition][number[family], at] += 1
    shares = {label: _mean_share(list(runs.values())) for label, runs in counts.items()}
    return FamilyShares(families, edges, shares, max(map(len, counts.values())))


def _mean_share(counts: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Mean over the repetitions that have any stump in a window."""
    totals = np.stack([one.sum(axis=0) for one in counts])
    parts = np.stack(counts) / np.maximum(totals, 1)[:, None]
    n_runs = (totals > 0).sum(axis=0)
    mean: NDArray[np.float64] = parts.sum(axis=0) / np.maximum(n_runs, 1)
    mean[:, n_runs == 0] = np.nan
    return mean


def _sizes(results: Results) -> dict[str, int]:
    """Number of features of each family, as far as the settings tell."""
    data_sets = results.settings.get("data_sets", [])
    families = [family for data in data_sets for family in data.get("families", [])]
    return {str(family["name"]): int(family["n_features"]) for family in families}


def shares_figure(results: Results) -> Figure:
    """Stacked shares of the families over rounds, one panel a strategy, colours as in the legend.

    Raises
    ------
    DataError
        As `family_shares`.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine
    from matplotlib.patches import Patch

    found, sizes = family_shares(results), _sizes(results)
    n_columns = min(_MOST_COLUMNS, len(found.shares))
    n_rows = math.ceil(len(found.shares) / n_columns)
    total = sum(sizes.values())
    with mpl.rc_context(STYLE):
        size = (2.9 * n_columns + 2.3, 2.7 * n_rows + 0.9)
        figure = Figure(figsize=size, layout=ConstrainedLayoutEngine(wspace=0.05))
        grid = figure.subplots(n_rows, n_columns, squeeze=False, sharex=True, sharey=True)
        for axes, (label, shares) in zip(grid.flat, found.shares.items(), strict=False):
            _panel(axes, found.edges, shares)
            strategy, _, settings = label.partition(":")
            lines = [strategy, *textwrap.wrap(settings.replace(":", ", "), 32)]
            axes.set_title("\n".join(lines), fontsize=10)
        for axes in grid.flat[len(found.shares) :]:
            axes.set_axis_off()
        for place in range(len(found.shares)):
            if place + n_columns >= len(found.shares):
                grid.flat[place].set_xlabel("stumps")
                grid.flat[place].tick_params(labelbottom=True)
        for axes in grid[:, 0]:
            axes.set_ylabel("share of the stumps in percent")
        patches = []
        for number, family in enumerate(found.families):
            part = f"{100 * sizes.get(family, 0) / max(total, 1):.0f} % of all features"
            patches.append(Patch(**_look(number), label=f"{family}\n{part}"))
        figure.legend(handles=patches[::-1], loc="outside right center", frameon=False)
        name = " and ".join(dict.fromkeys(str(row["data"]) for row in results.rows))
        spread = repetitions(found.n_repetitions, "mean")
        figure.suptitle(f"{name}: families that the stumps come from, {spread}")
    return figure


def _look(number: int) -> dict[str, Any]:
    """Colour and hatching of a family, the same in all panels."""
    return {
        "facecolor": _COLOURS[number % len(_COLOURS)],
        "hatch": _HATCHES[number // len(_COLOURS) % len(_HATCHES)],
        "edgecolor": "white",
        "linewidth": 0.7,
    }


def _panel(axes: Axes, edges: NDArray[np.int64], shares: NDArray[np.float64]) -> None:
    """Stacked areas, constant within a window."""
    tops = 100 * np.cumsum(shares, axis=0)
    below = np.zeros_like(tops[0])
    for number, top in enumerate(tops):
        lower, upper = (np.append(values, values[-1]) for values in (below, top))
        axes.fill_between(edges, lower, upper, step="post", **_look(number))
        below = top
    axes.set_xscale("log")
    axes.set(xlim=(1, edges[-1]), ylim=(0, 100))
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.grid(False)
