"""Products and trees of AdaBoost.MH written from their definitions, to compare learners with.

Nothing here uses the engine. Sums are in float64; every search adds up its examples
anew. Bins are those of a feature bank: phi_{j,b}(i) = +1 if bins[j, i] >= b else -1, where
thresholds are b = 1 .. n_bins[j] - 1, and bin 0 is missing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from boostsample.learner import EDGE_GAP

#: Edges of a search this close, relative to the largest one, are one edge.
TIE = 1e-9
#: A term or split must add more than this to the edge of the base classifier.
LEAST_GAIN = 1e-9
#: A leaf is pure if the edge of its constant votes is at least this share of its weight.
PURE = 1 - 1e-12

#: An edge this close to the largest one, relatively, may be followed: float32 rounds by less.
NEAR = 1e-6
#: A label sum this small, relative to the sum of absolute values, is 0 but for rounding.
ZERO = 1e-13

LEARNERS = ("stump", "product", "tree")

Bins = NDArray[np.uint8]
Floats = NDArray[np.float64]
Signs = NDArray[np.int8]


@dataclass(eq=False)
class NaiveSearch:
    """One search: the stump that it found, `threshold` as a bin, and what it was made on.

    `least_sum` is the smallest share that a label sum has of the absolute targets: below the
    rounding of an implementation, a vote may differ. `edge` is a share of the weight of the
    examples: sum_l abs(sum_i target_il phi(i)), or sum_l (abs(L_l) + abs(R_l)) in a tree. `parent`
    and `side` are the search that split the parent of a leaf and the side of it; `gain` is the
    increase of the edge of the base classifier. A search without an admissible cut is a constant.
    """

    feature: int
    threshold: int
    votes: Signs
    least_sum: float
    edge: float
    n_examples: int
    parent: int = -1
    side: int = 0
    gain: float = 0.0
    divides: bool = False
    admissible: bool = True
    in_model: bool = False

    def phi(self, bins: Bins) -> Signs:
        """+1 or -1 for each row of bins (F, M): int8 (M,)."""
        return phi_of(bins[self.feature], self.threshold)


@dataclass(eq=False)
class Node:
    """A leaf, or once `split` is set an inner node, of a tree.

    `rows` are the examples that reach it, `votes` the signs of their label sums, `least_sum` is as
    in `NaiveSearch`; `search` is the index of its search, -1 for none; `depth` are the cuts above.
    """

    rows: NDArray[np.int64]
    votes: Signs
    least_sum: float
    search: int = -1
    depth: int = 0
    split: NaiveSearch | None = None
    low: Node | None = None
    high: Node | None = None

    def outputs(self, bins: Bins) -> Signs:
        """Votes of the leaf that each row of bins (F, M) reaches: int8 (M, K)."""
        if self.split is None or self.low is None or self.high is None:
            return np.tile(self.votes, (bins.shape[1], 1))
        side = self.split.phi(bins)[:, None]
        return np.where(side > 0, self.high.outputs(bins), self.low.outputs(bins))


@dataclass(eq=False)
class NaiveRound:
    """One round: its searches in order, and the base classifier alpha * o(x) that it adds.

    `tree` is the root, or None; the terms of a product (or the stump) are the searches in
    the model. `least_sum` is the smallest one of a leaf, or of a search of a product.
    """

    searches: list[NaiveSearch]
    gamma: float
    o: Signs
    least_sum: float
    tree: Node | None = None
    alpha: float = 0.0

    def outputs(self, bins: Bins) -> Signs:
        """o(x) in {-1, +1}^K for rows of bins (F, M): int8 (M, K)."""
        if self.tree is not None:
            return self.tree.outputs(bins)
        return product_of([s for s in self.searches if s.in_model], bins)


class NaiveBooster:
    """AdaBoost.MH with an exhaustive search for every term and node.

    bins (F, N), Y (N, K) of +1 and -1, weights (N, K); `size` is `n_terms` or `n_leaves`. With
    a = (1 + gamma) / 2 and b = (1 - gamma) / 2, alpha is nu / 2 log((a + s / N) / (b + s / N)) of a
    smoothing s. Leaves of trees have at least `min_leaf` examples and `min_weight` weight.
    `ended` tells that an edge above 1 - EDGE_GAP has ended the training, by full steps.
    """

    def __init__(
        self,
        bins: Bins,
        n_bins: NDArray[Any],
        Y: NDArray[Any],
        learner: str,
        size: int,
        weights: NDArray[Any],
        nu: float = 1.0,
        smoothing: float = 0.0,
        min_leaf: int = 0,
        min_weight: float = 0.0,
        max_depth: int | None = None,
    ) -> None:
        if learner not in LEARNERS:
            raise ValueError(f"learner must be one of {', '.join(LEARNERS)}, got {learner!r}")
        self.bins = np.ascontiguousarray(bins)
        self.n_bins = np.asarray(n_bins, np.int64)
        self.Y = np.asarray(Y, np.float64)
        self.w = np.asarray(weights, np.float64) / np.sum(weights)
        self.learner, self.size = learner, size
        self.nu, self.smoothing = nu, smoothing
        self.limits, self.max_depth = (min_leaf, min_weight), max_depth
        self.scores = np.zeros(self.Y.shape)
        self.log10_loss = 0.0
        self.ended = False
        self._follow: Sequence[tuple[int, int]] = ()
        self._parents: Sequence[int] = ()
        self._in_model: Sequence[int] = ()

    def next_round(
        self,
        follow: Sequence[tuple[int, int]] = (),
        parents: Sequence[int] = (),
        in_model: Sequence[int] = (),
    ) -> NaiveRound:
        """Learn a base classifier, add it to the scores, update the weights.

        `follow` holds (feature, threshold) for search 0, 1, ...: what another implementation found.
        It is taken if its edge is within `NEAR` of the largest one, and changes nothing otherwise.
        `parents` are the `parent` of its searches, `in_model` the searches in its base classifier:
        of leaves whose gains are that near, the one is split whose children it searched next, or
        one that it split.
        """
        if self.ended:
            raise ValueError("training must not go on after an edge of 1")
        self._follow, self._parents, self._in_model = follow, parents, in_model
        s = self.w * self.Y
        done = self._tree(s) if self.learner == "tree" else self._product(s)
        capped = min(done.gamma, 1 - EDGE_GAP)
        more = self.smoothing / len(s)
        right, wrong = (1 + capped) / 2 + more, (1 - capped) / 2 + more
        done.alpha = self.nu * 0.5 * math.log(right / wrong)
        self.scores += done.alpha * done.o
        self.w = self.w * np.exp(-done.alpha * self.Y * done.o)
        self.w /= self.w.sum()
        gamma, up = min(done.gamma, 1.0), math.exp(done.alpha)
        self.log10_loss += math.log10((1 + gamma) / 2 / up + (1 - gamma) / 2 * up)
        full = (self.nu, self.smoothing) == (1.0, 0.0)
        self.ended = full and done.gamma > 1 - EDGE_GAP
        return done

    # ------------------------------------------------------------------------------- products

    def _product(self, s: Floats) -> NaiveRound:
        """Refit one term after the other until a search gains nothing."""
        everything = np.arange(len(s))
        searches: list[NaiveSearch] = []
        terms: list[NaiveSearch] = []
        gamma = 0.0
        while True:
            t = len(searches) % self.size
            others = [term for place, term in enumerate(terms) if place != t]
            targets = s * product_of(others, self.bins, s.shape[1])
            search = self._search(targets, everything, searches)
            edge = search.edge * float(np.abs(s).sum())
            search.gain = edge - gamma
            if len(searches) > 1 and not search.gain > LEAST_GAIN:
                break
            terms[t : t + 1] = [search]  # replaces the term, or is added at the end
            gamma = edge
            if self.learner == "stump":
                break
        for term in terms:
            term.in_model = True
        o = product_of(terms, self.bins)
        return NaiveRound(searches, float((s * o).sum()), o, min(f.least_sum for f in searches))

    # ---------------------------------------------------------------------------------- trees

    def _tree(self, s: Floats) -> NaiveRound:
        """Split the leaf of the largest gain until there are enough leaves."""
        searches: list[NaiveSearch] = []
        root = split = node_of(s, np.arange(len(s)))
        self._search_leaf(root, s, searches)
        if not searches[0].admissible:
            searches[0].in_model = True
            o = root.outputs(self.bins)
            return NaiveRound(searches, float((s * o).sum()), o, root.least_sum, root)
        new = self._split(root, searches, s)
        leaves = list(new)
        while len(leaves) < self.size:
            for leaf, side in zip(new, (-1, 1), strict=True):
                if self._may_divide(leaf, s[leaf.rows]):
                    self._search_leaf(leaf, s, searches, split.search, side)
            searched = sorted((x for x in leaves if x.search >= 0), key=lambda leaf: leaf.search)
            searched = [leaf for leaf in searched if may_split(s[leaf.rows], searches[leaf.search])]
            gains = [searches[leaf.search].gain for leaf in searched]
            if not gains:
                break
            least = max(gains) * (1 - NEAR) - LEAST_GAIN
            near = [leaf for i, leaf in enumerate(searched) if gains[i] >= least]
            tied = (i for i, gain in enumerate(gains) if gain >= max(gains) * (1 - TIE) - ZERO)
            wanted = [leaf for leaf in near if leaf.search in self._parents[len(searches) :][:1]]
            wanted += [leaf for leaf in near if leaf.search in self._in_model]
            split = wanted[0] if wanted else searched[next(tied)]
            new = self._split(split, searches, s)
            leaves.remove(split)
            leaves.extend(new)
        o = root.outputs(self.bins)
        least = min(leaf.least_sum for leaf in leaves)
        return NaiveRound(searches, float((s * o).sum()), o, least, root)

    def _search_leaf(
        self,
        leaf: Node,
        s: Floats,
        searches: list[NaiveSearch],
        parent: int = -1,
        side: int = 0,
    ) -> None:
        leaf.search = len(searches)
        search = self._search(s[leaf.rows], leaf.rows, searches)
        search.parent, search.side = parent, side
        if not search.admissible:
            return
        high = search.phi(self.bins[:, leaf.rows]) > 0
        on_leaf = s[leaf.rows]
        parts = constant_edge(on_leaf[~high]) + constant_edge(on_leaf[high])
        search.gain = parts - constant_edge(on_leaf)

    def _may_divide(self, leaf: Node, s: Floats) -> bool:
        """Whether a leaf is searched: it can have two leaves within the limits, and is not pure."""
        most = np.inf if self.max_depth is None else self.max_depth
        held = len(s) >= 2 * self.limits[0] and np.abs(s).sum() >= 2 * self.limits[1]
        return bool(held and leaf.depth < most and is_worth_a_search(s))

    def _split(self, leaf: Node, searches: list[NaiveSearch], s: Floats) -> tuple[Node, Node]:
        leaf.split = searches[leaf.search]
        leaf.split.in_model = True
        high = leaf.split.phi(self.bins[:, leaf.rows]) > 0
        leaf.low, leaf.high = node_of(s, leaf.rows[~high]), node_of(s, leaf.rows[high])
        leaf.low.depth = leaf.high.depth = leaf.depth + 1
        return leaf.low, leaf.high

    # ------------------------------------------------------------------------------- searches

    def _search(
        self, targets: Floats, rows: NDArray[np.int64], searches: list[NaiveSearch]
    ) -> NaiveSearch:
        """Search some examples, targets (n, K), and add the result to `searches`."""
        bins = self.bins[:, rows]
        chosen = self._follow[len(searches)] if len(searches) < len(self._follow) else None
        two_sided = self.learner == "tree"
        search = best_stump(bins, self.n_bins, targets, two_sided, chosen, self.limits)
        searches.append(search)
        return search


def best_stump(
    bins: Bins,
    n_bins: NDArray[Any],
    targets: Floats,
    two_sided: bool = False,
    chosen: tuple[int, int] | None = None,
    limits: tuple[int, float] = (0, 0.0),
) -> NaiveSearch:
    """The stump of the largest sum_l abs(R_l - L_l), or abs(R_l) + abs(L_l); targets (n, K).

    Ties go to a cut with examples on both sides, then to the first feature, then to the lowest
    threshold; to `chosen` if that is near. Both sides hold the examples and the weight of `limits`.
    """
    by_bin = histograms(bins, int(n_bins.max()), targets)  # (F, bins, K)
    low = np.cumsum(by_bin, axis=1)[:, :-1]  # below b = 1, 2, ...
    high = targets.sum(axis=0) - low
    edges = (np.abs(high) + np.abs(low) if two_sided else np.abs(high - low)).sum(axis=2)
    edges[np.arange(1, edges.shape[1] + 1) >= n_bins[:, None]] = -1.0
    held = np.column_stack([np.ones(len(targets)), np.abs(targets).sum(axis=1)])
    below = np.cumsum(histograms(bins, int(n_bins.max()), held), axis=1)[:, :-1]
    edges[(np.minimum(below, held.sum(axis=0) - below) < limits).any(axis=2)] = -1.0
    weight = float(np.abs(targets).sum())
    if edges.max() < 0.0:
        sums = targets.sum(axis=0)
        least, votes = least_sum(sums, targets), signs(sums, targets)
        search = NaiveSearch(*(chosen or (0, 1)), votes, least, 0.0, len(targets), admissible=False)
        search.edge = constant_edge(targets) / weight
        return search
    tied = edges >= edges.max() * (1 - TIE) - ZERO * weight  # edges of 0 are tied
    candidates = [(int(j), int(b) + 1) for j, b in np.argwhere(tied)]
    divides = {(j, b): bins[j].min() < b <= bins[j].max() for j, b in candidates}
    candidates.sort(key=lambda cut: not divides[cut])
    feature, threshold = candidates[0]
    if chosen is not None and edges[chosen[0], chosen[1] - 1] >= edges.max() * (1 - NEAR):
        feature, threshold = chosen
    phi = phi_of(bins[feature], threshold)
    sums = phi @ targets
    votes, least = signs(sums, targets), least_sum(sums, targets)
    search = NaiveSearch(feature, threshold, votes, least, 0.0, len(targets))
    search.divides = len(set(phi.tolist())) == 2
    if weight > 0:
        search.edge = float(edges[feature, threshold - 1]) / weight
    return search


def histograms(bins: Bins, n_bins: int, targets: Floats) -> Floats:
    """Sum of the targets (n, K) over the examples of each bin of each feature: (F, n_bins, K)."""
    sums = np.zeros((len(bins), n_bins, targets.shape[1]))
    _add_up(bins, targets, sums)
    return sums


@numba.njit  # type: ignore[untyped-decorator]  # numba ships no annotations
def _add_up(bins: Bins, targets: Floats, sums: Floats) -> None:
    for j in range(bins.shape[0]):
        for i in range(bins.shape[1]):
            for l in range(targets.shape[1]):
                sums[j, bins[j, i], l] += targets[i, l]


def phi_of(column: Bins, threshold: int) -> Signs:
    """+1 where the bin is at least the threshold, else -1: int8."""
    return np.where(column >= threshold, np.int8(1), np.int8(-1))


def signs(sums: Floats, s: Floats) -> Signs:
    """Votes of label sums (K,) of terms s (n, K) up to sign: int8, +1 for 0."""
    return np.where(sums >= -ZERO * np.abs(s).sum(axis=0), np.int8(1), np.int8(-1))


def least_sum(sums: Floats, s: Floats) -> float:
    """The smallest label sum (K,) relative to the absolute terms s (n, K); 1 without examples."""
    absolute = np.abs(s).sum(axis=0)
    used = absolute > 0
    return float((np.abs(sums[used]) / absolute[used]).min(initial=1.0))


def node_of(s: Floats, rows: NDArray[np.int64]) -> Node:
    """A leaf that holds these examples."""
    sums = s[rows].sum(axis=0)
    return Node(rows, signs(sums, s[rows]), least_sum(sums, s[rows]))


def product_of(terms: Sequence[NaiveSearch], bins: Bins, n_labels: int | None = None) -> Signs:
    """Product of v_l phi(i) over the terms, 1 for none: int8 (M, K)."""
    n_labels = len(terms[0].votes) if n_labels is None else n_labels
    o = np.ones((bins.shape[1], n_labels), np.int8)
    for term in terms:
        o *= term.phi(bins)[:, None] * term.votes
    return o


def constant_edge(s: Floats) -> float:
    """sum_l abs(S_l) of the examples of a leaf, s (n, K)."""
    return float(np.abs(s.sum(axis=0)).sum())


def is_worth_a_search(s: Floats) -> bool:
    """Whether a leaf has two examples or more and is not pure; s (n, K)."""
    return len(s) >= 2 and constant_edge(s) < PURE * float(np.abs(s).sum())


def may_split(s: Floats, search: NaiveSearch) -> bool:
    """Whether a leaf may be split by the stump: it gains, or divides a leaf that is not pure."""
    left = float(np.abs(s).sum()) - constant_edge(s)
    return search.gain > LEAST_GAIN or (search.divides and left > LEAST_GAIN)
