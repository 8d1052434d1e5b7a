"""Tables, CSV rows and the picture of a calibration."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from boostsample.experiments.calibration.edge_study import EdgeStudy
from boostsample.experiments.plots.drawing.figures import (
    COLOURS,
    decade_ticks,
    legend_below,
    new_panels,
    styled_axes,
)
from boostsample.experiments.tables.formats import guarded_text
from boostsample.experiments.tables.tables import Table
from boostsample.files.atomic import write_file
from boostsample.planning.expected_edge import expected_edge_curve

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_Row = Mapping[str, Any]


def _edge(value: float | None) -> str:
    return "n/a" if value is None else f"{value:.4f}"


def _measured(value: float, error: float) -> str:
    return f"{value:.4f} ({error:.4f})"


def _share(share: float, error: float) -> str:
    return "n/a" if math.isnan(share) else f"{100 * share:.1f} ({100 * error:.1f})"


def _off(predicted: float | None, measured: float) -> str:
    if predicted is None or measured <= 0:
        return "n/a"
    return f"{100 * (predicted / measured - 1):+.0f}"


def _table(title: str, columns: Mapping[str, Callable[[_Row], str]], rows: list[Any]) -> Table:
    texts = columns.values()
    return Table(title, tuple(columns), tuple(tuple(text(row) for text in texts) for row in rows))


def calibration_choices_table(study: EdgeStudy) -> Table:
    """One row a round: the choice, its prediction, its measured edge, and the best pair."""
    columns: dict[str, Callable[[_Row], str]] = {
        "round": lambda row: f"{row['round']:,}",
        "Q": lambda row: f"{row['n_features']:,}",
        "T": lambda row: f"{row['n_examples']:,}",
        "predicted": lambda row: _edge(row["edge_predicted"]),
        "H": lambda row: _edge(row["edge_estimated"]),
        "G": lambda row: _edge(row["edge"]),
        "E[G*]": lambda row: _measured(row["edge_expected"], row["edge_expected_error"]),
        "best Q": lambda row: f"{row['best_features']:,}",
        "best T": lambda row: f"{row['best_examples']:,}",
        "best E[G*]": lambda row: _measured(row["best_edge"], row["best_edge_error"]),
        "share in %": lambda row: _share(row["share"], row["share_error"]),
    }
    if any(choice["families"] for choice in study.choices):
        columns["families"] = lambda row: str(row["families"])
    title = (
        f"{study.variant.label}: its choice in this run, E[G*] of such a round, and the best "
        "point; mean (standard error)"
    )
    return _table(title, columns, study.choices)


def calibration_budget_table(study: EdgeStudy, mark: int) -> Table:
    """A round along the budget: measured and predicted edges of each (Q,T) that spends it.

    Includes the best pair even if it spends less.
    """
    (choice,) = (choice for choice in study.choices if choice["round"] == mark)
    best = choice["best_features"], choice["best_examples"]

    def name(row: _Row) -> str:
        if row["kind"] == "strategy":
            return "chosen"
        return "best" if (row["n_features"], row["n_examples"]) == best else ""

    columns: dict[str, Callable[[_Row], str]] = {
        "Q": lambda row: f"{row['n_features']:,}",
        "T": lambda row: f"{row['n_examples']:,}",
        "E[G*]": lambda row: _measured(row["edge"], row["edge_error"]),
        "mean H": lambda row: _edge(row["edge_estimated"]),
    }
    if mark in study.models:
        columns["predicted"] = lambda row: _edge(row["edge_predicted"])
        columns["off by %"] = lambda row: _off(row["edge_predicted"], row["edge"])
    title = (
        f"round {mark:,}, along the budget of {study.budget:,} looks: the winner of Q features on "
        "T examples; mean (standard error)"
    )
    return _table(title, {**columns, "": name}, study.along_budget(mark, best))


def calibration_noise_table(study: EdgeStudy) -> Table | None:
    """Bias and noise of estimated edges, one row a round; None if no sample was drawn."""
    columns: dict[str, Callable[[_Row], str]] = {
        "round": lambda row: f"{row['round']:,}",
        "T": lambda row: f"{row['noise_examples']:,}",
        "mean H - G": lambda row: _edge(row["noise_bias"]),
        "T var(H - G)": lambda row: f"{row['noise_variance']:.2f}",
    }
    title = (
        "edges of features drawn uniformly, estimated on T examples: mean H - G, and T times its "
        "variance over features (planning assumes 1 - G^2)"
    )
    rows = [choice for choice in study.choices if choice["noise_examples"] is not None]
    return _table(title, columns, rows) if rows else None


def calibration_pairs_table(study: EdgeStudy, mark: int) -> Table:
    """All pairs of a round: measured E[G*], a row for each Q, a column for each T."""
    edges = {
        (row["n_features"], row["n_examples"]): _edge(row["edge"])
        for row in study.rows
        if (row["round"], row["kind"]) == (mark, "grid")
    }
    examples = sorted({t for _, t in edges}, reverse=True)
    return Table(
        f"round {mark:,}, E[G*] within the budget: features Q down, examples T across",
        ("Q", *(f"{t:,}" for t in examples)),
        tuple(
            (f"{q:,}", *(edges.get((q, t), "") for t in examples))
            for q in sorted({q for q, _ in edges})
        ),
    )


def write_calibration_rows(study: EdgeStudy, path: Path) -> None:
    """Write the rows as CSV, atomically; DataError if the file cannot be written."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, list(study.rows[0]), lineterminator="\n")
    writer.writeheader()
    for row in study.rows:
        texts = {name: guarded_text(text) for name, text in row.items() if isinstance(text, str)}
        writer.writerow({**row, **texts})
    write_file(path, text.getvalue(), "rows")


