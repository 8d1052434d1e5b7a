"""Smoothed errors: means of the test error over windows of numbers of stumps, as in [BK10] 4.2.

At T stumps the mean of the errors at all scored numbers of stumps t, 4T/5 <= t <= 6T/5. The window
must end at or before the last round, so that T is at most 5/6 of the rounds.
"""

from __future__ import annotations

import math
import statistics
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from boostsample.experiments.results.labels import is_charged

__all__ = [
    "SMOOTHED",
    "SMOOTHED_COLUMN",
    "error_curve",
    "scored_points",
    "smoothed_error",
    "smoothed_runs",
    "window",
]

SMOOTHED = "smoothed-error"
"""Name of the metric."""
SMOOTHED_COLUMN = "smoothed_error"

_Rows = Sequence[Mapping[str, Any]]


def smoothed_error(errors: Mapping[int, float], stumps: int) -> float:
    """The mean of the errors, by ascending number of stumps, in the window of a number of stumps.

    NaN if the window ends after the last error, or has none.

    >>> smoothed_error({1: 9.0, 4: 5.0, 5: 3.0, 6: 1.0}, 5), smoothed_error({1: 9.0, 5: 3.0}, 5)
    (3.0, nan)
    """
    inside = window(tuple(errors), stumps)
    return statistics.fmean(errors[at] for at in inside) if inside else math.nan


def window(points: Sequence[int], stumps: int) -> Sequence[int]:
    """The ascending points in the window of a number of stumps; none if it ends after the last.

    >>> window((1, 8, 9, 12, 13), 10), window((1, 8, 9, 11), 10)
    ((8, 9, 12), ())
    """
    first, last = -(-4 * stumps // 5), 6 * stumps // 5
    if not points or 6 * stumps > 5 * points[-1]:
        return ()
    return points[bisect_left(points, first) : bisect_right(points, last)]


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
    runs: Mapping[str, Mapping[int, _Rows]],
) -> dict[str, dict[int, list[dict[str, Any]]]]:
    """The curve rows of runs, by label and repetition, with the column `SMOOTHED_COLUMN`."""
    points = scored_points(
        rows for label, own in runs.items() if not is_charged(label) for rows in own.values()
    )
    found: dict[str, dict[int, list[dict[str, Any]]]] = {}
    for label, own in runs.items():
        for repetition, rows in own.items():
            errors = error_curve(rows, () if is_charged(label) else points)
            found.setdefault(label, {})[repetition] = [
                {**row, SMOOTHED_COLUMN: smoothed_error(errors, int(row["stumps"]))} for row in rows
            ]
    return found


def scored_points(runs: Iterable[_Rows]) -> list[int]:
    """All numbers of stumps in the rows of runs, ascending."""
    return sorted({int(row["stumps"]) for rows in runs for row in rows})
