"""Base class of learners: they build the base classifier of one boosting round from searches.

A round adds alpha o(x) with o(x) in {-1, +1}^K to the model. A learner gets the `Targets` of all
examples. `search` lets the strategy choose a stump for some targets; `split` and `times` make
targets for further searches. The learner returns the targets of its leaves; for each leaf the loop
computes the best votes on all of its examples.
"""

from __future__ import annotations

import abc
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from boostsample.checks import check_integer, check_number
from boostsample.errors import SettingError, StrategyError
from boostsample.objective import Objective, best_votes
from boostsample.rows.protocol import RunRows, Stretch, TargetRows
from boostsample.rows.weights import EDGE_GAP, FULL_STEP

__all__ = [
    "EDGE_GAP",
    "NO_EDGE",
    "Found",
    "LeafLimits",
    "Learner",
    "Targets",
    "alpha_of",
    "best_votes",
]

#: Edges up to this are 0 but for rounding: float32 weights round by 6e-8.
NO_EDGE = 1e-7
#: Label sums of halves that are smaller than this part of the whole are summed again.
_CANCELLED = 1e-9


def alpha_of(edge: float) -> float:
    """1/2 log((1 + edge) / (1 - edge)), capped at edge = 1 - 1e-12 ([BK10] section 2.1).

    The coefficient of a full step; `Booster` has others with `learning_rate` and `smoothing`.
    """
    return FULL_STEP.alpha(edge)


class LeafLimits(NamedTuple):
    """Examples, and share of the weight of the run, that each side of a cut must hold at least."""

    rows: int
    weight: float

    def edges(
        self,
        totals: NDArray[np.float64],
        run_mass: float,
        two_sided: bool,
        classes: bool = False,
    ) -> NDArray[np.float64]:
        """Worth of all cuts of some features, float64 (Q, 255); -1 where a side holds too little.

        Reads `Searcher.bin_totals`, and the weight of all examples of the run in their units.
        `classes` is as of `Objective`.
        """
        below = np.cumsum(totals, axis=1)
        whole, below = below[:, -1:], below[:, :-1]
        above = whole - below
        least = np.minimum(below[..., :2], above[..., :2])
        admissible = (least >= (self.rows, self.weight * run_mass)).all(axis=2)
        if classes:
            heaviest = below[..., 2:].max(axis=2) + above[..., 2:].max(axis=2)
            return np.where(admissible, heaviest / whole[..., 1], -1.0)
        worth = np.abs(above - below)[..., 2:]
        if two_sided:
            np.maximum(worth, np.abs(whole[..., 2:]), out=worth)
        return np.where(admissible, worth.sum(axis=2) / whole[..., 1], -1.0)


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """Result of one search: a stump, finished on all examples of its targets.

    Attributes
    ----------
    search : int
        Number of the search in its round, from 0.
    feature : int
    threshold : int
        Bin index: phi(x) = +1 where the bin is at least this, else -1.
    value : float
        Raw threshold.
    votes, below : ndarray, shape (K,)
        The best votes on the targets, above and below the threshold; `below` None: the opposite
        ones. Values of an objective with real values.
    edge : float
        Edge on the targets, in units of their own weight: between 0 and 1. Of a two-sided search,
        that of the two halves as leaves.
    worth : float
        What the search maximises, likewise; the edge of discrete AdaBoost.MH.
    gain : float
        By how much a split raises the worth of a constant leaf, in units of the weight of all
        examples.
    masses : ndarray of float64, shape (2, K), or None
        Weights of the labels on both sides, in units of the weight of all examples, if the
        objective reads them.
    sums, whole : ndarray of float64, shape (K,)
        Sums over i of w_il y_il phi(x_i) and of w_il y_il, in units of the weight of all examples.
    row : dict
        Its history row.
    divides : bool
        Whether the sample that it was searched on has examples on both sides.
    complete : bool
        Whether all features were searched on all examples of the targets.
    admissible : bool
        Whether both sides hold what the limits of the search ask for. If not, no cut does that was
        tried: the stump counts as a constant, and both halves of a split have the votes of the
        whole.
    """

    search: int
    feature: int
    threshold: int
    value: float
    votes: NDArray[Any]
    below: NDArray[Any] | None
    edge: float
    worth: float
    gain: float
    masses: NDArray[np.float64] | None
    sums: NDArray[np.float64]
    whole: NDArray[np.float64]
    row: dict[str, Any]
    divides: bool
    complete: bool
    admissible: bool = True

    def __post_init__(self) -> None:
        _protect(self.votes, self.below, self.masses, self.sums, self.whole)


