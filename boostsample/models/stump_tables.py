"""Scores of many stumps: for each feature in use, a table of scores by its value.

The stumps of a feature are a step function of its value: sorted by threshold, their scores are
cumulated once, and an example then costs one binary search and K additions for each feature instead
of K additions for each stump.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from boostsample.kernels.scores import add_table_scores


class StumpTables(NamedTuple):
    """Tables of stumps.

    Attributes
    ----------
    features : ndarray of int64, shape (q,)
        Features in use, ascending.
    ends : ndarray of int64, shape (q,)
        End of the cuts of each feature.
    cuts : ndarray of float32, shape (m,)
        Different thresholds, ascending for each feature.
    scores : ndarray of float64, shape (m + q, K)
        Scores of each feature: below all of its cuts or missing, then from each cut on.
    """

    features: NDArray[np.int64]
    ends: NDArray[np.int64]
    cuts: NDArray[np.float32]
    scores: NDArray[np.float64]

    def parts(self, n_features: int) -> Iterator[StumpTables]:
        """The tables of at most `n_features` features at a time."""
        for first in range(0, self.features.size, n_features):
            end = min(first + n_features, self.features.size)
            low, high = int(self.ends[first - 1]) if first else 0, int(self.ends[end - 1])
            yield StumpTables(
                self.features[first:end],
                self.ends[first:end] - low,
                self.cuts[low:high],
                self.scores[low + first : high + end],
            )

    def add_scores(self, values: NDArray[np.float32], scores: NDArray[np.float64]) -> None:
        """Add the scores for feature values float32 (n, q) to float64 (n, K)."""
        add_table_scores(np.ascontiguousarray(values.T), self.ends, self.cuts, self.scores, scores)


def make_tables(
    feature: NDArray[np.int64], threshold: NDArray[np.float32], voted: NDArray[np.float64]
) -> StumpTables:
    """The tables of M stumps; `voted` is alpha times the votes, float64 (M, K).

    Sums of `voted` must be exact, see `boostsample.models.exact_sums`.
    """
    order = np.lexsort((threshold, feature))
    feature, threshold, voted = feature[order], threshold[order], voted[order]
    features, firsts = np.unique(feature, return_index=True)
    new = np.ones(feature.size, np.bool_)
    new[1:] = (feature[1:] != feature[:-1]) | (threshold[1:] != threshold[:-1])
    cuts = threshold[new]
    ends = np.searchsorted(np.flatnonzero(new), np.append(firsts[1:], feature.size))[: firsts.size]
    owner = np.repeat(np.arange(features.size), np.diff(np.append(firsts, feature.size)))
    starts = np.append(0, ends)[: features.size] + np.arange(features.size)
    # Differences of successive rows; the first of a feature takes the last one before it out again.
    steps = np.zeros((cuts.size + features.size, voted.shape[1]))
    np.add.at(steps, np.cumsum(new) + owner, 2.0 * voted)
    np.add.at(steps, starts[owner], -voted)
    early = owner + 1 < features.size
    np.add.at(steps, starts[owner[early] + 1], -voted[early])
    return StumpTables(features, ends.astype(np.int64), cuts, np.cumsum(steps, axis=0))
