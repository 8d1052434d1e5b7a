"""The metered step: everything that a strategy may do and see in one weak-learner search.

Weights, labels and the bank stay behind it. Each search is charged before its work, and the loop
keeps its own record of what was searched: a stump that was never searched here, or whose edge was
written over, is found out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from boostsample.bank import FeatureBank
from boostsample.errors import SettingError, StrategyError
from boostsample.kernels.search import GROUP, N_BINS
from boostsample.ledger import Ledger
from boostsample.sampling import known_scheme
from boostsample.strategy import FamilyInfo, Sample, Stump, Stumps
from boostsample.weights import Rows, SignedWeights, aligned

__all__ = ["Searched", "Searcher", "Step"]

#: float32 sums of a search are this close to the exact edge; nearer ones are compared in float64.
_CLOSE = 1e-6
_MOST_COMPARED = 16


class Searched(NamedTuple):
    """One search as the loop remembers it."""

    stumps: Stumps
    n_examples: int
    purpose: str


class Searcher:
    """Stump search on the bank for one booster: kernels, work space, and the rule for ties."""

    def __init__(self, bank: FeatureBank, weights: SignedWeights) -> None:
        self.bank = bank
        self.weights = weights
        self._histograms = aligned(GROUP * N_BINS * weights.width, np.float32)

    def search(self, features: NDArray[np.int64], rows: Rows, exact: bool) -> Stumps:
        """The best stump of each feature on the given rows."""
        q = features.size
        thresholds = np.empty(q, np.int16)
        votes = np.empty((q, self.weights.n_labels), np.int8)
        edges = np.empty(q, np.float32)
        bins, at = self.bank.view(features)
        self.weights.kernels.search(
            bins,
            at,
            self.bank.n_bins[features],
            rows.start,
            rows.examples,
            rows.values,
            rows.base,
            self._histograms,
            thresholds,
            votes,
            edges,
        )
        wide = np.minimum(edges.astype(np.float64) * rows.scale, 1.0)
        stumps = Stumps(features, thresholds.astype(np.int64), votes, wide)
        if exact and q > 1:
            self._settle_ties(stumps, edges, rows)
        return stumps

    def _settle_ties(self, stumps: Stumps, rough: NDArray[np.float32], rows: Rows) -> None:
        """Recompute in float64 the edges that rounding cannot tell from the best one.

        Features of the same rounded edge share the edge of the first of them. Sums run in the
        order of the rows, so that equal cuts have equal bits and the first feature searched wins
        a tie.
        """
        near = np.flatnonzero(stumps.edge >= stumps.edge.max() - _CLOSE)
        values, first = np.unique(rough[near], return_index=True)
        if values.size < 2:
            return
        for value, row in list(zip(values, near[first], strict=True))[-_MOST_COMPARED:]:
            edge = np.abs(self.signed_edges(stumps[int(row)], rows))
            stumps.edge[near[rough[near] == value]] = min(float(edge[0]), 1.0)

    def column(self, feature: int) -> NDArray[np.uint8]:
        """The bins of one feature for every example of the bank: uint8 (n,)."""
        bins, at = self.bank.view(np.array([feature]))
        return np.asarray(bins[at[0]])

    def signed_edges(self, stumps: Stumps, rows: Rows) -> NDArray[np.float64]:
        """Sum w_il v_l phi(x_i) y_il of each stump on the given rows, normalised."""
        edges = np.empty(len(stumps))
        bins, at = self.bank.view(stumps.feature)
        self.weights.kernels.signed_edges(
            bins,
            at,
            stumps.threshold.astype(np.int16),
            np.ascontiguousarray(stumps.votes, dtype=np.int8),
            rows.start,
            rows.examples,
            rows.values,
            edges,
        )
        return edges * rows.scale


class Step:
    """One weak-learner search, as a strategy sees it.

    Attributes
    ----------
    rng : numpy.random.Generator
        The strategy's own stream.
    round, n_rounds : int
        This round, from 1, and how many are planned.
    n_examples, n_features : int
        N and F.
    budget, spent, remaining : int
        Looks.
    families : sequence of FamilyInfo
    """

    __slots__ = ("__families", "__ledger", "__notes", "__open", "__place", "__records", "__rng",
                 "__samples", "__searcher")  # fmt: skip

    def __init__(
        self,
        searcher: Searcher,
        ledger: Ledger,
        rng: np.random.Generator,
        families: Sequence[FamilyInfo],
        place: tuple[int, int],
    ) -> None:
        self.__searcher = searcher
        self.__ledger = ledger
        self.__rng = rng
        self.__families = families
        self.__place = place
        self.__samples: dict[Sample, Rows] = {}
        self.__records: list[Searched] = []
        self.__notes: dict[str, Any] = {}
        self.__open = True

    @property
    def rng(self) -> np.random.Generator:
        """The strategy's own random stream."""
        return self.__rng

    @property
    def round(self) -> int:
        """Number of the round, counted from 1."""
        return self.__place[0]

    @property
    def n_rounds(self) -> int:
        """Rounds planned."""
        return self.__place[1]

    @property
    def n_examples(self) -> int:
        """Examples with weight, N."""
        return self.__searcher.weights.n_examples

    @property
    def n_features(self) -> int:
        """Features in the bank, F."""
        return int(self.__searcher.bank.n_features)

    @property
    def families(self) -> Sequence[FamilyInfo]:
        """The families of features."""
        return self.__families

    @property
    def budget(self) -> int:
        """Looks that may be spent in this step."""
        return self.__ledger.budget

    @property
    def spent(self) -> int:
        """Looks spent in this step so far, modelling included."""
        return self.__ledger.spent

    @property
    def remaining(self) -> int:
        """Looks left in this step."""
        return self.__ledger.budget - self.__ledger.spent

    def draw(self, T: int, scheme: str = "iid") -> Sample:
        """Draw T examples in proportion to their weights; free of looks.

        Parameters
        ----------
        T : int
            Examples, at least 1. T >= N means all examples with their exact weights.
        scheme : str
            `iid` ([DF11] eq. 4-6), `stratified` or `distinct`; see `boostsample.sampling`.

        Returns
        -------
        Sample
            A handle for `search` and `edges` of this step. Several may be held.
        """
        self.__check_open()
        method, size = known_scheme(scheme), int(T)
        if size != T or size < 1:
            raise SettingError(
                f"T must be a whole number of at least 1, got {T}; draw at least one"
            )
        weights = self.__searcher.weights
        exact = size >= weights.n_examples
        sample = Sample(min(size, weights.n_examples), scheme, exact)
        self.__samples[sample] = (
            weights.exact() if exact else weights.draw(size, method, self.__rng)
        )
        return sample

    def search(self, features: ArrayLike, sample: Sample, purpose: str = "search") -> Stumps:
        """Find the best stump of each feature on a sample.

        Parameters
        ----------
        features : array of int, shape (Q,)
            Global feature indices; repeats are searched, and paid, again.
        sample : Sample
            From `draw` of this step.
        purpose : {"search", "modelling"}
            Column of the ledger.

        Returns
        -------
        Stumps
            Rows in the order asked. Costs Q * min(T, N) looks, charged before the work.

        Raises
        ------
        BudgetExceeded
            If the looks are more than `remaining`; nothing is searched then.
        """
        rows = self.__rows(sample)
        wanted = self.__check_features(features)
        self.__ledger.charge(wanted.size * sample.size, purpose)
        stumps = self.__searcher.search(wanted, rows, sample.exact)
        mine = Stumps(*(_frozen(a) for a in (wanted, stumps.threshold, stumps.votes, stumps.edge)))
        self.__records.append(Searched(mine, sample.size, purpose))
        return mine

    def edges(self, stumps: Stumps, sample: Sample, purpose: str = "search") -> NDArray[np.float64]:
        """Signed edges of given stumps on another sample, so that an estimate can be honest.

        Returns float64 (Q,), between -1 and 1, unbiased for the votes of `stumps`. Costs Q *
        min(T, N) looks, charged before the work; raises BudgetExceeded as `search` does.
        """
        rows = self.__rows(sample)
        wanted = self.__check_features(stumps.feature)
        n_labels = self.__searcher.weights.n_labels
        if stumps.votes.shape != (wanted.size, n_labels) or not np.all(np.abs(stumps.votes) == 1):
            raise SettingError(
                f"votes must be +1 or -1 of shape ({wanted.size}, {n_labels}), got "
                f"shape {stumps.votes.shape}; pass stumps as search returned them"
            )
        if stumps.threshold.shape != wanted.shape or np.any(stumps.threshold < 1):
            raise SettingError(
                "thresholds must be bin indices of at least 1, one a feature; "
                "pass stumps as search returned them"
            )
        self.__ledger.charge(wanted.size * sample.size, purpose)
        return self.__searcher.signed_edges(stumps, rows)

    def note(self, **beliefs: Any) -> None:
        """Put beliefs into the history row: scalars, or vectors that become name_0, name_1, ...

        Vectors may be no longer than max(32, number of families); the row's own names are refused.
        """
        self.__check_open()
        longest = max(32, len(self.__families))
        for name, value in beliefs.items():
            for key, number in _flat(name, value, longest):
                if key in OWN_NAMES:
                    raise SettingError(
                        f"a note must not be named {key!r}, a column that the loop writes; "
                        "choose another name"
                    )
                self.__notes[key] = number

    def __rows(self, sample: Sample) -> Rows:
        self.__check_open()
        rows = self.__samples.get(sample)
        if rows is None:
            raise StrategyError(
                f"the sample of {sample.size} examples is not of this step; samples end with "
                "their step, draw anew in each one"
            )
        return rows

    def __check_open(self) -> None:
        if not self.__open:
            raise StrategyError(
                f"the step of round {self.round} has ended; use the step that choose() is given"
            )

    def __check_features(self, features: ArrayLike) -> NDArray[np.int64]:
        wanted = np.array(features, ndmin=1)
        if wanted.ndim != 1 or wanted.size == 0 or wanted.dtype.kind not in "iu":
            raise SettingError(
                f"features must be a non-empty vector of feature indices, got shape {wanted.shape} "
                f"of {wanted.dtype}; pass at least one integer"
            )
        wanted = wanted.astype(np.int64, copy=False)
        if wanted.min() < 0 or wanted.max() >= self.n_features:
            wrong = wanted[(wanted < 0) | (wanted >= self.n_features)][0]
            raise SettingError(
                f"features must be between 0 and {self.n_features - 1}, got {wrong}; "
                "see step.families for the indices of each family"
            )
        return wanted

    def _end(self) -> tuple[list[Searched], dict[str, Any]]:
        """Close the step; what was searched and noted in it. For the loop."""
        self.__open = False
        self.__samples.clear()
        return self.__records, self.__notes


