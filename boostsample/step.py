"""Step: the interface of a strategy to one weak-learner search.

It gives no access to weights, labels or the bank. Each search is charged before its work. The loop
keeps a record of the searches, which detects stumps that were not searched and changed edges.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from boostsample.checks import check_features, check_integer, check_number
from boostsample.errors import SettingError, StrategyError
from boostsample.history import note_columns
from boostsample.planning.costs import (
    Ledger,
    copy_cost,
    draw_cost,
    round_cost,
    search_cost,
    values_cost,
)
from boostsample.records import NO_FEATURES, FamilyInfo, Sample, Stumps, arrays_of, sample_members
from boostsample.records.feature_tiles import sample_tile_members, sample_tiles
from boostsample.rows.protocol import SampleRows, TargetRows
from boostsample.rows.sampling_schemes import known_scheme

__all__ = ["Step"]


SHUFFLED = "shuffled"
"""The scheme of samples of `Step.draw_shuffled`."""


class _Searched(NamedTuple):
    """Record of one search, in arrays that strategies cannot write to.

    Or of the stages of a race in one call: the stumps of one follow those of the other. `stages`
    are Q and T of each, `of_all` is whether all labels were searched.
    """

    stumps: Stumps
    stages: Sequence[tuple[int, int]]
    purpose: str
    of_all: bool = True


class _Held(NamedTuple):
    """A sample of this step and the loop's record of it, which strategies cannot change."""

    sample: Sample
    rows: SampleRows
    size: int


