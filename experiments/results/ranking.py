"""Ranks strategies by their results on several data sets.

Friedman's test decides whether mean ranks differ at all; two of them differ by more than Nemenyi's
critical difference [D06].

- [D06] Demsar, Statistical comparisons of classifiers over multiple data sets, JMLR 7, 2006.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from boostsample.checks import check_integer
from boostsample.errors import SettingError, unknown
from boostsample.experiments.results.curves import curves_of_data
from boostsample.experiments.results.labels import METRICS, is_charged
from boostsample.experiments.results.read_folder import Results
from boostsample.experiments.results.significance import LEVEL

__all__ = ["Ranking", "critical_difference", "friedman", "ranking", "ranks"]


@dataclass(frozen=True)
class Ranking:
    """Mean ranks of strategies, from the best to the worst.

    `ranks` has shape (n,); `scores`, the means over repetitions, (n_data, n). `left_out` are
    strategies that are missing in a data set, `stumps` the mark of each data set.
    """

    labels: tuple[str, ...]
    ranks: NDArray[np.float64]
    scores: NDArray[np.float64]
    data: tuple[str, ...]
    left_out: tuple[str, ...]
    stumps: dict[str, int]


def ranking(results: Sequence[Results], metric: str = "loss", stumps: int | None = None) -> Ranking:
    """Rank the strategies on each data set by their mean loss or error; the lowest has rank 1.

    `stumps` is by default the last mark of each data set. Raises SettingError for fewer than two
    data sets, fewer than two strategies in all of them, or no rows at this number of stumps.
    """
    if metric not in METRICS:
        raise unknown("metric", metric, METRICS)
    data = curves_of_data(results)
    if len(data) < 2:
        raise SettingError(
            f"ranks need two data sets or more, got one: {next(iter(data))}; give more results"
        )
    at = {name: curves.marks[-1] if stumps is None else stumps for name, curves in data.items()}
    means = [
        {
            label: float(np.mean(list(runs.values())))
            for label, runs in curves.at(metric, "stumps", at[name]).items()
            if not is_charged(label)
        }
        for name, curves in data.items()
    ]
    every = list(dict.fromkeys(label for one in means for label in one))
    shared = [label for label in every if all(label in one for one in means)]
    if len(shared) < 2:
        raise SettingError(
            "ranks need two strategies or more that are in every data set, got "
            f"{', '.join(shared) or 'none'} of {', '.join(every)}; run the others, too"
        )
    scores = np.array([[one[label] for label in shared] for one in means])
    mean = ranks(scores)
    order = np.argsort(mean, kind="stable")
    return Ranking(
        tuple(shared[k] for k in order),
        mean[order],
        scores[:, order],
        tuple(data),
        tuple(label for label in every if label not in shared),
        at,
    )


def ranks(scores: ArrayLike, *, lower_is_better: bool = True) -> NDArray[np.float64]:
    """Mean rank of each method over the data sets: 1 is the best, ties share their mean rank.

    `scores` is array_like (n_data, n_methods), the result float64 (n_methods,). SettingError if a
    value is missing (NaN).

    >>> ranks([[0.1, 0.2, 0.3], [0.2, 0.2, 0.3]])
    array([1.25, 1.75, 3.  ])
    """
    from scipy.stats import rankdata

    table = _complete(scores)
    return np.asarray(rankdata(table if lower_is_better else -table, axis=1).mean(axis=0))


def critical_difference(n_methods: int, n_data: int, level: float = LEVEL) -> float:
    """Nemenyi's critical difference of the mean ranks of two methods.

    CD = q sqrt(k (k + 1) / (6 N)), q the studentized range statistic divided by sqrt(2) [D06 sec.
    3.2.2].

    SettingError unless there are k >= 2 methods, N >= 2 data sets, and a level between 0 and 1.

    >>> round(critical_difference(4, 14), 2)
    1.25
    """
    from scipy.stats import studentized_range

    check_integer("n_methods", n_methods, 2)
    check_integer("n_data", n_data, 2)
    if not 0 < level < 1:
        raise SettingError(f"level must be between 0 and 1, got {level}")
    quantile = float(studentized_range.ppf(1 - level, n_methods, math.inf)) / math.sqrt(2)
    return quantile * math.sqrt(n_methods * (n_methods + 1) / (6 * n_data))


def friedman(scores: ArrayLike) -> tuple[float, float]:
    """Friedman's test of whether mean ranks differ: chi-square, corrected for ties, and p-value.

    `scores` is array_like (n_data, n_methods); the direction does not matter. SettingError if there
    are fewer than three methods or two data sets, or if a value is missing (NaN).
    """
    from scipy.stats import friedmanchisquare

    table = _complete(scores)
    n_data, n_methods = table.shape
    if n_data < 2 or n_methods < 3:
        raise SettingError(
            "Friedman's test needs at least two data sets and three methods, got "
            f"{n_data} and {n_methods}"
        )
    if (np.ptp(table, axis=1) == 0).all():
        return 0.0, 1.0
    found = friedmanchisquare(*table.T)
    return float(found.statistic), float(found.pvalue)


def _complete(scores: ArrayLike) -> NDArray[np.float64]:
    table = np.asarray(scores, np.float64)
    assert table.ndim == 2, "one row per data set, one column per method"
    if np.isnan(table).any():
        raise SettingError(
            "ranks need a value of every method on every data set, and "
            f"{int(np.isnan(table).sum())} are missing; leave out methods or data sets"
        )
    return table