def find(stump: Stump, records: Sequence[Searched]) -> tuple[float, int]:
    """The edge H and the examples T of the newest search that holds this stump."""
    for record in reversed(records):
        same = (record.stumps.feature == stump.feature) & (
            record.stumps.threshold == stump.threshold
        )
        row = int(np.argmax(same))
        if same[row]:
            return float(record.stumps.edge[row]), record.n_examples
    raise StrategyError(
        f"choose() returned feature {stump.feature} with threshold {stump.threshold}, which was "
        "not searched in this step; return a row of what step.search returned"
    )


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    array.flags.writeable = False
    return array


def _flat(name: str, value: Any, longest: int) -> list[tuple[str, Any]]:
    """The columns that a note makes, as plain Python scalars."""
    if value is None or isinstance(value, str):
        return [(name, value)]
    array = np.asarray(value)
    if array.ndim > 1 or array.size > longest or array.dtype.kind not in "biufUS":
        raise SettingError(
            f"the note {name!r} must be a scalar or a vector of at most {longest} numbers, got "
            f"shape {array.shape} of {array.dtype}; note a summary of it"
        )
    if array.ndim == 0:
        return [(name, array.item())]
    return [(f"{name}_{i}", number) for i, number in enumerate(array.tolist())]


#: Columns of a history row that the loop writes.
OWN_NAMES = frozenset(
    {
        "round",
        "search",
        "family",
        "feature",
        "threshold",
        "n_features",
        "n_examples",
        "edge_estimated",
        "edge",
        "alpha",
        "log10_loss",
        "looks_search",
        "looks_modelling",
        "looks_finish",
        "values_computed",
        "seconds",
        "stopped",
    }
)
