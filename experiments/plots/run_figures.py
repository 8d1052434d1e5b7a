"""Figures of all runs on a data set, by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from boostsample.experiments.plots.edges import edges_figure
from boostsample.experiments.plots.family_shares import shares_figure
from boostsample.experiments.plots.margins import margins_figure
from boostsample.experiments.plots.sampling import sampling_figure
from boostsample.experiments.results.runs import Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RUN_FIGURES: dict[str, Callable[[str, Sequence[Run]], Figure]] = {
    "families": shares_figure,
    "sampling": sampling_figure,
    "edges": edges_figure,
    "margins": margins_figure,
}
"""DataError if there are no runs (`read_runs`)."""
