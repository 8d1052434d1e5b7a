"""Plans are fitted to their data, and strategies checked, before anything is computed."""

from __future__ import annotations

import os

import numpy as np
import pytest

from boostsample.errors import DataError, SettingError
from boostsample.experiments.data.dataset import Dataset
from boostsample.experiments.data.datasets import load_dataset
from boostsample.experiments.plan import prepared as prepared_module
from boostsample.experiments.plan.plan import Plan
from boostsample.experiments.plan.prepared import prepare
from boostsample.experiments.plan.variants import parse_names


@pytest.fixture(scope="module")
def data() -> Dataset:
    return load_dataset("chess(d=4,n=80)")


@pytest.fixture(scope="module")
def images() -> Dataset:
    X = np.random.default_rng(5).integers(0, 9, (40, 6, 6)).astype(np.uint8)
    return Dataset("dots", X, np.arange(40) % 3, ("a", "b", "c"))


def test_full_is_left_out_of_a_budget_that_it_does_not_fit(data: Dataset) -> None:
    plan = Plan(strategies=parse_names("full,uniform-naive"), budget=239, repeats=1)
    prepared = prepare(data, plan)
    assert [variant.name for variant in prepared.variants] == ["uniform-naive"]
    (note,) = prepared.notes
    assert "full is left out" in note
    assert "F * N = 4 * 60 = 240 looks, more than the budget of 239" in note
    enough = prepare(data, Plan(strategies=plan.strategies, budget=240, repeats=1))
    assert [variant.name for variant in enough.variants] == ["full", "uniform-naive"]
    assert enough.notes == ()


def test_full_alone_cannot_be_left_out(data: Dataset) -> None:
    with pytest.raises(SettingError, match="no strategy is left to compare: full is left out"):
        prepare(data, Plan(strategies=parse_names("full"), budget=10))


def test_full_is_left_out_of_long_comparisons_unless_it_is_named(
    data: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prepared_module, "_YARDSTICK_LIMIT", 1000)
    prepared = prepare(data, Plan())
    assert "full" not in [variant.name for variant in prepared.variants]
    assert "name it in --strategies" in prepared.notes[0]
    named = prepare(data, Plan(strategies=parse_names("full")))
    assert [variant.name for variant in named.variants] == ["full"]


def test_budgets_without_one_given(data: Dataset) -> None:
    prepared = prepare(data, Plan(repeats=1))
    budgets = {variant.name: prepared.budget(variant, 0) for variant in prepared.variants}
    assert budgets.pop("full") == 4 * 60
    assert set(budgets.values()) == {10 * 60}


@pytest.mark.parametrize(
    ("strategy", "budget", "message"),
    [
        ("laminating", 1, "laminating from 2 features costs at least 2 looks, but the budget is 1"),
        ("uniform-q1:n_features=4", 3, "'uniform-q1:n_features=4'.*at least 4 looks.*budget is 3"),
    ],
)
def test_strategies_check_their_settings_before_anything_is_computed(
    data: Dataset, strategy: str, budget: int | None, message: str
) -> None:
    plan = Plan(strategies=parse_names(strategy), budget=budget)
    with pytest.raises(SettingError, match=message):
        prepare(data, plan)


def test_families_by_name_and_with_settings(images: Dataset) -> None:
    plan = Plan(families=parse_names("patches:n_members=3:seed=9,identity"))
    prepared = prepare(images, plan)
    assert [(f.name, f.n_features) for f in prepared.families] == [("patches", 3), ("identity", 36)]
    assert prepared.families[0].settings()["seed"] == 9
    assert prepared.n_features == 39
    assert [info.first for info in prepared.pool(0).families] == [0, 3]


@pytest.mark.parametrize(
    ("families", "message"),
    [
        ("haa", "unknown family of dots 'haa' .*; known: identity, gradient, fourier, "),
        ("columns", "family 'columns' does not fit dots: .*; give the setting that it needs, or"),
        ("patches:n=3", "unknown setting of family 'patches' 'n'.*known: n_members"),
    ],
)
def test_families_that_there_are_not(images: Dataset, families: str, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        prepare(images, Plan(families=parse_names(families)))


def test_drawn_families_follow_the_seed(images: Dataset) -> None:
    families = [prepare(images, Plan(seed=seed)).families for seed in (0, 0, 1)]
    assert families[0] == families[1]
    assert families[0] != families[2]


@pytest.mark.skipif(not hasattr(os, "sysconf"), reason="this system does not tell its memory")
def test_features_that_memory_cannot_hold(images: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sysconf", lambda name: 10)
    with pytest.raises(DataError, match=r"dots: the bins .* features of 40 examples .*--families"):
        prepare(images, Plan())
