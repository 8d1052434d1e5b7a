"""Pictures of the runs on a data set, over their rounds: sampling, families, edges and margins.

Boosting keeps raising small margins after all training examples are classified correctly, which
explains according to [SFBL98] why the test error keeps falling.

- [SFBL98] Schapire, Freund, Bartlett and Lee, Boosting the margin: a new explanation for the
  effectiveness of voting methods, Annals of Statistics 26, 1998.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from boostsample.checks import check_integer
from boostsample.errors import DataError, SettingError
from boostsample.experiments.cells.cell_file import PREDICTED, Cell
from boostsample.experiments.plots import drawing
from boostsample.experiments.results.run_curves import Curves, shared_curve, uncharged
from boostsample.experiments.results.runs import Run, runs_by_strategy
from boostsample.experiments.results.titles import (
    chosen_by_searches,
    counted,
    is_charged,
    repetitions,
    with_learner,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_GREY = "#888888"

# ------------------------------------------------------------------------------------- windows


def round_windows(n_rounds: int, per_decade: int = 5) -> NDArray[np.int64]:
    """First rounds of windows of about equal width on a log scale, and the end of the last one.

    >>> round_windows(100).tolist()
    [1, 2, 3, 4, 6, 10, 16, 25, 40, 63, 101]
    """
    step = 10 ** (1 / per_decade)
    number = math.ceil(per_decade * math.log10(n_rounds + 1))
    starts = np.unique(np.floor(step ** np.arange(number) + 0.5).astype(np.int64))
    starts = starts[starts * math.sqrt(step) <= n_rounds + 1]  # merges a short last window
    return np.append(starts, n_rounds + 1)


def window_middles(edges: NDArray[np.int64]) -> NDArray[np.float64]:
    """Geometric means of the first and last round of each window.

    >>> window_middles(np.array([1, 2, 4, 9])).round(2).tolist()
    [1.0, 2.45, 5.66]
    """
    return np.asarray(np.sqrt(edges[:-1] * (edges[1:] - 1.0)))


def window_means(cell: Cell, values: NDArray[Any], edges: NDArray[np.int64]) -> NDArray[np.float64]:
    """Mean over all searches of a cell in each window of rounds; NaN for windows without one.

    `values`, shape (n_searches,), has one number for each search; NaN is skipped.
    """
    finite = np.isfinite(values)
    counts, _ = np.histogram(cell.round[finite], edges)
    sums, _ = np.histogram(cell.round[finite], edges, weights=values[finite].astype(np.float64))
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def _means_of_runs(
    runs: Sequence[Run], edges: NDArray[np.int64], values: Callable[[Cell], NDArray[Any]]
) -> NDArray[np.float64]:
    return np.array([window_means(run.cell, values(run.cell), edges) for run in runs])


def _longest(runs: Sequence[Run]) -> int:
    return max(run.n_rounds for run in runs)


# ------------------------------------------------------------------------------------ sampling

_Curve = tuple[NDArray[np.float64], NDArray[np.float64]]


def sampling_figure(name: str, runs: Sequence[Run]) -> Figure:
    """Plot Q and T of the searches over rounds, with bands from the lowest to the highest run."""
    by_strategy = runs_by_strategy(runs)
    edges = round_windows(_longest(runs), 10)
    middles = window_middles(edges)
    curves = {
        label: [
            (middles, _means_of_runs(repeats, edges, lambda cell: cell.arrays["n_features"])),
            (middles, _means_of_runs(repeats, edges, lambda cell: cell.arrays["n_examples"])),
        ]
        for label, repeats in by_strategy.items()
    }
    title = with_learner(name, (run.learner for run in runs))
    return _q_and_t(title, curves, _longest(runs), "round", "of the searches, over rounds")


def mean_sampling_figure(curves: Curves) -> Figure:
    """Plot the means of Q and T over all searches so far, for results without cells."""
    means = {
        label: [shared_curve(runs.values(), column) for column in ("features", "examples")]
        for label, runs in curves.runs().items()
        if not is_charged(label)
    }
    last = int(uncharged(curves.table)["stumps"].max())
    title = with_learner(curves.data, curves.learners)
    return _q_and_t(title, means, last, curves.counted, "means over all searches so far")


@drawing.styled_axes
def _q_and_t(
    name: str, curves: Mapping[str, Sequence[_Curve]], last: int, axis: str, content: str
) -> Figure:
    figure, panels = drawing.new_panels(2, 2, 3.5)
    titles = ("features searched, Q", "examples searched, T")
    for at, (axes, title) in enumerate(zip(panels, titles, strict=True)):
        for number, (label, both) in enumerate(curves.items()):
            drawing.draw_band(axes, *both[at], number, label, extremes=True)
        axes.set(xlabel=axis, ylabel=title, yscale="log")
        axes.margins(y=0.08)
        drawing.round_axis(axes, 1, last)
        drawing.decade_ticks(axes.yaxis)
    drawing.legend_below(figure, panels)
    repeats = drawing.repeats_title((values for (_, values), _ in curves.values()), "range")
    figure.suptitle(f"{name}: Q and T {content}, {repeats}")
    ends = "; ".join(
        f"{label} ends at Q {_end(q):,.0f} and T {_end(t):,.0f}" for label, (q, t) in curves.items()
    )
    figure.set_label(f"Features Q and examples T on {name}: {content}, {repeats}; {ends}.")
    return figure


def _end(curve: _Curve) -> float:
    values = curve[1]
    finite = np.isfinite(values).any(axis=0)
    return float(np.nanmean(values[:, finite], axis=0)[-1]) if finite.any() else math.nan


# ------------------------------------------------------------------------------------ families

# Colours of Okabe and Ito (2008), with grey instead of black, which is too heavy for areas.
_AREAS = (*(drawing.COLOURS[at] for at in (0, 4, 2, 3, 5, 1)), "#F0E442", "#999999")
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
    by_strategy = runs_by_strategy(runs)
    sizes = {str(name): int(n) for name, n in runs[0].cell.about["data"]["families"]}
    edges = round_windows(_longest(runs))
    bins = [np.arange(len(sizes) + 1), edges]
    shares = {}
    for label, repeats in by_strategy.items():
        pairs = [(run.cell.arrays["family"], run.cell.round) for run in repeats]
        counts = np.stack([np.histogram2d(*pair, bins)[0] for pair in pairs])
        totals = counts.sum(axis=1)
        n_runs = (totals > 0).sum(axis=0)  # runs that had not ended
        mean = (counts / np.maximum(totals, 1)[:, None]).sum(axis=0) / np.maximum(n_runs, 1)
        shares[label] = np.where(n_runs > 0, mean, np.nan)
    return FamilyShares(sizes, edges, shares, tuple(map(len, by_strategy.values())))


@drawing.styled_axes
def shares_figure(name: str, runs: Sequence[Run]) -> Figure:
    """Plot stacked shares of the families over rounds, one panel a strategy.

    A bar at the right of each panel shows the shares among all features.
    """
    counts = family_shares(runs)
    learners = [run.learner for run in runs]
    title, stumps = with_learner(name, learners), chosen_by_searches(learners)
    share = f"percent of the {stumps}"
    figure, panels = drawing.strategy_panels(tuple(counts.shares), "round", share)
    for label, axes in panels.items():
        _stack(axes, counts, counts.shares[label])
    drawing.legend_below(figure, list(panels.values())[:1], handlelength=1.6)
    repeats = repetitions(max(counts.n_runs), "mean", min(counts.n_runs))
    figure.suptitle(
        f"{title}: families that the {stumps} come from, {repeats}\n"
        "(bars at the right: shares of all features)"
    )
    ends = []
    for label, shares in counts.shares.items():
        last = shares[:, ~np.isnan(shares[0])][:, -1]
        family = list(counts.sizes)[int(np.argmax(last))]
        ends.append(f"{label} ends with most stumps of {family} ({100 * last.max():.0f} percent)")
    figure.set_label(
        f"Shares of {len(counts.sizes)} families among the {stumps} on {title} over rounds, "
        f"{repeats}: {'; '.join(ends)}."
    )
    return figure


def _stack(axes: Axes, counts: FamilyShares, shares: NDArray[np.float64]) -> None:
    tops = 100 * np.cumsum(shares, axis=0)
    below = np.zeros_like(tops[0])
    bottom = 0.0
    bar = axes.inset_axes((1.03, 0.0, 0.06, 1.0), sharey=axes)
    for number, (top, (family, part)) in enumerate(zip(tops, counts.parts.items(), strict=True)):
        lower, upper = (np.append(values, values[-1]) for values in (below, top))
        label = f"{family} ({100 * part:.0f} % of all features)"
        style: dict[str, Any] = {
            "facecolor": _AREAS[number % len(_AREAS)],
            "hatch": _HATCHES[number // len(_AREAS) % len(_HATCHES)],
            "edgecolor": "white",
            "linewidth": 0.7,
        }
        axes.fill_between(counts.edges, lower, upper, step="post", label=label, **style)
        bar.bar([0], [100 * part], bottom=[bottom], width=1.0, **style)
        below, bottom = top, bottom + 100 * part
    bar.set_axis_off()
    bar.set_xlim(-0.5, 0.5)
    drawing.round_axis(axes, 1, int(counts.edges[-1]))
    axes.set_ylim(0, 100)
    axes.grid(False)


# ------------------------------------------------------------------------------------ features

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
    by_strategy = runs_by_strategy(runs)
    n_features = sum(int(size) for _, size in runs[0].cell.about["data"]["families"])
    if n_features > MOST_FEATURES:
        raise SettingError(
            f"a picture of features needs at most {MOST_FEATURES} features, but {name} has "
            f"{n_features:,}; draw families, or other data"
        )
    longest = _longest(runs)
    last = longest if rounds is None else check_integer("stumps", rounds, 1, longest)

    def shares(cell: Cell) -> NDArray[np.float64]:
        chosen = cell.arrays["feature"][cell.round <= last]
        return np.bincount(chosen, None, n_features) / chosen.size

    return {
        label: np.array([shares(run.cell) for run in repeats])
        for label, repeats in by_strategy.items()
    }


@drawing.styled_axes
def features_figure(runs: Mapping[str, Sequence[Run]], rounds: int | None = None) -> Figure:
    """Plot the percentage of the stumps of all searches that use each feature, a line a strategy.

    `runs` has the runs of each data set, a panel each; `rounds` and errors are those of
    `feature_shares`. A dotted line shows the share of a uniform draw.
    """
    from matplotlib.ticker import MaxNLocator

    if not runs:
        raise DataError("a picture of features needs runs, got none; run the comparison first")
    shares = {name: feature_shares(name, of_data, rounds) for name, of_data in runs.items()}
    every = [run for of_data in runs.values() for run in of_data]
    stumps = chosen_by_searches(run.learner for run in every)
    labels = list(dict.fromkeys(label for of_data in shares.values() for label in of_data))
    figure, panels = drawing.new_panels(len(shares), 2, 4.0)
    most = []
    for axes, (name, of_data) in zip(panels, shares.items(), strict=True):
        for label, values in of_data.items():
            at = np.arange(values.shape[1])
            number = labels.index(label)
            drawing.draw_band(axes, at, 100 * values, number, label, markevery=1)
            means = values.mean(axis=0)
            often = f"{100 * means.max():.1f} percent of feature {means.argmax()}"
            most.append(f"{label} on {name} {often}")
        axes.axhline(100 / len(at), color=_GREY, linewidth=0.8, linestyle=":")
        axes.set(title=name, xlabel="feature (counted from 0)", ylabel=f"percent of the {stumps}")
        axes.set_ylim(bottom=0)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    drawing.legend_below(figure, panels)
    repeats = drawing.repeats_title(
        values for of_data in shares.values() for values in of_data.values()
    )
    n_rounds = _longest(every) if rounds is None else rounds
    title = f"Features chosen in {n_rounds:,} rounds, {repeats}"
    figure.suptitle(f"{title}\n(dotted: the share of a uniform draw)")
    figure.set_label(f"{title}. Most often chosen: {'; '.join(most)}.")
    return figure


# --------------------------------------------------------------------------------------- edges

_LINES = {
    "edge": ("true edge G", 6, "-", ""),
    "estimated": ("estimated edge H of the winner", 1, "--", ""),
    "expected": ("edge that the strategy expected, E[G*]", 0, "none", "o"),
}
"""Label, number of the colour, dashes and marker of each kind of edge."""


def mean_edges(runs: Sequence[Run], edges: NDArray[np.int64]) -> dict[str, NDArray[np.float64]]:
    """Mean edges in windows of rounds (`round_windows`), for each repetition of one strategy.

    Arrays of shape (repetitions, n_windows): ``edge`` is the true edge G, ``estimated`` is H on the
    sample, ``expected`` is noted by the strategy before the search, and absent if it never was.
    """
    means = {
        "edge": _means_of_runs(runs, edges, lambda cell: cell.arrays["edge"]),
        "estimated": _means_of_runs(runs, edges, lambda cell: cell.edge_estimated),
    }
    if any(PREDICTED in run.cell.arrays for run in runs):
        means["expected"] = _means_of_runs(
            runs,
            edges,
            lambda cell: cell.arrays.get(PREDICTED, np.full(len(cell.round), np.nan)),
        )
    return means


@drawing.styled_axes
def edges_figure(name: str, runs: Sequence[Run]) -> Figure:
    """Plot edges over rounds, a panel a strategy: true, estimated and, if noted, expected.

    The estimated edge is a maximum over all searched stumps and therefore too high on a small
    sample. On all examples it is the true edge.
    """
    by_strategy = runs_by_strategy(runs)
    last = _longest(runs)
    edges = round_windows(last, 8)
    means = {label: mean_edges(repeats, edges) for label, repeats in by_strategy.items()}
    figure, panels = drawing.strategy_panels(tuple(means), "round", "edge", 2.5)
    drawn = np.concatenate([values.ravel() for of in means.values() for values in of.values()])
    is_log = bool((drawn[np.isfinite(drawn)] > 0).all())
    for label, axes in panels.items():
        for kind, values in means[label].items():
            title, colour, dashes, marker = _LINES[kind]
            style: dict[str, Any] = {
                "linestyle": dashes,
                "marker": marker,
                "markevery": 1,
                "color": drawing.COLOURS[colour],
                "markersize": 3.5 * drawing.current_layout().scale,
            }
            at = window_middles(edges)
            drawing.draw_band(axes, at, values, 0, title, extremes=is_log, **style)
        drawing.round_axis(axes, 1, last)
    if is_log:
        first = next(iter(panels.values()))
        first.set_yscale("log")
        drawing.decade_ticks(first.yaxis)
    drawing.legend_below(figure, panels.values())
    repeats = drawing.repeats_title(by_strategy.values(), "range" if is_log else "std")
    learners = [run.learner for run in runs]
    title = with_learner(name, learners)
    chosen = "the chosen stumps" if counted(learners) == "stumps" else "all searches"
    figure.suptitle(f"{title}: edges of {chosen}, {repeats}")
    ratios = "; ".join(f"{label} {_optimism(kinds):.2f}" for label, kinds in means.items())
    figure.set_label(
        f"True, estimated and expected edges on {title} over rounds, {repeats}. "
        f"Estimated edge over true edge in the last rounds: {ratios}."
    )
    return figure


def _optimism(means: dict[str, NDArray[np.float64]]) -> float:
    """Estimated edge divided by true edge, in the last window that any run reaches."""
    last = np.flatnonzero(np.isfinite(means["edge"]).any(axis=0))[-1]
    true = float(np.nanmean(means["edge"][:, last]))
    return float(np.nanmean(means["estimated"][:, last])) / true if true else np.nan


# ------------------------------------------------------------------------------------- margins

# Dark enough for a white page; darker for more stumps.
_MARKS = tuple(drawing.COLOURS[at] for at in (5, 4, 1, 0, 6))
# Both lines stay visible where they coincide.
_SIDES: dict[str, dict[str, Any]] = {
    "training": {"linewidth": 4.0, "alpha": 0.3},
    "test": {"linewidth": 1.1},
}


def margin_marks(runs: Sequence[Run]) -> list[int]:
    """The numbers of stumps at which the longest runs recorded margins.

    Runs that ended early are left out, as they record their last margins at their end.
    """
    whole = [run for run in runs if run.n_rounds == _longest(runs)]
    return sorted({int(mark) for run in whole for mark in run.cell.arrays["marks"]})


def margin_shares(runs: Sequence[Run], mark: int) -> NDArray[np.float64]:
    """Shares of training and test margins below each bin edge, shape (2, n_bins + 1).

    Means over the runs of one strategy at a mark, NaN if no run has the mark. A run that ended
    before the mark counts with its last margins.
    """
    parts = []
    for run in runs:
        marks = run.cell.arrays["marks"].tolist()
        at = min(mark, run.n_rounds)
        if at in marks:
            sums = np.cumsum(run.cell.arrays["margins"][:, marks.index(at)], axis=1, dtype=float)
            parts.append(np.pad(sums, ((0, 0), (1, 0))) / sums[:, -1:])
    if not parts:
        return np.full((2, runs[0].cell.arrays["margins"].shape[2] + 1), np.nan)
    return np.asarray(np.mean(parts, axis=0))


@drawing.styled_axes
def margins_figure(name: str, runs: Sequence[Run]) -> Figure:
    """Plot cumulative distributions of margins, a panel a strategy, a colour a number of stumps.

    Draws the last five of `margin_marks`.
    """
    from matplotlib.ticker import MultipleLocator

    by_strategy = runs_by_strategy(runs)
    chosen = margin_marks(runs)[-len(_MARKS) :]
    shares = {
        label: [margin_shares(repeats, mark) for mark in chosen]
        for label, repeats in by_strategy.items()
    }
    figure, panels = drawing.strategy_panels(
        tuple(shares), "margin", "percent of margins below", 2.5
    )
    learners = [run.learner for run in runs]
    title, word = with_learner(name, learners), counted(learners)
    for label, axes in panels.items():
        colours = _MARKS[-len(chosen) :]
        for mark, colour, of_mark in zip(chosen, colours, shares[label], strict=True):
            _draw_margins(axes, of_mark, f"{mark:,} {word}", colour)
        axes.axvline(0, color=_GREY, linewidth=0.8)
    first = next(iter(panels.values()))
    first.xaxis.set_major_locator(MultipleLocator(0.5))
    first.xaxis.set_major_formatter("{x:g}")
    first.set(xlim=_margin_range(np.array(list(shares.values()))), ylim=(0, 100))
    drawing.legend_below(figure, panels.values())
    repeats = drawing.repeats_title(by_strategy.values(), "")
    figure.suptitle(f"{title}: margins over the sum of alphas, {repeats}")
    test = {label: of_label[-1][1] for label, of_label in shares.items()}
    wrong = "; ".join(
        f"{label} {100 * below[len(below) // 2]:.2f}" for label, below in test.items()
    )
    figure.set_label(
        f"Cumulative distributions of training and test margins on {title} after "
        f"{', '.join(f'{mark:,}' for mark in chosen)} {word}, {repeats}. Percent of the test "
        f"margins below zero at the end: {wrong}."
    )
    return figure


def _draw_margins(axes: Axes, shares: NDArray[np.float64], mark: str, colour: str) -> None:
    edges = np.linspace(-1, 1, shares.shape[1])
    for (side, style), values in zip(_SIDES.items(), shares, strict=True):
        if np.isnan(values).any():
            continue
        first = np.flatnonzero(values > 0)[0] - 1
        last = np.flatnonzero(values < 1)[-1] + 1
        rise = slice(first, last + 1)
        label = f"{mark}, {side}"
        axes.plot(edges[rise], 100 * values[rise], color=colour, label=label, **style)


def _margin_range(shares: NDArray[np.float64]) -> tuple[float, float]:
    """The range of all but the outer 0.1 percent of margins on both sides, with zero in it."""
    edges = np.linspace(-1, 1, shares.shape[-1])
    inside = ((shares > 0.001) & (shares < 0.999)).any(axis=(0, 1, 2))
    shown = edges[inside] if inside.any() else edges
    return min(-0.05, float(shown[0]) - 0.02), max(0.05, float(shown[-1]) + 0.02)


RUN_FIGURES: dict[str, Callable[[str, Sequence[Run]], Figure]] = {
    "families": shares_figure,
    "sampling": sampling_figure,
    "edges": edges_figure,
    "margins": margins_figure,
}
"""Figures of all runs on a data set, by name; DataError if there are no runs (`read_runs`)."""
