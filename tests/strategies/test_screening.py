"""Screening: passes over all columns, the pool that they leave, and draws from it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from boostsample.banks.bank import FeatureBank
from boostsample.errors import SettingError, StrategyError
from boostsample.families import Columns
from boostsample.loop.booster import Booster
from boostsample.strategies import Screening, screening
from boostsample.strategies.screening import n_significant
from tests import naive
from tests.problems import bank_of, noisy_labels, step_of, table
from tests.strategies.watch import Watched


def two_kinds(n: int, n_features: int, n_useful: int, seed: int = 0) -> tuple[Any, Any]:
    """Normal columns of which the means of the first ones differ between the classes."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2, 1, -1).astype(np.int8)
    X = rng.standard_normal((n, n_features), dtype=np.float32)
    X[:, :n_useful] += 0.6 * y[:, None]
    return FeatureBank.build([Columns(range(n_features))], X), y[:, None]


@pytest.mark.parametrize("seed", range(5))
def test_the_significant_edges(seed: int) -> None:
    rng = np.random.default_rng(seed)
    shuffled = np.sqrt(rng.exponential(0.01, 300))
    edges = np.sort(np.append(np.sqrt(rng.exponential(0.01, 900)), rng.uniform(0.1, 0.5, 40)))[::-1]
    counts = [n_significant(edges, shuffled, share) for share in (0.01, 0.2, 0.5)]
    expected = [
        naive.n_significant(edges.tolist(), shuffled.tolist(), share) for share in (0.01, 0.2, 0.5)
    ]
    assert counts == expected
    assert 0 < counts[0] < counts[1] < counts[2] < 940


def test_few_shuffled_edges_say_nothing() -> None:
    assert n_significant(np.array([1.0, 0.5]), np.zeros(19), 0.2) == 0


def test_a_pass_then_draws_of_the_best(watched: Watched) -> None:
    bank, Y = two_kinds(400, 300, 30)
    booster = Booster(bank, None, Y, Screening(n_features=25), n_rounds=12, rng=0)
    booster.next_round()
    whole, shuffled = watched.searches
    assert whole.features == [*range(300)]
    assert len(shuffled.features) == 300
    strategy: Any = booster.strategy
    pool = strategy.pool_
    assert set(range(30)) <= {*pool.tolist()}
    assert pool.size < 40
    watched.clear()
    booster.next_round()
    (search,) = watched.searches
    assert {*search.features} <= {*pool.tolist()}
    assert len({*search.features}) == 25
    passes = [3, 9]
    watched.clear()
    for number in range(3, 13):
        row = booster.next_round().rows[0]
        assert row["n_examples"] in (200, 400)
        assert (row["n_features"] == 300) == (number in passes), number


def test_many_examples_are_searched_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(screening, "_MANY", 399)
    bank, Y = two_kinds(400, 300, 30)
    booster = Booster(bank, None, Y, Screening(n_features=7), n_rounds=5, rng=0)
    rows = [booster.next_round().rows[0] for _ in range(5)]
    assert [row["n_examples"] for row in rows] == [400] * 5
    assert [row["n_features"] for row in rows] == [300, 7, 300, 7, 7]


def test_of_a_large_pool_the_best_columns_are_drawn_most(
    monkeypatch: pytest.MonkeyPatch, watched: Watched
) -> None:
    monkeypatch.setattr(screening, "_LARGE_POOL", 2)
    bank, Y = two_kinds(400, 300, 30)
    booster = Booster(bank, None, Y, Screening(n_features=10), n_rounds=40, rng=0)
    booster.next_round()
    strategy: Any = booster.strategy
    edges = strategy.edges_.copy()
    watched.clear()
    booster.next_round()
    for _ in range(7):
        booster.next_round()
    drawn = np.concatenate([s.features for s in watched.searches if len(s.features) <= 10])
    pool = np.sort(strategy.pool_)
    assert np.isin(drawn, pool).all()
    assert edges[drawn].mean() > edges[pool].mean()


