"""Stable selection: features that halves of the rows choose again and again.

Complementary pairs stability selection [SS13]: the rows are divided at random, by class, into two
halves, many times; a fit of stumps on each half goes on until it has chosen so many different
features; those that most halves have chosen are selected.

Halves choose among correlated features at will, so that each has a part of the share. Features are
therefore grouped: the one that most halves have chosen, with all chosen ones whose bins have a
correlation with its bins of at least `correlated`; the group has the share of the halves that have
chosen any of it. The number p of features in the bound is then that of the features without such
neighbours, about: the sum over the features of 1 / (1 + its neighbours), which at least so many
uncorrelated features have (Caro and Wei), estimated from some of them.

Bounds. B pairs of disjoint halves select at most q of p features each. A feature is selected if it
was so by a share pi of the 2 B halves. Among the features that a half selects with a probability of
at most q / p, which is what chance alone gives if it treats all alike, the expected number selected
is at most

- q^2 / ((2 pi - 1) p), whatever the distribution of the shares ([SS13] theorem 1, as in [MB10]);
- p min(D(q^2 / p^2, 2 pi - 1, B, -1/2), D(q / p, pi, 2 B, -1/4)) if the shares of halves are
  -1/4-concave and those of whole pairs -1/2-concave ([SS13] eq. 8), which is much less.

- [MB10] N. Meinshausen and P. Bühlmann, Stability selection, JRSS B 72, 2010.
- [SS13] R. Shah and R. Samworth, Variable selection with error control: another look at stability
  selection, JRSS B 75, 2013.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq, minimize_scalar

from boostsample.banks.bank import Bank
from boostsample.banks.bank_forms import make_bank
from boostsample.checks import (
    check_count,
    check_integer,
    check_known,
    check_number,
    warn_of_merged_columns,
)
from boostsample.classifier.defaults import choose_objective, choose_smoothing
from boostsample.classifier.fit_run import fit_seed
from boostsample.classifier.inputs.fit_inputs import (
    check_fit_inputs,
    inputs_are_numbers,
    make_families,
    merged_columns,
)
from boostsample.classifier.inputs.frames import frame_of
from boostsample.classifier.inputs.held_rows import FitRows
from boostsample.errors import DataError, SettingError
from boostsample.learner import NO_EDGE
from boostsample.loop.booster import Booster
from boostsample.registry import make_objective
from boostsample.strategy import Strategy

WORST_CASE, R_CONCAVE = "worst-case", "r-concave"
BOUNDS = (WORST_CASE, R_CONCAVE)
LEAST_SHARE = 0.6
"""Smallest share of the halves to select by: the bounds are for features without any signal."""
_USUAL_SHARE = 0.75
"""Share by which the number of features of a half is chosen."""
_MOST = 20
"""Features of a half, if they are chosen: more find a little more, at that many times the cost."""
_SMALLEST, _LARGEST = 1e-12, 1e6
"""Shifts a of densities (a + i)^(1 / r), from all mass at 0 to the uniform one."""


def expected_false(
    n_chosen: int, n_candidates: float, n_shares: int, n_pairs: int, bound: str
) -> float:
    """The bound for q of p features of a half, selected by `n_shares` or more of the 2 B halves."""
    share, part = n_shares / (2 * n_pairs), min(n_chosen / n_candidates, 1.0)
    if share <= 0.5:
        return math.inf
    worst = n_chosen * part / (2 * share - 1)
    if bound == WORST_CASE:
        return worst
    tails = (
        concave_tail(part**2, n_shares - n_pairs, n_pairs, -0.5),
        concave_tail(part, n_shares, 2 * n_pairs, -0.25),
    )
    return min(worst, n_candidates * min(tails))


def needed_shares(
    n_chosen: int, n_candidates: float, n_pairs: int, max_false: float, bound: str
) -> int | None:
    """The fewest of the 2 B halves to select by, so that the bound holds; None if all are too few.

    At least the share `LEAST_SHARE` of them.
    """
    fewest = math.ceil(round(LEAST_SHARE * 2 * n_pairs, 9))
    for n_shares in range(fewest, 2 * n_pairs + 1):
        if expected_false(n_chosen, n_candidates, n_shares, n_pairs, bound) <= max_false:
            return n_shares
    return None


def usual_chosen(n_candidates: float, n_pairs: int, max_false: float, bound: str) -> int:
    """The features of a half if the user gives none: up to 20, so that a share of 3/4 suffices."""
    n_shares = math.ceil(_USUAL_SHARE * 2 * n_pairs)
    for n_chosen in range(min(_MOST, int(n_candidates)), 1, -1):
        if expected_false(n_chosen, n_candidates, n_shares, n_pairs, bound) <= max_false:
            return n_chosen
    return 1


@functools.cache
def concave_tail(mean: float, at_least: int, n: int, r: float) -> float:
    """D: the largest P(n X >= `at_least`) of an r-concave X on {0, 1/n, ..., 1} of at most a mean.

    f is r-concave, r < 0, if f^r is convex. [SS13] appendix A.4: f is then (a + i)^(1 / r) on 0 to
    k, and less than that on k + 1, and takes the mean.
    """
    total, power = mean * n, 1.0 / r
    first = math.ceil(2 * total)  # the uniform density on 0 to k has the mean k / 2
    if at_least <= first or at_least <= 0:
        return 1.0
    if at_least > n:
        return 0.0
    steps = np.arange(n + 1.0)

    def density(a: float, k: int) -> NDArray[np.float64]:
        return np.asarray(((a + steps[: k + 1]) / (a + 1.0)) ** power)

    def shift(k: int) -> float:
        """The a whose density on 0 to k has the mean."""

        def excess(log_a: float) -> float:
            f = density(math.exp(log_a), k)
            return float(f @ steps[: k + 1] / f.sum()) - total

        low, high = math.log(_SMALLEST), math.log(_LARGEST)
        if excess(high) <= 0.0:
            return _LARGEST
        if excess(low) >= 0.0:
            raise SettingError(f"the expected share must be at least 1e-24 / n, got {mean}")
        return math.exp(float(brentq(excess, low, high, xtol=1e-12)))

    def below(log_a: float, k: int) -> float:
        f = density(math.exp(log_a), k)
        return (k + 1 - total) * float(f[:at_least].sum()) / float((k + 1 - steps[: k + 1]) @ f)

    best = 1.0
    for k in range(max(first, at_least - 1), n):
        ends = math.log(shift(k + 1)), math.log(shift(k))
        found = float(minimize_scalar(below, bounds=ends, args=(k,), method="bounded").fun)
        best = min(best, found, below(ends[0], k), below(ends[1], k))
    return max(0.0, 1.0 - best)


_STREAM = 3
"""Of the random numbers of a fit; others divide rows and train members."""
_MOST_PAIRS = 10_000
_ROUNDS = 10
"""Most rounds of a half for each feature that it is to choose."""
_ROWS, _SAMPLE = 1000, 300
"""Most rows that correlations are computed on, and most features whose neighbours are counted."""
_BLOCK = 4096
_ROUNDING = 1e-5
_SHOWN = 20


class StableFeature(NamedTuple):
    """A feature with those that it is correlated with, by the share of the halves."""

    name: str
    feature: int
    """Its number; in a table without categories and groups of columns, its column."""
    share: float
    """Of the halves that have chosen it or one of `correlated`."""
    own_share: float
    correlated: tuple[str, ...]
    """Other features that halves have chosen, the most frequent first."""


@dataclass(frozen=True)
class SelectedFeatures:
    """The result of `selected_features`; a text when printed.

    Attributes
    ----------
    candidates : tuple of StableFeature
        All that a half has chosen, by falling share.
    threshold : float
        Share from which features are selected.
    n_chosen, n_pairs : int
        Features that a half has chosen at most, q, and pairs of halves.
    n_features : int
        Features that are not constant, in up to 1,000 rows.
    n_uncorrelated : float
        p: about as many of them are without neighbours among each other.
    worst_case, r_concave : float
        Bounds on the expected number of features that are selected by chance.
    """

    candidates: tuple[StableFeature, ...]
    threshold: float
    n_chosen: int
    n_pairs: int
    n_features: int
    n_uncorrelated: float
    worst_case: float
    r_concave: float

    @property
    def selected(self) -> tuple[StableFeature, ...]:
        """Those whose share is at least the threshold, none if there are none."""
        return tuple(one for one in self.candidates if one.share >= self.threshold)

    @property
    def names(self) -> list[str]:
        """Names of the selected features."""
        return [feature.name for feature in self.selected]

    def to_frame(self) -> Any:
        """A data frame of all candidates with the column ``selected``."""
        import pandas

        frame = pandas.DataFrame(self.candidates, columns=list(StableFeature._fields))
        frame.insert(0, "selected", frame["share"] >= self.threshold)
        return frame

    def __str__(self) -> str:
        """The selected features, or that there is none, and the bounds."""
        halves = (
            f"{self.threshold:.0%} of {2 * self.n_pairs:,} halves of the rows, each of which has "
            f"chosen {self.n_chosen:,} of {self.n_features:,} features"
        )
        chosen = self.selected
        if chosen:
            word = "feature is" if len(chosen) == 1 else "features are"
            lines = [f"{len(chosen):,} {word} selected: in at least {halves}"]
        else:
            lines = [f"no feature is selected: none was in {halves}"]
            if self.candidates:
                first = self.candidates[0]
                lines.append(f"the most frequent is {first.name}, in {first.share:.0%}")
        for feature in chosen[:_SHOWN]:
            others = ", ".join(feature.correlated[:3]) + ", ..." * (len(feature.correlated) > 3)
            correlated = f" (correlated: {others})" if others else ""
            lines.append(f"{feature.share:7.0%}  {feature.name}{correlated}")
        if len(chosen) > _SHOWN:
            lines.append(f"         and {len(chosen) - _SHOWN:,} more")
        lines.append(
            f"expected to be selected by chance: at most {self.worst_case:.2g}; "
            f"{self.r_concave:.2g} if shares are r-concave"
        )
        return "\n".join(lines)


class StableSelectionMixin:
    """The method `selected_features` of the classifier."""

    strategy: Any
    families: Any
    random_state: Any
    n_jobs: int
    bank: str
    weight_init: str
    learning_rate: float
    smoothing: float | str
    objective: Any

    def selected_features(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        max_false: float = 1.0,
        n_chosen: int | None = None,
        n_pairs: int = 50,
        correlated: float | None = 0.8,
        bound: str = WORST_CASE,
        strategy: str | Strategy = "full",
    ) -> SelectedFeatures:
        """Features that hold up when fits are repeated on halves of the rows; none may be.

        The classifier need not be fitted, and is not changed. Its families, bank, weights of
        classes and of labels, step size, seed and threads are used; the learner is the stump.

        Parameters
        ----------
        X, y, sample_weight : as for `fit`
        max_false : float, default 1.0
            Bound on the expected number of features that are selected by chance, above 0.
        n_chosen : int or None, default None
            Features that a half chooses, q. None is up to 20, and fewer of few features, so that
            three quarters of the halves suffice.
        n_pairs : int, default 50
            Pairs of halves, at least 2.
        correlated : float or None, default 0.8
            Correlation of the bins, above 0 and at most 1, from which features share their halves;
            None looks at each for itself.
        bound : {"worst-case", "r-concave"}, default "worst-case"
            What `max_false` bounds; "r-concave" assumes more and asks for smaller shares.
        strategy : str or Strategy, default "full"
            Searches the stumps of a half.

        Returns
        -------
        SelectedFeatures
            Features with their shares; the threshold follows from the bound, and is at least 0.6.

        Raises
        ------
        DataError
            If X, y or weights cannot be learned from, or a class has one row only.
        SettingError
            If a setting is out of range, or no threshold keeps the bound.

        Notes
        -----
        The bound is for features that a half chooses no more often than by chance; see
        `boostsample.classifier.stable_selection` and docs/selection.md. Cost: 2 `n_pairs` fits of
        about q rounds of stumps, one search of half of the rows each.
        """
        max_false = check_number("max_false", max_false, 0.0, above=True)
        n_pairs = check_count("n_pairs", n_pairs, _MOST_PAIRS, 2)
        if n_chosen is not None:
            n_chosen = check_integer("n_chosen", n_chosen, 1)
        if correlated is not None:
            correlated = check_number("correlated", correlated, 0.0, 1.0, above=True)
        check_known("bound", bound, BOUNDS)
        X = frame_of(X)
        numbers = inputs_are_numbers(self.families)
        inputs = check_fit_inputs(self, X, y, sample_weight, numbers=numbers)
        rows, multi_label, seen = inputs.rows, inputs.multi_label, inputs.seen
        families = make_families(self.families, X, rows.examples, seen)
        bank = make_bank(self.bank, families, rows.examples, None, n_jobs=self.n_jobs)
        stream = np.random.SeedSequence(fit_seed(self.random_state), spawn_key=(_STREAM,))
        of_rows, of_halves = stream.spawn(2)
        rng = np.random.default_rng(of_rows)
        n_features, p = count_uncorrelated(bank, correlated, rng)
        if n_chosen is None:
            n_chosen = usual_chosen(p, n_pairs, max_false, bound)
        n_shares = needed_shares(n_chosen, p, n_pairs, max_false, bound)
        if n_shares is None:
            raise SettingError(
                f"n_chosen={n_chosen:,} of about {p:,.0f} uncorrelated features must keep the "
                f"bound max_false={max_false:g} if all halves agree, but it is "
                f"{expected_false(n_chosen, p, 2 * n_pairs, n_pairs, bound):.3g}; choose fewer, or "
                "allow more"
            )
        pairs = complementary_halves(rows.labels, n_pairs, rng, multi_label)
        seeds = of_halves.spawn(2 * n_pairs)
        chosen = []
        for half, seed in zip(itertools.chain.from_iterable(pairs), seeds, strict=True):
            booster = self._booster_of_half(bank, rows, half, n_chosen, strategy, seed)
            chosen.append(chosen_features(booster, bank.reader(half), half, n_chosen))
        warn_of_merged_columns(merged_columns(families, bank.n_bins, rows.examples))
        bounds = (expected_false(n_chosen, p, n_shares, n_pairs, name) for name in BOUNDS)
        candidates = grouped_features(bank, chosen, correlated, rng)
        threshold = n_shares / (2 * n_pairs)
        return SelectedFeatures(candidates, threshold, n_chosen, n_pairs, n_features, p, *bounds)

    def _booster_of_half(
        self,
        bank: Bank,
        rows: FitRows,
        half: NDArray[np.int64],
        n_chosen: int,
        strategy: str | Strategy,
        seed: np.random.SeedSequence,
    ) -> Booster:
        objective = make_objective(choose_objective(self.objective))
        booster = Booster(
            bank,
            half,
            rows.labels[half],
            strategy,
            "stump",
            n_rounds=_ROUNDS * n_chosen,
            weight_init=self.weight_init,
            rng=np.random.default_rng(seed),
            n_jobs=self.n_jobs,
            example_weight=rows.weight[half],
            learning_rate=self.learning_rate,
            smoothing=choose_smoothing(self.smoothing, objective, self.learning_rate),
            objective=objective,
        )
        # Many features divide few rows alike: the first of them would be chosen in all halves.
        booster.shuffle_features(np.random.default_rng(seed.spawn(1)[0]))
        return booster


def complementary_halves(
    labels: NDArray[np.int8], n_pairs: int, rng: np.random.Generator, multi_label: bool
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Pairs of disjoint halves of the rows, ascending, of floor(N / 2) each; classes in both.

    Of an odd number of rows, one of the largest class is left out, another one for each pair.
    DataError if a class has one row.
    """
    _, code, counts = np.unique(labels, axis=0, return_inverse=True, return_counts=True)
    code = code.reshape(-1)
    if not multi_label and counts.min() < 2:
        raise DataError(
            "each class must have at least 2 rows, one for each half, got a class of 1 row; leave "
            "it out"
        )
    if code.size < 4:
        raise DataError(f"halves need at least 4 rows, got {code.size}; give more")
    largest = np.flatnonzero(code == counts.argmax())
    for _ in range(n_pairs):
        order = rng.permutation(code.size)
        if code.size % 2:
            order = order[order != rng.choice(largest)]
        order = order[np.argsort(code[order], kind="stable")]
        yield np.sort(order[::2]), np.sort(order[1::2])


