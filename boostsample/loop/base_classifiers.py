"""Base classifiers of rounds: terms from leaves, leaves from terms, and trees grown in one call."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostsample.errors import StrategyError
from boostsample.kernels.level_growth import GrownLevels
from boostsample.kernels.tree_growth import GrownNodes
from boostsample.learner import Targets
from boostsample.objective import Objective, RealObjective, best_votes, sums_of_sides
from boostsample.planning.costs import draw_cost, finish_cost, search_cost
from boostsample.records import Term
from boostsample.rows.protocol import Leaf
from boostsample.rows.tree_growth import SCHEME


def terms_of(leaves: Sequence[Targets], alpha: float) -> list[Term]:
    """The terms of the base classifier with these leaves."""
    if len(leaves) == 1 and leaves[0].stumps and not leaves[0].path:
        return _product(leaves[0], 0, -1, 0, alpha)
    terms: list[Term] = []
    waiting = [(list(leaves), 0, -1, 0)]
    while waiting:
        group, depth, parent, side = waiting.pop()
        if any(len(leaf.path) == depth for leaf in group):
            if len(group) > 1 or not group[0].stumps:
                raise StrategyError(
                    "learn() must return the leaves of one tree, each the result of split() or "
                    "times(); return for example [targets.times(targets.search())]"
                )
            terms += _product(group[0], len(terms), parent, side, alpha)
            continue
        stump, place = group[0].path[depth][0], len(terms)
        votes: dict[int, Any] = {}
        for half in (1, -1):
            side_leaves = [leaf for leaf in group if leaf.path[depth] == (stump, half)]
            if not side_leaves:
                continue
            first = side_leaves[0]
            if len(side_leaves) == 1 and len(first.path) == depth + 1 and not first.stumps:
                votes[half] = first.votes
            else:
                waiting.append((side_leaves, depth + 1, place, half))
        # Placeholders of sides with a child, whose output counts instead.
        nothing = np.ones(stump.votes.size, np.int8)
        if stump.votes.dtype.kind == "f":
            nothing = np.zeros_like(stump.votes)
        above, below = votes.get(1, nothing), votes.get(-1, nothing)
        terms.append(_term(stump, above, alpha, below, parent, side))
    return terms


def _product(leaf: Targets, at: int, parent: int, side: int, alpha: float) -> list[Term]:
    """The terms of a leaf with stumps: the first has the votes of the leaf, the others multiply."""
    first, *others = leaf.stumps
    best = leaf.times_found is first
    votes = first.votes if best else first.votes * leaf.votes
    return [
        _term(first, votes, alpha, first.below if best else None, parent, side),
        *(_term(other, other.votes, alpha, None, at, 0) for other in others),
    ]


def _term(
    stump: Any,
    votes: NDArray[Any],
    alpha: float,
    below: NDArray[Any] | None,
    parent: int,
    side: int,
) -> Term:
    place = stump.search, parent, side
    return Term(stump.feature, stump.threshold, stump.value, votes, alpha, below, *place)


def votes_of_colors(terms: list[Term], signs: NDArray[np.int8]) -> list[Term]:
    """Terms with votes of one label, multiplied by the signs of the classes."""
    if signs.size == 1:
        return terms
    return [_with_votes(term, lambda votes: votes * signs) for term in terms]


def votes_of_bit(terms: Sequence[Term], signs: NDArray[np.int8]) -> Sequence[Term]:
    """The terms of which `votes_of_colors` made these."""
    if signs.size == 1:
        return terms
    return [_with_votes(term, lambda votes: votes[:1] * signs[:1]) for term in terms]


def _with_votes(term: Term, change: Callable[[NDArray[Any]], NDArray[Any]]) -> Term:
    below = None if term.below is None else change(term.below)
    return replace(term, votes=change(term.votes), below=below)


def leaves_of(terms: Sequence[Term], targets: Targets) -> list[Leaf]:
    """The leaves of a base classifier, from its terms and the targets of all examples."""
    leaves, waiting = [], [(targets, 0)]
    while waiting:
        part, at = waiting.pop()
        term = terms[at]
        children = {child.side: k for k, child in enumerate(terms) if child.parent == at}
        if term.below is None:
            factors = [child for child in terms if child.parent == at and child.side == 0]
            ones = np.ones(term.votes.size, np.int8)
            leaves.append(Leaf(part.stretch, (*part.stumps, term, *factors), ones))
            continue
        halves: Any = part.split(term)  # type: ignore[arg-type]  # of a term: without its sums
        for half, side, votes in zip(halves, (-1, 1), (term.below, term.votes), strict=True):
            if side in children:
                waiting.append((half, children[side]))
            else:
                leaves.append(Leaf(half.stretch, half.stumps, votes))
    return leaves


class GrownTree:
    """Base classifier and history rows of a tree that was grown in one call.

    Nodes are numbered as they were made; both halves of a split are neighbours.
    """

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
            values = objective.cell_values(sums, masses)
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
        values = objective.cell_values(sums, masses, of_sides=True)
        return objective.edges_of_cells(values, sums, masses)

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

    def shares(self) -> list[float]:
        """Weight of the examples of each search, in units of that of all."""
        shares: list[float] = self._nodes.share[self._searched].tolist()
        return shares

    def history(
        self, number: int, families: list[str], values: list[float]
    ) -> list[dict[str, Any]]:
        """A row for each search; alpha, loss, seconds and the end are set by the loop."""
        nodes, n_labels = self._nodes, self._votes.shape[1]
        at = self._searched
        columns = zip(
            families,
            nodes.feature[at].tolist(),
            values,
            nodes.searched[at].tolist(),
            nodes.sampled[at].tolist(),
            nodes.estimated[at].tolist(),
            self._edges,
            (nodes.end - nodes.first)[at].tolist(),
            strict=True,
        )
        return [
            search_history(number, n_labels, search, *of_search)
            for search, of_search in enumerate(columns)
        ]


class GrownLevelTree:
    """Base classifier and history rows of an oblivious tree that was grown in one call.

    A node without examples is a leaf: of value 0, or with the votes of the node above it.
    """

    def __init__(self, levels: GrownLevels, objective: Objective, n_searched: int) -> None:
        self._levels, self._n_searched = levels, n_searched
        self._n = n = int(levels.n_levels[0])
        self._first = levels.first[: (1 << n) + 1].tolist()
        sums, masses = levels.sums[: 1 << n], levels.masses[: 1 << n]
        self._votes, self.edge = base_classifier(sums, masses, objective)
        if not isinstance(objective, RealObjective):
            self._vote_in_empty(sums)
        self._edges = [self.edge]
        for _ in range(n - 1):  # of the tree without its last levels
            sums, masses = sums[::2] + sums[1::2], masses[::2] + masses[1::2]
            self._edges.insert(0, base_classifier(sums, masses, objective)[1])

    def _vote_in_empty(self, sums: NDArray[np.float64]) -> None:
        """Give leaves without examples the votes of the lowest node above that has some."""
        first = np.array(self._first)
        for level in range(self._n + 1):
            n_leaves = 1 << (self._n - level)
            of_nodes = best_votes(np.add.reduce(sums.reshape(1 << level, n_leaves, -1), axis=1))
            filled = np.repeat(np.diff(first[::n_leaves]) > 0, n_leaves)
            self._votes[filled] = np.repeat(of_nodes, n_leaves, axis=0)[filled]

    def leaves(self) -> list[Leaf]:
        """The leaves, in the order of their examples."""
        stretches = zip(self._first, self._first[1:], strict=False)
        return [
            Leaf(stretch, (), votes)
            for stretch, votes in zip(stretches, self._votes, strict=True)
            if stretch[0] < stretch[1]
        ]

    def searched(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Feature and threshold of each search."""
        return self._levels.feature[: self._n], self._levels.threshold[: self._n]

    def terms(self, values: list[float], alpha: float) -> list[Term]:
        """The terms, parents first, with the raw threshold of each search."""
        feature, threshold = (array.tolist() for array in self.searched())
        inner = np.zeros_like(self._votes[0])
        if inner.dtype.kind != "f":
            inner[:] = 1
        terms: list[Term] = []
        waiting = [(0, 0, -1, 0)]
        while waiting:
            level, code, parent, side = waiting.pop()
            place, votes = len(terms), []
            for at, child in ((-1, 2 * code), (1, 2 * code + 1)):
                below = self._n - level - 1
                first, end = child << below, (child + 1) << below
                divided = below and self._first[first] < self._first[end]
                if divided:
                    waiting.append((level + 1, child, place, at))
                votes.append(inner if divided else self._votes[first])
            low, high = votes
            of_stump = feature[level], threshold[level], values[level], high, alpha, low
            terms.append(Term(*of_stump, level, parent, side))
        return terms

    def history(
        self, number: int, families: list[str], values: list[float]
    ) -> list[dict[str, Any]]:
        """A row for each level; alpha, loss, seconds and the end are set by the loop."""
        n_examples, sampled = self._first[-1], self._levels.sampled[: self._n]
        # Of an exact sample H is G.
        estimated = np.where(sampled == n_examples, self._edges, self._levels.estimated[: self._n])
        columns = zip(
            families,
            self.searched()[0].tolist(),
            values,
            sampled.tolist(),
            estimated.tolist(),
            self._edges,
            strict=True,
        )
        return [
            search_history(
                number,
                self._votes.shape[1],
                search,
                *(family, feature, value, self._n_searched, drawn, guess, edge, n_examples),
            )
            for search, (family, feature, value, drawn, guess, edge) in enumerate(columns)
        ]


def base_classifier(
    sums: NDArray[np.float64], masses: NDArray[np.float64], objective: Objective
) -> tuple[NDArray[Any], float]:
    """Votes, or values, of leaves with these label sums and weights (J, K), and their edge."""
    if isinstance(objective, RealObjective):
        values = objective.cell_values(sums, masses)
        return values, objective.edges_of_cells(values[None], sums, masses)[0]
    edge = math.fsum(np.add.reduce(np.abs(sums), axis=1).tolist())
    return best_votes(sums), min(edge, 1.0)


def search_history(
    number: int,
    n_labels: int,
    search: int,
    family: str,
    feature: int,
    value: float,
    n_features: int,
    sampled: int,
    estimated: float,
    edge: float,
    n_examples: int,
) -> dict[str, Any]:
    """The row of a search, in the order of `HISTORY_COLUMNS`; `history_row` takes much longer."""
    return {
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
