"""Laminating: its stages, its cost, and the halving."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from boostsample.errors import SettingError
from boostsample.loop.booster import Booster
from boostsample.strategies import Laminating
from boostsample.strategies.laminating import laminating_stages
from tests.problems import bank_of, booster_of, noisy_labels, table
from tests.strategies.watch import Watched


@pytest.mark.parametrize("n_examples", [2, 3, 5, 17, 29, 100, 300, 1000, 7494, 60_000])
def test_default_stages(n_examples: int) -> None:
    """Half the features, twice the examples, and the budget is spent, or what there is to search.

    What is left of a budget of a few looks may pay for no other sample.
    """
    for n_features in (1, 2, 3, 7, 16, 31, 32, 100, 1000, 16_000, 10**6):
        for factor in (0.1, 1, 3, 10, 30, 100, 1000):
            budget = max(2, int(factor * n_examples))
            plan = laminating_stages(None, n_examples, n_features, budget)
            looks, most = sum(q * t for q, t in plan), min(budget, n_features * n_examples)
            where = n_features, budget, plan
            assert 0.9 * most <= looks <= budget or budget < 10, where
            assert all(1 <= q <= n_features and 1 <= t <= n_examples for q, t in plan), where
            for (q, t), (next_q, next_t) in itertools.pairwise(plan):
                assert next_q < q <= max(2 * next_q, n_features), where
                assert t <= next_t, where
            assert len(plan) == 1 or plan[0][1] >= 50, where


@pytest.mark.parametrize(
    ("n_examples", "n_features", "factor", "first", "n_stages"),
    [
        (60_000, 16_000, 10, [256, 292], 8),
        (60_000, 16_000, 1, [128, 66], 7),
        (60_000, 16_000, 100, [8192, 56], 13),
        (1500, 10_000, 10, [32, 93], 5),
        (7494, 16, 10, [16, 1170], 4),
        (16_000, 16, 10, [16, 2500], 4),
    ],
)
def test_the_default_at_the_sizes_of_the_published_tables(
    n_examples: int, n_features: int, factor: int, first: list[int], n_stages: int
) -> None:
    plan = laminating_stages(None, n_examples, n_features, factor * n_examples)
    assert plan[0] == first
    assert len(plan) == n_stages


def test_given_stages() -> None:
    assert laminating_stages(8, 1000, 100, 2400) == [[8, 100], [4, 200], [2, 400]]
    assert laminating_stages(8, 150, 100, 2400) == [[8, 100], [4, 150], [2, 150]]
    assert laminating_stages(2, 150, 100, 20) == [[2, 10]]


@pytest.mark.parametrize("value", [0, 3, 2.5, "8"])
def test_bad_numbers_of_features(value: Any) -> None:
    with pytest.raises(SettingError, match="n_features must be"):
        booster_of(Laminating(n_features=value))


def test_settings_that_do_not_fit_are_refused_at_the_start() -> None:
    with pytest.raises(SettingError, match="costs at least 24 looks, but the budget is 23"):
        booster_of(Laminating(n_features=8), budget=23)
    with pytest.raises(SettingError, match="unknown scheme 'iidd'"):
        booster_of(Laminating(scheme="iidd"))
    with pytest.raises(SettingError, match="16"):  # there are 8: nothing is silently clamped
        booster_of(Laminating(n_features=16))


@pytest.mark.parametrize("scheme", ["iid", "stratified", "distinct"])
def test_each_stage_keeps_the_better_half(scheme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nested samples, survivors searched anew, the best one returned."""
    watched = Watched(monkeypatch)
    bank = bank_of(table(100, 40, seed=3))
    strategy = Laminating(16, scheme)
    booster = Booster(bank, None, noisy_labels(100), strategy, n_rounds=5, budget=1600, rng=0)
    for _ in range(5):
        watched.clear()
        row = booster.next_round().rows[0]
        assert watched.nested == [([25, 50, 100, 100], scheme)]
        assert [len(search.features) for search in watched.searches] == [16, 8, 4, 2]
        assert len(set(watched.searches[0].features)) == 16
        for search, following in itertools.pairwise(watched.searches):
            assert following.features == search.best_first()[: len(following.features)]
        assert row["feature"] == watched.searches[-1].best_first()[0]
        assert row["looks_search"] == 16 * 25 + 8 * 50 + 4 * 100 + 2 * 100
