"""Cost-aware: its plans, what it learns, and what it costs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from boostsample.banks.lazy import LazyBank
from boostsample.loop.booster import Booster
from boostsample.planning.costs import draw_cost, finish_cost, round_cost, search_cost, values_cost
from boostsample.strategies.cost_aware import plans_within
from tests.problems import bank_of


def test_plans_keep_to_the_budget_the_features_and_few_of_the_examples() -> None:
    assert plans_within(60_000, 16_000, 600_000) == [
        (10, 60_000),
        (5, 60_000),
        (16, 2048),
        (16, 4096),
        (16, 8192),
        (32, 4096),
    ]
    for n_examples in (1, 50, 4_000, 30_000, 1_000_000):
        for n_features in (1, 7, 40, 10_000):
            for budget in (n_examples, 3 * n_examples, 100 * n_examples):
                plans = plans_within(n_examples, n_features, budget)
                assert len(set(plans)) == len(plans)
                first, *others = plans
                assert 2 * first[0] * first[1] > min(budget, n_features * n_examples)
                for q, T in plans:
                    assert q * T <= budget
                    assert q <= n_features
                for _, T in others:
                    assert n_examples == T or n_examples >= 7 * T


def learned_after(n_rounds: int, budget: int | None = None) -> tuple[Booster, Any]:
    """Rounds on 20,000 examples of 20 features, and the strategy."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 5, (20_000, 20)).astype(np.float32)
    Y = np.where(X[:, :1] + rng.integers(0, 3, (20_000, 1)) > 3, 1, -1).astype(np.int8)
    booster = Booster(bank_of(X), None, Y, "cost-aware", n_rounds=60, rng=0, budget=budget)
    for _ in range(n_rounds):
        booster.next_round()
    return booster, booster.strategy


def test_the_first_round_is_the_cheapest() -> None:
    _, strategy = learned_after(1, 60_000)
    assert strategy.plans_.tolist() == [[3, 20_000], [16, 2048]]
    assert strategy.arm_ == int(np.argmin(strategy.costs_))


def test_a_plan_of_much_reward_for_its_cost_is_searched_nearly_always() -> None:
    booster, strategy = learned_after(1)
    plan = strategy.plans_.tolist().index([16, 2048])
    rows = []
    for _ in range(5):
        strategy.arms_ = np.full((2, len(strategy.plans_)), 0.1)
        strategy.arms_[1], strategy.arms_[0, plan] = 50.0, 9.0
        rows += booster.next_round().rows
    assert [row["n_examples"] for row in rows] == [2048] * 5
    assert [row["looks_search"] for row in rows] == [16 * 2048] * 5


@pytest.mark.parametrize(("ratio", "searched"), [(1.2, True), (1.4, False)])
def test_a_new_plan_is_tried_if_it_costs_less_than_1_3_times_the_best(
    ratio: float, searched: bool
) -> None:
    booster, strategy = learned_after(1)
    n = len(strategy.plans_)
    strategy.arms_ = np.array([[1.0] * n, [1e9] * n])
    strategy.costs_ = np.full(n, 10.0)
    strategy.costs_[0], strategy.costs_[1] = ratio, 1.0
    strategy.arms_[:, 0] = 0.0
    booster.next_round()
    assert strategy.arm_ == (0 if searched else 1)


def test_costs_are_sums_of_their_parts_and_grow_with_each_size() -> None:
    stages, n, k = [(64, 1024), (16, 4096)], 60_000, 10
    of_stages = sum(search_cost(q, T, n, k) for q, T in stages)
    want = finish_cost(n, k) + draw_cost("order", 4096, n, k) + of_stages
    assert round_cost(stages, "order", n, k) == pytest.approx(want)
    assert draw_cost("iid", n, n, k) == 0.0
    for more, less in (
        (finish_cost(2 * n, k), finish_cost(n, k)),
        (finish_cost(n, 2 * k), finish_cost(n, k)),
        (draw_cost("order", 200, n, k), draw_cost("order", 100, n, k)),
        (draw_cost("distinct", 100, n, k), draw_cost("order", 100, n, k)),
        (search_cost(6, n, n, k), search_cost(5, n, n, k)),
        (search_cost(5, 200, n, k), search_cost(5, 100, n, k)),
        (search_cost(65, 100, n, k), search_cost(64, 100, n, k)),
    ):
        assert more > less


def test_values_computed_on_demand_cost_more() -> None:
    rng = np.random.default_rng(1)
    X = rng.integers(0, 9, (300, 12)).astype(np.float32)
    Y = np.where(X[:, :1] > 4, 1, -1).astype(np.int8)
    costs = []
    for bank in (bank_of(X), LazyBank(bank_of(X).families, X)):
        booster = Booster(bank, None, Y, "uniform-naive:n_features=4", rng=0, budget=400)
        costs.append(booster.next_round().rows[0]["cost"])
    of_value = bank_of(X).families[0].cost
    assert costs[1] - costs[0] == pytest.approx(values_cost(of_value, 400 + 300))
