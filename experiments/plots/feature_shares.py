"""Plots of how often each feature was chosen, for each strategy, a panel a data set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from boostsample.checks import check_integer
from boostsample.errors import DataError, SettingError
from boostsample.experiments.plots.drawing import figures
from boostsample.experiments.results.labels import chosen_by_searches
from boostsample.experiments.results.runs import Run, runs_by_strategy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_FEATURES = 50
"""Pools with more features cannot be read in one panel."""


def feature_shares(
    name: str, runs: Sequence[Run], rounds: int | None = None
) -> dict[str, NDArray[np.float64]]:
    """Share of each feature among the chosen ones, by strategy, shape (repetitions, n_features).

    `runs` are those on data set `name`. Counts the searches of the first `rounds` rounds, by
    default of all; a run that ended earlier counts as far as it came. DataError without runs,
    SettingError if there are more than `MOST_FEATURES` features, or no run has so many rounds.
    """
    found = runs_by_strategy(runs)
    n_features = sum(int(size) for _, size in runs[0].cell.about["data"]["families"])
    if n_features > MOST_FEATURES:
        raise SettingError(
            f"a picture of features needs at most {MOST_FEATURES} features, but {name} has "
            f"{n_features:,}; draw families, or other data"
        )
    longest = max(run.n_rounds for run in runs)
    last = longest if rounds is None else check_integer("stumps", rounds, 1, longest)
    return {
        label: np.array(
            [
                np.bincount(run.cell.arrays["feature"][run.cell.round <= last], None, n_features)
                / np.count_nonzero(run.cell.round <= last)
                for run in own
            ]
        )
        for label, own in found.items()
    }


@figures.styled_axes
def features_figure(runs: Mapping[str, Sequence[Run]], rounds: int | None = None) -> Figure:
    """Plot the percentage of the stumps of all searches that use each feature, a line a strategy.

    `runs` has the runs of each data set, a panel each; `rounds` and errors are those of
    `feature_shares`. A dotted line shows the share of a uniform draw.
    """
    from matplotlib.ticker import MaxNLocator

    if not runs:
        raise DataError("a picture of features needs runs, got none; run the comparison first")
    shares = {name: feature_shares(name, own, rounds) for name, own in runs.items()}
    stumps = chosen_by_searches(run.learner for own in runs.values() for run in own)
    labels = list(dict.fromkeys(label for one in shares.values() for label in one))
    figure, panels = figures.new_panels(len(shares), 2, 4.0)
    for axes, (name, found) in zip(panels, shares.items(), strict=True):
        for label, values in found.items():
            at = np.arange(values.shape[1])
            number = labels.index(label)
            figures.draw_band(axes, at, 100 * values, number, label, markevery=1)
        axes.axhline(100 / len(at), color="#888888", linewidth=0.8, linestyle=":")
        axes.set(title=name, xlabel="feature (counted from 0)", ylabel=f"percent of the {stumps}")
        axes.set_ylim(bottom=0)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    figures.legend_below(figure, panels)
    groups = [values for found in shares.values() for values in found.values()]
    repeats = figures.repeats_title(groups)
    last = max(run.n_rounds for own in runs.values() for run in own) if rounds is None else rounds
    title = f"Features chosen in {last:,} rounds, {repeats}"
    figure.suptitle(f"{title}\n(dotted: the share of a uniform draw)")
    most = "; ".join(
        f"{label} on {name} {100 * means.max():.1f} percent of feature {means.argmax()}"
        for name, found in shares.items()
        for label, values in found.items()
        for means in [values.mean(axis=0)]
    )
    figure.set_label(f"{title}. Most often chosen: {most}.")
    return figure