@styled_axes
def calibration_figure(study: EdgeStudy) -> Figure:
    """Plot E[G*] along the budget, a panel a round: measured, predicted, the choice, the best."""
    n = len(study.choices)
    n_columns = min(n, 2 if n <= 4 else 3)
    figure, panels = new_panels(n, n_columns, 2.8, 1.0 + 4.5 * n_columns)
    for axes, choice in zip(panels, study.choices, strict=True):
        _panel(axes, study, choice)
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


def _panel(axes: Axes, study: EdgeStudy, choice: _Row) -> None:
    mark = choice["round"]
    rows = [row for row in study.along_budget(mark) if row["kind"] == "grid"]
    features, edges, errors = (
        np.array([row[name] for row in rows], dtype=np.float64)
        for name in ("n_features", "edge", "edge_error")
    )
    axes.plot(features, edges, color=COLOURS[0], marker="o", markersize=3, label="measured")
    band = (edges - 2 * errors, edges + 2 * errors)
    style: dict[str, Any] = {"color": COLOURS[0], "alpha": 0.2, "linewidth": 0}
    axes.fill_between(features, *band, **style, label="two standard errors to each side")
    if mark in study.models:
        pool = study.prepared.pool(0)
        model = study.models[mark]
        curve = expected_edge_curve(model, pool.n_features, pool.n_examples, study.budget)
        style = {"color": COLOURS[1], "linestyle": "--"}
        axes.plot(curve.n_features, curve.edges, **style, label="predicted")
    best = choice["best_features"], choice["best_examples"]
    height = next(
        row["edge"]
        for row in study.rows
        if (row["round"], row["n_features"], row["n_examples"]) == (mark, *best)
    )
    ring: dict[str, Any] = {"markersize": 11, "markerfacecolor": "none", "color": COLOURS[6]}
    axes.plot([best[0]], [height], "o", label="best point", **ring)
    axes.errorbar(
        [choice["n_features"]],
        [choice["edge_expected"]],
        yerr=[2 * choice["edge_expected_error"]],
        fmt="D",
        color=COLOURS[2],
        markersize=6,
        label="the strategy",
    )
    axes.set_xscale("log")
    decade_ticks(axes.xaxis, integer=True)
    axes.margins(y=0.08)
    axes.set_ylim(bottom=0.0)
    axes.set_title(f"round {mark:,}")
