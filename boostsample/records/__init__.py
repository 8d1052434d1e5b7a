"""Records exchanged by strategies, learners and loop: stumps, samples, pools, outcomes.

The pool of features and examples that strategies draw from; samples, the stumps that searches find
in them, the terms that these become, and rounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from boostsample.errors import SettingError

NO_FEATURES: NDArray[np.int64] = np.empty(0, np.int64)

#: Largest family for which `Generator.choice` follows Floyd's algorithm whatever the number drawn.
_FLOYD = 10_000


@dataclass(frozen=True, slots=True)
class FamilyInfo:
    """A family as a strategy sees it: features `first` to `first + size - 1`.

    Attributes
    ----------
    name : str
        Its name in tables and histories.
    size : int
        Number of its features.
    first : int
        Global index of its first feature.
    cost : float
        Looks that it takes as long as to compute one value, see `Family.cost`; 0 if values are not
        computed on demand.
    """

    name: str
    size: int
    first: int
    cost: float = 0.0

    def sample(self, n: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw distinct members uniformly: global indices, int64 (min(n, size),); no looks."""
        if n < 0:
            raise SettingError(f"in a pool, n must be 0 or more, got {n}; use 0 to draw nothing")
        if n >= self.size:
            return np.arange(self.first, self.first + self.size, dtype=np.int64)
        chosen = rng.choice(self.size, size=n, replace=False, shuffle=False)
        return np.asarray(chosen, dtype=np.int64) + self.first


def family_infos(families: Sequence[Any], on_demand: bool = False) -> tuple[FamilyInfo, ...]:
    """Families (`boostsample.family.Family`) as strategies see them."""
    infos, first = list[FamilyInfo](), 0
    for family in families:
        cost = float(family.cost) if on_demand else 0.0
        infos.append(FamilyInfo(family.name, int(family.n_features), first, cost))
        first += infos[-1].size
    return tuple(infos)


@dataclass(frozen=True, slots=True)
class Pool:
    """Size of the problem, for `Strategy.start` and `Strategy.settings_in_use`.

    Attributes
    ----------
    families : sequence of FamilyInfo
        The families in the order of their features.
    n_features : int
        Features of all families, F.
    n_examples : int
        Training examples with weight, N.
    """

    families: Sequence[FamilyInfo]
    n_features: int
    n_examples: int

    def among(self, members: NDArray[np.int64]) -> Pool:
        """The pool of some features, ascending, which are then 0, 1, ...; no empty family."""
        families, first = list[FamilyInfo](), 0
        for family in self.families:
            ends = np.searchsorted(members, (family.first, family.first + family.size))
            size = int(ends[1] - ends[0])
            if size:
                families.append(FamilyInfo(family.name, size, first, family.cost))
            first += size
        return Pool(tuple(families), first, self.n_examples)


