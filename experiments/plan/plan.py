"""A plan: the user's choices for a comparison."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from boostsample.banks.bank_forms import AUTO_BANK, bank_settings
from boostsample.checks import (
    MOST_REPEATS,
    MOST_ROUNDS,
    MOST_SEED,
    budget_looks,
    check_count,
    check_integer,
    check_known,
    parse_budget,
)
from boostsample.errors import SettingError
from boostsample.experiments.data.function_sets import is_function_set
from boostsample.experiments.data.openml_files import KIND as OPENML
from boostsample.experiments.data.openml_files import task_numbers
from boostsample.experiments.data.table_reader import (
    FILE_OPTIONS,
    check_file_option,
    split_data_text,
)
from boostsample.experiments.metrics import metric_named
from boostsample.experiments.plan.variants import (
    Variant,
    check_different_strategies,
    drawn_variant,
    refuse_equal,
)
from boostsample.learners import Stump, Tree, make_learner
from boostsample.loop.budgets import EQUAL, RunLimits, least_budget, split_budget
from boostsample.output_codes import ONE_VS_REST, check_code_settings
from boostsample.registry import make_objective, named_class
from boostsample.rows.weights import FULL_STEP, WEIGHT_INITS, StepSize
from boostsample.threads import n_threads

MH = "mh"
"""The objective of plans that name none: discrete AdaBoost.MH."""
_LEAST_GROWTH = 0.01  # percent of growth between two scores; there would be too many points below
AXES = ("learner", "objective", "learning_rate", "smoothing", "weights", "bank", "budget")
"""Settings of which a plan may have several values; the last one varies fastest in its setups."""
LIMITS = ("max_seconds", "max_looks", "max_cost")
"""Settings that end a run, see `boostsample.loop.budgets.RunLimits`."""
DEFAULT_STRATEGIES = ("full", "uniform-naive", "uniform-1q", "uniform-q1", "laminating")


class DataSource(NamedTuple):
    """A data set by name or path; without `families`, it has those of the plan.

    `options` are those of `load_dataset`.
    """

    name: str
    families: tuple[Variant, ...] | None = None
    options: Mapping[str, Any] = MappingProxyType({})

    @classmethod
    def parse(cls, text: str) -> DataSource:
        """Parse a name or path with options; SettingError for a wrong value of a file's.

        >>> DataSource.parse("x.csv:label=target").options
        {'label': 'target'}
        """
        name, options = split_data_text(text)
        for option in options.keys() & set(FILE_OPTIONS):
            if not is_function_set(name):  # it has settings of its own
                options[option] = check_file_option(option, options[option])
        return cls(name, None, options)

    def parts(self) -> list[DataSource]:
        """The data set itself, or all tasks of a folder of OpenML that is named without one."""
        if self.options.get("kind") != OPENML or "task" in self.options:
            return [self]
        numbers = task_numbers(Path(self.name))
        return [self._replace(options={**self.options, "task": number}) for number in numbers]


@dataclass(frozen=True)
class Plan:
    """What to compare.

    Parameters
    ----------
    strategies : tuple of Variant or None
        None: `DEFAULT_STRATEGIES`, without `full` where its looks would take too long.
    families : tuple of Variant or None
        Default families of the data set to use, with changed settings if given. None: all of them.
    marks : tuple of int
        Numbers of stumps to report, increasing; the last is the number of rounds.
    repeats : int
        Number of repetitions.
    budget : str, int or None
        Looks per search, or a multiple of the number of training examples N as in ``"10N"``; text
        without N must be at least N. None: each strategy's default, 10 N except for `full`.
        ``"10N:growing"`` and ``"10N:shrinking"`` vary by round with the same total, see
        `boostsample.loop.budgets`.
    weights : {"balanced", "uniform"}
        Initial label weights, `weight_init` elsewhere.
    learner : str
        Name of a weak learner, with settings if need be, see `boostsample.learners`.
    learning_rate, smoothing : float
        As of `Booster`.
    objective : str
        Name of what is boosted, with settings if need be, see `boostsample.objectives`.
    code, decoding : str
        Output code of the classes and how it is decoded, by name, see `boostsample.output_codes`.
    max_seconds : float or None
        Seconds of the rounds of a run at which it ends, without scoring; its number of rounds
        depends on the machine.
    max_looks : int or None
        Looks of search and modelling at which a run ends; see
        `boostsample.loop.budgets.RunLimits`.
    max_cost : float or None
        Nominal seconds of training, the column `cost`, that a run must not pass; the first round
        is trained anyway.
    seed : int
        Seed of splits, drawn families and all random streams.
    n_jobs : int or None
        Runs trained at once and blocks of features computed at once; -1 is all cores. None: all
        cores for the features, then one run at a time so that its seconds are undisturbed.
    history : bool
        Whether to keep the history rows.
    tune : bool
        Whether to tune the strategies that have a `Strategy.tuning_grid` or alternatives.
    draws : int or None
        Number of random settings to tune with instead of the whole tuning grid, two or more, see
        `boostsample.experiments.plan.variants`.
    score_every : float or None
        Percent of growth of the number of stumps at which the test rows are scored, beside about
        forty numbers on a log scale; smoothed errors need about 1.
    bank : Variant
        Form of the feature bank and its settings, see `boostsample.banks.bank_forms.make_bank`. By
        default "auto", by the size and the kind of each data set.
    data : tuple of DataSource
        The data sets of `boostsample compare`; the function `compare` is given its data set.
    regret : int or None
        Whether to measure the best edge of all features, without charge, see
        `boostsample.experiments.cells.tasks.rounds_of_regret`: 0 at the scored numbers of stumps, a
        larger number in each of its multiples, too. For stumps of AdaBoost.MH and the root of its
        trees, without a lazy bank.
    metrics : tuple of str
        Metrics of the user by which runs are scored after training, beside those that all
        comparisons have; see `boostsample.experiments.metrics.metric_named`.
    title : str
        Title of tables and reports.
    axes : mapping of str to tuple
        Several values of settings, by their names in `AXES`; `setups` has their product. A setting
        that is an axis is ignored itself.

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
    weights: str = "balanced"
    learner: str = "stump"
    learning_rate: float = 1.0
    smoothing: float = 0.0
    objective: str = MH
    code: str = ONE_VS_REST
    decoding: str = "loss"
    max_seconds: float | None = None
    max_looks: int | None = None
    max_cost: float | None = None
    seed: int = 0
    n_jobs: int | None = None
    history: bool = False
    tune: bool = False
    draws: int | None = None
    score_every: float | None = None
    bank: Variant = field(default_factory=partial(Variant, AUTO_BANK))
    data: tuple[DataSource, ...] = (DataSource("digits"),)
    regret: int | None = None
    metrics: tuple[str, ...] = ()
    title: str = ""
    axes: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.axes:
            self._check_axes()
            return
        if not self.marks:
            raise SettingError(
                "the rounds of a plan must name at least one number of stumps, got none"
            )
        for mark in self.marks:
            check_count("each of the rounds", mark, MOST_ROUNDS)
        if any(a >= b for a, b in itertools.pairwise(self.marks)):
            raise SettingError(
                f"rounds must rise and differ, got {', '.join(map(str, self.marks))}"
            )
        check_count("repeats", self.repeats, MOST_REPEATS)
        check_integer("seed", self.seed, 0, MOST_SEED)
        if self.draws is not None:
            check_count("draws", self.draws, MOST_REPEATS, 2)
        if self.score_every is not None and not _LEAST_GROWTH <= self.score_every <= 100:
            raise SettingError(
                f"score_every must be a percentage from {_LEAST_GROWTH} to 100, got "
                f"{self.score_every}"
            )
        if self.regret is not None:
            self._check_regret(self.regret)
        if self.n_jobs is not None:
            n_threads(self.n_jobs)
        check_known("initial weights", self.weights, WEIGHT_INITS)
        make_learner(self.learner)
        StepSize(self.learning_rate, self.smoothing)
        make_objective(self.objective)
        check_code_settings(self.code, self.decoding)
        RunLimits(**self.limits)
        if self.budget is not None:
            mean, kind = split_budget(self.budget)
            parse_budget(mean)
            least_budget(2, kind, self.n_rounds)
        if self.bank != Variant(AUTO_BANK):
            bank_settings(self.bank.name, self.bank.settings)
        for name in self.metrics:
            if metric_named(name).own is None:
                raise SettingError(
                    "metrics of a comparison must be functions of files, as in my_file.py:f, or of "
                    f"entry points, got {name}; leave it out: boostsample table has ours"
                )
        check_different_strategies(self.variants)
        for variant in self.variants:
            if variant.grid and self.budget_kind != EQUAL:
                raise SettingError(
                    f"strategies are tuned and charged at equal budgets, got {self.budget} and a "
                    f"tuning grid of {variant.name}; leave one of them out"
                )

    def _check_axes(self) -> None:
        for name, values in self.axes.items():
            check_known("axis", name, AXES)
            keyed = [(axis_key(name, value), setting_text(value)) for value in values]
            refuse_equal(f"values of {name} must differ", keyed, "leave one of them out")
            if not values:
                raise SettingError(f"{name} must have at least one value, got none")
        _ = self.setups

    @property
    def setups(self) -> tuple[Plan, ...]:
        """The plans without axes that differ in the values of the axes; this one without any."""
        names = sorted(self.axes, key=AXES.index)
        return tuple(
            replace(self, axes={}, **dict(zip(names, values, strict=True)))
            for values in itertools.product(*(self.axes[name] for name in names))
        )

    def _check_regret(self, every: int) -> None:
        check_integer("regret", every, 0)
        for name, value, only in (
            ("objective", self.objective, (MH,)),
            ("bank", self.bank.name, (AUTO_BANK, "memory", "disk", "columns")),
        ):
            if value not in only:
                raise SettingError(
                    f"regret is measured with the {name} {' or '.join(only)}, got {value!r}; leave "
                    "regret out"
                )
        learner = make_learner(self.learner)
        is_tree = type(learner) is Tree and learner.min_leaf == 1 and learner.min_weight == 0.0
        if type(learner) is not Stump and not is_tree:
            raise SettingError(
                "regret is measured with the learner stump, or tree without min_leaf and "
                f"min_weight, got {self.learner!r}; leave regret out"
            )

    @property
    def variants(self) -> tuple[Variant, ...]:
        """The strategies to compare, with the settings that tuning tries."""
        if self.draws is None:
            return self.undrawn
        return tuple(drawn_variant(variant, self.draws, self.seed) for variant in self.undrawn)

    @property
    def undrawn(self) -> tuple[Variant, ...]:
        """The strategies to compare, with their whole tuning grids if `tune` is set."""
        wanted = self.strategies or tuple(Variant(name) for name in DEFAULT_STRATEGIES)
        return tuple(variant.tuned() for variant in wanted) if self.tune else wanted

    @property
    def step_settings(self) -> dict[str, Any]:
        """Those of `learning_rate`, `smoothing` and `objective` that are not of AdaBoost.MH."""
        steps = StepSize(self.learning_rate, self.smoothing)
        names = "learning_rate", "smoothing"
        pairs = {name: (getattr(steps, name), getattr(FULL_STEP, name)) for name in names}
        pairs["objective"] = self.objective, MH
        return {name: value for name, (value, full) in pairs.items() if value != full}

    @property
    def run_settings(self) -> dict[str, Any]:
        """`step_settings`, and those of `code` and `decoding` that are not the default."""
        usual = {"code": ONE_VS_REST, "decoding": "loss"}
        of_code = {name: getattr(self, name) for name in usual}
        return self.step_settings | {k: v for k, v in of_code.items() if v != usual[k]}

    @property
    def limits(self) -> dict[str, Any]:
        """Those of `LIMITS` that are given."""
        limits = {name: getattr(self, name) for name in LIMITS}
        limits["max_cost"] = RunLimits(max_cost=self.max_cost).max_cost  # a float: one key of 1
        return {name: value for name, value in limits.items() if value is not None}

    @property
    def n_rounds(self) -> int:
        """Number of boosting rounds: the last mark."""
        return self.marks[-1]

    def looks(self, n_examples: int) -> int | None:
        """The mean looks per search on N training examples; None if no budget is given."""
        if self.budget is None:
            return None
        return budget_looks(split_budget(self.budget)[0], n_examples)

    @property
    def budget_kind(self) -> str:
        """Whether the budgets of rounds are equal, see `boostsample.loop.budgets`."""
        return EQUAL if self.budget is None else split_budget(self.budget)[1]


