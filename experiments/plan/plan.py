"""Plans a comparison on one data set, and checks the plan before anything is computed.

A `Plan` holds the user's choices; `prepare` applies it to a data set: families, splits, budgets in
looks, and each strategy's own checks. Nothing here trains.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from boostsample.banks.make_bank import bank_settings
from boostsample.checks import check_integer
from boostsample.errors import BoostSampleError, DataError, SettingError, unknown
from boostsample.experiments.common.faults import Faults
from boostsample.experiments.common.files import one_line
from boostsample.experiments.common.machine import machine_memory
from boostsample.experiments.data.datasets import Dataset
from boostsample.experiments.plan.variants import Alternatives, Variant, parse_names
from boostsample.family import Family
from boostsample.hashing import sha256_of_arrays
from boostsample.learners import LEARNERS
from boostsample.registry import default_families
from boostsample.shard.weights import WEIGHT_INITS
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
_YARDSTICK = "full"
"""The strategy that is left out, with a note, where it does not fit the budget."""
YARDSTICK_LIMIT = 30_000_000_000
"""Looks that the yardstick may cost in total unless named by the user; about half a minute."""


def parse_marks(text: str) -> tuple[int, ...]:
    """Parse numbers of stumps and sort them.

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
    """What to compare on a data set.

    Parameters
    ----------
    strategies : tuple of Variant or None
        None: `DEFAULT_STRATEGIES`, without `full` where it would cost more than `YARDSTICK_LIMIT`.
    families : tuple of Variant or None
        Default families of the data set to use, with changed settings if given. None: all of them.
    marks : tuple of int
        Numbers of stumps to report, increasing; the last is the number of rounds.
    repeats : int
        Number of repetitions.
    budget : str, int or None
        Looks per search, or a multiple of the number of training examples N as in ``"10N"``. None:
        each strategy's default, 10 N except for `full`.
    weights : {"uniform", "balanced"}
        Initial label weights.
    learner : str
        Name of a weak learner, see `boostsample.learners`.
    seed : int
        Seed of splits, drawn families and all random streams.
    n_jobs : int or None
        Runs trained at once and blocks of features computed at once; -1 is all cores. None: all
        cores for the features, then one run at a time so that its seconds are undisturbed.
    history : bool
        Whether to keep the history rows.
    tune : bool
        Whether to tune the strategies that have a `Strategy.tuning_grid` or alternatives.
    bank : Variant
        Form of the feature bank and its settings, see `boostsample.banks.make_bank.make_bank`.

    Raises
    ------
    SettingError
        A setting is out of range, or a strategy or one of its settings is unknown.
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
                    f"each of the strategies must be given once, got {variant.label!r} twice; "
                    "alternatives of one setting make one tuning grid"
                )
            for one in variant.trained:
                one.strategy()

    @property
    def variants(self) -> tuple[Variant, ...]:
        """The strategies to compare, with their tuning grids if `tune` is set."""
        wanted = self.strategies or tuple(Variant(name) for name in DEFAULT_STRATEGIES)
        return tuple(variant.tuned() for variant in wanted) if self.tune else wanted

    @property
    def n_rounds(self) -> int:
        """Number of boosting rounds: the last mark."""
        return self.marks[-1]

    def looks(self, n_examples: int) -> int | None:
        """Return the looks per search on N training examples; None if no budget is given."""
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
    """Return a number, and whether it multiplies the number of training examples."""
    match = re.fullmatch(r"([0-9]{1,18}(\.[0-9]{1,18})?)(N?)", str(given).replace("_", ""))
    if not match or (match[2] and not match[3]) or not Fraction(match[1]):
        raise SettingError(
            "budget must be a whole number of at least 1 look, or a multiple of the number of "
            f"training examples N as in 10N, got {str(given)!r}"
        )
    return Fraction(match[1]), bool(match[3])


@dataclass(frozen=True)
class Prepared:
    """A plan applied to a data set."""

    data: Dataset
    plan: Plan
    families: tuple[Family, ...]
    variants: tuple[Variant, ...]  # the strategies that take part, with their tuning grids
    splits: list[tuple[NDArray[np.int64], NDArray[np.int64]]]  # train and test rows by repetition
    notes: tuple[str, ...]  # messages for the user: strategies left out, with the reason

    @property
    def n_features(self) -> int:
        """Number of features of all families, F."""
        return sum(family.n_features for family in self.families)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of examples and labels, in hexadecimal."""
        return sha256_of_arrays(self.data.X, self.data.y)

    def pool(self, repetition: int) -> Pool:
        """Return the features and examples that strategies draw from in a repetition."""
        infos, first = [], 0
        for family in self.families:
            infos.append(FamilyInfo(family.name, family.n_features, first))
            first += family.n_features
        return Pool(tuple(infos), first, len(self.splits[repetition][0]))

    def budget(self, variant: Variant, repetition: int) -> int:
        """Return the looks that a strategy may spend on one search of a repetition."""
        pool = self.pool(repetition)
        given = self.plan.looks(pool.n_examples)
        return variant.strategy().default_budget(pool) if given is None else given


