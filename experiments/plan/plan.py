"""What to compare, checked as a whole before anything is computed.

A `Plan` says it in the user's words; `prepare` fits it to a data set: families, budgets in looks,
splits, and whether every strategy can run at all. Nothing here trains.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from boostsample.banks.forms import bank_settings
from boostsample.checks import check_integer
from boostsample.errors import BoostSampleError, DataError, SettingError, unknown
from boostsample.experiments.common.faults import Faults
from boostsample.experiments.common.files import one_line
from boostsample.experiments.data.datasets import Dataset
from boostsample.experiments.plan.variants import Alternatives, Variant, parse_names
from boostsample.family import Family
from boostsample.learners import LEARNERS
from boostsample.loop.weights import WEIGHT_INITS
from boostsample.registry import default_families
from boostsample.strategy import FamilyInfo, Pool

__all__ = [
    "DEFAULT_STRATEGIES",
    "Plan",
    "Prepared",
    "Variant",
    "parse_marks",
    "parse_names",
    "prepare",
]

DEFAULT_STRATEGIES = ("full", "uniform-naive", "uniform-1q", "uniform-q1", "laminating")
YARDSTICK = "full"
"""The strategy that is left out where it does not fit, rather than refused."""
YARDSTICK_LIMIT = 30_000_000_000
"""Looks that the yardstick may cost in all unless it was asked for by name: about half a minute."""


def parse_marks(text: str) -> tuple[int, ...]:
    """Read the numbers of stumps at which results are taken, in any order.

    >>> parse_marks("100,10")
    (10, 100)
    """
    try:
        return tuple(sorted(int(part) for part in text.split(",")))
    except ValueError:
        raise SettingError(
            f"rounds must be whole numbers separated by commas, as in 10,100,300, got {text!r}"
        ) from None


@dataclass(frozen=True)
class Plan:
    """What to compare, in the user's words.

    Parameters
    ----------
    strategies : tuple of Variant or None
        None: `DEFAULT_STRATEGIES`, without `full` where that would take more than
        `YARDSTICK_LIMIT` looks.
    families : tuple of Variant or None
        Some of the data set's default families, by name, with settings of their own if need be.
        None: all of them as they are.
    marks : tuple of int
        Numbers of stumps at which results are taken, rising; the last is the number of rounds.
    repeats : int
        Repetitions.
    budget : str, int or None
        Looks a search, or a multiple of the number of training examples as in ``"10N"``. None: what
        each strategy takes by default, 10 N but for `full`.
    weights : {"uniform", "balanced"}
        Initial label weights.
    learner : str
        What a round makes of stumps, see `boostsample.learners.stump`.
    seed : int
        Of splits, drawn families and all streams.
    n_jobs : int or None
        Runs trained at once, and blocks of features computed at once; -1 is all cores. None: all
        cores for the features, then one run at a time, so that its seconds are its own.
    history : bool
        Whether to keep the history rows.
    tune : bool
        Whether to search the settings of the strategies that have a `Strategy.tuning_grid` or were
        given alternatives, see `boostsample.experiments.results.tuning`. The others run as they are.
    bank : Variant
        Where the bins of the features are, and settings of that: see `boostsample.banks.forms.make_bank`.

    Raises
    ------
    SettingError
        A setting is out of range, or a strategy or one of its settings is not known.
    """

    strategies: tuple[Variant, ...] | None = None
    families: tuple[Variant, ...] | None = None
    marks: tuple[int, ...] = (10, 100, 300)
    repeats: int = 3
    budget: str | int | None = None
    weights: str = "uniform"
    learner: str = "stump"
    seed: int = 0
    n_jobs: int | None = None
    history: bool = False
    tune: bool = False
    bank: Variant = field(default_factory=partial(Variant, "memory"))

    def __post_init__(self) -> None:
        if not self.marks:
            raise SettingError("rounds must name at least one number of stumps, got none")
        for mark in self.marks:
            check_integer("each of the rounds", mark, 1)
        if any(a >= b for a, b in zip(self.marks[:-1], self.marks[1:], strict=True)):
            raise SettingError(
                f"rounds must rise and differ, got {', '.join(map(str, self.marks))}"
            )
        check_integer("repeats", self.repeats, 1)
        check_integer("seed", self.seed, 0)
        if self.n_jobs is not None and self.n_jobs != -1 and self.n_jobs < 1:
            raise SettingError(f"jobs must be 1 or more, or -1 for all cores, got {self.n_jobs}")
        if self.weights not in WEIGHT_INITS:
            raise unknown("initial weights", self.weights, WEIGHT_INITS)
        if self.learner not in LEARNERS:
            raise unknown("learner", self.learner, LEARNERS)
        if self.budget is not None:
            _budget(self.budget)
        bank_settings(self.bank.name, self.bank.settings)
        labels = [variant.label for variant in self.variants]
        for variant in self.variants:
            if labels.count(variant.label) > 1:
                raise SettingError(
                    f"each of the strategies must be there once, got {variant.label!r} twice; "
                    "alternatives of one setting make one grid"
                )
            for one in variant.trained:
                one.strategy()

    @property
    def variants(self) -> tuple[Variant, ...]:
        """The strategies that are wanted, with their grids if they are to be tuned."""
        wanted = self.strategies or tuple(Variant(name) for name in DEFAULT_STRATEGIES)
        return tuple(variant.tuned() for variant in wanted) if self.tune else wanted

    @property
    def n_rounds(self) -> int:
        """Boosting rounds: the last mark."""
        return self.marks[-1]

    def looks(self, n_examples: int) -> int | None:
        """The budget of a search on N examples in looks; None if none is given."""
        if self.budget is None:
            return None
        number, times_n = _budget(self.budget)
        looks = int(number * n_examples) if times_n else int(number)
        if looks < 1:
            raise SettingError(
                f"budget must be at least 1 look, got {self.budget}, which is less for "
                f"N = {n_examples:,} training examples; give more"
            )
        return looks


def _budget(given: str | int) -> tuple[Fraction, bool]:
    """A number, and whether it counts training examples rather than looks."""
    match = re.fullmatch(r"([0-9]{1,18}(\.[0-9]{1,18})?)(N?)", str(given).replace("_", ""))
    if not match or (match[2] and not match[3]) or not Fraction(match[1]):
        raise SettingError(
            "budget must be a whole number of at least 1 look, or a multiple of the number of "
            f"training examples N as in 10N, got {str(given)!r}"
        )
    return Fraction(match[1]), bool(match[3])


@dataclass(frozen=True)
class Prepared:
    """A plan that fits its data set.

    Attributes
    ----------
    data, plan
        As given.
    families : tuple of Family
    variants : tuple of Variant
        The strategies that take part, tuned ones with their grids.
    splits : list of (train rows, test rows), one a repetition
    notes : tuple of str
        What the user should know: strategies that were left out, and why.
    """

    data: Dataset
    plan: Plan
    families: tuple[Family, ...]
    variants: tuple[Variant, ...]
    splits: list[tuple[NDArray[np.int64], NDArray[np.int64]]]
    notes: tuple[str, ...]

    @property
    def n_features(self) -> int:
        """F."""
        return sum(family.n_features for family in self.families)

    @cached_property
    def digest(self) -> str:
        """A checksum of all examples and labels."""
        digest = hashlib.sha256()
        for array in (self.data.X, self.data.y):
            digest.update(f"{array.dtype.str}{array.shape}".encode())
            digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()

    def pool(self, repetition: int) -> Pool:
        """What strategies look at in a repetition."""
        sizes = [family.n_features for family in self.families]
        first = np.cumsum([0, *sizes])
        infos = tuple(
            FamilyInfo(family.name, size, int(at))
            for family, size, at in zip(self.families, sizes, first[:-1], strict=True)
        )
        return Pool(infos, self.n_features, len(self.splits[repetition][0]))

    def budget(self, variant: Variant, repetition: int) -> int:
        """Looks that a strategy may spend on one search."""
        pool = self.pool(repetition)
        given = self.plan.looks(pool.n_examples)
        return variant.strategy().default_budget(pool) if given is None else given


def prepare(data: Dataset, plan: Plan) -> Prepared:
    """Check a plan against a data set, down to each strategy's own rules.

    Raises
    ------
    SettingError
        An unknown name or setting, or a budget that a strategy cannot work with.
    DataError
        The features would not fit into memory.
    """
    families = _families(data, plan)
    named = plan.strategies is not None
    wanted = plan.variants
    splits = [data.split(repetition, plan.seed) for repetition in range(plan.repeats)]
    everything = Prepared(data, plan, families, wanted, splits, ())
    if plan.bank.name == "memory":
        _check_memory(everything)
    kept, notes, faults = [], [], Faults()
    for variant in wanted:
        reason = _left_out(variant, everything, named)
        if reason:
            notes.append(reason)
        else:
            for one in variant.trained:
                with faults.at(""):
                    _check_start(one, everything)
            kept.append(variant)
    faults.raise_all()
    if not kept:
        raise SettingError(f"no strategy is left to compare: {notes[0]}")
    if plan.tune and not any(variant.grid for variant in kept):
        notes.append(
            "nothing was tuned: none of these strategies has settings to search; give it "
            f"alternatives, as in {kept[0].name}:SETTING=VALUE|VALUE"
        )
    return Prepared(data, plan, families, tuple(kept), splits, tuple(notes))


def _families(data: Dataset, plan: Plan) -> tuple[Family, ...]:
    usual = {
        family.name: family
        for family in default_families(data.X.shape[1:], seed=plan.seed, column_names=data.columns)
    }
    if plan.families is None:
        return tuple(usual.values())
    return tuple(_family(variant, usual, data.name) for variant in plan.families)


def _family(variant: Variant, usual: Mapping[str, Family], data: str) -> Family:
    """A default family, made anew with the user's settings."""
    if variant.name not in usual:
        raise unknown(f"family of {data}", variant.name, usual)
    family = usual[variant.name]
    if not variant.settings:
        return family
    own = family.settings()
    for setting, value in variant.settings.items():
        if isinstance(value, Alternatives):
            raise SettingError(
                f"family {variant.name!r}: {setting}={value} are alternatives, which only "
                "strategies take; give one value"
            )
        if setting not in own or isinstance(own[setting], list):
            known = [name for name, value in own.items() if not isinstance(value, list)]
            raise unknown(f"setting of family {variant.name!r}", setting, known)
    try:
        return type(family)(**{**own, **variant.settings})
    except BoostSampleError:
        raise
    except (TypeError, ValueError) as error:
        raise SettingError(f"family {variant.label!r} refuses its settings: {error}") from error


