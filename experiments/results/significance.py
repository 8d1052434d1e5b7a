"""Significance tests of differences between strategies, and their ranks across data sets.

Within a data set, a paired t-test over repetitions compares each strategy with the best one. If
repetitions have different splits, their training examples overlap, their results are not
independent, and the plain variance of their mean is too small; [NB03] replaces its 1 / n by
1 / n + n_test / n_train. Holm's step-down correction [H79] bounds the probability of one or more
false differences by the level. The best strategy is chosen by the same values, so that the tests
are approximate.

Across data sets, strategies are ranked on each. Friedman's test decides whether mean ranks differ
at all; two of them differ by more than Nemenyi's critical difference [D06].

- [NB03] Nadeau and Bengio, Inference for the generalization error, Machine Learning 52, 2003.
- [H79] Holm, A simple sequentially rejective multiple test procedure, Scand. J. Stat. 6, 1979.
- [D06] Demsar, Statistical comparisons of classifiers over multiple data sets, JMLR 7, 2006.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from boostsample.checks import check_integer, check_known
from boostsample.errors import SettingError
from boostsample.experiments.metrics import METRICS, ranked_metrics
from boostsample.experiments.results.read_folder import Results
from boostsample.experiments.results.run_curves import Curves, curves_of_data
from boostsample.experiments.results.titles import cells_of, counted, is_charged

LEVEL = 0.05
"""Level of all tests."""


@dataclass(frozen=True)
class Verdict:
    """The best of several strategies, and how the others compare with it.

    `best` is the label of the first one of equal means; None if fewer than two have values.
    """

    best: str | None = None
    tied: frozenset[str] = frozenset()  # those that do not differ from the best at the level
    p_values: dict[str, float] = field(default_factory=dict)  # after Holm's correction
    untested: frozenset[str] = frozenset()  # fewer than two repetitions in common with the best


def comparable(value: float) -> float:
    """A number to twelve digits: means that differ by rounding errors only are equal.

    >>> comparable((28.000000000000004 + 36.0) / 2), comparable(float("inf"))
    (32.0, inf)
    """
    return float(f"{value:.12g}")


def told_apart(
    values: Mapping[str, Mapping[int, float]],
    *,
    lower_is_better: bool = True,
    overlap: float = 0.0,
) -> Verdict:
    """Find the best mean, and the strategies that do not differ from it significantly.

    `values` are those of each strategy by repetition, without NaN; strategies without values are
    ignored. `overlap` is n_test / n_train if the splits of repetitions differ, 0 if all are the
    same. Strategies with a corrected p-value above `LEVEL` are tied with the best one.

    >>> losses = {"a": {0: 1.0, 1: 1.1, 2: 0.9}, "b": {0: 1.1, 1: 1.0, 2: 1.1}, "c": {0: 9.0}}
    >>> verdict = told_apart(losses)
    >>> verdict.best, sorted(verdict.tied), sorted(verdict.untested)
    ('a', ['b'], ['c'])
    """
    compared = {label: runs for label, runs in values.items() if runs}
    if len(compared) < 2:
        return Verdict()
    sign = 1 if lower_is_better else -1
    means = {label: comparable(statistics.fmean(runs.values())) for label, runs in compared.items()}
    best = min(compared, key=lambda label: sign * means[label])
    rival = compared.pop(best)
    raw: dict[str, float] = {}
    for label, runs in compared.items():
        both = sorted(runs.keys() & rival.keys())
        if len(both) > 1:
            first, second = ([of[repetition] for repetition in both] for of in (runs, rival))
            raw[label] = paired_test(first, second, overlap)
    corrected = dict(zip(raw, holm(list(raw.values())), strict=True))
    tied = frozenset(label for label, p in corrected.items() if p > LEVEL)
    return Verdict(best, tied, corrected, frozenset(compared.keys() - corrected.keys()))


def paired_test(first: ArrayLike, second: ArrayLike, overlap: float = 0.0) -> float:
    """Two-sided p-value of a paired t-test, its variance corrected for overlapping training sets.

    t = mean(d) / sqrt((1 / n + overlap) var(d)) with n - 1 degrees of freedom [NB03 eq. 9 and
    sec. 4]; without overlap, Student's test. If all differences are equal, p is 1 for 0 and 0 for
    others. `first` and `second`, (n,), are the values of two strategies in the same n >= 2
    repetitions, `overlap` >= 0 is n_test / n_train.

    >>> round(paired_test([1.0, 1.2, 1.4], [1.1, 1.1, 1.1]), 3)
    0.478
    >>> paired_test([1.0, 1.2], [1.0, 1.2]), paired_test([1.0, 2.0], [2.0, 3.0])
    (1.0, 0.0)
    """
    from scipy.special import stdtr

    a, b = (np.asarray(values, np.float64) for values in (first, second))
    n = len(a)
    assert a.shape == b.shape == (n,), "values are paired"
    assert n > 1, "one pair has no variance"
    if np.array_equal(a, b):
        return 1.0
    with np.errstate(invalid="ignore"):
        differences = np.where(a == b, 0.0, a - b)  # equal infinities do not differ
    if not np.isfinite(differences).all() or np.ptp(differences) == 0:
        return 0.0
    spread = math.sqrt((1 / n + overlap) * float(differences.var(ddof=1)))
    return float(2 * stdtr(n - 1, -abs(float(differences.mean())) / spread))


def holm(p_values: Sequence[float]) -> list[float]:
    """p-values with Holm's step-down correction [H79], in the given order.

    The i-th smallest of m is multiplied by m - i + 1, then raised to the largest before it, and
    limited to 1.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p_values, kind="stable")
    factors = np.arange(len(p_values), 0, -1)
    corrected = np.empty(len(p_values))
    corrected[order] = np.maximum.accumulate(np.minimum(factors * np.asarray(p_values)[order], 1))
    return list(corrected.tolist())


