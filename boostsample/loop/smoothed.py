"""Smoothed errors: means of errors over windows of numbers of stumps (rounds), as in [BK10] 4.2.

At T stumps the mean of the errors at all scored numbers of stumps t, 4T/5 <= t <= 6T/5. The window
must end at or before the last round, so that T is at most 5/6 of the rounds.
"""

from __future__ import annotations

import math
import statistics
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence


def window_ends(stumps: int) -> tuple[int, int]:
    """First and last number of stumps in the window of a number of stumps.

    >>> window_ends(10), window_ends(1)
    ((8, 12), (1, 1))
    """
    return -(-4 * stumps // 5), 6 * stumps // 5


def is_complete(stumps: int, last: int) -> bool:
    """Whether the window of a number of stumps ends at or before the last one."""
    return 6 * stumps <= 5 * last


def window(points: Sequence[int], stumps: int) -> Sequence[int]:
    """The ascending points in the window of a number of stumps; none if it ends after the last.

    >>> window((1, 8, 9, 12, 13), 10), window((1, 8, 9, 11), 10)
    ((8, 9, 12), ())
    """
    if not points or not is_complete(stumps, points[-1]):
        return ()
    first, last = window_ends(stumps)
    return points[bisect_left(points, first) : bisect_right(points, last)]


def smoothed_error(errors: Mapping[int, float], stumps: int) -> float:
    """The mean of the errors, by ascending number of stumps, in the window of a number of stumps.

    NaN if the window ends after the last error, or has none.

    >>> smoothed_error({1: 9.0, 4: 5.0, 5: 3.0, 6: 1.0}, 5), smoothed_error({1: 9.0, 5: 3.0}, 5)
    (3.0, nan)
    """
    inside = window(tuple(errors), stumps)
    return statistics.fmean(errors[at] for at in inside) if inside else math.nan
