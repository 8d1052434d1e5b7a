"""What a strategy is and what it exchanges with the loop.

A strategy decides what one weak-learner search looks at. It is given a `Step` (what it may do and
see in this search), returns a `Stump`, and may learn from the `Outcome`. The loop owns the rest:
weights, votes, edges on all examples, alpha and the ledger.
"""

from __future__ import annotations

import abc
import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from boostsample.errors import SettingError

if TYPE_CHECKING:
    from boostsample.step import Step

__all__ = ["FamilyInfo", "Outcome", "Pool", "Sample", "Strategy", "Stump", "Stumps"]


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
        Vote vector estimated on the sample, +1 or -1 a label.
    edge : float
        Edge estimated on the sample (H of [DF11]).
    """

    feature: int
    threshold: int
    votes: NDArray[np.int8]
    edge: float


@dataclass(frozen=True, slots=True, eq=False)
class Stumps:
    """The best stump of each searched feature, rows in the order asked.

    Attributes
    ----------
    feature : ndarray of int64, shape (Q,)
    threshold : ndarray of int64, shape (Q,)
        Bin indices.
    votes : ndarray of int8, shape (Q, K)
    edge : ndarray of float64, shape (Q,)
        Estimated edges H; between 0 and 1.
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
        return Stump(
            int(self.feature[row]),
            int(self.threshold[row]),
            self.votes[row],
            float(self.edge[row]),
        )


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """A draw of examples, a handle for `Step.search` and `Step.edges`; it ends with its step.

    Attributes
    ----------
    size : int
        Examples T that a search on it pays for a feature.
    scheme : str
        How it was drawn: a name of `boostsample.sampling.SCHEMES`.
    exact : bool
        Whether it stands for all N examples with their exact weights (T >= N).
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
        """Draw distinct members uniformly: int64 (min(n, size),) global indices; free of looks."""
        if n < 0:
            raise SettingError(f"n must be 0 or more, got {n}; ask for at least no feature")
        if n >= self.size:
            return np.arange(self.first, self.first + self.size, dtype=np.int64)
        chosen = rng.choice(self.size, size=n, replace=False, shuffle=False)
        return np.asarray(chosen, dtype=np.int64) + self.first


@dataclass(frozen=True, slots=True)
class Pool:
    """What there is to look at: families, number of features F and of examples N."""

    families: Sequence[FamilyInfo]
    n_features: int
    n_examples: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one search, told to `Strategy.learn` after the loop has finished the stump.

    Attributes
    ----------
    round, search : int
        Which search: rounds count from 1, searches in a round from 0.
    feature, family : int
        The chosen feature and the index of its family in `step.families`.
    edge_estimated : float
        Edge on the sample, H.
    edge : float
        Edge on all N examples, G.
    alpha : float
        Coefficient that the stump was given.
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


class Strategy(BaseEstimator, abc.ABC):  # type: ignore[misc]  # scikit-learn ships no annotations
    """Base of all strategies; only `choose` must be written.

    Settings are stored unchanged by `__init__` and checked in `start` (scikit-learn's
    convention). State learned in a run lives in attributes whose names end in `_` and hold only
    arrays, scalars, strings, lists and dicts of these, so that a run can be saved and resumed to
    identical bits.
    """

    def default_budget(self, pool: Pool) -> int:
        """Looks a search when the user gives no budget: 10 N ([DF11] section 5.3)."""
        return 10 * pool.n_examples

    def tuning_grid(self) -> Mapping[str, Sequence[Any]]:  # an optional hook
        """Settings that deserve tuning, with the values that ``boostsample compare --tune`` tries.

        Their product is trained; none by default. What the user fixed is in `self` and need not be
        left out here, but a setting that has no effect beside it should be.
        """
        return {}

    def start(  # an optional hook that does nothing by default
        self, pool: Pool, budget: int, n_rounds: int, rng: np.random.Generator
    ) -> None:
        """Called once before the first round: check the settings, forget what was learned."""

    @abc.abstractmethod
    def choose(self, step: Step) -> Stump:
        """Choose one stump among those searched in this step, within `step.budget` looks."""

    def learn(self, outcome: Outcome) -> None:  # an optional hook, see above
        """Called after the loop has finished the stump that `choose` returned."""

    def state(self) -> dict[str, Any]:
        """A copy of what was learned: the attributes whose names end in one underscore."""
        return copy.deepcopy(
            {
                name: value
                for name, value in vars(self).items()
                if name.endswith("_") and not name.startswith("_")
            }
        )

    def restore(self, state: Mapping[str, Any]) -> None:
        """Forget what was learned and go back to a `state`."""
        for name in self.state():
            delattr(self, name)
        for name, value in copy.deepcopy(dict(state)).items():
            setattr(self, name, value)
