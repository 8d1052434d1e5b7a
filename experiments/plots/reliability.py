"""Picture of a calibration: how often events are true, by their probabilities."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from boostsample.errors import printable
from boostsample.experiments.plots.drawing import figures

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LABEL = "rows of a bin, \u00b1 1 std. error if calibrated"


@figures.styled_axes
def reliability_figure(calibration: NDArray[np.float64], title: str, event: str) -> Figure:
    """The share of the event against its mean probability in each bin, above the rows of the bins.

    `calibration` is float64 (bins, 3): rows, mean probability and share of equal bins, NaN where a
    bin has no rows. Lines around a share are to each side one standard error long
    of the share of a calibrated bin, which is not 0 if the share is 0 or 1.
    """
    counts, chance, share = calibration.T
    figure = figures.new_figure(6.4, 6.0)
    above, below = figure.subplots(2, 1, height_ratios=(3, 1), sharex=True)
    above.plot([0, 1], [0, 1], color="#888888", linestyle="--", label="calibrated")
    filled = counts > 0
    spread = np.sqrt(chance[filled] * (1 - chance[filled]) / counts[filled])
    style = {**figures.line_style(0), "capsize": 2.5, "label": _LABEL}
    above.errorbar(chance[filled], share[filled], yerr=spread, **style)
    above.set(ylabel=f"share of {printable(event)}", xlim=(0, 1), ylim=(-0.02, 1.02))
    width = 1 / counts.size
    edges = np.arange(counts.size) * width
    below.bar(edges, counts, width=width, align="edge", color=figures.COLOURS[5], edgecolor="white")
    below.set(ylabel="rows", xlabel=f"probability of {printable(event)}", ylim=(0, None))
    below.grid(visible=False, axis="x")
    figures.legend_below(figure, [above])
    figure.suptitle(printable(title))
    bins = "; ".join(
        f"{p:.2f}: {s:.2f} of {int(n):,} rows"
        for n, p, s in zip(counts[filled], chance[filled], share[filled], strict=True)
    )
    figure.set_label(f"{title}. Mean probability of {event} and how often it is true: {bins}.")
    return figure