class Step:
    """One weak-learner search, as a strategy sees it."""

    # Two underscores: Python mangles the names, so that a strategy does not reach them by accident.
    __slots__ = ("__families", "__ledger", "__notes", "__open", "__place", "__plans", "__records",
                 "__rng", "__rows", "__samples", "__size", "__whole")  # fmt: skip

    def __init__(
        self,
        rows: TargetRows,
        ledger: Ledger,
        rng: np.random.Generator,
        families: Sequence[FamilyInfo],
        place: tuple[int, int],
        whole: bool = True,
    ) -> None:
        self.__rows = rows
        self.__ledger = ledger
        self.__rng = rng
        self.__families = families
        self.__place = place
        self.__whole = whole
        self.__size = rows.n_examples, rows.n_labels
        self.__samples: dict[int, _Held] = {}
        self.__records: list[_Searched] = []
        self.__notes: dict[str, Any] = {}
        self.__open, self.__plans = True, False

    @property
    def rng(self) -> np.random.Generator:
        """Random stream of the strategy."""
        return self.__rng

    @property
    def round(self) -> int:
        """Number of the round, counted from 1."""
        return self.__place[0]

    @property
    def n_rounds(self) -> int:
        """Rounds planned; a run that reads them cannot be continued to more rounds."""
        self.__plans = True
        return self.__place[1]

    @property
    def n_examples(self) -> int:
        """Examples of this search: those with weight, N, or those of a node of a tree."""
        return self.__rows.n_examples

    @property
    def whole(self) -> bool:
        """Whether this search is of all N examples, and not of a node with all of them.

        Nodes must not change what these teach.
        """
        return self.__whole

    @property
    def n_features(self) -> int:
        """Features in the bank, F."""
        return self.__rows.n_features

    @property
    def n_labels(self) -> int:
        """Labels, K; 1 for two classes."""
        return self.__rows.n_labels

    @property
    def families(self) -> Sequence[FamilyInfo]:
        """The families of features."""
        return self.__families

    @property
    def budget(self) -> int:
        """Looks that may be spent in this step; nodes of trees have a part of the run's."""
        return self.__ledger.budget

    @property
    def spent(self) -> int:
        """Looks spent in this step so far, modelling included."""
        return self.__ledger.spent

    @property
    def remaining(self) -> int:
        """Looks left in this step."""
        return self.__ledger.budget - self.__ledger.spent

    def cost_of(self, stages: Sequence[tuple[int, int]], scheme: str = "iid") -> float:
        """What a round would cost that searches Q features on T examples, stage after stage.

        The samples are nested ones of the scheme. Draws, searches and finish are counted in nominal
        microseconds, by constants (`boostsample.planning.costs`): no clock is read.

        Parameters
        ----------
        stages : sequence of (int, int)
            Q and T of each search; N or more means all examples.
        scheme : str
            As for `draw`.

        Returns
        -------
        float
            Nominal microseconds; costs no looks.

        Raises
        ------
        SettingError
            If a Q or T is below 1, or `scheme` is unknown.
        """
        known_scheme(scheme)
        for q, size in stages:
            if not (type(q) is type(size) is int and q >= 1 and size >= 1):
                check_integer("stages: Q", q, 1)
                check_integer("stages: T", size, 1)
        cost = round_cost(stages, scheme, *self.__size)
        mean = sum(f.cost * f.size for f in self.__families) / self.n_features
        if mean:  # a value for each look, and those of the chosen feature
            looks = sum(q * min(size, self.n_examples) for q, size in stages)
            cost += values_cost(mean, looks + self.n_examples)
        return cost

    def draw(self, T: int, scheme: str = "iid") -> Sample:
        """Draw T examples, by most schemes in proportion to their weights; costs no looks.

        Parameters
        ----------
        T : int
            Number of examples, at least 1; N or more means all with their exact weights.
        scheme : str
            `iid` ([DF11] eq. 4-6), `stratified`, `distinct`, `order`, or a registered name. Edges
            are unbiased and have at most the variance of [DF11] eq. 7, or 1 / (T - 1) by `order`;
            `filter`, `mvs`, `goss`, `uniform` and `heaviest` promise neither; see
            `boostsample.rows.sampling_schemes`.

        Returns
        -------
        Sample
            Handle for `search` and `edges` of this step; several may be in use.

        Raises
        ------
        SettingError
            If `T` is below 1 or `scheme` is unknown.
        """
        self.__check_open()
        size = min(check_integer("T", T, 1, hint="draw at least one example"), self.n_examples)
        known_scheme(scheme)
        self.__ledger.cost += draw_cost(scheme, size, *self.__size)
        return self.__hold(self.__rows.sample(size, scheme, self.__rng), size, scheme)

    def draw_nested(self, sizes: Sequence[int], scheme: str = "iid") -> list[Sample]:
        """Draw samples of ascending sizes, each of which contains the one before; costs no looks.

        They take the time of the largest draw. The edges on each of them are unbiased, with at most
        the variance of one draw, if the scheme promises that. A sample of `iid` is T independent
        draws, one of `distinct`, `order`, `mvs`, `uniform` or `heaviest` has T different examples;
        with other schemes, each sample adds one of the scheme to the sample before.

        Parameters
        ----------
        sizes : sequence of int
            Numbers of examples, ascending, the first at least 1; N or more means all of them.
        scheme : str
            As for `draw`.

        Returns
        -------
        list of Sample
            One for each size.

        Raises
        ------
        SettingError
            If a size is below 1 or below the one before, or `scheme` is unknown.
        """
        self.__check_open()
        if not np.iterable(sizes):
            raise SettingError(f"sizes must be a sequence of integers, got {sizes!r}; see draw")
        checked, least = list[int](), 1
        for size in sizes:
            least = check_integer("sizes", size, least, hint="sizes of nested samples ascend")
            checked.append(min(least, self.n_examples))
        known_scheme(scheme)
        most = max((size for size in checked if size < self.n_examples), default=self.n_examples)
        self.__ledger.cost += draw_cost(scheme, most, *self.__size)
        drawn = self.__rows.nested_samples(checked, scheme, self.__rng)
        return [self.__hold(*pair, scheme) for pair in zip(drawn, checked, strict=True)]

    def draw_shuffled(self) -> Sample:
        """All examples with their exact weights, each with the features of another; costs no looks.

        No feature knows anything of their labels: edges on this sample are as large as chance makes
        them, for these weights and values, as in a permutation test. SettingError over shards.

        Returns
        -------
        Sample
            Of size N, for `search` and `edges` of this step; its stumps cannot be chosen.
        """
        self.__check_open()
        return self.__hold(self.__rows.shuffled(self.__rng), self.n_examples, SHUFFLED)

    @property
    def bounds_edges(self) -> bool:
        """Whether a stump of edge H on a mass W has at most W H + 1 - W on all examples.

        Not with `samme` and three classes or more, whose edges are no means over examples.
        """
        return self.__rows.bounds_edges

    def n_heaviest(self, mass: float) -> int:
        """How many of the heaviest examples have a share of the weight; costs no looks.

        Parameters
        ----------
        mass : float
            Share of the weight of all examples of this search, above 0 and at most 1.

        Returns
        -------
        int
            The least T for which ``draw(T, "heaviest")`` holds at least that share.

        Raises
        ------
        SettingError
            If `mass` is out of range.
        """
        self.__check_open()
        return self.__rows.n_heaviest(check_number("mass", mass, 0.0, 1.0, above=True))

    def sample_labels(self, n: int) -> NDArray[np.int64]:
        """Draw n different labels by their weight, for `search`; costs no looks, but O(N K) time.

        Parameters
        ----------
        n : int
            Number of labels, at least 1; K or more means all.

        Returns
        -------
        ndarray of int64
            Labels in ascending order, drawn one after another in proportion to the weight that the
            examples of this search have in them.

        Raises
        ------
        SettingError
            If `n` is below 1.
        """
        self.__check_open()
        n_labels = self.n_labels
        n = check_integer("n", n, 1, hint="draw at least one label")
        if n >= n_labels:
            return np.arange(n_labels)
        # A draw of n labels needs n chances above 0.
        masses = np.maximum(self.__rows.label_masses(), np.finfo(np.float64).tiny)
        drawn = self.__rng.choice(n_labels, n, replace=False, p=masses / masses.sum())
        return np.asarray(np.sort(drawn))

    def sample_features(self, n: int) -> NDArray[np.int64]:
        """Draw about n different features whose bins lie together; costs no looks.

        A bank can search them several times as fast on few examples. From 4,033 features on, these
        are whole tiles (`boostsample.records.feature_tiles`), each as likely as any other and a
        proportional sample of all families: at most n features, and fewer by less than n / 63. Of
        fewer features, n are drawn uniformly.

        Parameters
        ----------
        n : int
            Number of features, at least 1; F or more means all.

        Returns
        -------
        ndarray of int64
            Global feature indices.

        Raises
        ------
        SettingError
            If `n` is below 1.
        """
        n = check_integer("n", n, 1, hint="draw at least one feature")
        if n >= self.n_features:
            return np.arange(self.n_features)
        features = sample_tiles([family.size for family in self.__families], n, self.__rng)
        if features is None:
            return self.__rng.choice(self.n_features, size=n, replace=False, shuffle=False)
        return features

    def sample_members(self, counts: Sequence[int]) -> NDArray[np.int64]:
        """Draw counts[k] different members of family k, for every k; costs no looks.

        The members of a family are equally likely. Where bins lie together, see `sample_features`,
        their chances differ by up to 5 %, and they are not independent.

        Parameters
        ----------
        counts : sequence of int, one for each family
            From 0 to the size of the family.

        Returns
        -------
        ndarray of int64
            Global feature indices, family after family.

        Raises
        ------
        SettingError
            If the counts are not one for each family, or out of range.
        """
        of_families = self.__check_counts(counts)
        members = sample_tile_members(self.__families, of_families, self.__rng)
        if members is None:
            return sample_members(self.__families, of_families, self.__rng)
        return members

    def search(
        self,
        features: ArrayLike,
        sample: Sample,
        purpose: str = "search",
        labels: ArrayLike | None = None,
    ) -> Stumps:
        """Find the best stump of each feature on a sample.

        Parameters
        ----------
        features : array of int, shape (Q,)
            Global feature indices; repeated features are charged again.
        sample : Sample
            From `draw` of this step.
        purpose : {"search", "modelling"}
            Column of the ledger.
        labels : array of int, shape (k,), or None
            Different labels to search, see `sample_labels`; None means all. Edges count only these
            labels, in units of the weight of all; votes of the others are +1. The loop computes
            votes of all labels and the edge for the stump that is chosen.

        Returns
        -------
        Stumps
            In the order of `features`. Costs Q * min(T, N) looks, whatever the labels, charged
            before the work: fewer labels take less time, but read the same values.

        Raises
        ------
        BudgetExceeded
            If the cost exceeds `remaining`; nothing is searched then.
        SettingError
            If `features` are not indices below F, `labels` not different ones below K, `purpose` is
            unknown, or the objective or shards do not allow `labels`.
        StrategyError
            If the sample is of another step, or the step has ended.
        """
        held = self.__held(sample)
        checked = check_features(features, self.n_features)
        some = None if labels is None else self.__check_labels(labels)
        # The size is that of the loop's record, which a strategy cannot change.
        self.__ledger.charge(checked.size * held.size, purpose)
        self.__count_cost(checked, held.size, some)
        stumps = held.rows.search(checked) if some is None else held.rows.search(checked, some)
        if sample.scheme != SHUFFLED:
            stages = [(checked.size, held.size)]
            self.__records.append(_Searched(stumps, stages, purpose, some is None))
        return _frozen_copy(stumps)

    def race(
        self,
        features: ArrayLike,
        stages: Sequence[tuple[int, int]],
        scheme: str = "order",
        purpose: str = "search",
    ) -> Stumps:
        """Search features on nested samples, stage after stage; the best of each one go on.

        The same as `draw_nested` and a search of each sample, in less time: the stages on samples
        are searched in one call if the scheme is `order` and the bins lie in tiles.

        Parameters
        ----------
        features : array of int, shape (Q_1,)
            Global feature indices of the first stage.
        stages : sequence of (int, int)
            (Q, T) of each stage: the Q features of largest edges so far, the first of equal ones,
            are searched on T examples. Q descends, T ascends; N or more means all examples.
        scheme : str
            As for `draw`.
        purpose : {"search", "modelling"}
            Column of the ledger.

        Returns
        -------
        Stumps
            Of the last stage, in the order of the edges before it. Costs the sum of Q * min(T, N)
            looks, charged before the work.

        Raises
        ------
        BudgetExceeded
            If the cost exceeds `remaining`; nothing is drawn or searched then.
        SettingError
            If `features` are not indices below F, stages do not begin with their number, Q ascends,
            T descends, or scheme or purpose are unknown.
        """
        record = self.__race(features, stages, NO_FEATURES, scheme, purpose)[-1]
        if len(record.stages) == 1:
            return _frozen_copy(record.stumps)
        return _frozen_copy(record.stumps[-record.stages[-1][0] :])

    def race_again(
        self,
        features: ArrayLike,
        again: ArrayLike,
        stages: Sequence[tuple[int, int]],
        scheme: str = "order",
        purpose: str = "search",
    ) -> list[Stumps]:
        """`race` with features that were good in an earlier step; the stumps of all stages.

        Parameters
        ----------
        features, stages, scheme, purpose
            As for `race`.
        again : array of int, may be empty
            Global feature indices. Those that are not among the best of the stage before take its
            last places in the stage before the last, or in the last one of two, up to half of them.

        Returns
        -------
        list of Stumps
            Of each stage. Costs, and errors, are those of `race`.
        """
        others = check_features(again, self.n_features) if np.size(again) else NO_FEATURES
        of_stages = list[Stumps]()
        for record in self.__race(features, stages, others, scheme, purpose):
            first = 0
            for q, _ in record.stages:
                of_stages.append(_frozen_copy(record.stumps[first : first + q]))
                first += q
        return of_stages

    def __race(
        self,
        features: ArrayLike,
        stages: Sequence[tuple[int, int]],
        again: NDArray[np.int64],
        scheme: str,
        purpose: str,
    ) -> list[_Searched]:
        self.__check_open()
        candidates = check_features(features, self.n_features)
        n = self.n_examples
        plan = _check_stages(stages, candidates.size, n)
        known_scheme(scheme)
        self.__ledger.charge(sum([q * size for q, size in plan]), purpose)
        drawn = [stage for stage in plan if stage[1] < n]
        self.__ledger.cost += draw_cost(scheme, drawn[-1][1] if drawn else n, *self.__size)
        join, rows = max(1, len(plan) - 2), self.__rows
        records: list[_Searched] = []
        if drawn and scheme == "order":
            stumps = rows.race(candidates, drawn, self.__rng, again, join)
            if stumps is not None:
                records.append(_Searched(stumps, drawn, purpose))
                self.__ledger.cost += sum([search_cost(*stage, *self.__size) for stage in drawn])
        done = len(drawn) if records else 0
        if records and done < len(plan):
            candidates = _best_first(records[-1].stumps, drawn[-1][0])
        sizes = [size for _, size in plan[done:]]
        samples = rows.nested_samples(sizes, scheme, self.__rng) if sizes else []
        for at, sample in enumerate(samples, done):
            q, size = plan[at]
            searched = candidates[:q]
            if at == join and again.size:
                searched = _joined(again, searched)
            stumps = sample.search(searched)
            self.__count_cost(searched, size)
            records.append(_Searched(stumps, [plan[at]], purpose))
            if at + 1 < len(plan):
                candidates = _best_first(stumps, q)
        self.__records += records
        return records

    def edges(self, stumps: Stumps, sample: Sample, purpose: str = "search") -> NDArray[np.float64]:
        """Signed edges of given stumps on another sample: unbiased estimates for their votes.

        Returns float64 (Q,), between -1 and 1 up to rounding; by `order`, whose samples do not have
        the weight of all, larger ones too. Costs Q * min(T, N) looks, charged before the work.
        Raises the errors of `search`.
        """
        held = self.__held(sample)
        checked = self.__check_stumps(stumps)
        self.__ledger.charge(len(checked) * held.size, purpose)
        self.__count_cost(checked.feature, held.size)
        return held.rows.signed_edges(checked)

    def note(self, **beliefs: Any) -> None:
        """Add columns to the history row: scalars, or vectors as name_0, name_1, ...

        Raises SettingError if a vector is longer than max(32, number of families), or a name is
        reserved (`boostsample.history.HISTORY_NAMES`) or used twice.
        """
        self.__check_open()
        self.__notes = note_columns(beliefs, max(32, len(self.__families)), self.__notes)

    def __count_cost(
        self, features: NDArray[np.int64], size: int, labels: NDArray[np.int64] | None = None
    ) -> None:
        """Count the cost of a search, and of its values if they are computed on demand."""
        n_examples, n_labels = self.__size
        if labels is not None:
            self.__ledger.cost += copy_cost(size, n_labels)
            n_labels = labels.size
        self.__ledger.cost += search_cost(features.size, size, n_examples, n_labels)
        if self.__families[0].cost:  # of lazy banks, all families have one
            firsts, costs = zip(*((f.first, f.cost) for f in self.__families), strict=True)
            family = np.searchsorted(firsts, features, side="right") - 1
            self.__ledger.cost += values_cost(float(np.array(costs)[family].sum()), size)

    def __hold(self, rows: SampleRows, size: int, scheme: str) -> Sample:
        sample = Sample(size, scheme, size == self.n_examples and scheme != SHUFFLED)
        self.__samples[id(sample)] = _Held(sample, rows, size)
        return sample

    def __held(self, sample: Sample) -> _Held:
        self.__check_open()
        # By identity: a sample that was made by hand equals one of this step.
        held = self.__samples.get(id(sample))
        if held is None or held.sample is not sample:
            raise StrategyError(
                "this sample is not of this step; samples end with their step: "
                "draw a new one in each step"
            )
        return held

    def __check_open(self) -> None:
        if not self.__open:
            raise StrategyError(
                f"the step of round {self.round} has ended; use the step that choose() is given"
            )

    def __check_labels(self, labels: ArrayLike) -> NDArray[np.int64]:
        some = np.asarray(labels)
        good = some.ndim == 1 and some.size and some.dtype.kind in "iu"
        if (
            not (good and some.min() >= 0 and some.max() < self.n_labels)
            or np.unique(some).size != some.size
        ):
            raise SettingError(
                f"labels must be different integers from 0 to {self.n_labels - 1}, at least one, "
                f"got {some.tolist()!r:.60}; see Step.sample_labels"
            )
        return some.astype(np.int64)

    def __check_counts(self, counts: Sequence[int]) -> list[int]:
        counts, families = list(counts), self.__families
        if len(counts) != len(families):
            raise SettingError(
                f"counts must be one for each of the {len(families)} families, got {len(counts)}; "
                "use 0 for a family that is left out"
            )
        return [
            check_integer(f"counts[{k}]", count, 0, family.size)
            for k, (family, count) in enumerate(zip(families, counts, strict=True))
        ]

    def __check_stumps(self, stumps: Stumps) -> Stumps:
        """A checked copy of the stumps."""
        if not isinstance(stumps, Stumps):
            raise SettingError(
                f"in step.edges, stumps must be rows of what search returned, got a "
                f"{type(stumps).__name__}; keep one stump as stumps[[row]]"
            )
        feature = check_features(stumps.feature, self.n_features)
        threshold, votes = np.array(stumps.threshold), self.__check_votes("votes", stumps)
        below = None if stumps.below is None else self.__check_votes("below", stumps)
        if (
            threshold.shape != feature.shape
            or threshold.dtype.kind not in "iu"
            or threshold.min() < 1
            or threshold.max() > self.__rows.largest_threshold
        ):
            raise SettingError(
                "in step.edges, thresholds must be bin indices between 1 and "
                f"{self.__rows.largest_threshold}, one for each feature; pass stumps as search "
                "returned them"
            )
        edges = np.zeros(feature.size)
        return Stumps(feature, threshold.astype(np.int64), votes, edges, below=below)

    def __check_votes(self, name: str, stumps: Stumps) -> NDArray[np.int8]:
        votes, shape = np.array(getattr(stumps, name)), (len(stumps), self.__rows.n_labels)
        if votes.shape != shape or votes.dtype.kind != "i" or not np.all(np.abs(votes) == 1):
            raise SettingError(
                f"in step.edges, {name} must be +1 or -1 of shape {shape}, got {votes.dtype} of "
                f"shape {votes.shape}; pass stumps as search returned them"
            )
        return votes.astype(np.int8)

    def _end(self) -> tuple[list[_Searched], dict[str, Any], bool]:
        """Close the step; its searches, its notes, and whether it read `n_rounds`. For the loop."""
        self.__open = False
        self.__samples.clear()
        return self.__records, self.__notes, self.__plans

    def _found(self, feature: int, threshold: int) -> tuple[float, int, bool, bool]:
        """H and T of the latest search that holds this stump. For the loop.

        Also whether the stump divides the sample, and whether the search was of all labels.
        """
        for record in reversed(self.__records):
            stumps, end = record.stumps, len(record.stumps)
            for q, size in reversed(record.stages):
                row = end - q + int(stumps.edge[end - q : end].argmax())  # mostly it is the best
                if stumps.feature[row] != feature or stumps.threshold[row] != threshold:
                    of_stage = slice(end - q, end)
                    same = stumps.feature[of_stage] == feature
                    same &= stumps.threshold[of_stage] == threshold
                    row = end - q + int(same.argmax())
                    if not same[row - end]:
                        end -= q
                        continue
                divides = stumps.divides is not None and bool(stumps.divides[row])
                return float(stumps.edge[row]), size, divides, record.of_all
        raise StrategyError(
            f"choose() returned feature {feature} with threshold {threshold}, which was not "
            "searched in this step; return a row of what step.search returned"
        )


