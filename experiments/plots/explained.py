"""Picture of what a model uses: shares of its families and first features."""

from __future__ import annotations

from typing import TYPE_CHECKING

from boostsample.errors import printable
from boostsample.experiments.plots.drawing import figures
from boostsample.models.explain import Explanation

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["explain_figure"]

_FAMILIES = 12
_NAME = 48


@figures.styled_axes
def explain_figure(explanation: Explanation) -> Figure:
    """Bars of the shares in the fall of the log loss: families, and below them features.

    At most twelve families; the features of the explanation, coloured by their families.
    """
    families = explanation.families[:_FAMILIES]
    features = explanation.features
    heights = [0.7 + 0.28 * len(families), 0.7 + 0.28 * len(features)]
    figure = figures.new_figure(0.6 + sum(heights))
    above, below = figure.subplots(2, 1, height_ratios=heights)
    number = {one.name: at for at, one in enumerate(explanation.families)}
    for axes, rows, names, title in (
        (above, families, [one.name for one in families], "families"),
        (below, features, [_brief(one.name) for one in features], "features"),
    ):
        owners = [getattr(one, "family", one.name) for one in rows]
        colours = [figures.COLOURS[number[one] % len(figures.COLOURS)] for one in owners]
        at = list(range(len(rows)))
        axes.barh(at, [100 * one.share for one in rows], color=colours, height=0.7)
        axes.set_yticks(at, [printable(name) for name in names])
        axes.invert_yaxis()
        axes.grid(visible=False, axis="y")
        axes.set(
            title=title, xlabel="percent of the fall of the log loss in training", xlim=(0, None)
        )
    title = f"What a model of {explanation.n_rounds:,} rounds reads"
    figure.suptitle(title)
    most = "; ".join(f"{one.name} {100 * one.share:.1f} percent" for one in families[:5])
    first = "; ".join(f"{one.name} {100 * one.share:.1f} percent" for one in features[:5])
    figure.set_label(f"{title}. Families: {most}. Features: {first}.")
    return figure


def _brief(name: str) -> str:
    return name if len(name) <= _NAME else name[: _NAME - 3] + "..."
