"""Cost-aware: its plans, what it learns, and what it costs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from boostsample.banks.lazy import LazyBank
from boostsample.loop.booster import Booster
from boostsample.planning.costs import draw_cost, finish_cost, round_cost, search_cost, values_cost
from boostsample.strategies.cost_aware import CostAware, plans_within
from boostsample.strategies.uniform_naive import search_that_spends
from boostsample.strategy import Outcome
from tests.problems import bank_of


def test_plans_keep_to_the_budget_the_features_and_few_of_the_examples() -> None:
    assert plans_within(60_000, 16_000, 600_000) == [
        [[5, 60_000]],
        [[10, 60_000]],
        [[16, 2048]],
        [[16, 4096]],
        [[16, 8192]],
        [[32, 4096]],
        [[64, 1024], [16, 4096]],
    ]
    for n_examples in (1, 50, 4_000, 30_000, 1_000_000):
        for n_features in (1, 7, 40, 10_000):
            for budget in (n_examples, 3 * n_examples, 100 * n_examples):
                size = n_examples, n_features
                plans = plans_within(*size, budget)
                assert plans
                for plan in plans:
                    assert sum(q * T for q, T in plan) <= budget
                    assert max(q for q, _ in plan) <= n_features
                    few = plan[-1][1] == n_examples or 7 * plan[-1][1] <= n_examples
                    assert few or plans == [[list(search_that_spends(10, *size, budget))]]


def outcome(round_: int, edge: float, search: int = 0, whole: bool = True) -> Outcome:
    return Outcome(round_, search, 0, 0, edge, edge, 1.0, 100, 10, 1.0, whole)


def test_rewards_age_and_are_relative_to_their_running_mean() -> None:
    """The formulas of the docstring, summed over all rounds each time."""
    strategy = CostAware()
    strategy.plans_, strategy.rewards_ = [[[5, 9]], [[3, 9]]], np.zeros((2, 2))
    strategy.variance_, strategy.running_mean_, strategy.n_rewards_ = 0.1, 0.0, 0
    rng, seen, mean, variance = np.random.default_rng(0), list[tuple[int, float]](), 0.0, 0.1
    strategy.plan_ = 0
    strategy.learn(outcome(1, 0.9))  # the first round is not counted
    strategy.learn(outcome(2, 0.5, search=1))
    strategy.learn(outcome(2, 0.5, whole=False))
    strategy.learn(outcome(2, 1.0))
    assert strategy.n_rewards_ == 0
    for t in range(1, 40):
        plan, edge = int(rng.integers(2)), float(rng.uniform(0.05, 0.4))
        strategy.plan_ = plan
        reward = -0.5 * np.log1p(-(edge**2))
        relative = reward / mean if seen else 1.0
        old = [(s, x) for s, (p, x) in enumerate(seen, 1) if p == plan]
        if old:
            weights = np.array([float(s) ** 2 for s, _ in old])
            average = float(weights @ np.array([x for _, x in old]) / weights.sum())
            variance += ((relative - average) ** 2 - variance) / (10 + np.sqrt(t))
        mean += (reward - mean) / np.sqrt(t)
        seen.append((plan, relative))
        strategy.learn(outcome(t + 1, edge))
        for p in range(2):
            of_plan = [(s, x) for s, (q, x) in enumerate(seen, 1) if q == p]
            weights = np.array([(s / t) ** 2 for s, _ in of_plan])
            assert strategy.rewards_[1, p] == pytest.approx(weights.sum())
            if of_plan:
                want = weights @ np.array([x for _, x in of_plan]) / weights.sum()
                assert strategy.rewards_[0, p] == pytest.approx(want)
        assert strategy.variance_ == pytest.approx(variance)
        assert strategy.running_mean_ == pytest.approx(mean)


def test_a_plan_of_much_reward_for_its_cost_is_searched_nearly_always() -> None:
    """Of 20,000 examples: 5 and 10 features on all, 16 on 2,048."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 5, (20_000, 20)).astype(np.float32)
    Y = np.where(X[:, :1] + rng.integers(0, 3, (20_000, 1)) > 3, 1, -1).astype(np.int8)
    booster = Booster(bank_of(X), None, Y, "cost-aware", n_rounds=60, rng=0)
    strategy: Any = booster.strategy
    assert strategy.plans_ == [[[5, 20_000]], [[10, 20_000]], [[16, 2048]]]
    booster.next_round()
    rows = []
    for _ in range(5):
        strategy.rewards_, strategy.variance_ = np.array([[0.1, 0.1, 9.0], [50.0] * 3]), 0.1
        rows += booster.next_round().rows
    assert [row["n_examples"] for row in rows] == [2048] * 5
    assert [row["looks_search"] for row in rows] == [16 * 2048] * 5


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