class SearchForTargets(Protocol):
    """The call from a learner back into the loop."""

    objective: Objective

    def __call__(self, targets: Targets, two_sided: bool, limits: LeafLimits | None) -> Found:
        """Let the strategy choose a stump and finish it on all examples of the targets."""
        ...


class Targets:
    """Examples, and labels for them, that a learner searches a stump for.

    The targets of a round begin with all examples and their labels. `split` divides the examples;
    `times` multiplies the labels by the outputs of a stump. `times_found` is that stump if it was
    found for the targets before: its votes are then the best ones, and their edge is its edge.
    """

    def __init__(
        self,
        rows: RunRows,
        search: SearchForTargets,
        stretch: Stretch,
        stumps: Sequence[Any] = (),
        path: Sequence[tuple[Any, int]] = (),
        sums: NDArray[np.float64] | None = None,
        split: list[Found] | None = None,
        votes: NDArray[Any] | None = None,
        masses: NDArray[np.float64] | None = None,
    ) -> None:
        self._rows = rows
        self._round = rows.round
        self._search = search
        self._sums, self._masses = sums, masses
        self._split: list[Found] = [] if split is None else split  # shared by targets of `times`
        self._found: Found | None = None
        self._votes, self._best = votes, votes
        self.times_found: Found | None = None
        self._two_sided = False
        self.stretch = stretch
        self.stumps = tuple(stumps)
        self.path = tuple(path)

    @property
    def n_examples(self) -> int:
        """Number of examples."""
        return self.stretch[1] - self.stretch[0]

    @property
    def sums(self) -> NDArray[np.float64]:
        """Label sums: sum over i of w_il y_il, in units of the weight of all examples; (K,)."""
        if self.n_examples == 0:
            return np.zeros(self._rows.n_labels)
        if self._sums is None:
            times = self.times_found
            known = None if times is None else times.votes * times.sums
            self._sums = self.read().sums / self._rows.mass if known is None else known
        _protect(self._sums)
        return self._sums

    @property
    def masses(self) -> NDArray[np.float64] | None:
        """Weights of the labels (K,), in the same units; None if the objective reads none."""
        if not self._search.objective.reads_masses:
            return None
        if self._masses is None:
            empty = self.n_examples == 0
            nothing = np.zeros(self._rows.n_labels)
            rows: Any = None if empty else self.read()
            self._masses = nothing if empty else rows.label_masses() / self._rows.mass
        _protect(self._masses)
        return self._masses

    @property
    def votes(self) -> NDArray[Any]:
        """The best votes (K,), or values; in a half of a cut that is not admissible, of the whole.

        With the stump of `times_found`, they are 1: the stump has them.
        """
        if self._best is None:
            times = self.times_found
            known = None if times is None else np.ones(times.votes.size, np.int8)
            objective = self._search.objective
            self._best = objective.votes(self.sums, self.masses) if known is None else known
        _protect(self._best)
        return self._best

    @property
    def edge(self) -> float:
        """Worth of the constant classifier with these votes, as of `Objective.worth` if best.

        Of all examples with the stump of `times_found`, it is the edge of that stump.
        """
        if self.times_found is not None and self.n_examples == self._rows.n_examples:
            return self.times_found.edge
        sums, objective = self.sums, self._search.objective
        if self._votes is None or objective.reads_masses:
            return objective.worth(sums)
        if objective.classes:
            return float(sums[self._votes.argmax()])
        return float(np.add.reduce(sums * self._votes))

    @property
    def mass(self) -> float:
        """Weight of the examples; all examples together have weight 1."""
        return self.read().mass / self._rows.mass if self.n_examples else 0.0

    def search(self, two_sided: bool = False, limits: LeafLimits | None = None) -> Found:
        """Let the strategy choose a stump for these targets: one search with its own budget.

        The budget is that of the round times the share of the examples, at least 10 looks. Each
        search is a history row, used or not.

        Parameters
        ----------
        two_sided : bool
            Whether the edge of a stump is that of its two halves as leaves, with votes of their
            own: for `split`. If not, the votes of the halves are opposite: for `times`.
        limits : LeafLimits or None
            What both sides must hold. The strategy does not know them. If a side of its stump holds
            too little, the cut with the largest edge within the limits takes its place: of all
            thresholds of this feature, and of the features that the strategy has searched on all
            examples of the targets.

        Raises
        ------
        StrategyError
            If there is no example, or if the strategy breaks a rule.
        SettingError
            If the limits are out of range.
        """
        if self.n_examples == 0:
            raise StrategyError("targets must hold an example to be searched, got none")
        if limits is not None:
            limits = _checked_limits(limits)
        self._two_sided = two_sided
        self._found = self._search(self, two_sided, limits)
        return self._found

    def split(self, stump: Found) -> tuple[Targets, Targets]:
        """The targets of the examples with phi = -1 and of those with phi = +1; O(n), no looks.

        Targets can be split once, or it is a StrategyError: the examples are put into the order of
        the split.
        """
        self._require_this_round()
        if self._split:
            raise StrategyError(
                "the examples of targets can be split once, got a second split() of them or of "
                "their times(); use the halves that split() returned"
            )
        self._split.append(stump)
        below, above = self._rows.split(self.stretch, stump)
        sums: list[Any] = [None, None]
        votes, masses = None, None
        if stump is self._found and not stump.admissible:
            votes = stump.votes
        elif stump is self._found:
            sums = [_exact(stump.whole, -stump.sums), _exact(stump.whole, stump.sums)]
            masses = stump.masses
        halves = []
        for k, stretch, side in zip((0, 1), (below, above), (-1, 1), strict=True):
            path = (*self.path, (stump, side))
            of_half = stretch, self.stumps, path, sums[k], None, votes
            known = None if masses is None or sums[k] is None else masses[k]
            halves.append(Targets(self._rows, self._search, *of_half, known))
        return halves[0], halves[1]

    def times(self, stump: Found) -> Targets:
        """These targets with labels multiplied by the outputs v_l phi(x) of a stump.

        A second time with the same stump undoes it. No looks; O(n) when they are searched.
        """
        stumps = tuple([other for other in self.stumps if other is not stump])
        if len(stumps) == len(self.stumps):
            stumps = (*stumps, stump)
        made = Targets(self._rows, self._search, self.stretch, stumps, self.path, None, self._split)
        opposite = not self._two_sided or self._search.objective.two_sided  # as without `two_sided`
        if stump is self._found and stump.admissible and opposite:
            made.times_found = stump
        return made

    def read(self, two_sided: bool = False, members: NDArray[np.int64] | None = None) -> TargetRows:
        """The rows of the targets, valid until others are read. For the loop."""
        self._require_this_round()
        return self._rows.target(self.stretch, self.stumps, two_sided, members)

    def belongs_to(self, rows: RunRows) -> bool:
        """Whether these are targets of the current round of a run. For the loop."""
        return rows is self._rows and rows.round == self._round

    def _require_this_round(self) -> None:
        if not self.belongs_to(self._rows):
            raise StrategyError(
                "targets must be those of this round, got targets of an earlier one; begin with "
                "the targets that learn() is given"
            )


