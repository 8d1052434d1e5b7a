"""Pictures of which families the stumps come from, strategy by strategy, over the rounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from boostsample.experiments.plots.axes import (
    STYLE,
    legend_below,
    repetitions,
    round_axis,
    strategy_panels,
)
from boostsample.experiments.plots.sampling import by_strategy, windows
from boostsample.experiments.results.runs import Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["FamilyShares", "family_shares", "shares_figure"]

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


@dataclass(frozen=True)
class FamilyShares:
    """How many of the stumps come from which family.

    Attributes
    ----------
    sizes : dict of str to int
        Number of features of each family, in the order of the feature bank.
    edges : int array, shape (n_windows + 1,)
        Window k is the rounds from edges[k] to edges[k + 1] - 1; rounds count from 1.
    shares : dict of str to float array, shape (n_families, n_windows)
        For each strategy, by its label: means over repetitions; columns sum to 1, or are NaN where
        all runs had ended.
    n_runs : tuple of int
        Repetitions of each strategy.
    """

    sizes: dict[str, int]
    edges: NDArray[np.int64]
    shares: dict[str, NDArray[np.float64]]
    n_runs: tuple[int, ...]

    @property
    def parts(self) -> dict[str, float]:
        """Share of each family among all features: what drawing features at random would give."""
        total = sum(self.sizes.values())
        return {family: size / total for family, size in self.sizes.items()}


def family_shares(runs: Sequence[Run]) -> FamilyShares:
    """Count the stumps of each family in windows of rounds.

    Parameters
    ----------
    runs : sequence of Run
        Of one data set, as `boostsample.experiments.results.results.read_runs` gives them.

    Raises
    ------
    DataError
        There are no runs.
    """
    found = by_strategy(runs)
    sizes = {str(name): int(n) for name, n in runs[0].cell.about["data"]["families"]}
    edges = windows(max(run.n_rounds for run in runs))
    shares = {
        label: _mean_share([_counts(run, len(sizes), edges) for run in own])
        for label, own in found.items()
    }
    return FamilyShares(sizes, edges, shares, tuple(map(len, found.values())))


def _counts(run: Run, n_families: int, edges: NDArray[np.int64]) -> NDArray[np.float64]:
    """Stumps of each family in each window: (n_families, n_windows)."""
    window = np.searchsorted(edges, run.cell.round, side="right") - 1
    counts = np.zeros((n_families, len(edges) - 1))
    np.add.at(counts, (run.cell.arrays["family"].astype(np.intp), window), 1)
    return counts


def _mean_share(counts: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Mean over the repetitions that have any stump in a window."""
    totals = np.stack([one.sum(axis=0) for one in counts])
    parts = np.stack(counts) / np.maximum(totals, 1)[:, None]
    n_runs = (totals > 0).sum(axis=0)
    mean: NDArray[np.float64] = parts.sum(axis=0) / np.maximum(n_runs, 1)
    mean[:, n_runs == 0] = np.nan
    return mean


def shares_figure(name: str, runs: Sequence[Run]) -> Figure:
    """Stacked shares of the families over rounds, one panel a strategy, colours as in the legend.

    At the right of each panel a bar has the shares of the families among all features.

    Parameters
    ----------
    name : str
        Of the data set.
    runs : sequence of Run
        As `boostsample.experiments.results.results.read_runs` gives them.

    Raises
    ------
    DataError
        There are no runs.
    """
    import matplotlib as mpl

    found = family_shares(runs)
    with mpl.rc_context(STYLE):
        figure, panels, left = strategy_panels(tuple(found.shares), "round")
        for label, axes in panels.items():
            _panel(axes, found, found.shares[label])
        for axes in left:
            axes.set_ylabel("percent of the stumps")
        legend_below(figure, [panels[label] for label in tuple(panels)[:1]], handlelength=1.6)
        spread = repetitions(max(found.n_runs), "mean", min(found.n_runs))
        figure.suptitle(
            f"{name}: families that the stumps come from, {spread}\n"
            "(bars at the right: shares of all features)"
        )
        ends = "; ".join(
            f"{label} ends with most stumps of {list(found.sizes)[int(np.argmax(shares[:, at]))]} "
            f"({100 * shares[:, at].max():.0f} percent)"
            for label, shares in found.shares.items()
            for at in [np.flatnonzero(~np.isnan(shares[0]))[-1]]
        )
        figure.set_label(
            f"Shares of {len(found.sizes)} families among the stumps on {name} over rounds, "
            f"{spread}: {ends}."
        )
    return figure


def _look(number: int) -> dict[str, Any]:
    """Colour and hatching of a family, the same in all panels."""
    return {
        "facecolor": _COLOURS[number % len(_COLOURS)],
        "hatch": _HATCHES[number // len(_COLOURS) % len(_HATCHES)],
        "edgecolor": "white",
        "linewidth": 0.7,
    }


def _panel(axes: Axes, found: FamilyShares, shares: NDArray[np.float64]) -> None:
    """Stacked areas, constant within a window, and the bar of all features."""
    tops = 100 * np.cumsum(shares, axis=0)
    below = np.zeros_like(tops[0])
    bottom = 0.0
    bar = axes.inset_axes((1.03, 0.0, 0.06, 1.0), sharey=axes)
    for number, (top, (family, part)) in enumerate(zip(tops, found.parts.items(), strict=True)):
        lower, upper = (np.append(values, values[-1]) for values in (below, top))
        label = f"{family} ({100 * part:.0f} % of all features)"
        axes.fill_between(found.edges, lower, upper, step="post", label=label, **_look(number))
        bar.bar([0], [100 * part], bottom=[bottom], width=1.0, **_look(number))
        below, bottom = top, bottom + 100 * part
    bar.set_axis_off()
    bar.set_xlim(-0.5, 0.5)
    round_axis(axes, 1, int(found.edges[-1]))
    axes.set_ylim(0, 100)
    axes.grid(False)