def test_of_unbalanced_classes_only_useful_columns_are_in_the_pool() -> None:
    """The edges of most columns are that of the constant stump, up to rounding."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (800, 3000)).astype(np.float32)
    score = X[:, :10].sum(axis=1) + rng.normal(size=800)
    Y = np.where(score > np.quantile(score, 0.8), 1, -1).astype(np.int8)[:, None]
    bank = FeatureBank.build([Columns(range(3000))], X)
    booster = Booster(bank, None, Y, Screening(), "tree", n_rounds=10, rng=0)
    for _ in range(10):
        booster.next_round()
    strategy: Any = booster.strategy
    assert {*range(10)} <= {*strategy.pool_.tolist()}
    assert strategy.pool_.size < 200


def test_without_useful_columns_the_pool_has_the_first_hundred() -> None:
    bank, Y = two_kinds(200, 2000, 0)
    booster = Booster(bank, None, Y, Screening(), n_rounds=2, rng=0)
    booster.next_round()
    strategy: Any = booster.strategy
    best = np.argsort(-strategy.edges_, kind="stable")[:100]
    assert strategy.pool_.tolist() == sorted(best.tolist())


def test_a_small_budget_spreads_a_pass_over_searches(watched: Watched) -> None:
    bank, Y = two_kinds(100, 90, 5)
    booster = Booster(bank, None, Y, Screening(), n_rounds=20, budget="11N", rng=0)
    searched: list[int] = []
    for _ in range(9):
        watched.clear()
        row = booster.next_round().rows[0]
        searched += watched.searches[0].features
        assert row["looks_search"] + row["looks_modelling"] <= 1100
    assert sorted(searched) == [*range(90)]
    strategy: Any = booster.strategy
    assert {*range(5)} <= {*strategy.pool_.tolist()}


@pytest.mark.parametrize("setting", [{"n_features": 0}, {"false_share": 0.0}])
def test_settings_are_checked(setting: dict[str, Any]) -> None:
    bank, Y = two_kinds(20, 5, 1)
    with pytest.raises(SettingError, match=next(iter(setting))):
        Booster(bank, None, Y, Screening(**setting))


class TestShuffledDraws:
    """`Step.draw_shuffled`: each example has the features of another."""

    n = 60

    def search(self, seed: int = 0) -> tuple[Any, Any, NDArray[np.int64]]:
        bank = bank_of(table(self.n, 7, seed=1))
        step = step_of(bank, noisy_labels(self.n, 3), seed=seed)
        sample = step.draw_shuffled()
        return step, sample, np.random.default_rng(seed).permutation(np.arange(self.n))

    def test_edges_are_those_of_permuted_rows(self) -> None:
        step, sample, order = self.search()
        bank = bank_of(table(self.n, 7, seed=1))
        Y = np.empty((self.n, 3), np.int8)
        Y[order] = noisy_labels(self.n, 3)
        exact = step_of(bank, Y)
        expected = exact.search(np.arange(7), exact.draw(self.n)).edge
        np.testing.assert_allclose(step.search(np.arange(7), sample).edge, expected, atol=1e-6)
        assert step.spent == 7 * self.n

    def test_the_sample_is_not_exact_and_its_stumps_cannot_be_chosen(self) -> None:
        step, sample, _ = self.search()
        assert not sample.exact
        stump = step.search(np.arange(7), sample).best()
        with pytest.raises(StrategyError, match="was not searched in this step"):
            step._found(stump.feature, stump.threshold)

    def test_weights_stay(self) -> None:
        """The constant stump, which reads no feature, has its exact edge."""
        step, sample, _ = self.search()
        stumps = step.search(np.arange(1), step.draw(self.n))
        stumps.threshold.setflags(write=True)
        stumps.threshold[:] = 1
        shuffled = step.edges(stumps, sample)
        assert math.isclose(shuffled[0], step.edges(stumps, step.draw(self.n))[0], abs_tol=1e-6)
