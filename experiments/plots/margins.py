"""Pictures of margins: how sure a model is of its examples as it grows.

Boosting goes on raising small margins when all examples are classified rightly, which is how
[SFBL98] explain that the test error goes on falling.

- [SFBL98] Schapire, Freund, Bartlett and Lee, Boosting the margin: a new explanation for the
  effectiveness of voting methods, Annals of Statistics 26, 1998.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from boostsample.experiments.plots.axes import STYLE, legend_below, repetitions, strategy_panels
from boostsample.experiments.plots.sampling import by_strategy
from boostsample.experiments.results.runs import Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["margin_shares", "margins_figure", "marks_of"]

# From light to dark as the model grows; light ones are dark enough for a white page.
_COLOURS = ("#56B4E9", "#E69F00", "#D55E00", "#0072B2", "#000000")
# Both are seen where one lies upon the other.
_SIDES: dict[str, dict[str, Any]] = {
    "training": {"linewidth": 4.0, "alpha": 0.3},
    "test": {"linewidth": 1.1},
}


def marks_of(runs: Sequence[Run]) -> list[int]:
    """Numbers of stumps at which margins were taken, as far as they were asked for.

    A run that ended early has its last margins at its own end; that is no mark unless no run went
    further.
    """
    whole = [run for run in runs if run.n_rounds == max(one.n_rounds for one in runs)]
    return sorted({int(mark) for run in whole for mark in run.cell.arrays["marks"]})


def margin_shares(runs: Sequence[Run], mark: int) -> NDArray[np.float64]:
    """Cumulative distribution of margins at a mark, mean over repetitions.

    Parameters
    ----------
    runs : sequence of Run
        Of one strategy; one that ended before the mark has its last margins there.
    mark : int

    Returns
    -------
    float64, shape (2, n_bins + 1)
        Of training and of test examples: the share of margins below each edge of the bins; NaN
        where no run has the mark.
    """
    parts = []
    n_bins = 1
    for run in runs:
        marks = run.cell.arrays["marks"].tolist()
        counts = run.cell.arrays["margins"].astype(np.float64)
        n_bins = counts.shape[2]
        at = min(mark, run.n_rounds)
        if at in marks:
            sums = np.cumsum(counts[:, marks.index(at)], axis=1)
            parts.append(np.pad(sums, ((0, 0), (1, 0))) / sums[:, -1:])
    if not parts:
        return np.full((2, n_bins + 1), np.nan)
    mean: NDArray[np.float64] = np.mean(parts, axis=0)
    return mean


def margins_figure(name: str, runs: Sequence[Run], marks: Sequence[int] | None = None) -> Figure:
    """Cumulative distributions of margins, a panel a strategy, a colour a number of stumps.

    Parameters
    ----------
    name : str
        Of the data set.
    runs : sequence of Run
        As `boostsample.experiments.results.results.read_runs` gives them.
    marks : sequence of int, optional
        Numbers of stumps to draw; by default the last five that there are.

    Raises
    ------
    DataError
        There are no runs.
    """
    import matplotlib as mpl
    from matplotlib.ticker import MultipleLocator

    found = by_strategy(runs)
    chosen = list(marks) if marks is not None else marks_of(runs)
    chosen = chosen[-len(_COLOURS) :]
    shares = {
        label: {mark: margin_shares(own, mark) for mark in chosen} for label, own in found.items()
    }
    with mpl.rc_context(STYLE):
        figure, panels, left = strategy_panels(tuple(found), "margin", 2.5)
        for label, axes in panels.items():
            for mark, colour in zip(chosen, _COLOURS[-len(chosen) :], strict=True):
                _draw(axes, shares[label][mark], mark, colour)
            axes.axvline(0, color="#888888", linewidth=0.8)
        left[0].xaxis.set_major_locator(MultipleLocator(0.5))
        left[0].xaxis.set_major_formatter("{x:g}")
        left[0].set(xlim=_range(shares.values()), ylim=(0, 100))
        for axes in left:
            axes.set_ylabel("percent of margins below")
        legend_below(figure, panels.values())
        n_runs = [len(own) for own in found.values()]
        spread = repetitions(max(n_runs), "mean", least=min(n_runs))
        figure.suptitle(
            f"{name}: margins y f(x) / sum of alphas over all examples and labels, {spread}"
        )
        wrong = "; ".join(
            f"{label} {100 * _at_zero(one[chosen[-1]][1]):.2f}" for label, one in shares.items()
        )
        figure.set_label(
            f"Cumulative distributions of training and test margins on {name} after "
            f"{', '.join(f'{mark:,}' for mark in chosen)} stumps, {spread}. Percent of the test "
            f"margins below zero at the end: {wrong}."
        )
    return figure


def _draw(axes: Axes, shares: NDArray[np.float64], mark: int, colour: str) -> None:
    edges = np.linspace(-1, 1, shares.shape[1])
    for (side, look), values in zip(_SIDES.items(), shares, strict=True):
        if np.isnan(values).any():
            continue
        first = np.flatnonzero(values > 0)[0] - 1
        last = np.flatnonzero(values < 1)[-1] + 1
        kept = slice(first, last + 1)
        label = f"{mark:,} stumps, {side}"
        axes.plot(edges[kept], 100 * values[kept], color=colour, label=label, **look)


def _range(shares: Any) -> tuple[float, float]:
    """Where all but the last 0.1 percent of margins lie, on both sides, and zero."""
    every = np.array([values for one in shares for both in one.values() for values in both])
    edges = np.linspace(-1, 1, every.shape[1])
    inside = ((every > 0.001) & (every < 0.999)).any(axis=0)
    there = edges[inside] if inside.any() else edges
    return min(-0.05, float(there[0]) - 0.02), max(0.05, float(there[-1]) + 0.02)


def _at_zero(values: NDArray[np.float64]) -> float:
    return float(values[len(values) // 2])
