"""Tables, CSV rows and the picture of a calibration; Figure 2 of [DF11] from the closed form."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from boostsample.experiments.calibration.edge_study import EdgeStudy
from boostsample.experiments.plots.drawing import (
    COLOURS,
    DASHES,
    decade_ticks,
    legend_below,
    new_figure,
    new_panels,
    styled_axes,
)
from boostsample.experiments.tables.formats import csv_text
from boostsample.experiments.tables.tables import Table
from boostsample.files.atomic import write_file
from boostsample.planning.expected_edge import expected_edge_curve, gaussian_expected_edge

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FIGURE_2_VARIANCES = (1e-2, 1e-4)
"""Var(G) of the upper and the lower half of Figure 2 of [DF11]."""
FIGURE_2_COSTS = (1_000, 10_000, 100_000)
"""Q T of its curves; the paper's text does not give its costs."""
_MOST_FEATURES, _MOST_EXAMPLES = 10_000, 100_000


_MEASURED = "{edge:.4f} ({edge_error:.4f})"


def _table(title: str, columns: Mapping[str, str], records: Sequence[Mapping[str, Any]]) -> Table:
    rows = (tuple(form.format_map(record) for form in columns.values()) for record in records)
    return Table(title, tuple(columns), tuple(rows))


def _edge(value: float | None) -> str:
    return "n/a" if value is None else f"{value:.4f}"


def study_tables(study: EdgeStudy) -> list[Table]:
    """Two tables of each round, one of the noise if samples were drawn, and one of the choices."""
    tables = []
    for choice in study.choices:
        tables += [_pairs_table(study, choice["round"]), calibration_budget_table(study, choice)]
    noisy = [choice for choice in study.choices if choice["noise_examples"] is not None]
    if noisy:
        noise = {
            "round": "{round:,}",
            "T": "{noise_examples:,}",
            "mean H - G": "{noise_bias:.4f}",
            "T var(H - G)": "{noise_variance:.2f}",
        }
        title = (
            "edges of features drawn uniformly, estimated on T examples: mean H - G, and T times "
            "its variance over features (planning assumes 1 - G^2)"
        )
        tables.append(_table(title, noise, noisy))
    return [*tables, _choices_table(study)]


def _pairs_table(study: EdgeStudy, mark: int) -> Table:
    edges = {
        (row["n_features"], row["n_examples"]): _edge(row["edge"])
        for row in study.rows
        if (row["round"], row["kind"]) == (mark, "grid")
    }
    examples = sorted({t for _, t in edges}, reverse=True)
    rows = [
        (f"{q:,}", *(edges.get((q, t), "") for t in examples))
        for q in sorted({q for q, _ in edges})
    ]
    title = f"round {mark:,}, E[G*] within the budget: features Q down, examples T across"
    return Table(title, ("Q", *(f"{t:,}" for t in examples)), tuple(rows))