def ranks(scores: ArrayLike, *, lower_is_better: bool = True) -> NDArray[np.float64]:
    """Mean rank of each method over the data sets: 1 is the best, ties share their mean rank.

    `scores` is array_like (n_data, n_methods), the result float64 (n_methods,). Scores are compared
    to twelve digits (`comparable`). SettingError if a value is missing (NaN).

    >>> ranks([[0.1, 0.2, 0.3], [0.2, 0.2, 0.3]])
    array([1.25, 1.75, 3.  ])
    """
    from scipy.stats import rankdata

    table = _complete(scores)
    return np.asarray(rankdata(table if lower_is_better else -table, axis=1).mean(axis=0))


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
    friedman_test = friedmanchisquare(*table.T)
    return float(friedman_test.statistic), float(friedman_test.pvalue)


def critical_difference(n_methods: int, n_data: int) -> float:
    """Nemenyi's critical difference of the mean ranks of two methods at `LEVEL`.

    CD = q sqrt(k (k + 1) / (6 N)), q the studentized range statistic divided by sqrt(2) [D06 sec.
    3.2.2].

    SettingError unless there are k >= 2 methods and N >= 2 data sets.

    >>> round(critical_difference(4, 14), 2)
    1.25
    """
    from scipy.stats import studentized_range

    check_integer("n_methods", n_methods, 2)
    check_integer("n_data", n_data, 2)
    quantile = float(studentized_range.ppf(1 - LEVEL, n_methods, math.inf)) / math.sqrt(2)
    return quantile * math.sqrt(n_methods * (n_methods + 1) / (6 * n_data))


def least_data_sets(n_methods: int) -> int:
    """The fewest data sets on which two of `n_methods` mean ranks can differ significantly.

    Ranks differ by at most n_methods - 1; Nemenyi's critical difference must be smaller.
    SettingError as in `critical_difference`.

    >>> [least_data_sets(n) for n in (2, 3, 4, 10)]
    [4, 3, 3, 3]
    """
    difference = critical_difference(n_methods, 2)  # falls as 1 / sqrt(number of data sets)
    return max(2, math.floor(2 * (difference / (n_methods - 1)) ** 2) + 1)


