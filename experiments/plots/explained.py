"""Picture of what a model uses: shares of its families and first features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from boostsample.errors import printable
from boostsample.experiments.plots.drawing import figures
from boostsample.models.explain import Explanation

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from boostsample.classifier.prediction.held_importances import HeldImportances

_FAMILIES = 12
_NAME = 48


@figures.styled_axes
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
    figure = figures.new_figure(0.6 + sum(heights))
    panels = figure.subplots(len(heights), 1, height_ratios=heights, squeeze=False).flat
    number = {one.name: at for at, one in enumerate(explanation.families)}
    for axes, rows, names, title in (
        (panels[0], families, [one.name for one in families], "families"),
        (panels[1], features, [_brief(one.name) for one in features], "features"),
    ):
        owners = [getattr(one, "family", one.name) for one in rows]
        colours = [figures.COLOURS[number[one] % len(figures.COLOURS)] for one in owners]
        _draw_bars(axes, names, [100 * one.share for one in rows], color=colours)
        axes.set(title=title, xlabel="percent of the fall of the log loss in training")
        axes.set_xlim(0, None)
    title = f"What a model of {explanation.n_rounds:,} rounds reads"
    figure.suptitle(title)
    most = "; ".join(f"{one.name} {100 * one.share:.1f} percent" for one in families[:5])
    first = "; ".join(f"{one.name} {100 * one.share:.1f} percent" for one in features[:5])
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
