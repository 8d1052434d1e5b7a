"""Pictures of a model: what it uses, and how often its probabilities are right."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from boostsample.errors import printable
from boostsample.experiments.plots import drawing
from boostsample.models.importances import Explanation

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from boostsample.classifier.prediction.held_importances import HeldImportances

_FAMILIES = 12
_NAME = 48
_SPREAD = "rows of a bin, \u00b1 1 std. error if calibrated"


@drawing.styled_axes
def explain_figure(explanation: Explanation, held: HeldImportances | None = None) -> Figure:
    """Bars of the shares in the fall of the log loss: families, and below them features.

    At most twelve families; the features of the explanation, coloured by their families. Below
    them, with `held`, as many columns by their importance on held-out rows; lines are one standard
    deviation of the shuffles long to each side.
    """
    families = explanation.families[:_FAMILIES]
    features = explanation.features
    columns = [] if held is None else held.first(max(len(features), 1))
    sizes = [len(families), len(features), *([] if held is None else [len(columns)])]
    heights = [0.7 + 0.28 * size for size in sizes]
    figure = drawing.new_figure(0.6 + sum(heights))
    panels = figure.subplots(len(heights), 1, height_ratios=heights, squeeze=False).flat
    number = {family.name: at for at, family in enumerate(explanation.families)}
    for axes, rows, names, title in (
        (panels[0], families, [family.name for family in families], "families"),
        (panels[1], features, [_brief(feature.name) for feature in features], "features"),
    ):
        owners = [getattr(row, "family", row.name) for row in rows]
        colours = [drawing.COLOURS[number[owner] % len(drawing.COLOURS)] for owner in owners]
        _draw_bars(axes, names, [100 * row.share for row in rows], color=colours)
        axes.set(title=title, xlabel="percent of the fall of the log loss in training")
        axes.set_xlim(0, None)
    title = f"What a model of {explanation.n_rounds:,} rounds reads"
    figure.suptitle(title)
    most = "; ".join(f"{row.name} {100 * row.share:.1f} percent" for row in families[:5])
    first = "; ".join(f"{row.name} {100 * row.share:.1f} percent" for row in features[:5])
    text = f"{title}. Families: {most}. Features: {first}."
    if held is not None:
        names, rises = [held.names[at] for at in columns], held.rises[columns]
        means = rises.mean(axis=1)
        spread = rises.std(axis=1, ddof=1)
        _draw_bars(panels[2], [_brief(name) for name in names], means, xerr=spread, color="#888888")
        panels[2].set(title="columns", xlabel="rise of the log loss of held-out rows, if shuffled")
        pairs = zip(names[:5], means, strict=False)
        text += f" On held-out rows: {'; '.join(f'{name} {mean:.3f}' for name, mean in pairs)}."
    figure.set_label(text)
    return figure


def _draw_bars(axes: Axes, names: Sequence[str], values: Any, **style: Any) -> None:
    at = list(range(len(names)))
    axes.barh(at, values, height=0.7, **style)
    axes.set_yticks(at, [printable(name) for name in names])
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")


def _brief(name: str) -> str:
    return name if len(name) <= _NAME else name[: _NAME - 3] + "..."


@drawing.styled_axes
def reliability_figure(calibration: NDArray[np.float64], title: str, event: str) -> Figure:
    """The share of the event against its mean probability in each bin, above the rows of the bins.

    `calibration` is float64 (bins, 3): rows, mean probability and share of equal bins, NaN where a
    bin has no rows. Lines around a share are to each side one standard error long
    of the share of a calibrated bin, which is not 0 if the share is 0 or 1.
    """
    counts, chance, share = calibration.T
    figure = drawing.new_figure(6.4, 6.0)
    above, below = figure.subplots(2, 1, height_ratios=(3, 1), sharex=True)
    above.plot([0, 1], [0, 1], color="#888888", linestyle="--", label="calibrated")
    filled = counts > 0
    spread = np.sqrt(chance[filled] * (1 - chance[filled]) / counts[filled])
    style = {**drawing.line_style(0), "capsize": 2.5, "label": _SPREAD}
    above.errorbar(chance[filled], share[filled], yerr=spread, **style)
    above.set(ylabel=f"share of {printable(event)}", xlim=(0, 1), ylim=(-0.02, 1.02))
    width = 1 / counts.size
    edges = np.arange(counts.size) * width
    below.bar(edges, counts, width=width, align="edge", color=drawing.COLOURS[5], edgecolor="white")
    below.set(ylabel="rows", xlabel=f"probability of {printable(event)}", ylim=(0, None))
    below.grid(visible=False, axis="x")
    drawing.legend_below(figure, [above])
    figure.suptitle(printable(title))
    bins = "; ".join(
        f"{p:.2f}: {s:.2f} of {int(n):,} rows"
        for n, p, s in zip(counts[filled], chance[filled], share[filled], strict=True)
    )
    figure.set_label(f"{title}. Mean probability of {event} and how often it is true: {bins}.")
    return figure