def _check_stages(
    stages: Sequence[tuple[int, int]], n_features: int, n_examples: int
) -> list[tuple[int, int]]:
    """Q and T of the stages of a race, T at most N."""
    plan: list[tuple[int, int]] = []
    most, least = n_features, 1
    for q, size in stages:
        lowest = 1 if plan else n_features
        if not (type(q) is type(size) is int and lowest <= q <= most and size >= least):
            hint = "Q descends from the features given"
            q = check_integer("stages: Q", q, lowest, most, hint)
            size = check_integer("stages: T", size, least, hint="T ascends")
        most, least = q, size
        plan.append((q, size if size < n_examples else n_examples))
    if not plan:
        raise SettingError("stages must be one (Q, T) or more, got none; see Step.race")
    return plan


def _best_first(stumps: Stumps, n: int) -> NDArray[np.int64]:
    """The features of the last n stumps, those of largest edges first, the first of equal ones."""
    order = np.argsort(-stumps.edge[-n:], kind="stable")
    return np.asarray(stumps.feature[-n:][order])


def _joined(again: NDArray[np.int64], best: NDArray[np.int64]) -> NDArray[np.int64]:
    """The best features, with others to search again in the last places, up to half of all."""
    others = again[~np.isin(again, best)][: best.size // 2]
    return np.concatenate([best[: best.size - others.size], others])


def _frozen_copy(stumps: Stumps) -> Stumps:
    """A copy that nothing can write to."""
    copies: list[Any] = [None if array is None else array.copy() for array in arrays_of(stumps)]
    for copied in copies:
        if copied is not None:
            copied.setflags(write=False)
    return Stumps(*copies)