def _left_out(variant: Variant, prepared: Prepared, named: bool) -> str:
    """Why the yardstick does not take part; empty if it does, and for every other strategy."""
    if variant.name != YARDSTICK:
        return ""
    pool = max(map(prepared.pool, range(prepared.plan.repeats)), key=lambda pool: pool.n_examples)
    cost = pool.n_features * pool.n_examples
    product = f"F * N = {pool.n_features:,} * {pool.n_examples:,} = {cost:,} looks"
    budget = prepared.plan.looks(pool.n_examples)
    if budget is not None and budget < cost:
        return (
            f"{variant.label} is left out: its search costs {product}, more than the budget of "
            f"{budget:,}; give no --budget, or at least that one, to have it"
        )
    total = cost * prepared.plan.n_rounds * prepared.plan.repeats
    if not named and total > YARDSTICK_LIMIT:
        return (
            f"{variant.label} is left out: its search costs {product}, {total:.1e} looks in all "
            f"rounds and repetitions; name it in --strategies to have it nevertheless"
        )
    return ""


def _check_start(variant: Variant, prepared: Prepared) -> None:
    """Let a strategy check its settings and its budget for the smallest repetition."""
    at = min(range(prepared.plan.repeats), key=lambda r: len(prepared.splits[r][0]))
    pool, budget = prepared.pool(at), prepared.budget(variant, at)
    stream = np.random.default_rng(variant.stream(prepared.data.name, prepared.plan.seed, at))
    try:
        variant.strategy().start(pool, budget, prepared.plan.n_rounds, stream)
    except BoostSampleError as error:
        if variant.name in str(error):
            raise
        raise type(error)(f"strategy {variant.label!r}: {error}") from error
    except (TypeError, ValueError) as error:
        raise SettingError(
            f"strategy {variant.label!r} refuses its settings: {one_line(error)}"
        ) from error


def _check_memory(prepared: Prepared) -> None:
    """Refuse features that memory cannot hold: the system would kill the process without a word."""
    if not hasattr(os, "sysconf") or "SC_PHYS_PAGES" not in os.sysconf_names:
        return
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    size = prepared.n_features * prepared.data.n_examples
    if size > memory:
        raise DataError(
            f"{prepared.data.name}: the bins of all features must fit into memory, "
            f"{memory / 2**30:.1f} GiB, but {prepared.n_features:,} features of "
            f"{prepared.data.n_examples:,} examples need {size / 2**30:.1f} GiB; choose fewer by "
            "--families, or --bank disk or lazy"
        )