def axis_key(name: str, value: Any) -> Any:
    """A value of an axis in a form that is equal for values of one meaning.

    >>> axis_key("budget", "10N") == axis_key("budget", "10.0N")
    True
    """
    if name == "budget" and value is not None:
        mean, kind = split_budget(value)
        return parse_budget(mean), kind
    if name in ("learner", "objective") and isinstance(value, str):
        variant = Variant.parse(value)
        value = variant.with_defaults(named_class(name, variant.name))
    return value.key if isinstance(value, Variant) else value


def setting_text(value: Any) -> str:
    """A value of an axis as tables show it.

    >>> setting_text(1.0), setting_text("10N"), setting_text(None)
    ('1', '10N', 'default')
    """
    if isinstance(value, Variant):
        return value.label
    if isinstance(value, float):
        return f"{value:g}"
    return "default" if value is None else str(value)


def whole_number(name: str, value: Any) -> int:
    """A whole number, also from its text and with an exponent; SettingError for others.

    >>> whole_number("max_looks", "1e9"), whole_number("max_looks", 1_000_000)
    (1000000000, 1000000)
    """
    try:
        number = float("" if isinstance(value, bool) else value)  # texts may have underscores
    except (OverflowError, TypeError, ValueError):
        number = math.nan
    if number % 1 != 0:  # NaN for an infinite number
        raise SettingError(f"{name} must be a whole number as in 1e9, got {value}")
    return int(number)


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
