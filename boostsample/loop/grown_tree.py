"""The base classifier and the history rows of a tree that was grown in one call."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostsample.kernels.tree_growth import GrownNodes
from boostsample.objective import Objective, RealObjective, best_votes, sums_of_sides
from boostsample.planning.costs import draw_cost, finish_cost, search_cost
from boostsample.records import Term
from boostsample.rows.protocol import Leaf
from boostsample.rows.tree_growth import SCHEME


class GrownTree:
    """A tree whose nodes are numbered as they were made; both halves of a split are neighbours."""

    def __init__(self, nodes: GrownNodes, objective: Objective) -> None:
        n, self.n_searches = nodes.counts.tolist()
        arrays: list[Any] = [array[:n] for array in nodes]
        self._nodes = nodes = GrownNodes(*arrays)
        self._below = nodes.below.tolist()
        self._leaves = [node for node, below in enumerate(self._below) if below < 0]
        self._searched = nodes.search >= 0
        self._edges = nodes.edge[self._searched].tolist()
        if isinstance(objective, RealObjective):
            sums, masses = nodes.sums[self._leaves], nodes.masses[self._leaves]
            values = objective.values(sums, masses)
            (self.edge,) = objective.edges_of_cells(values[None], sums, masses)
            self._votes: NDArray[Any] = np.zeros_like(nodes.sums)
            self._votes[self._leaves] = values
            self._edges = self._edges_of_values(objective)
            return
        self._votes = best_votes(nodes.sums)
        edges = nodes.leaf_edge.tolist()
        self.edge = min(math.fsum(edges[leaf] for leaf in self._leaves), 1.0)

    def _edges_of_values(self, objective: RealObjective) -> list[float]:
        """The edge of each search, as of `RealObjective.judge`, in one pass over all."""
        nodes, at = self._nodes, self._searched
        whole, half, masses = nodes.wholes[at], nodes.halves[at], nodes.sides[at]
        sums = sums_of_sides(half, whole)
        return objective.edges_of_cells(objective.side_values(sums, masses), sums, masses)

    def leaves(self) -> list[Leaf]:
        """The leaves, in any order."""
        first, end = self._nodes.first.tolist(), self._nodes.end.tolist()
        return [Leaf((first[leaf], end[leaf]), (), self._votes[leaf]) for leaf in self._leaves]

    def terms(self, values: list[float], alpha: float) -> list[Term]:
        """The terms, parents first, with the raw threshold of each search."""
        nodes, ones = self._nodes, np.ones(self._votes.shape[1], self._votes.dtype)
        if ones.dtype.kind == "f":
            ones[:] = 0.0
        feature, threshold = nodes.feature.tolist(), nodes.threshold.tolist()
        search, below, votes = nodes.search.tolist(), self._below, self._votes
        terms: list[Term] = []
        waiting = [(0, -1, 0)]
        while waiting:
            node, parent, side = waiting.pop()
            low = below[node]
            high, place = low + 1, len(terms)
            low_votes = votes[low] if below[low] < 0 else ones
            high_votes = votes[high] if below[high] < 0 else ones
            if below[high] >= 0:
                waiting.append((high, place, 1))
            if below[low] >= 0:
                waiting.append((low, place, -1))
            number = search[node]
            of_stump = feature[node], threshold[node], values[number], high_votes, alpha, low_votes
            terms.append(Term(*of_stump, number, parent, side))
        return terms

    def searched(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Feature and threshold of each search."""
        at = self._searched
        return self._nodes.feature[at], self._nodes.threshold[at]

    def history(
        self, number: int, families: list[str], values: list[float], n_features: int
    ) -> list[dict[str, Any]]:
        """A row for each search; alpha, loss, seconds and the end are set by the loop."""
        nodes, n_labels = self._nodes, self._votes.shape[1]
        at = self._searched
        columns = zip(
            families,
            nodes.feature[at].tolist(),
            values,
            nodes.sampled[at].tolist(),
            nodes.estimated[at].tolist(),
            self._edges,
            (nodes.end - nodes.first)[at].tolist(),
            strict=True,
        )
        return [  # in the order of `HISTORY_COLUMNS`; `history_row` takes several times as long
            {
                "round": number,
                "search": search,
                "family": family,
                "feature": feature,
                "threshold": value,
                "n_features": n_features,
                "n_examples": sampled,
                "edge_estimated": estimated,
                "edge": edge,
                "alpha": 0.0,
                "log10_loss": 0.0,
                "looks_search": n_features * sampled,
                "looks_modelling": 0,
                "looks_finish": n_examples,
                "values_computed": 0,
                "cost": draw_cost(SCHEME, sampled, n_examples, n_labels)
                + search_cost(n_features, sampled, n_examples, n_labels)
                + finish_cost(n_examples, n_labels),
                "seconds": 0.0,
                "stopped": "",
            }
            for search, (family, feature, value, sampled, estimated, edge, n_examples) in enumerate(
                columns
            )
        ]