def prepare(data: Dataset, plan: Plan) -> Prepared:
    """Apply a plan to a data set; check families, memory, and every strategy at its budget.

    SettingError if a name or setting is unknown, or if a strategy raises one for its settings or
    its budget; DataError if the features do not fit into memory.
    """
    families = default_families(data.X.shape[1:], seed=plan.seed, column_names=data.columns)
    if plan.families is not None:
        usual = {family.name: family for family in families}
        families = [_family(variant, usual, data.name) for variant in plan.families]
    splits = [data.split(repetition, plan.seed) for repetition in range(plan.repeats)]
    everything = Prepared(data, plan, tuple(families), plan.variants, splits, ())
    if plan.bank.name == "memory":
        _check_memory(everything)
    kept, notes, faults = [], [], Faults()
    for variant in everything.variants:
        reason = _left_out(variant, everything)
        if reason:
            notes.append(reason)
            continue
        kept.append(variant)
        for one in variant.trained:
            with faults.at(""):
                _check_start(one, everything)
    faults.raise_all()
    if not kept:
        raise SettingError(f"no strategy is left to compare: {notes[0]}")
    if plan.tune and not any(variant.grid for variant in kept):
        notes.append(
            "nothing was tuned: none of these strategies has a tuning grid; give one "
            f"alternatives, as in {kept[0].name}:SETTING=VALUE|VALUE"
        )
    return replace(everything, variants=tuple(kept), notes=tuple(notes))


def _family(variant: Variant, usual: Mapping[str, Family], data: str) -> Family:
    """Return a default family, reconstructed with the user's settings."""
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


def _left_out(variant: Variant, prepared: Prepared) -> str:
    """Return why the yardstick is left out; empty if it is not, and for other strategies."""
    if variant.name != _YARDSTICK:
        return ""
    n_examples = max(len(train) for train, _ in prepared.splits)
    cost = prepared.n_features * n_examples
    product = f"F * N = {prepared.n_features:,} * {n_examples:,} = {cost:,} looks"
    budget = prepared.plan.looks(n_examples)
    if budget is not None and budget < cost:
        return (
            f"{variant.label} is left out: its search costs {product}, more than the budget of "
            f"{budget:,}; give no --budget, or at least that one, to include it"
        )
    total = cost * prepared.plan.n_rounds * prepared.plan.repeats
    if prepared.plan.strategies is None and total > YARDSTICK_LIMIT:
        return (
            f"{variant.label} is left out: its search costs {product}, {total:.1e} looks in all "
            "rounds and repetitions; name it in --strategies to include it"
        )
    return ""


def _check_start(variant: Variant, prepared: Prepared) -> None:
    """Start a strategy, so that it checks its settings and its budget, on the smallest split."""
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
    """Raise DataError if memory cannot hold the features; the system would kill the process."""
    memory = machine_memory()
    size = prepared.n_features * prepared.data.n_examples
    if size > memory:
        raise DataError(
            f"{prepared.data.name}: the bins of all features must fit into memory, "
            f"{memory / 2**30:.1f} GiB, but {prepared.n_features:,} features of "
            f"{prepared.data.n_examples:,} examples need {size / 2**30:.1f} GiB; choose fewer by "
            "--families, or --bank disk or lazy"
        )
