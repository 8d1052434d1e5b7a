"""Results made up for tests of tables: curves whose values at any level are known."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from boostsample.experiments.metrics import SCORED_METRICS
from boostsample.experiments.results.read_folder import Results
from boostsample.experiments.results.runs import table_frame

POINTS = (1, 3, 10, 30, 100)
MARKS = (10, 100)


def curve(
    strategy: str,
    repetition: int,
    *,
    shift: float = 0.0,
    cost: int = 1000,
    data: str = "made",
    settings: str = "",
    points: Sequence[int] = POINTS,
    ends: int = POINTS[-1],
) -> list[dict[str, Any]]:
    """The curve of a run, whose values are linear in the logarithm of the looks and the seconds.

    log10 loss is ``shift - log10(looks)``, test error ten times that plus 100; a stump costs `cost`
    looks and 2 ms; training ends after `ends` stumps.
    """
    rows = []
    for stumps in points:
        at = min(stumps, ends)
        loss = shift - math.log10(cost * at)
        rows.append(
            {
                "data": data,
                "strategy": strategy,
                "settings": settings,
                "learner": "stump",
                "budget": "default",
                "weight_init": "balanced",
                "bank": "memory",
                "repetition": repetition,
                "stumps": stumps,
                "log10_loss": loss,
                "test_error": 100 + 10 * loss,
                "looks": cost * at,
                "seconds": 0.002 * at,
                **dict.fromkeys(SCORED_METRICS, 0.2 - loss / 40),
                "balanced_accuracy": -loss / 10,
                "f1": -loss / 20,
                "log_loss": loss + 10,
                "auc": 0.9 - shift / 100 if stumps in MARKS else math.nan,
                "features": 10.0 + stumps,
                "examples": 1234.5 * stumps,
                "values_computed": 0,
                "cost": 0.001 * at,
                "regret": 0.3 - loss / 50,
            }
        )
    return rows


def results(curves: Sequence[Sequence[dict[str, Any]]], **settings: Any) -> Results:
    """A folder of these curves; `settings` stand beside the marks, or in each of its data sets."""
    rows = [row for run in curves for row in run]
    names = list(dict.fromkeys(row["data"] for row in rows))
    of_data: dict[str, Any] = {
        "split": "fixed",
        "n_train": [60],
        "n_test": [20],
        "sha256": "",
        "families": [],
        "notes": [],
        "strategies": [],
    }
    facts = {**of_data, **settings.pop("facts", {})}
    missing = settings.pop("missing", 0)
    record = {
        "rounds": list(MARKS),
        "seed": 0,
        "repeats": 1 + max(row["repetition"] for row in rows),
        "data_sets": [{"name": name, **facts} for name in names],
        **settings,
    }
    return Results(record, table_frame(rows), missing=missing)
