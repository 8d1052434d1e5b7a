"""A plan applied to a data set; everything is checked before anything is computed."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostsample.banks.bank_forms import AUTO_BANK, automatic_form
from boostsample.errors import DataError, SettingError
from boostsample.experiments.common.collected_errors import Faults
from boostsample.experiments.common.machine import machine_memory
from boostsample.experiments.data.dataset import Dataset
from boostsample.experiments.data.datasets import load_dataset
from boostsample.experiments.plan.plan import Plan
from boostsample.experiments.plan.variants import Variant, plain_setting
from boostsample.family import Family
from boostsample.hashing import hashed_seed
from boostsample.loop.budgets import EQUAL, least_budget, round_budgets_note
from boostsample.names import is_in_file
from boostsample.output_codes import OutputCode, make_output_code
from boostsample.registry import default_families, families_by_name, local_classes, named_class
from boostsample.strategy import FamilyInfo, Pool

_YARDSTICKS = ("full", "quickboost")
"""The strategies that are left out, with a note, where they do not fit the budget."""
_YARDSTICK_LIMIT = 30_000_000_000
"""Looks that the yardstick may cost in total unless named by the user; about half a minute."""


@dataclass(frozen=True)
class Prepared:
    """A plan of one setup, applied to a data set."""

    data: Dataset
    plan: Plan
    families: tuple[Family, ...]
    variants: tuple[Variant, ...]  # the strategies that take part, with their tuning grids
    splits: list[tuple[NDArray[np.int64], NDArray[np.int64]]]  # train and test rows by repetition
    notes: tuple[str, ...]  # messages for the user: strategies left out, with the reason
    axes: tuple[str, ...] = ()  # settings of which the grid has several values

    def __getstate__(self) -> dict[str, Any]:
        """Families of Python files are made again in other processes, which cannot import them.

        Classes that `compare` has got as instances go with the plan.
        """
        state = {**vars(self), "classes": dict(local_classes)}
        if any(is_in_file(family.name) for family in self.plan.families or ()):
            state["families"] = None
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, cls in state.pop("classes").items():
            local_classes.setdefault(name, cls)
        if state["families"] is None:
            state["families"] = tuple(_named_families(state["data"], state["plan"]))
        vars(self).update(state)

    @property
    def n_features(self) -> int:
        """Number of features of all families, F."""
        return sum(family.n_features for family in self.families)

    def code(self, repetition: int) -> OutputCode | None:
        """The output code of a repetition; random ones are drawn for each, from the plan's seed."""
        key = json.dumps(["code", self.plan.seed, repetition]).encode()
        rng = np.random.default_rng(hashed_seed(key))
        return make_output_code(self.plan.code, self.plan.decoding, self.data.n_classes, rng)

    def pool(self, repetition: int) -> Pool:
        """The features and examples that strategies draw from in a repetition."""
        sizes = [(family.name, family.n_features) for family in self.families]
        return pool_of_families(sizes, len(self.splits[repetition][0]))

    def budget(self, variant: Variant, repetition: int) -> int:
        """The mean looks that a strategy may spend on one search of a repetition.

        A yardstick has what it needs, whatever the others may spend.
        """
        pool = self.pool(repetition)
        looks = self.plan.looks(pool.n_examples)
        if looks is None or self._needs_more(variant, pool, looks):
            return variant.strategy().default_budget(pool)
        return looks

    def budget_kind(self, variant: Variant, repetition: int) -> str:
        """The kind of `budget`; those of a yardstick that needs more are equal."""
        pool = self.pool(repetition)
        looks = self.plan.looks(pool.n_examples)
        is_equal = looks is None or self._needs_more(variant, pool, looks)
        return EQUAL if is_equal else self.plan.budget_kind

    def _needs_more(self, variant: Variant, pool: Pool, looks: int) -> bool:
        """Whether a strategy is a yardstick that no budget of this mean pays for in each round."""
        least = least_budget(looks, self.plan.budget_kind, self.plan.n_rounds)
        return variant.name in _YARDSTICKS and least < pool.n_features * pool.n_examples

    @property
    def learner_in_use(self) -> str:
        """The learner with all its settings, given or by default, steps if not full, and limits."""
        of_run = {**self.plan.run_settings, **self.plan.limits}
        learner = Variant.parse(self.plan.learner)
        learner = learner.with_defaults(named_class("learner", learner.name))
        return replace(learner, settings={**learner.settings, **of_run}).label

    def settings_in_use(self, variant: Variant) -> dict[str, Any]:
        """The settings of a strategy with the values of repetition 0, without the tuned ones."""
        tuned = {key for tried in variant.grid for key in tried.settings} - set(variant.settings)
        of_run = self.pool(0), self.budget(variant, 0), self.plan.n_rounds
        used = variant.strategy().settings_in_use(*of_run)
        return {key: plain_setting(value) for key, value in used.items() if key not in tuned}