def chosen_features(
    booster: Booster, bank: Bank, rows: NDArray[np.int64], n_chosen: int
) -> list[int]:
    """The first different features of stumps with an edge that divide the rows, as chosen."""
    chosen: dict[int, None] = {}
    while len(chosen) < n_chosen and not booster.finished:
        done = booster.next_round()
        term = done.terms[0]
        sides = bank.sides(np.array([term.feature]), np.array([term.threshold]), rows)
        if done.edge > NO_EDGE and sides.any() and not sides.all():
            chosen[term.feature] = None
    return list(chosen)


def count_uncorrelated(
    bank: Bank, correlated: float | None, rng: np.random.Generator
) -> tuple[int, float]:
    """Features that are not constant, and about how many have no neighbours among each other."""
    rows = _some_rows(bank, rng)
    sample = np.sort(rng.permutation(bank.n_features)[:_SAMPLE])
    columns = _standardized(bank, sample, rows)
    sample, columns = sample[columns.any(axis=1)], columns[columns.any(axis=1)]
    neighbours = np.zeros(sample.size)
    n_features = 0
    for start in range(0, bank.n_features, _BLOCK):
        block = np.arange(start, min(start + _BLOCK, bank.n_features))
        others = _standardized(bank, block, rows)
        n_features += int(others.any(axis=1).sum())
        if correlated is not None:
            neighbours += (np.abs(columns @ others.T) >= correlated - _ROUNDING).sum(axis=1)
    if not n_features:
        raise DataError("X must have a feature that is not constant, got none")
    if correlated is None or not sample.size:
        return n_features, float(n_features)
    return n_features, max(1.0, n_features * float((1 / np.maximum(neighbours, 1)).mean()))


