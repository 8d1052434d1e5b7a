"""Plots of the families that stumps come from, over the rounds, for each strategy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from boostsample.experiments.plots.drawing import figures
from boostsample.experiments.plots.drawing.windows import round_windows
from boostsample.experiments.results.labels import chosen_by_searches, repetitions, with_learner
from boostsample.experiments.results.runs import Run, runs_by_strategy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Colours of Okabe and Ito (2008), with grey instead of black, which is too heavy for areas.
_COLOURS = (*(figures.COLOURS[at] for at in (0, 4, 2, 3, 5, 1)), "#F0E442", "#999999")
_HATCHES = ("", "//", "..", "xx")


@dataclass(frozen=True)
class FamilyShares:
    """Shares of the families among the stumps of all searches, over windows of rounds.

    `edges`, shape (n_windows + 1,), are those of `round_windows`. `shares` has for each strategy
    the means over repetitions, shape (n_families, n_windows), NaN where all runs had ended.
    """

    sizes: dict[str, int]  # number of features of each family
    edges: NDArray[np.int64]
    shares: dict[str, NDArray[np.float64]]
    n_runs: tuple[int, ...]  # repetitions of each strategy

    @property
    def parts(self) -> dict[str, float]:
        """Share of each family among all features, the expectation of a uniform draw."""
        total = sum(self.sizes.values())
        return {family: size / total for family, size in self.sizes.items()}


def family_shares(runs: Sequence[Run]) -> FamilyShares:
    """Count the stumps of each family in windows of rounds; DataError without runs."""
    found = runs_by_strategy(runs)
    sizes = {str(name): int(n) for name, n in runs[0].cell.about["data"]["families"]}
    edges = round_windows(max(run.n_rounds for run in runs))
    bins = [np.arange(len(sizes) + 1), edges]
    shares = {}
    for label, own in found.items():
        pairs = [(run.cell.arrays["family"], run.cell.round) for run in own]
        shares[label] = _mean_share(np.stack([np.histogram2d(*pair, bins)[0] for pair in pairs]))
    return FamilyShares(sizes, edges, shares, tuple(map(len, found.values())))


def _mean_share(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean share over runs with stumps in a window, from counts (runs, families, windows)."""
    totals = counts.sum(axis=1)
    n_runs = (totals > 0).sum(axis=0)
    parts = counts / np.maximum(totals, 1)[:, None]
    mean: NDArray[np.float64] = parts.sum(axis=0) / np.maximum(n_runs, 1)
    mean[:, n_runs == 0] = np.nan
    return mean


@figures.styled_axes
def shares_figure(name: str, runs: Sequence[Run]) -> Figure:
    """Plot stacked shares of the families over rounds, one panel a strategy.

    A bar at the right of each panel shows the shares among all features.
    """
    found = family_shares(runs)
    learners = [run.learner for run in runs]
    title, stumps = with_learner(name, learners), chosen_by_searches(learners)
    share = f"percent of the {stumps}"
    figure, panels = figures.strategy_panels(tuple(found.shares), "round", share)
    for label, axes in panels.items():
        _panel(axes, found, found.shares[label])
    figures.legend_below(figure, list(panels.values())[:1], handlelength=1.6)
    repeats = repetitions(max(found.n_runs), "mean", min(found.n_runs))
    figure.suptitle(
        f"{title}: families that the {stumps} come from, {repeats}\n"
        "(bars at the right: shares of all features)"
    )
    ends = "; ".join(
        f"{label} ends with most stumps of {list(found.sizes)[int(np.argmax(shares[:, at]))]} "
        f"({100 * shares[:, at].max():.0f} percent)"
        for label, shares in found.shares.items()
        for at in [np.flatnonzero(~np.isnan(shares[0]))[-1]]
    )
    figure.set_label(
        f"Shares of {len(found.sizes)} families among the {stumps} on {title} over rounds, "
        f"{repeats}: {ends}."
    )
    return figure


def _panel(axes: Axes, found: FamilyShares, shares: NDArray[np.float64]) -> None:
    """Stacked areas, constant within a window, and the bar of all features."""
    tops = 100 * np.cumsum(shares, axis=0)
    below = np.zeros_like(tops[0])
    bottom = 0.0
    bar = axes.inset_axes((1.03, 0.0, 0.06, 1.0), sharey=axes)
    for number, (top, (family, part)) in enumerate(zip(tops, found.parts.items(), strict=True)):
        lower, upper = (np.append(values, values[-1]) for values in (below, top))
        label = f"{family} ({100 * part:.0f} % of all features)"
        style: dict[str, Any] = {
            "facecolor": _COLOURS[number % len(_COLOURS)],
            "hatch": _HATCHES[number // len(_COLOURS) % len(_HATCHES)],
            "edgecolor": "white",
            "linewidth": 0.7,
        }
        axes.fill_between(found.edges, lower, upper, step="post", label=label, **style)
        bar.bar([0], [100 * part], bottom=[bottom], width=1.0, **style)
        below, bottom = top, bottom + 100 * part
    bar.set_axis_off()
    bar.set_xlim(-0.5, 0.5)
    figures.round_axis(axes, 1, int(found.edges[-1]))
    axes.set_ylim(0, 100)
    axes.grid(False)