def pool_of_families(sizes: Sequence[tuple[str, int]], n_examples: int) -> Pool:
    """A pool of families with these numbers of features."""
    ends = list(itertools.accumulate(size for _, size in sizes))
    infos = [FamilyInfo(*sized, end - sized[1]) for sized, end in zip(sizes, ends, strict=True)]
    return Pool(tuple(infos), ends[-1], n_examples)


def prepare_all(plan: Plan, data_dir: str | None = None) -> list[Prepared]:
    """Load the data sets of a plan, from `data_dir` if given, and apply the plan to each of them.

    By data set, then by setup.

    SettingError or DataError, listing the errors of all data sets, if the plan does not fit.
    """
    faults = Faults()
    prepared: list[Prepared] = []
    for source in plan.data:
        with faults.at(source.name if len(plan.data) > 1 else ""):
            data = load_dataset(source.name, data_dir=data_dir, seed=plan.seed, **source.options)
            if any(other.data.name == data.name for other in prepared):
                raise SettingError(
                    f"data sets need different names, got {data.name!r} twice; give each once, "
                    "and files different names as in x.csv:name=other"
                )
            families = plan.families if source.families is None else source.families
            prepared += prepare_setups(data, replace(plan, families=families))
    faults.raise_all("the grid" if len(plan.data) > 1 else "")
    return prepared


def prepare_setups(data: Dataset, plan: Plan) -> list[Prepared]:
    """Apply each setup of a plan to a data set; they share families and splits.

    Errors are those of `prepare`, and SettingError if two banks are the same.
    """
    prepared: list[Prepared] = []
    for setup in plan.setups:
        like = prepared[0] if prepared else None
        prepared.append(prepare(data, setup, axes=tuple(plan.axes), like=like))
    pairs = zip(plan.setups, prepared, strict=True)
    banks = {wanted.bank.label: setup.plan.bank for wanted, setup in pairs}
    if len(set(map(str, banks.values()))) < len(banks):
        raise SettingError(
            f"{data.name}: the banks {', '.join(banks)} must differ, but auto is "
            f"{banks[AUTO_BANK].label} here; leave one of them out"
        )
    return prepared