def grouped_features(
    bank: Bank,
    chosen: Sequence[Sequence[int]],
    correlated: float | None,
    rng: np.random.Generator,
) -> tuple[StableFeature, ...]:
    """All features that a half has chosen, grouped by correlation, by falling share."""
    different = np.unique(np.concatenate([np.asarray(one, np.int64) for one in chosen]))
    was_chosen = np.array([np.isin(different, one) for one in chosen])
    own = was_chosen.mean(axis=0)
    least, columns = 1.0, None
    if correlated is not None and different.size:
        least = correlated - _ROUNDING
        columns = _standardized(bank, different, _some_rows(bank, rng))
    left = np.argsort(-own, kind="stable")
    groups = []
    while left.size:
        near = left == left[0]
        if columns is not None:
            near |= np.abs(columns[left] @ columns[left[0]]) >= least
        members, left = left[near], left[~near]
        names = [bank.feature_name(int(different[at])) for at in members]
        share = float(was_chosen[:, members].any(axis=1).mean())
        first = members[0]
        of_first = int(different[first]), share, float(own[first])
        groups.append(StableFeature(names[0], *of_first, tuple(names[1:])))
    return tuple(sorted(groups, key=lambda group: -group.share))


def _some_rows(bank: Bank, rng: np.random.Generator) -> NDArray[np.int64]:
    return np.sort(rng.permutation(bank.n_examples)[:_ROWS])


def _standardized(
    bank: Bank, features: NDArray[np.int64], rows: NDArray[np.int64]
) -> NDArray[np.float32]:
    """Bins of some features in some rows, of mean 0 and norm 1, or all 0: float32 (q, t).

    Missing values are at the mean.
    """
    step = bank.most_features(rows.size)
    parts = [features[at : at + step] for at in range(0, features.size, step)]
    bins = np.concatenate([bank.take(part, rows) for part in parts])
    known = bins > 0
    columns = bins.astype(np.float32)
    columns -= columns.sum(axis=1, keepdims=True) / np.maximum(known.sum(axis=1, keepdims=True), 1)
    columns *= known
    norm = np.linalg.norm(columns, axis=1, keepdims=True)
    # Rounding of the mean of equal bins leaves less than this.
    np.divide(columns, norm, out=columns, where=norm > 1e-2)
    columns *= norm > 1e-2
    return columns
