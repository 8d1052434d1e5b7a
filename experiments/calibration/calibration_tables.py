"""Tables and CSV rows of a calibration."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from boostsample.experiments.calibration.calibration import Calibration
from boostsample.experiments.calibration.points import POINT_COLUMNS
from boostsample.experiments.tables.formats import guarded_text
from boostsample.experiments.tables.tables import Table
from boostsample.files.atomic import write_file


def _edge(value: float | None) -> str:
    return "n/a" if value is None else f"{value:.4f}"


def _measured(value: float, error: float) -> str:
    return f"{value:.4f} ({error:.4f})"


def _share(share: float, error: float) -> str:
    return "n/a" if math.isnan(share) else f"{100 * share:.1f} ({100 * error:.1f})"


_CHOICES: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "round": lambda one: f"{one['round']:,}",
    "Q": lambda one: f"{one['n_features']:,}",
    "T": lambda one: f"{one['n_examples']:,}",
    "predicted": lambda one: _edge(one["edge_predicted"]),
    "H": lambda one: _edge(one["edge_estimated"]),
    "G": lambda one: _edge(one["edge"]),
    "E[G*]": lambda one: _measured(one["edge_expected"], one["edge_expected_error"]),
    "best Q": lambda one: f"{one['best_features']:,}",
    "best T": lambda one: f"{one['best_examples']:,}",
    "best E[G*]": lambda one: _measured(one["best_edge"], one["best_edge_error"]),
    "share in %": lambda one: _share(one["share"], one["share_error"]),
}


def calibration_choices_table(calibration: Calibration) -> Table:
    """One row a round: the choice, its prediction, its measured edge, and the best point."""
    columns = dict(_CHOICES)
    if any(choice["families"] for choice in calibration.choices):
        columns["families"] = lambda one: str(one["families"])
    return Table(
        f"{calibration.variant.label}: its choice in this run, E[G*] of such a round, and the "
        "best point; mean (standard error)",
        tuple(columns),
        tuple(tuple(text(one) for text in columns.values()) for one in calibration.choices),
    )


def calibration_budget_table(calibration: Calibration, mark: int) -> Table:
    """A round along the budget: measured and predicted edges of each (Q,T) that spends it.

    Includes the best point even if it spends less.
    """
    (choice,) = (one for one in calibration.choices if one["round"] == mark)
    best = choice["best_features"], choice["best_examples"]
    modelled = mark in calibration.models
    rows = []
    for row in calibration.along_budget(mark, best):
        place = row["n_features"], row["n_examples"]
        name = "best" if place == best else ""
        prediction = (_edge(row["edge_predicted"]), _off(row["edge_predicted"], row["edge"]))
        rows.append(
            (
                f"{place[0]:,}",
                f"{place[1]:,}",
                _measured(row["edge"], row["edge_error"]),
                _edge(row["edge_estimated"]),
                *(prediction if modelled else ()),
                "chosen" if row["kind"] == "strategy" else name,
            )
        )
    return Table(
        f"round {mark:,}, along the budget of {calibration.budget:,} looks: the winner of Q "
        "features on T examples; mean (standard error)",
        ("Q", "T", "E[G*]", "mean H", *(("predicted", "off by %") if modelled else ()), ""),
        tuple(rows),
    )


def calibration_noise_table(calibration: Calibration) -> Table | None:
    """Bias and noise of estimated edges, one row a round; None if no sample was drawn."""
    rows = [
        (
            f"{choice['round']:,}",
            f"{choice['noise_examples']:,}",
            _edge(choice["noise_bias"]),
            f"{choice['noise_variance']:.2f}",
        )
        for choice in calibration.choices
        if choice["noise_examples"] is not None
    ]
    title = (
        "edges of features drawn uniformly, estimated on T examples: mean H - G, and T times its "
        "variance over features (planning assumes 1 - G^2)"
    )
    return Table(title, ("round", "T", "mean H - G", "T var(H - G)"), tuple(rows)) if rows else None


def calibration_points_table(calibration: Calibration, mark: int) -> Table:
    """All points of a round: measured E[G*], a row for each Q, a column for each T."""
    points = {(row["n_features"], row["n_examples"]): row for row in calibration.points(mark)}
    features = sorted({q for q, _ in points})
    examples = sorted({t for _, t in points}, reverse=True)
    return Table(
        f"round {mark:,}, E[G*] within the budget: features Q down, examples T across",
        ("Q", *(f"{t:,}" for t in examples)),
        tuple(
            (f"{q:,}", *(_edge(points[q, t]["edge"]) if (q, t) in points else "" for t in examples))
            for q in features
        ),
    )


def _off(predicted: float | None, measured: float) -> str:
    if predicted is None or measured <= 0:
        return "n/a"
    return f"{100 * (predicted / measured - 1):+.0f}"


def write_calibration_rows(calibration: Calibration, path: Path) -> None:
    """Write the rows as CSV, atomically; DataError if the file cannot be written."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, POINT_COLUMNS, lineterminator="\n")
    writer.writeheader()
    for row in calibration.rows:
        texts = {name: guarded_text(text) for name, text in row.items() if isinstance(text, str)}
        writer.writerow({**row, **texts})
    write_file(path, text.getvalue(), "rows")