def prepare(
    data: Dataset, plan: Plan, *, axes: tuple[str, ...] = (), like: Prepared | None = None
) -> Prepared:
    """Apply a plan to a data set; check families, memory, and every strategy at its budget.

    `axes` are those of the grid, of which the plan is a setup; `like` is another setup of it, whose
    families and splits are shared. A yardstick such as `full` that nobody named is left out at a
    smaller budget than it needs, unless the budget is an axis.

    SettingError if a name or setting is wrong, or if a strategy refuses its settings or its budget;
    DataError if the features do not fit into memory.
    """
    assert not plan.axes, "a plan of one setup; see prepare_setups"
    if like is not None:
        families, splits = list(like.families), like.splits
    else:
        families = _named_families(data, plan)
        splits = [data.split(repetition, plan.seed) for repetition in range(plan.repeats)]
    if plan.bank.name == AUTO_BANK:
        form = automatic_form(data.X, sum(family.n_features for family in families))
        plan = replace(plan, bank=Variant(form))
    everything = Prepared(data, plan, tuple(families), plan.variants, splits, (), axes)
    if everything.code(0) is not None and data.is_multilabel:
        raise SettingError(
            f"{data.name}: an output code is for one class in each row, but the rows have several "
            "labels; leave --code and --decoding out"
        )
    if plan.bank.name == "memory":
        _check_memory(everything)
    at = min(range(plan.repeats), key=lambda repetition: len(splits[repetition][0]))
    pool = everything.pool(at)
    variants, notes, faults = [], [], Faults()
    for variant in everything.variants:
        reason = _left_out(variant, everything)
        if reason:
            notes.append(reason)
            continue
        variants.append(variant)
        for trained in variant.trained:
            with faults.at(""):
                stream = np.random.default_rng(trained.stream(data.seeded_by, plan.seed, at))
                budget, kind = everything.budget(trained, at), everything.budget_kind(trained, at)
                trained.check_start(pool, budget, plan.n_rounds, stream)
                if kind != EQUAL:
                    least = least_budget(budget, kind, plan.n_rounds)
                    trained.check_start(pool, least, plan.n_rounds, np.random.default_rng(0))
                everything.settings_in_use(trained)
    faults.raise_all()
    if plan.budget_kind != EQUAL:
        notes.append(round_budgets_note(str(plan.budget)))
    if plan.regret is not None:
        notes.append(
            f"regret: in some rounds all {everything.n_features:,} features are searched on all "
            "examples before the strategy's search, of trees the one of the root; the looks and "
            "seconds are not charged"
        )
    if plan.tune and not any(variant.grid for variant in variants):
        notes.append(
            "nothing was tuned: none of these strategies has a tuning grid; give one "
            f"alternatives, as in {variants[0].name}:SETTING=VALUE|VALUE"
        )
    return replace(everything, variants=tuple(variants), notes=tuple(notes))


def _named_families(data: Dataset, plan: Plan) -> list[Family]:
    shape, common = data.X.shape[1:], {"seed": plan.seed, "column_names": data.columns}
    if plan.families is None:
        return default_families(shape, **common)
    named = [(family.name, family.settings) for family in plan.families]
    return families_by_name(named, shape, data=data.name, **common)


def _left_out(variant: Variant, prepared: Prepared) -> str:
    """Why a yardstick is left out; empty if it is not, and for other strategies."""
    if variant.name not in _YARDSTICKS or prepared.plan.strategies is not None:
        return ""
    n_examples = max(len(train) for train, _ in prepared.splits)
    cost = prepared.n_features * n_examples
    product = f"F * N = {prepared.n_features:,} * {n_examples:,} = {cost:,} looks"
    budget = prepared.plan.looks(n_examples)
    if budget is not None and budget < cost and "budget" not in prepared.axes:
        return (
            f"{variant.label} is left out: its search costs {product}, more than the budget of "
            f"{budget:,}; name it in --strategies to include it"
        )
    total = cost * prepared.plan.n_rounds * prepared.plan.repeats
    if total > _YARDSTICK_LIMIT:
        return (
            f"{variant.label} is left out: its search costs {product}, {total:.1e} looks in all "
            "rounds and repetitions; name it in --strategies to include it"
        )
    return ""


def _check_memory(prepared: Prepared) -> None:
    """Raise DataError if memory cannot hold the features; the system would kill the process."""
    memory = machine_memory()
    size = prepared.n_features * prepared.data.n_examples
    if size > memory:
        raise DataError(
            f"{prepared.data.name}: the bins of all features must fit into memory, "
            f"{memory / 2**30:.1f} GiB, but {prepared.n_features:,} features of "
            f"{prepared.data.n_examples:,} examples need {size / 2**30:.1f} GiB; choose fewer by "
            "--families, or --bank disk, columns or lazy"
        )
