"""The metered step: everything that a strategy may do and see in one weak-learner search.

Weights, labels and the bank stay behind it. Each search is charged before its work, and the loop
keeps its own record of what was searched: a stump that was never searched here, or whose edge was
written over, is found out.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from boostsample.checks import check_integer
from boostsample.errors import SettingError, StrategyError
from boostsample.kernels.layout import N_BINS
from boostsample.records import FamilyInfo, Sample, Stumps

__all__ = ["OWN_NAMES", "Searched", "Step", "find"]


class Searcher(Protocol):
    """Draws and searches of one run, on one process or many: `boostsample.loop.searcher`."""

    @property
    def n_examples(self) -> int:
        """Examples with weight, N."""

    @property
    def n_labels(self) -> int:
        """Labels, K."""

    @property
    def n_features(self) -> int:
        """Features in the bank, F."""

    def draw(self, size: int, scheme: str, rng: np.random.Generator) -> Any:
        """Weighted rows of a draw of `size` examples; all with exact weights if `size` is N."""

    def search(self, features: NDArray[np.int64], rows: Any, exact: bool) -> Stumps:
        """The best stump of each feature on weighted rows."""

    def signed_edges(self, stumps: Stumps, rows: Any) -> NDArray[np.float64]:
        """The edges of given stumps on weighted rows."""


class Ledger(Protocol):
    """The looks of one search: `boostsample.loop.ledger`."""

    @property
    def budget(self) -> int:
        """Looks that may be spent."""

    @property
    def spent(self) -> int:
        """Looks spent so far."""

    def charge(self, cost: int, purpose: str) -> None:
        """Enter looks, or raise BudgetExceeded."""


class Searched(NamedTuple):
    """One search as the loop remembers it: its own copies, which no strategy can write to."""

    stumps: Stumps
    n_examples: int
    purpose: str


class _Held(NamedTuple):
    """A sample of this step, and the loop's own record of what it is."""

    sample: Sample
    rows: Any
    size: int
    exact: bool


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
        self.__samples: dict[int, _Held] = {}
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
        return self.__searcher.n_examples

    @property
    def n_features(self) -> int:
        """Features in the bank, F."""
        return self.__searcher.n_features

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
            `iid` ([DF11] eq. 4-6), `stratified` or `distinct`; see `boostsample.loop.sampling`.

        Returns
        -------
        Sample
            A handle for `search` and `edges` of this step. Several may be held.
        """
        self.__check_open()
        size = min(check_integer("T", T, 1, hint="draw at least one example"), self.n_examples)
        exact = size == self.n_examples
        rows = self.__searcher.draw(size, scheme, self.__rng)
        sample = Sample(size, scheme, exact)
        self.__samples[id(sample)] = _Held(sample, rows, size, exact)
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
        held = self.__held(sample)
        wanted = self.__check_features(features)
        self.__ledger.charge(wanted.size * held.size, purpose)
        stumps = self.__searcher.search(wanted, held.rows, held.exact)
        self.__records.append(Searched(stumps, held.size, purpose))
        return Stumps(
            _frozen_copy(stumps.feature),
            _frozen_copy(stumps.threshold),
            _frozen_copy(stumps.votes),
            _frozen_copy(stumps.edge),
        )

    def edges(self, stumps: Stumps, sample: Sample, purpose: str = "search") -> NDArray[np.float64]:
        """Signed edges of given stumps on another sample, so that an estimate can be honest.

        Returns float64 (Q,), between -1 and 1, unbiased for the votes of `stumps`. Costs Q *
        min(T, N) looks, charged before the work; raises BudgetExceeded as `search` does.
        """
        held = self.__held(sample)
        mine = self.__check_stumps(stumps)
        self.__ledger.charge(len(mine) * held.size, purpose)
        return self.__searcher.signed_edges(mine, held.rows)

    def note(self, **beliefs: Any) -> None:
        """Put beliefs into the history row: scalars, or vectors that become name_0, name_1, ...

        Vectors may be no longer than max(32, number of families); the row's own names are refused.
        """
        self.__check_open()
        longest = max(32, len(self.__families))
        columns: dict[str, Any] = {}
        for name, value in beliefs.items():
            numbers = _flat(name, value, longest)
            if not (OWN_NAMES.isdisjoint(numbers) and columns.keys().isdisjoint(numbers)):
                key = next(key for key in numbers if key in OWN_NAMES or key in columns)
                owner = "the loop" if key in OWN_NAMES else "another note"
                raise SettingError(
                    f"a note must not be named {key!r}, a column that {owner} writes; "
                    "choose another name"
                )
            columns.update(numbers)
        self.__notes.update(columns)

    def __held(self, sample: Sample) -> _Held:
        self.__check_open()
        held = self.__samples.get(id(sample))
        if held is None or held.sample is not sample:
            raise StrategyError(
                "this sample is not of this step; samples end with their step, "
                "draw anew in each one"
            )
        return held

    def __check_open(self) -> None:
        if not self.__open:
            raise StrategyError(
                f"the step of round {self.round} has ended; use the step that choose() is given"
            )

    def __check_features(self, features: ArrayLike) -> NDArray[np.int64]:
        """The features, as an array of the loop's own."""
        try:
            wanted = np.array(features, ndmin=1)
        except ValueError:  # ragged lists
            wanted = np.empty(0)
        if wanted.ndim != 1 or wanted.size == 0 or wanted.dtype.kind not in "iu":
            raise SettingError(
                f"features must be a non-empty vector of feature indices, got shape {wanted.shape} "
                f"of {wanted.dtype}; pass at least one integer"
            )
        wanted = wanted.astype(np.int64, copy=False)
        largest = np.maximum.reduce(wanted.view(np.uint64))  # a negative one is huge there
        if largest >= self.n_features:
            wrong = wanted[(wanted < 0) | (wanted >= self.n_features)][0]
            raise SettingError(
                f"features must be between 0 and {self.n_features - 1}, got {wrong}; "
                "see step.families for the indices of each family"
            )
        return wanted

    def __check_stumps(self, stumps: Stumps) -> Stumps:
        """The stumps, as arrays of the loop's own."""
        feature = self.__check_features(stumps.feature)
        threshold, votes = np.array(stumps.threshold), np.array(stumps.votes)
        shape = (feature.size, self.__searcher.n_labels)
        if votes.shape != shape or votes.dtype.kind != "i" or not np.all(np.abs(votes) == 1):
            raise SettingError(
                f"votes must be +1 or -1 of shape {shape}, got {votes.dtype} of shape "
                f"{votes.shape}; pass stumps as search returned them"
            )
        if (
            threshold.shape != feature.shape
            or threshold.dtype.kind not in "iu"
            or threshold.min() < 1
            or threshold.max() >= N_BINS
        ):
            raise SettingError(
                f"thresholds must be bin indices between 1 and {N_BINS - 1}, one a feature; "
                "pass stumps as search returned them"
            )
        return Stumps(
            feature, threshold.astype(np.int64), votes.astype(np.int8), np.zeros(feature.size)
        )

    def _end(self) -> tuple[list[Searched], dict[str, Any]]:
        """Close the step; what was searched and noted in it. For the loop."""
        self.__open = False
        self.__samples.clear()
        return self.__records, self.__notes


