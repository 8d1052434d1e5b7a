"""Smoothed test errors of runs; `boostsample.loop.smoothed` defines them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from boostsample.experiments.metrics import METRICS, SMOOTHED
from boostsample.experiments.results.labels import is_charged
from boostsample.loop.smoothed import smoothed_error

_Rows = Sequence[Mapping[str, Any]]


def error_curve(rows: _Rows, points: Sequence[int] = ()) -> dict[int, float]:
    """The test errors of a run by number of stumps, ascending, from its curve rows.

    A run that ended early also has its last error at those of the `points` that follow its end.
    """
    known = {int(row["stumps"]): float(row["test_error"]) for row in rows}
    # It has rows at the later marks, which repeat what it has spent.
    end = next(row["stumps"] for row in rows if row["looks"] == rows[-1]["looks"])
    for point in points:
        if end < point < rows[-1]["stumps"]:
            known.setdefault(point, float(rows[-1]["test_error"]))
    return dict(sorted(known.items()))


def smoothed_runs(
    runs: Mapping[str, Mapping[int, _Rows]], points: Sequence[int]
) -> dict[str, dict[int, list[dict[str, Any]]]]:
    """The curve rows of runs, by label and repetition, with the column of the smoothed error.

    `points` are the `scored_points` of all runs on the data set.
    """
    column = METRICS[SMOOTHED].column
    found: dict[str, dict[int, list[dict[str, Any]]]] = {}
    for label, own in runs.items():
        for repetition, rows in own.items():
            errors = error_curve(rows, () if is_charged(label) else points)
            found.setdefault(label, {})[repetition] = [
                {**row, column: smoothed_error(errors, int(row["stumps"]))} for row in rows
            ]
    return found


def scored_points(runs: Iterable[_Rows]) -> tuple[int, ...]:
    """All numbers of stumps in the rows of runs, ascending."""
    return tuple(sorted({int(row["stumps"]) for rows in runs for row in rows}))