def _complete(scores: ArrayLike) -> NDArray[np.float64]:
    table = np.asarray(scores, np.float64)
    assert table.ndim == 2, "one row per data set, one column per method"
    if np.isnan(table).any():
        raise SettingError(
            "ranks need a value of every method on every data set, and "
            f"{int(np.isnan(table).sum())} are missing; leave out methods or data sets"
        )
    return np.array([list(map(comparable, row)) for row in table.tolist()])


@dataclass(frozen=True)
class Ranking:
    """Mean ranks of strategies, from the best to the worst.

    `ranks` has shape (n,); `scores`, the means over repetitions, (n_data, n). `left_out` are
    strategies that are missing in a data set; `fewer` have fewer repetitions than others in one.
    `stumps` is the mark of each data set.
    """

    labels: tuple[str, ...]
    ranks: NDArray[np.float64]
    scores: NDArray[np.float64]
    data: tuple[str, ...]
    left_out: tuple[str, ...]
    fewer: tuple[str, ...]
    stumps: dict[str, int]
    counted: str = "stumps"  # or rounds


def _at_last_level(curves: Curves, metric: str, axis: str) -> dict[str, dict[int, float]]:
    curves.check(metric, axis)
    levels = curves.levels(axis)
    if not levels:
        raise SettingError(
            f"the runs of {curves.data} share no level of {axis}; rank them at equal stumps"
        )
    values = curves.at(metric, axis, levels[-1])
    return {
        label: runs for label, runs in values.items() if not any(map(math.isnan, runs.values()))
    }


def ranking(
    results: Sequence[Results],
    metric: str = "loss",
    stumps: int | None = None,
    axis: str = "stumps",
) -> Ranking:
    """Rank the strategies on each data set by the mean of a metric; the best has rank 1.

    On another axis than stumps, values are those at the last of `Curves.levels`; a strategy that
    does not reach it on a data set is left out.

    `metric` is one of `ranked_metrics`, `stumps` by default the last mark of each data set. Raises
    SettingError for fewer than two strategies in all of them, no rows at this number of stumps, or
    `stumps` on another axis.
    Lines of the same cells, as those of `full` at several budgets, are one strategy.
    """
    check_known("metric", metric, ranked_metrics())
    data = curves_of_data(results)
    at = {name: curves.marks[-1] if stumps is None else stumps for name, curves in data.items()}
    if axis != "stumps" and stumps is not None:
        raise SettingError(
            f"a number of stumps is for ranks at equal stumps, got {stumps} at equal {axis}; leave "
            "one of them out"
        )
    if axis == "stumps":
        values = [curves.at(metric, axis, at[name]) for name, curves in data.items()]
    else:
        values = [_at_last_level(curves, metric, axis) for curves in data.values()]
    labels = dict.fromkeys(label for of_data in values for label in of_data)
    cells = [cells_of(folder.settings_of(name)) for folder in results for name in folder.names]
    every = list(
        {
            tuple(of_data.get(label, (label,)) for of_data in cells): label
            for label in reversed(labels)
            if not is_charged(label)
        }.values()
    )[::-1]
    shared = [label for label in every if all(label in of_data for of_data in values)]
    if len(shared) < 2:
        raise SettingError(
            "ranks need two strategies or more that are in every data set, got "
            f"{', '.join(shared) or 'none'} of {', '.join(every)}; run the others, too"
        )
    scores = np.array(
        [[np.mean(list(of_data[label].values())) for label in shared] for of_data in values]
    )
    counts = np.array([[len(of_data[label]) for label in shared] for of_data in values])
    has_fewer = (counts < counts.max(axis=1, keepdims=True)).any(axis=0)
    mean = ranks(scores, lower_is_better=METRICS[metric].better < 0)
    order = np.argsort(mean, kind="stable")
    return Ranking(
        tuple(shared[k] for k in order),
        mean[order],
        scores[:, order],
        tuple(data),
        tuple(label for label in every if label not in shared),
        tuple(label for label, fewer in zip(shared, has_fewer, strict=True) if fewer),
        at,
        counted(learner for curves in data.values() for learner in curves.learners),
    )
