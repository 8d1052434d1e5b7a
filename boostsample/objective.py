"""Base class of objectives: they say what is boosted.

Strategies and learners see edges between 0 and 1 only. An objective gives the initial weights, what
a cut is worth in a search, what a base classifier adds to the scores of each label, and its edge
sqrt(1 - Z^2), Z the factor of the loss in the round. So rewards, mixtures and halvings keep their
meaning: for AdaBoost.MH this edge is G.

A *cell* is a side of a stump or a leaf of a tree. Sums S_l over i in the cell of w_il y_il and
masses M_l of w_il have the weight of all examples as unit; W+ = (M + S) / 2 and W- = (M - S) / 2.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from boostsample.errors import DataError, StrategyError
from boostsample.rows.derived_weights import Pairs
from boostsample.rows.weights import Factors, StepSize, continued_weights

__all__ = ["AdaBoostMH", "Judged", "Objective", "RealObjective", "best_votes"]

Array: TypeAlias = NDArray[np.float64]
_SIGNS = np.array([-1, 1], np.int8)
_SIDES = np.array([[-1.0], [1.0]])
#: Largest value of a cell: the exponential function of 710 overflows.
MOST_VALUE = 700.0


def best_votes(sums: Array) -> NDArray[np.int8]:
    """The best votes for label sums: int8 (K,); a label sum of 0 votes +1."""
    return _SIGNS.take(sums >= 0.0)


class Judged(NamedTuple):
    """A cut on all examples of its targets.

    Attributes
    ----------
    votes, below : ndarray, shape (K,)
        Votes, or values of a real-valued objective, for phi = +1 and for phi = -1; `below` None:
        the opposite ones.
    worth : float
        What the search maximises, in units of the weight of the targets: between 0 and 1.
    edge : float
        sqrt(1 - Z^2).
    """

    votes: NDArray[np.generic]
    below: NDArray[np.generic] | None
    worth: float
    edge: float


class Objective:
    """Base of the objectives whose base classifiers are alpha times votes of -1 and +1.

    Attributes
    ----------
    name : str
        Its name.
    two_sided : bool
        Whether both sides of a stump have votes of their own.
    classes : bool
        Whether each cell votes for one class; rows then have their weight in the column of their
        class.
    reads_masses : bool
        Whether votes depend on M beside S.
    exponential : bool
        Whether weights are in proportion to u_il exp(-y_il f_l(x_i)), as logistic draws need it.
    ranks : bool
        Whether weights are potentials of pairs of examples, one of each class, in a query.
    colors : bool
        Whether each round boosts one label, the colors of a random half of the classes.
    resamples : bool
        Whether each round begins with the initial weights times numbers of a bootstrap sample.
    measures_loss : bool
        Whether the factor of the loss is the sum of the weights after an update; if not, it
        follows from the edge.
    smooths : bool
        Whether smoothing bounds its coefficients; if not, runs refuse any but 0.
    ends_without_edge : str
        Why training ends at a base classifier without edge; empty if it goes on.
    """

    name: ClassVar[str] = ""
    two_sided: bool = False
    classes: bool = False
    reads_masses: bool = False
    exponential: bool = True
    ranks: bool = False
    colors: bool = False
    resamples: bool = False
    measures_loss: bool = False
    smooths: bool = True
    ends_without_edge: str = ""

    def __repr__(self) -> str:
        """The class and its settings."""
        settings = ", ".join(f"{name}={value!r}" for name, value in vars(self).items())
        return f"{type(self).__name__}({settings})"

    def check(self, n_labels: int, *, one_search: bool) -> None:
        """SettingError if K labels or the learner do not suit it."""

    def label_weights(self, Y: NDArray[np.int8], weights: Array) -> Array:
        """Initial weights, float64 (N, K), from labels and weights of `weight_init`."""
        return weights

    def example_weights(
        self,
        Y: NDArray[np.int8],
        weights: Array,
        scores: Array,
        queries: NDArray[np.int64] | None = None,
    ) -> Array:
        """The weights of examples, float64 (N,) of total 1, after rounds with these scores (N, K).

        From labels, weights of `weight_init` and queries (N,), None for one query; in O(N K).
        """
        weights = self.label_weights(Y, weights)
        if not self.resamples:
            weights, _ = continued_weights(weights, Y, scores)
        of_examples = np.add.reduce(weights, axis=1)
        if self.ranks:
            of_examples = Pairs(queries, Y[:, 0]).potentials(of_examples)
        return np.asarray(of_examples / math.fsum(of_examples))

    def step_size(
        self, learning_rate: float, smoothing: float, n_examples: int, n_labels: int
    ) -> StepSize:
        """The coefficient of a base classifier, and its part in loss and weights."""
        return StepSize(learning_rate, smoothing, n_examples)

    def votes(self, sums: Array, masses: Array | None) -> NDArray[np.generic]:
        """The votes of a cell (K,)."""
        return best_votes(sums)

    def worth(self, sums: Array) -> float:
        """What a cell is worth, in units of its sums."""
        return float(np.add.reduce(np.abs(sums)))

    def gain(self, sums: Array, whole: Array) -> float:
        """What a split adds to the worth of a cell: of S * phi, and of S itself.

        That is the sum over labels of max(0, abs(s) - abs(w)), since the halves have (w +- s) / 2.
        """
        return float(np.add.reduce(np.maximum(np.abs(sums) - np.abs(whole), 0.0)))

    def edges(self, worth: Array) -> Array:
        """The edges of base classifiers of this worth, in units of the weight of all examples."""
        return worth

    @property
    def maps_edges(self) -> Callable[[Array], Array] | None:
        """`edges`, or None if they are the worth."""
        return None if type(self).edges is Objective.edges else self.edges

    def edge(self, worth: float) -> float:
        """The edge for a worth: at most 1."""
        worth = min(worth, 1.0)
        return worth if self.maps_edges is None else float(self.edges(np.array([worth]))[0])

    @property
    def grows(self) -> bool:
        """Whether trees may grow in one call: cuts are judged as `mh` and `real-mh` do it."""
        base = RealObjective if isinstance(self, RealObjective) else Objective
        names = ["worth", "gain", "edges", "edge", "judge"]
        names += ["votes"] if base is Objective else ["edges_of_cells", "factors"]
        same = [getattr(type(self), name) is getattr(base, name) for name in names]
        return all(same) and not self.classes

    def judge(self, sums: Array, whole: Array, masses: Array | None, two_sided: bool) -> Judged:
        """Judge a cut: S * phi and S of its targets (K,), masses of both sides (2, K), normalised.

        `two_sided` asks for the worth of both sides as leaves.
        """
        below, above = 0.5 * (whole - sums), 0.5 * (whole + sums)
        if self.classes:
            worth = min(self.worth(below) + self.worth(above), 1.0)
            return Judged(self.votes(above, None), self.votes(below, None), worth, self.edge(worth))
        of_labels = np.abs(sums)
        if two_sided or self.two_sided:
            of_labels = np.maximum(of_labels, np.abs(whole))
        worth = min(float(np.add.reduce(of_labels)), 1.0)
        if self.two_sided:
            return Judged(self.votes(above, None), self.votes(below, None), worth, self.edge(worth))
        return Judged(best_votes(sums), None, worth, worth)


class AdaBoostMH(Objective):
    """Discrete AdaBoost.MH ([SS99] section 3): alpha times votes; the edge is G."""

    name = "mh"


class RealObjective(Objective, abc.ABC):
    """Base of the objectives whose cells have real values: only `values` must be written.

    A round adds nu c_jl to the score of label l in cell j and multiplies w_il by
    exp(-y_il nu c_jl); nu is the learning rate. Searches maximise the worth of votes, sum over j
    and l of abs(S_jl): on a sample, Z itself would be biased. Values and edge are exact.
    """

    two_sided = True
    reads_masses = True
    measures_loss = True
    smooths = False

    def __init__(self) -> None:
        self.n_examples = self.n_labels = 1

    @abc.abstractmethod
    def values(self, sums: Array, masses: Array) -> Array:
        """The values c_l of cells from S_l and M_l: float64 (..., K), K labels last.

        `n_examples` and `n_labels` are N and K.
        """

    def step_size(
        self, learning_rate: float, smoothing: float, n_examples: int, n_labels: int
    ) -> StepSize:
        """Steps whose coefficient is the learning rate."""
        self.n_examples, self.n_labels = n_examples, n_labels
        return RealStep(learning_rate, 0.0, n_examples)

    def votes(self, sums: Array, masses: Array | None) -> NDArray[np.generic]:
        """The values of a cell."""
        assert masses is not None
        return self.cell_values(sums, masses)

    def factors(self, values: Array, sums: Array, masses: Array) -> Array:
        """Sums over labels of W+ exp(-c) + W- exp(c) of cells (..., K): their parts of Z."""
        odds = each(math.exp, values)
        parts = 0.5 * ((masses + sums) / odds + (masses - sums) * odds)
        return np.asarray(np.add.reduce(parts, axis=-1))

    def edges_of_cells(self, values: Array, sums: Array, masses: Array) -> list[float]:
        """sqrt(1 - Z^2) of n base classifiers with cells (n, J, K); 0 for Z above 1."""
        all_z = [math.fsum(factors) for factors in self.factors(values, sums, masses).tolist()]
        return [math.sqrt(max(0.0, 1.0 - z * z)) for z in all_z]

    def judge(self, sums: Array, whole: Array, masses: Array | None, two_sided: bool) -> Judged:
        """As of `Objective`, with the values of both sides."""
        assert masses is not None
        sides = sums_of_sides(sums, whole)
        worth = min(float(np.add.reduce(np.maximum(np.abs(sums), np.abs(whole)))), 1.0)
        values = self.cell_values(sides, masses, of_sides=True)
        edge = self.edges_of_cells(values[None], sides, masses)[0]
        return Judged(values[1], values[0], worth, edge)

    def side_values(self, sums: Array, masses: Array) -> Array:
        """The values of both sides of a stump, below and above: all (2, K)."""
        return self.values(sums, masses)

    def cell_values(self, sums: Array, masses: Array, of_sides: bool = False) -> Array:
        """`values`, or `side_values`, in a new array; they cannot change their arguments.

        StrategyError if they are no array like `sums`, or if one is not finite or too large.
        """
        sums, masses = sums.view(), masses.view()
        sums.flags.writeable = masses.flags.writeable = False
        values: Any = (self.side_values if of_sides else self.values)(sums, masses)
        who = f"values() of the objective {type(self).__name__} must return"
        is_array = type(values) is np.ndarray  # masks of a subclass would be lost
        if not is_array or values.shape != sums.shape or values.dtype.kind not in "fiu":
            got = f"{values.dtype} {values.shape}" if is_array else f"a {type(values).__name__}"
            raise StrategyError(
                f"{who} an array of numbers with the shape of sums, {sums.shape}, got {got}; "
                "return one value for each of the sums"
            )
        moderate = np.abs(values) <= MOST_VALUE
        if not moderate.all():
            raise StrategyError(
                f"{who} finite values between -{MOST_VALUE:g} and {MOST_VALUE:g}, got "
                f"{values[~moderate][0]:g}; bound them, for example with np.clip"
            )
        return np.array(values, np.float64)


class RealStep(StepSize):
    """The coefficient of real values is the learning rate; the loss is measured."""

    def ends(self, edge: float) -> bool:
        """Never: values are finite."""
        return False

    def alpha(self, edge: float) -> float:
        """The learning rate."""
        return self.learning_rate


def sums_of_sides(sums: Array, whole: Array) -> Array:
    """Label sums with phi = -1, then +1: float64 (..., 2, K) from S * phi and S (..., K)."""
    return 0.5 * (whole[..., None, :] + _SIDES * sums[..., None, :])


def each(function: Callable[[float], float], values: Array) -> Array:
    """A function of `math` of each value: NumPy's depend on the processor in the last bit."""
    return np.array([function(value) for value in values.ravel().tolist()]).reshape(values.shape)


def real_factors(values: Array, rate: float, mass: float) -> Array:
    """exp(-y nu c) / mass for labels y = -1, then +1, of values c (J, K): float64 (J, 2, K)."""
    return each(math.exp, -rate * (_SIDES * values[:, None])) / mass


def vote_factors(votes: Sequence[NDArray[np.generic]], factors: Factors) -> Array:
    """Factors of labels y = -1, then +1, for votes of cells (K,): float64 (J, 2, K)."""
    plus = np.stack(votes).astype(np.float64) > 0.0
    return np.where(np.stack([~plus, plus], axis=1), factors.right, factors.wrong)


def check_one_class(Y: NDArray[np.int8], name: str) -> None:
    """DataError unless each example has one class: K columns with one +1, or K = 1."""
    if Y.shape[1] > 1 and (np.any((Y > 0).sum(axis=1) != 1) or not Y.all()):
        raise DataError(
            f"the objective {name!r} needs one class for each example, but some have none or "
            "several; use an objective for labels, such as 'mh'"
        )
