"""Windows of rounds: means over these are the points of plots over rounds."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostsample.experiments.cells.cell_file import Cell


def round_windows(n_rounds: int, per_decade: int = 5) -> NDArray[np.int64]:
    """First rounds of windows of about equal width on a log scale, and the end of the last one.

    >>> round_windows(100).tolist()
    [1, 2, 3, 4, 6, 10, 16, 25, 40, 63, 101]
    """
    step = 10 ** (1 / per_decade)
    number = math.ceil(per_decade * math.log10(n_rounds + 1))
    starts = np.unique(np.floor(step ** np.arange(number) + 0.5).astype(np.int64))
    starts = starts[starts * math.sqrt(step) <= n_rounds + 1]  # merges a short last window
    return np.append(starts, n_rounds + 1)


def window_middles(edges: NDArray[np.int64]) -> NDArray[np.float64]:
    """Geometric means of the first and last round of each window.

    >>> window_middles(np.array([1, 2, 4, 9])).round(2).tolist()
    [1.0, 2.45, 5.66]
    """
    middle: NDArray[np.float64] = np.sqrt(edges[:-1] * (edges[1:] - 1.0))
    return middle


def window_means(cell: Cell, values: NDArray[Any], edges: NDArray[np.int64]) -> NDArray[np.float64]:
    """Mean over all searches of a cell in each window of rounds; NaN for windows without one.

    `values`, shape (n_searches,), has one number for each search; NaN is skipped.
    """
    there = np.isfinite(values)
    at = np.searchsorted(edges, cell.round, side="right") - 1
    n = len(edges) - 1
    counts = np.bincount(at[there], minlength=n)
    sums = np.bincount(at[there], weights=values[there].astype(np.float64), minlength=n)
    means: NDArray[np.float64] = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
    return means