def _checked_limits(limits: Any) -> LeafLimits:
    if not isinstance(limits, LeafLimits):
        raise SettingError(
            f"limits must be LeafLimits(rows, weight), got {limits!r:.60}; import it from "
            "boostsample.learner"
        )
    rows = check_integer("rows of LeafLimits", limits.rows, 1, hint="1 is no limit")
    weight = check_number("weight of LeafLimits", limits.weight, 0.0, 0.5, hint="0 is no limit")
    return LeafLimits(rows, weight)


def _protect(*arrays: NDArray[Any] | None) -> None:
    """Make the arrays that a learner sees read-only: the loop reads them again."""
    for array in arrays:
        if array is not None:
            array.flags.writeable = False


def _exact(whole: NDArray[np.float64], sums: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """Half the sum of both, or None if too little is left of one for its sign to be known."""
    half = 0.5 * (whole + sums)
    left = np.abs(half) >= _CANCELLED * np.abs(whole)
    return half if left.all() else None


class Learner(abc.ABC):
    """Base of the learners.

    Attributes
    ----------
    name : str
        Its name.
    one_search : bool
        Whether every round is one search whose stump is the base classifier. If not, history rows
        have the column `term`.
    """

    name: str
    one_search: bool = False

    def growth(self) -> int:
        """Most leaves, if `learn` is that of `Tree` without other limits; else 0.

        The loop then grows trees in one call where it can, to the same bits.
        """
        return 0

    def n_levels(self) -> int:
        """Levels of an oblivious tree, which the loop grows in place of `learn`; else 0."""
        return 0

    @abc.abstractmethod
    def learn(self, targets: Targets) -> list[Targets]:
        """Build a base classifier for the targets of all examples; return those of its leaves.

        A learner keeps nothing between rounds: states of a booster do not hold it.

        Each example must be in one leaf. On a leaf the classifier is the best constant vote vector,
        multiplied by the outputs of the stumps in `times`.
        """