def sample_members(
    families: Sequence[FamilyInfo], counts: Sequence[int], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Draw counts[k] distinct members of families[k], for every k; free of looks.

    Returns the same features, int64, and leaves `rng` in the same state as one call of
    `FamilyInfo.sample` for each family, but for nine families in 35 instead of 65 us.
    `Generator.choice` follows Floyd's algorithm, so one call can draw the numbers of all families.
    """
    if len(families) == len(counts) == 1:  # a call of its own is faster
        return families[0].sample(counts[0], rng)
    pairs = list(zip(families, counts, strict=True))
    if not all(0 <= n < family.size <= _FLOYD for family, n in pairs):
        return np.concatenate([family.sample(n, rng) for family, n in pairs])
    firsts, sizes = np.array([(family.first, family.size) for family in families], np.int64).T
    ends = np.cumsum(counts)
    lasts = np.arange(ends[-1]) + np.repeat(firsts + sizes - ends, counts)
    drawn = rng.integers(np.repeat(firsts, counts), lasts, endpoint=True)
    members: dict[int, None] = {}
    for member, last in zip(drawn.tolist(), lasts.tolist(), strict=True):
        members[last if member in members else member] = None
    return np.fromiter(members, np.int64, len(members))


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """Handle of a drawn sample for `Step.search` and `Step.edges`; valid in its step only.

    Attributes
    ----------
    size : int
        Looks that one feature costs on this sample, T.
    scheme : str
        Scheme of the draw, a name of `boostsample.rows.sampling_schemes.SCHEMES`, or "shuffled".
    exact : bool
        Whether the sample is all N examples with their exact weights (T >= N).
    """

    size: int
    scheme: str
    exact: bool


@dataclass(frozen=True, slots=True, eq=False)
class Stump:
    """One stump: phi(x) = +1 where the bin of `feature` is at least `threshold`, else -1.

    Attributes
    ----------
    feature : int
        Global index of the feature.
    threshold : int
        Bin index, 1 or more; 1 is the threshold -inf.
    votes : ndarray of int8, shape (K,)
        Vote vector estimated on the sample: +1 or -1 for each label.
    edge : float
        Edge estimated on the sample (H of [DF11]).
    below : ndarray of int8, shape (K,), or None
        Votes for phi = -1 in the search of a node of a tree, where `votes` are for phi = +1; None:
        the opposite ones.
    """

    feature: int
    threshold: int
    votes: NDArray[np.int8]
    edge: float
    below: NDArray[np.int8] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Stumps:
    """The best stump of each searched feature, in the order of the features.

    Attributes
    ----------
    feature : ndarray of int64, shape (Q,)
        Global feature indices.
    threshold : ndarray of int64, shape (Q,)
        Bin indices, 1 or more; 1 is the threshold -inf.
    votes : ndarray of int8, shape (Q, K)
        Vote vectors estimated on the sample: +1 or -1 for each label.
    edge : ndarray of float64, shape (Q,)
        Estimated edges H, between 0 and 1.
    divides : ndarray of bool, shape (Q,), or None
        Whether examples of the sample lie on both sides of the threshold.
    below : ndarray of int8, shape (Q, K), or None
        As of `Stump`.
    """

    feature: NDArray[np.int64]
    threshold: NDArray[np.int64]
    votes: NDArray[np.int8]
    edge: NDArray[np.float64]
    divides: NDArray[np.bool_] | None = None
    below: NDArray[np.int8] | None = None

    def __len__(self) -> int:
        return int(self.feature.size)

    def __getitem__(self, rows: ArrayLike | slice) -> Stumps:
        """The given rows: indices, a mask or a slice."""
        at = rows if isinstance(rows, slice) else np.atleast_1d(np.asarray(rows))
        if isinstance(at, np.ndarray) and at.size == 0:
            at = at.astype(np.intp)  # an empty list is one of floats
        chosen: list[Any] = [a if a is None else a[at] for a in arrays_of(self)]
        return Stumps(*chosen)

    def best(self) -> Stump:
        """The stump with the largest edge; of a tie the first that divides, or else the first."""
        if len(self) == 0:
            raise SettingError("best() needs at least 1 stump, got 0; search at least one feature")
        row = int(self.edge.argmax())
        if self.divides is not None and not self.divides[row]:  # others of its tie come later
            row = max(row, int((self.divides & (self.edge == self.edge[row])).argmax()))
        feature, threshold = int(self.feature[row]), int(self.threshold[row])
        below = None if self.below is None else self.below[row]
        return Stump(feature, threshold, self.votes[row], float(self.edge[row]), below)


def arrays_of(stumps: Stumps) -> list[Any]:
    """The arrays of the attributes, in their order; None where there is none."""
    s = stumps
    return [s.feature, s.threshold, s.votes, s.edge, s.divides, s.below]


@dataclass(frozen=True, slots=True, eq=False)
class Term:
    """One stump of the model; those of a round make its base classifier alpha o(x).

    The first term of a round is its root. A term's output is that of its child on the side of phi,
    if there is one, or else its votes of this side; it is multiplied by the outputs of the children
    of side 0. So a stump is one term, a product a term and its factors, a tree its inner nodes.

    Attributes
    ----------
    feature : int
    threshold : int
        Bin index.
    value : float
        Raw threshold: phi(x) = +1 if x >= value else -1.
    votes : ndarray of int8 or float64, shape (K,)
        Votes for phi = +1; values of an objective with real values.
    alpha : float
        Coefficient of the base classifier, the same for all terms of a round.
    below : ndarray of int8 or float64, shape (K,), or None
        Votes or values for phi = -1; None: the opposite ones.
    search : int
        Number of the search in the round that found the stump.
    parent : int
        Position in the round of the parent; -1 for the root.
    side : int
        Side of the parent that this term decides for, +1 or -1; 0 for factors and the root.
    """

    feature: int
    threshold: int
    value: float
    votes: NDArray[Any]
    alpha: float
    below: NDArray[Any] | None = None
    search: int = 0
    parent: int = -1
    side: int = 0


class NodeFeatures(NamedTuple):
    """How the features of a search of a node are drawn: n different ones, up to half of `again`.

    Attributes
    ----------
    n : int
    again : ndarray of int64, shape (t,)
        Features that were good before, the latest last. Entry s, from 1, is drawn with the
        probability (2 s - 1) / t^2.
    pool : ndarray of int64, shape (M,)
        What the others are drawn from; of all F features if it is empty.
    ends : ndarray of float64, shape (M,)
        Cumulated chances of the pool, for draws with replacement, of which repeats are left out;
        equal chances, and different features, if it is empty.
    """

    n: int
    again: NDArray[np.int64] = NO_FEATURES
    pool: NDArray[np.int64] = NO_FEATURES
    ends: NDArray[np.float64] = np.empty(0)


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result of one search, passed to `Strategy.learn` after the loop has finished the stump.

    Attributes
    ----------
    round : int
        Round, from 1.
    search : int
        Search in the round, from 0.
    feature : int
        Global index of the chosen feature.
    family : int
        Index of its family in `step.families`.
    edge_estimated : float
        Edge on the sample, H.
    edge : float
        Edge on all examples of the search, G.
    alpha : float
        Coefficient of a stump of this edge by a full step, whatever the step size of the run.
    cost : int
        Looks spent in the search, modelling included.
    n_examples : int
        Examples of the search: N, or those of a node of a tree.
    weight_share : float
        Their share of the weight of all N examples.
    whole : bool
        Whether the search was of all N examples, see `Step.whole`.
    """

    round: int
    search: int
    feature: int
    family: int
    edge_estimated: float
    edge: float
    alpha: float
    cost: int
    n_examples: int
    weight_share: float
    whole: bool


@dataclass(frozen=True, slots=True)
class Round:
    """What one round adds: `terms` to the model, `rows` to the history, one for each search.

    `edge` is the edge of the base classifier that the terms make. `log_loss`, the log of the loss
    after the round, is None for AdaBoost.MH: it follows from the edges, as alpha does.
    """

    terms: list[Term]
    rows: list[dict[str, Any]]
    edge: float
    log_loss: float | None = None

    @property
    def last(self) -> bool:
        """Whether training ends: an edge of 1 by a full step, or no search can find one above 0."""
        return bool(self.rows[-1]["stopped"])
