"""Records exchanged by strategies, learners and loop: stumps, samples, outcomes, terms, rounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from boostsample.errors import SettingError

__all__ = [
    "FamilyInfo",
    "Outcome",
    "Pool",
    "Round",
    "Sample",
    "Stump",
    "Stumps",
    "Term",
    "sample_members",
]

#: Largest family for which `Generator.choice` follows Floyd's algorithm whatever the number drawn.
_FLOYD = 10_000


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
    """

    feature: int
    threshold: int
    votes: NDArray[np.int8]
    edge: float


@dataclass(frozen=True, slots=True, eq=False)
class Stumps:
    """The best stump of each searched feature, in the order of the features.

    Attributes
    ----------
    feature, threshold : ndarray of int64, shape (Q,)
        Global feature indices, and bin indices.
    votes : ndarray of int8, shape (Q, K)
    edge : ndarray of float64, shape (Q,)
        Estimated edges H, between 0 and 1.
    """

    feature: NDArray[np.int64]
    threshold: NDArray[np.int64]
    votes: NDArray[np.int8]
    edge: NDArray[np.float64]

    def __len__(self) -> int:
        return int(self.feature.size)

    def __getitem__(self, rows: ArrayLike | slice) -> Stumps:
        """The given rows: indices, a mask or a slice."""
        at = rows if isinstance(rows, slice) else np.atleast_1d(np.asarray(rows))
        return Stumps(self.feature[at], self.threshold[at], self.votes[at], self.edge[at])

    def best(self) -> Stump:
        """The stump with the largest edge; the first one of a tie."""
        if len(self) == 0:
            raise SettingError("best() needs at least 1 stump, got 0; search at least one feature")
        row = int(self.edge.argmax())
        feature, threshold = int(self.feature[row]), int(self.threshold[row])
        return Stump(feature, threshold, self.votes[row], float(self.edge[row]))


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """Handle of a drawn sample for `Step.search` and `Step.edges`; valid in its step only.

    Attributes
    ----------
    size : int
        Looks that one feature costs on this sample, T.
    scheme : str
        Scheme of the draw, a name of `boostsample.shard.sampling_schemes.SCHEMES`.
    exact : bool
        Whether the sample is all N examples with their exact weights (T >= N).
    """

    size: int
    scheme: str
    exact: bool


@dataclass(frozen=True, slots=True)
class FamilyInfo:
    """A family as a strategy sees it: features `first` to `first + size - 1`."""

    name: str
    size: int
    first: int

    def sample(self, n: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw distinct members uniformly: global indices, int64 (min(n, size),); no looks."""
        if n < 0:
            raise SettingError(f"n must be 0 or more, got {n}; use 0 to draw nothing")
        if n >= self.size:
            return np.arange(self.first, self.first + self.size, dtype=np.int64)
        chosen = rng.choice(self.size, size=n, replace=False, shuffle=False)
        return np.asarray(chosen, dtype=np.int64) + self.first


def sample_members(
    families: Sequence[FamilyInfo], counts: Sequence[int], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Draw counts[k] distinct members of families[k], for every k; free of looks.

    Returns the same features, int64, and leaves `rng` in the same state as one call of
    `FamilyInfo.sample` for each family, but for nine families in 35 instead of 65 us.
    `Generator.choice` follows Floyd's algorithm, so one call can draw the numbers of all families.
    """
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


@dataclass(frozen=True, slots=True)
class Pool:
    """Size of the problem: families, number of features F and of examples N."""

    families: Sequence[FamilyInfo]
    n_features: int
    n_examples: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result of one search, passed to `Strategy.learn` after the loop has finished the stump.

    Attributes
    ----------
    round, search : int
        Round, from 1, and search in the round, from 0.
    feature, family : int
        The chosen feature and the index of its family in `step.families`.
    edge_estimated : float
        Edge on the sample, H.
    edge : float
        Edge on all N examples, G.
    alpha : float
        Coefficient of the stump.
    cost : int
        Looks spent in the search, modelling included.
    """

    round: int
    search: int
    feature: int
    family: int
    edge_estimated: float
    edge: float
    alpha: float
    cost: int


@dataclass(frozen=True, slots=True, eq=False)
class Term:
    """One stump of the model, finished on all N examples.

    Attributes
    ----------
    feature : int
    threshold : int
        Bin index.
    value : float
        Raw threshold: phi(x) = +1 if x >= value else -1.
    votes : ndarray of int8, shape (K,)
    alpha : float
    """

    feature: int
    threshold: int
    value: float
    votes: NDArray[np.int8]
    alpha: float


@dataclass(frozen=True, slots=True)
class Round:
    """What one round adds: `terms` to the model, `rows` to the history, one for each search."""

    terms: list[Term]
    rows: list[dict[str, Any]]

    @property
    def last(self) -> bool:
        """Whether training ends here because the edge reached 1."""
        return bool(self.rows[-1]["stopped"])