def find(feature: int, threshold: int, records: Sequence[Searched]) -> tuple[float, int]:
    """The edge H and the examples T of the newest search that holds this stump."""
    for record in reversed(records):
        stumps = record.stumps
        row = int(stumps.edge.argmax())  # strategies mostly choose the best
        if stumps.feature[row] != feature or stumps.threshold[row] != threshold:
            same = (stumps.feature == feature) & (stumps.threshold == threshold)
            row = int(same.argmax())
            if not same[row]:
                continue
        return float(stumps.edge[row]), record.n_examples
    raise StrategyError(
        f"choose() returned feature {feature} with threshold {threshold}, which was not searched "
        "in this step; return a row of what step.search returned"
    )


def _frozen_copy(array: NDArray[Any]) -> NDArray[Any]:
    """What a strategy is given: read-only, and no way to the loop's own record."""
    copied = array.copy()
    copied.setflags(write=False)
    return copied


def _flat(name: str, value: Any, longest: int) -> dict[str, Any]:
    """The columns that a note makes, as plain Python scalars."""
    if value is None or type(value) is float or (type(value) is int and abs(value) < 2**63):
        return {name: value}  # most notes; an array of one costs 1 us
    array = np.asarray(value)
    if array.ndim > 1 or array.size > longest or array.dtype.kind not in "biufUS":
        raise SettingError(
            f"the note {name!r} must be a scalar or a vector of at most {longest} numbers, got "
            f"shape {array.shape} of {array.dtype}; note a summary of it"
        )
    if array.ndim == 0:
        return {name: array.item()}
    return dict(zip(_columns(name, array.size), array.tolist(), strict=True))


@functools.lru_cache(maxsize=256)
def _columns(name: str, n: int) -> tuple[str, ...]:
    return tuple(f"{name}_{i}" for i in range(n))


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