def along_budget(study: EdgeStudy, choice: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The rows of a round that spend the budget or all examples, the best pair, the strategy."""
    best = choice["best_features"], choice["best_examples"]
    rows = [
        row
        for row in study.rows
        if row["round"] == choice["round"]
        and (
            row["n_examples"] == min(study.n_examples, study.budget // row["n_features"])
            or (row["n_features"], row["n_examples"]) == best
            or row["kind"] == "strategy"
        )
    ]
    return sorted(rows, key=lambda row: (row["n_features"], -row["n_examples"], row["kind"]))


def calibration_budget_table(study: EdgeStudy, choice: Mapping[str, Any]) -> Table:
    """A round along the budget: measured and predicted edges of each (Q,T) that spends it.

    Includes the best pair even if it spends less.
    """
    best = choice["best_features"], choice["best_examples"]
    records = []
    for row in along_budget(study, choice):
        edge, predicted = row["edge"], row["edge_predicted"]
        is_known = predicted is not None and edge > 0
        off = f"{100 * (predicted / edge - 1):+.0f}" if is_known else "n/a"
        mark = "best" if (row["n_features"], row["n_examples"]) == best else ""
        mark = "chosen" if row["kind"] == "strategy" else mark
        records.append({**row, "predicted": _edge(predicted), "off": off, "mark": mark})
    predictions = {"predicted": "{predicted}", "off by %": "{off}"}
    columns = {
        "Q": "{n_features:,}",
        "T": "{n_examples:,}",
        "E[G*]": _MEASURED,
        "mean H": "{edge_estimated:.4f}",
        **(predictions if choice["round"] in study.models else {}),
        "": "{mark}",
    }
    title = (
        f"round {choice['round']:,}, along the budget of {study.budget:,} looks: the winner of Q "
        "features on T examples; mean (standard error)"
    )
    return _table(title, columns, records)


def _choices_table(study: EdgeStudy) -> Table:
    records = []
    for choice in study.choices:
        share, error = 100 * choice["share"], 100 * choice["share_error"]
        in_percent = "n/a" if math.isnan(share) else f"{share:.1f} ({error:.1f})"
        predicted = _edge(choice["edge_predicted"])
        records.append({**choice, "predicted": predicted, "in_percent": in_percent})
    columns = {
        "round": "{round:,}",
        "Q": "{n_features:,}",
        "T": "{n_examples:,}",
        "predicted": "{predicted}",
        "H": "{edge_estimated:.4f}",
        "G": "{edge:.4f}",
        "E[G*]": "{edge_expected:.4f} ({edge_expected_error:.4f})",
        "best Q": "{best_features:,}",
        "best T": "{best_examples:,}",
        "best E[G*]": "{best_edge:.4f} ({best_edge_error:.4f})",
        "share in %": "{in_percent}",
    }
    if any(choice["families"] for choice in study.choices):
        columns["families"] = "{families}"
    title = (
        f"{study.variant.label}: its choice in this run, E[G*] of such a round, and the best "
        "point; mean (standard error)"
    )
    return _table(title, columns, records)


def write_calibration_rows(study: EdgeStudy, path: Path) -> None:
    """Write the rows as CSV, atomically; DataError if the file cannot be written."""
    text = csv_text(list(study.rows[0]), [[*row.values()] for row in study.rows])
    write_file(path, f"{text}\n", "rows")


@styled_axes
def calibration_figure(study: EdgeStudy) -> Figure:
    """Plot E[G*] along the budget, a panel a round: measured, predicted, the choice, the best."""
    n = len(study.choices)
    n_columns = min(n, 2 if n <= 4 else 3)
    figure, panels = new_panels(n, n_columns, 2.8, 1.0 + 4.5 * n_columns)
    for axes, choice in zip(panels, study.choices, strict=True):
        _draw_round(axes, study, choice)
    place = panels[0].get_subplotspec()
    assert place is not None, "panels are places of a grid"
    n_columns = place.get_gridspec().ncols  # fewer in a narrow picture
    for axes in panels[max(0, n - n_columns) :]:
        axes.set_xlabel(
            f"features Q, on T = {study.budget:,} / Q examples, at most {study.n_examples:,}"
        )
    for axes in panels[::n_columns]:
        axes.set_ylabel("true edge of the winner, E[G*]")
    legend_below(figure, panels, handlelength=2.0, columnspacing=2.0)
    figure.suptitle(
        f"{study.prepared.data.name}, a run of {study.variant.label}: {study.repeats:,} searches "
        "a point"
    )
    return figure


def _draw_round(axes: Axes, study: EdgeStudy, choice: Mapping[str, Any]) -> None:
    best = choice["best_features"], choice["best_examples"]
    grid = [row for row in along_budget(study, choice) if row["kind"] == "grid"]
    (height,) = (row["edge"] for row in grid if (row["n_features"], row["n_examples"]) == best)
    features, edges, errors = np.array(
        [
            (row["n_features"], row["edge"], row["edge_error"])
            for row in grid
            if row["n_examples"] == min(study.n_examples, study.budget // row["n_features"])
        ]
    ).T
    axes.plot(features, edges, color=COLOURS[0], marker="o", markersize=3, label="measured")
    style: dict[str, Any] = {"color": COLOURS[0], "alpha": 0.2, "linewidth": 0}
    label = "two standard errors to each side"
    axes.fill_between(features, edges - 2 * errors, edges + 2 * errors, label=label, **style)
    if choice["round"] in study.models:
        n_features, model = study.prepared.n_features, study.models[choice["round"]]
        curve = expected_edge_curve(model, n_features, study.n_examples, study.budget)
        axes.plot(curve.n_features, curve.edges, "--", color=COLOURS[1], label="predicted")
    ring: dict[str, Any] = {"markersize": 11, "markerfacecolor": "none", "color": COLOURS[6]}
    axes.plot([best[0]], [height], "o", label="best point", **ring)
    strategy: dict[str, Any] = {"color": COLOURS[2], "markersize": 6, "label": "the strategy"}
    place, error = (choice["n_features"], choice["edge_expected"]), choice["edge_expected_error"]
    axes.errorbar(*place, yerr=2 * error, fmt="D", **strategy)
    axes.set_xscale("log")
    decade_ticks(axes.xaxis, integer=True)
    axes.margins(y=0.08)
    axes.set_ylim(bottom=0.0)
    axes.set_title(f"round {choice['round']:,}")


# --------------------------------------------------------------------------------------- Figure 2


def figure_2_table() -> Table:
    """The best Q and T of Figure 2 for each variance and cost, with their edges."""
    rows = []
    for variance in FIGURE_2_VARIANCES:
        for cost in FIGURE_2_COSTS:
            q, edge = figure_2_optimum(variance, cost)
            rows.append((f"{cost:,}", f"{variance:g}", f"{q:,}", f"{cost / q:,.1f}", f"{edge:.4f}"))
    return Table(
        "the largest E[G*] for edges N(0, variance) and noise N(0, 1/T), at cost Q T",
        ("cost", "variance", "Q", "T", "E[G*]"),
        tuple(rows),
    )


def figure_2_optimum(variance: float, cost: int) -> tuple[int, float]:
    """The integer Q from 1 to `cost` of largest e(Q, cost / Q) for edges N(0, variance), and e.

    >>> [figure_2_optimum(variance, 10_000)[0] for variance in (1e-2, 1e-4)]
    [52, 6]
    """

    def edge(q: int) -> float:
        return gaussian_expected_edge(q, cost / q, variance)

    low, high = 1, cost
    while high - low > 2:  # e has one peak: c_Q grows more and more slowly, the noise faster
        third = (high - low) // 3
        left, right = low + third, high - third
        low, high = (left, high) if edge(left) < edge(right) else (low, right)
    best = max(range(low, high + 1), key=edge)
    return best, edge(best)


@styled_axes
def figure_2() -> Figure:
    """Draw Figure 2 of [DF11] from eq. 17, one row a variance: over Q and T, and along three costs.

    Shows the paper's surfaces as contours, with lines of equal cost.
    """
    from boostsample.experiments.plots.log_ticks import tick_name

    figure = new_figure(7.6)
    rows = figure.subplots(len(FIGURE_2_VARIANCES), 2)
    for (left, right), variance in zip(rows, FIGURE_2_VARIANCES, strict=True):
        q, t = _integers(_MOST_FEATURES, 33), np.geomspace(1, _MOST_EXAMPLES, 33)
        surface = [
            [gaussian_expected_edge(n, size, variance) for n in q.tolist()] for size in t.tolist()
        ]
        figure.colorbar(left.contourf(q, t, np.array(surface), levels=12), ax=left)
        left.set_yscale("log")
        left.set_ylim(1, _MOST_EXAMPLES)
        left.set_ylabel("number of samples T")
        decade_ticks(left.yaxis)
        left.grid(visible=False)
        for number, cost in enumerate(FIGURE_2_COSTS):
            style = {"color": COLOURS[number], "linestyle": DASHES[number]}
            q = _integers(min(_MOST_FEATURES, cost), 120)
            edges = [gaussian_expected_edge(n, cost / n, variance) for n in q.tolist()]
            right.plot(q, edges, label=f"T Q = {cost:,}", **style)
            best, highest = figure_2_optimum(variance, cost)
            right.plot([best], [highest], "o", color=style["color"])
            left.plot(q, cost / q, **{**style, "color": "white"}, linewidth=1.0)
            left.plot([best], [cost / best], "o", color="white")
        for axes in (left, right):
            axes.set_xscale("log")
            axes.set_xlim(1, _MOST_FEATURES)
            axes.set_xlabel("number of weak learners Q")
            decade_ticks(axes.xaxis)
        power = tick_name(variance, powers=True)
        left.set_title(f"E[G*], G ~ N(0, {power})")
        right.set_title(f"E[G*] at fixed costs, G ~ N(0, {power})")
        right.set_ylim(bottom=0.0)
    legend_below(
        figure, [rows[0][1]], ncols=len(FIGURE_2_COSTS), handlelength=2.0, columnspacing=2.0
    )
    figure.suptitle(
        "Expected true edge of the best of Q weak learners on T samples, Δ ~ N(0, 1/T):\n"
        "s² / √(s² + 1/T) · E[max of Q N(0, 1)]\n"
        "([DF11] Figure 2 from eq. 17; dots: the best Q of each cost)"
    )
    return figure


def _integers(most: int, n: int) -> NDArray[np.int64]:
    return np.unique(np.rint(np.geomspace(1, most, n)).astype(np.int64))
