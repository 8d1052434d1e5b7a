"""Bounds on the number of features that complementary halves of the rows select by chance.

B pairs of disjoint halves select at most q of p features each. A feature is selected if it was so
by a share pi of the 2 B halves. Among the features that a half selects with a probability of at
most q / p, which is what chance alone gives if it treats all alike, the expected number selected
is at most

- q^2 / ((2 pi - 1) p), whatever the distribution of the shares ([SS13] theorem 1, as in [MB10]);
- p min(D(q^2 / p^2, 2 pi - 1, B, -1/2), D(q / p, pi, 2 B, -1/4)) if the shares of halves are
  -1/4-concave and those of whole pairs -1/2-concave ([SS13] eq. 8), which is much less.

- [MB10] N. Meinshausen and P. Bühlmann, Stability selection, JRSS B 72, 2010.
- [SS13] R. Shah and R. Samworth, Variable selection with error control: another look at stability
  selection, JRSS B 75, 2013.
"""

from __future__ import annotations

import functools
import math

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq, minimize_scalar

from boostsample.errors import SettingError

WORST_CASE, R_CONCAVE = "worst-case", "r-concave"
BOUNDS = (WORST_CASE, R_CONCAVE)
LEAST_SHARE = 0.6
"""Smallest share of the halves to select by: the bounds are for features without any signal."""
_USUAL_SHARE = 0.75
"""Share by which the number of features of a half is chosen."""
_MOST = 20
"""Features of a half, if they are chosen: more find a little more, at that many times the cost."""
_SMALLEST, _LARGEST = 1e-12, 1e6
"""Shifts a of densities (a + i)^(1 / r), from all mass at 0 to the uniform one."""


def expected_false(
    n_chosen: int, n_candidates: float, n_shares: int, n_pairs: int, bound: str
) -> float:
    """The bound for q of p features of a half, selected by `n_shares` or more of the 2 B halves."""
    share, part = n_shares / (2 * n_pairs), min(n_chosen / n_candidates, 1.0)
    if share <= 0.5:
        return math.inf
    worst = n_chosen * part / (2 * share - 1)
    if bound == WORST_CASE:
        return worst
    tails = (
        concave_tail(part**2, n_shares - n_pairs, n_pairs, -0.5),
        concave_tail(part, n_shares, 2 * n_pairs, -0.25),
    )
    return min(worst, n_candidates * min(tails))


def needed_shares(
    n_chosen: int, n_candidates: float, n_pairs: int, max_false: float, bound: str
) -> int | None:
    """The fewest of the 2 B halves to select by, so that the bound holds; None if all are too few.

    At least the share `LEAST_SHARE` of them.
    """
    fewest = math.ceil(round(LEAST_SHARE * 2 * n_pairs, 9))
    for n_shares in range(fewest, 2 * n_pairs + 1):
        if expected_false(n_chosen, n_candidates, n_shares, n_pairs, bound) <= max_false:
            return n_shares
    return None


def usual_chosen(n_candidates: float, n_pairs: int, max_false: float, bound: str) -> int:
    """The features of a half if the user gives none: up to 20, so that a share of 3/4 suffices."""
    n_shares = math.ceil(_USUAL_SHARE * 2 * n_pairs)
    for n_chosen in range(min(_MOST, int(n_candidates)), 1, -1):
        if expected_false(n_chosen, n_candidates, n_shares, n_pairs, bound) <= max_false:
            return n_chosen
    return 1


@functools.cache
def concave_tail(mean: float, at_least: int, n: int, r: float) -> float:
    """D: the largest P(n X >= `at_least`) of an r-concave X on {0, 1/n, ..., 1} of at most a mean.

    f is r-concave, r < 0, if f^r is convex. [SS13] appendix A.4: f is then (a + i)^(1 / r) on 0 to
    k, and less than that on k + 1, and takes the mean.
    """
    total, power = mean * n, 1.0 / r
    first = math.ceil(2 * total)  # the uniform density on 0 to k has the mean k / 2
    if at_least <= first or at_least <= 0:
        return 1.0
    if at_least > n:
        return 0.0
    steps = np.arange(n + 1.0)

    def density(a: float, k: int) -> NDArray[np.float64]:
        return np.asarray(((a + steps[: k + 1]) / (a + 1.0)) ** power)

    def shift(k: int) -> float:
        """The a whose density on 0 to k has the mean."""

        def excess(log_a: float) -> float:
            f = density(math.exp(log_a), k)
            return float(f @ steps[: k + 1] / f.sum()) - total

        low, high = math.log(_SMALLEST), math.log(_LARGEST)
        if excess(high) <= 0.0:
            return _LARGEST
        if excess(low) >= 0.0:
            raise SettingError(f"the expected share must be at least 1e-24 / n, got {mean}")
        return math.exp(float(brentq(excess, low, high, xtol=1e-12)))

    def below(log_a: float, k: int) -> float:
        f = density(math.exp(log_a), k)
        return (k + 1 - total) * float(f[:at_least].sum()) / float((k + 1 - steps[: k + 1]) @ f)

    best = 1.0
    for k in range(max(first, at_least - 1), n):
        ends = math.log(shift(k + 1)), math.log(shift(k))
        found = float(minimize_scalar(below, bounds=ends, args=(k,), method="bounded").fun)
        best = min(best, found, below(ends[0], k), below(ends[1], k))
    return max(0.0, 1.0 - best)
