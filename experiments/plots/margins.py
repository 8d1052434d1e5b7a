"""Plots of the cumulative distributions of margins, by number of stumps or rounds.

Boosting keeps raising small margins after all training examples are classified correctly, which
explains according to [SFBL98] why the test error keeps falling.

- [SFBL98] Schapire, Freund, Bartlett and Lee, Boosting the margin: a new explanation for the
  effectiveness of voting methods, Annals of Statistics 26, 1998.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from boostsample.experiments.plots.drawing import figures
from boostsample.experiments.results.labels import counted, with_learner
from boostsample.experiments.results.runs import Run, runs_by_strategy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Dark enough for a white page; darker for more stumps.
_COLOURS = tuple(figures.COLOURS[at] for at in (5, 4, 1, 0, 6))
# Both lines stay visible where they coincide.
_SIDES: dict[str, dict[str, Any]] = {
    "training": {"linewidth": 4.0, "alpha": 0.3},
    "test": {"linewidth": 1.1},
}


def margin_marks(runs: Sequence[Run]) -> list[int]:
    """The numbers of stumps at which the longest runs recorded margins.

    Runs that ended early are left out, as they record their last margins at their end.
    """
    longest = max(run.n_rounds for run in runs)
    whole = [run for run in runs if run.n_rounds == longest]
    return sorted({int(mark) for run in whole for mark in run.cell.arrays["marks"]})


def margin_shares(runs: Sequence[Run], mark: int) -> NDArray[np.float64]:
    """Shares of training and test margins below each bin edge, shape (2, n_bins + 1).

    Means over the runs of one strategy at a mark, NaN if no run has the mark. A run that ended
    before the mark counts with its last margins.
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


@figures.styled_axes
def margins_figure(name: str, runs: Sequence[Run], marks: Sequence[int] | None = None) -> Figure:
    """Plot cumulative distributions of margins, a panel a strategy, a colour a number of stumps.

    Draws the last five of `marks`, by default of `margin_marks`.
    """
    from matplotlib.ticker import MultipleLocator

    found = runs_by_strategy(runs)
    chosen = list(margin_marks(runs) if marks is None else marks)[-len(_COLOURS) :]
    shares = {
        label: {mark: margin_shares(own, mark) for mark in chosen} for label, own in found.items()
    }
    figure, panels = figures.strategy_panels(
        tuple(found), "margin", "percent of margins below", 2.5
    )
    learners = [run.learner for run in runs]
    title, word = with_learner(name, learners), counted(learners)
    for label, axes in panels.items():
        for mark, colour in zip(chosen, _COLOURS[-len(chosen) :], strict=True):
            _draw(axes, shares[label][mark], f"{mark:,} {word}", colour)
        axes.axvline(0, color="#888888", linewidth=0.8)
    first = next(iter(panels.values()))
    first.xaxis.set_major_locator(MultipleLocator(0.5))
    first.xaxis.set_major_formatter("{x:g}")
    first.set(xlim=_range(shares.values()), ylim=(0, 100))
    figures.legend_below(figure, panels.values())
    repeats = figures.repeats_title(found.values(), "")
    figure.suptitle(
        f"{title}: margins y f(x) / sum of alphas over all examples and labels, {repeats}"
    )
    last = {label: one[chosen[-1]][1] for label, one in shares.items()}
    wrong = "; ".join(f"{label} {100 * one[len(one) // 2]:.2f}" for label, one in last.items())
    figure.set_label(
        f"Cumulative distributions of training and test margins on {title} after "
        f"{', '.join(f'{mark:,}' for mark in chosen)} {word}, {repeats}. Percent of the test "
        f"margins below zero at the end: {wrong}."
    )
    return figure


def _draw(axes: Axes, shares: NDArray[np.float64], mark: str, colour: str) -> None:
    """Draw both sides, cut to where they rise."""
    edges = np.linspace(-1, 1, shares.shape[1])
    for (side, style), values in zip(_SIDES.items(), shares, strict=True):
        if np.isnan(values).any():
            continue
        first = np.flatnonzero(values > 0)[0] - 1
        last = np.flatnonzero(values < 1)[-1] + 1
        kept = slice(first, last + 1)
        label = f"{mark}, {side}"
        axes.plot(edges[kept], 100 * values[kept], color=colour, label=label, **style)


def _range(shares: Iterable[Mapping[int, NDArray[np.float64]]]) -> tuple[float, float]:
    """The range of all but the outer 0.1 percent of margins on both sides, with zero in it."""
    every = np.array([values for one in shares for both in one.values() for values in both])
    edges = np.linspace(-1, 1, every.shape[1])
    inside = ((every > 0.001) & (every < 0.999)).any(axis=0)
    there = edges[inside] if inside.any() else edges
    return min(-0.05, float(there[0]) - 0.02), max(0.05, float(there[-1]) + 0.02)
