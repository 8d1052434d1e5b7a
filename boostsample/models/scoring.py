"""Scores of terms: sums of the outputs of base classifiers."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostsample.kernels.scores import ROWS, add_scores, add_stump_scores, add_tree_scores
from boostsample.records import Term
from boostsample.records.term_arrays import TermColumns, columns_of_terms


class TermArrays:
    """Terms of whole rounds as arrays: those of `TermColumns`, and four more.

    - `first` int64 (R,): position of the first term of each round;
    - `coefficient` float64 (M,): alpha as scores add it;
    - `scored`: `below` and `votes` as scores add them, times `coefficient`;
    - `are_stumps`: whether every round is one stump with opposite votes.
    """

    def __init__(self, terms: Sequence[Term], n_labels: int) -> None:
        columns = columns_of_terms(terms, n_labels)
        opposite = all(term.below is None for term in terms)
        self._set(columns, opposite and bool(np.all(columns.parent < 0)))

    def _set(self, columns: TermColumns, are_stumps: bool) -> None:
        self.feature, self.votes, self.below, self.parent, self.side, self.alpha = columns
        self.first = np.flatnonzero(self.parent < 0)
        self.are_stumps = are_stumps
        self.coefficient = self.alpha
        self.scored = self.below, self.votes

    @property
    def columns(self) -> TermColumns:
        """The arrays of the terms."""
        return TermColumns(self.feature, self.votes, self.below, self.parent, self.side, self.alpha)

    def __len__(self) -> int:
        """Number of rounds."""
        return int(self.first.size)

    @property
    def largest(self) -> NDArray[np.float64]:
        """The most that each round adds to a score: float64 (R,)."""
        alphas = np.abs(self.alpha[self.first])
        if self.votes.dtype.kind != "f" or not self.first.size:
            return alphas
        of_terms = np.maximum(np.abs(self.votes), np.abs(self.below)).max(axis=1)
        return np.asarray(alphas * np.maximum.reduceat(of_terms, self.first))

    def terms(self, first: int, end: int) -> slice:
        """The terms of rounds first, ..., end - 1."""
        n_rounds, n_terms = self.first.size, self.feature.size
        starts = (int(self.first[at]) if at < n_rounds else n_terms for at in (first, end))
        return slice(*starts)

    def outputs(self, sides: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Outputs o_l(x) of one round's terms: float64 (n, K) of -1 and +1; `sides` as below."""
        outputs = np.zeros((sides.shape[1], self.votes.shape[1]))
        alone = copy.copy(self)
        alone.coefficient, alone.scored = np.ones_like(self.alpha), (self.below, self.votes)
        alone.add_scores(sides, slice(0, self.feature.size), outputs)
        return outputs

    def add_scores(
        self, sides: NDArray[np.bool_], part: slice, scores: NDArray[np.float64]
    ) -> None:
        """Add the scores of the terms `part`, of whole rounds, to scores float64 (n, K).

        `sides` is bool (terms of the part, n): whether phi = +1. Sums round by round.
        """
        bits = np.ascontiguousarray(sides).view(np.uint8)
        if self.are_stumps:
            voted = self.scored[1][part] * self.coefficient[part, None]
            add_stump_scores(bits, voted, np.empty((scores.shape[1] + 1, ROWS)), scores)
            return
        ends, parents, children, votes, alphas = self._tree(part)
        reached, output = np.zeros(bits.shape[0], np.uint8), np.empty(scores.shape[1])
        add_scores(bits, ends, parents, children, votes, alphas, reached, output, scores)

    def add_value_scores(
        self,
        values: NDArray[np.float32],
        columns: NDArray[np.int64],
        threshold: NDArray[np.float32],
        part: slice,
        scores: NDArray[np.float64],
    ) -> None:
        """Add the scores of the terms `part` for feature values float32 (n, q) to scores (n, K).

        `columns` and `threshold` are those of the terms. As `add_scores`, but a term of a tree is
        looked at only where it is reached.
        """
        if np.any((self.side[part] == 0) & (self.parent[part] >= 0)):  # products read all terms
            self.add_scores((values[:, columns] >= threshold).T, part, scores)
            return
        rows = np.ascontiguousarray(values)
        ends, _, children, votes, alphas = self._tree(part)
        roots = np.append(0, ends)[:-1]
        voted = votes * np.repeat(alphas, ends - roots)[:, None, None]
        add_tree_scores(rows, columns, threshold, roots, children, voted, scores)

    def _tree(self, part: slice) -> tuple[Any, ...]:
        """Ends, parents, children, votes and alphas of rounds, as kernels read them."""
        at = part.start
        firsts = self.first[(self.first >= at) & (self.first < part.stop)]
        ends = np.append(firsts[1:], part.stop) - at
        root = np.repeat(firsts, np.diff(np.append(firsts, part.stop))) - at
        parents = np.where(self.parent[part] < 0, 0, self.parent[part]) + root
        children = np.full((parents.size, 3), -1)
        side = self.side[part]
        children[:, 0] = np.where(side == 0, 2, (side + 1) // 2)
        inner = np.flatnonzero(side)
        children[parents[inner], 1 + (side[inner] + 1) // 2] = inner
        votes = np.stack([of_side[part] for of_side in self.scored], axis=1).astype(np.float64)
        return ends, parents, children, votes, self.coefficient[part][firsts - at]
