"""The three Uniform strategies: what they look at, and how much."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from boostsample.errors import SettingError
from boostsample.loop.booster import Booster
from boostsample.strategies import Uniform1Q, UniformNaive, UniformQ1
from boostsample.strategy import Strategy
from tests.problems import bank_of, booster_of, noisy_labels, rows_of, table
from tests.strategies.watch import Watched

KINDS: list[type[Any]] = [UniformNaive, Uniform1Q, UniformQ1]
N, F = 60, 40


def watched(strategy: Strategy, rounds: int, sizes: int = 4, **settings: Any) -> list[Any]:
    """(features, T) of every search."""
    bank = bank_of(table(N, F, seed=2), groups=sizes)
    booster = Booster(bank, None, noisy_labels(N), strategy, n_rounds=rounds, rng=3, **settings)
    with pytest.MonkeyPatch.context() as monkeypatch:
        searches = Watched(monkeypatch).searches
        rows = rows_of(booster, rounds)
    for search, row in zip(searches, rows, strict=True):
        assert row["looks_search"] == len(search.features) * search.size <= booster.budget
        assert row["n_features"] == len(set(search.features)) == len(search.features)
        # What is left over would not pay for one more example of every feature.
        left = booster.budget - row["looks_search"]
        assert left < len(search.features) or search.size == N
    return [(search.features, search.size) for search in searches]


@pytest.mark.parametrize("kind", KINDS)
def test_the_default_is_ten_features_on_all_examples(kind: type[Any]) -> None:
    for features, T in watched(kind(), 20):
        assert (len(features), T) == (10, N)


@pytest.mark.parametrize("kind", KINDS)
def test_a_smaller_budget_draws_fewer_examples(kind: type[Any]) -> None:
    for features, T in watched(kind(), 5, budget=205):
        assert (len(features), T) == (10, 20)
    for features, T in watched(kind(n_features=3), 5, budget=100):
        assert (len(features), T) == (3, 33)
    for features, T in watched(kind(), 5, budget=4):
        assert (len(features), T) == (4, 1)


@pytest.mark.parametrize("kind", [UniformNaive, UniformQ1])
def test_a_larger_budget_searches_more_features(kind: type[Any]) -> None:
    for features, T in watched(kind(), 5, budget=15 * N):
        assert (len(features), T) == (15, N)


def test_one_family_and_q_of_its_features() -> None:
    families = np.zeros(4)
    counts = np.zeros(F)
    for features, _ in watched(Uniform1Q(n_features=5), 400):
        (family,) = {feature // 10 for feature in features}
        families[family] += 1
        counts[features] += 1
    assert (np.abs(families - 100) < 4.5 * np.sqrt(400 * 0.25 * 0.75)).all()
    expected = families.repeat(10) / 2
    assert (np.abs(counts - expected) < 4.5 * np.sqrt(expected / 2)).all()


def test_one_family_that_is_too_small() -> None:
    for features, T in watched(Uniform1Q(), 10, sizes=10, budget=100):
        assert len(features) == 4  # all of the family
        assert T == 25


def test_q_families_and_one_feature_of_each() -> None:
    many = watched(UniformQ1(n_features=6), 200, sizes=10)
    counts = np.zeros(10)
    for features, _ in many:
        families = [feature // 4 for feature in features]
        counts[families] += 1
        assert len(families) == len(set(families)) == 6
    expected = counts.sum() / 10
    assert (np.abs(counts - expected) < 4.5 * np.sqrt(expected)).all()


def test_q1_spreads_over_families_of_different_sizes() -> None:
    """A family of one feature is looked at as often as one of many: that is the point of Q.1."""
    from boostsample.banks.bank import FeatureBank
    from boostsample.families import column_groups

    X = table(N, 30)
    bank = FeatureBank.build(column_groups({"one": [0], "many": range(1, 30)}, n_columns=30), X)
    booster = Booster(bank, None, noisy_labels(N), UniformQ1(n_features=1), n_rounds=200, rng=0)
    hits = sum(booster.next_round().rows[0]["family"] == "one" for _ in range(200))
    assert abs(hits - 100) < 4.5 * np.sqrt(50)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("value", [0, 2.5, 9])  # of 8 features
def test_bad_numbers_of_features(kind: type[Any], value: Any) -> None:
    with pytest.raises(SettingError, match=r"n_features must be|9"):
        booster_of(kind(n_features=value))


@pytest.mark.parametrize("kind", KINDS)
def test_budgets_that_are_too_small_are_refused_at_once(kind: type[Any]) -> None:
    with pytest.raises(SettingError, match="the budget of 4 looks, got 5"):
        booster_of(kind(n_features=5), budget=4)


def test_some_of_every_family() -> None:
    for features, T in watched(UniformQ1(per_family=3), 20):
        assert np.bincount(np.array(features) // 10).tolist() == [3, 3, 3, 3]
        assert T == 10 * N // 12


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"per_family": -1}, "per_family must be an integer at least 0"),
        ({"per_family": 2, "n_features": 3}, "n_features must be None with per_family = 2, got 3"),
        ({"per_family": 50}, "searches 8 features, more than the budget of 7"),
    ],
)
def test_bad_numbers_per_family(settings: Any, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        booster_of(UniformQ1(**settings), budget=7)
