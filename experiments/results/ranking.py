"""Ranks strategies by their results on several data sets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from boostsample.errors import SettingError, unknown
from boostsample.experiments.results.curves import curves_of_data
from boostsample.experiments.results.labels import METRICS, is_charged
from boostsample.experiments.results.read_folder import Results
from boostsample.experiments.results.significance import ranks

__all__ = [
    "Ranking",
    "ranking",
]


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
