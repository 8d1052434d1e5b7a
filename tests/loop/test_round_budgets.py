"""Budgets that vary by round: exact totals, a linear course, and all strategies within them."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from boostsample import Booster, FeatureBank, SettingError
from boostsample.errors import StrategyError
from boostsample.families import Columns
from boostsample.labels import encode
from boostsample.loop.budgets import (
    least_budget,
    round_budget,
    round_budgets_note,
    split_budget,
)
from boostsample.registry import strategy_names
from tests.problems import table

KINDS = "growing", "shrinking"
EXACT = "full", "quickboost", "adaptive-pruning"
N, F, ROUNDS = 70, 4, 9


def course(mean: int, kind: str, n_rounds: int) -> list[int]:
    return [round_budget(mean, kind, number, n_rounds) for number in range(1, n_rounds + 1)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_rounds", [2, 3, 7, 100, 1001])
@pytest.mark.parametrize("mean", [2, 3, 10, 13_471, 10**12 + 1])
def test_the_total_is_that_of_equal_budgets(mean: int, n_rounds: int, kind: str) -> None:
    budgets = course(mean, kind, n_rounds)
    assert sum(budgets) == n_rounds * mean
    assert min(budgets) == least_budget(mean, kind, n_rounds) == mean // 2
    assert all(isinstance(budget, int) for budget in budgets)


@pytest.mark.parametrize(("mean", "n_rounds"), [(10, 4), (13_471, 30), (7, 100)])
def test_budgets_are_linear_from_half_to_three_halves_of_the_mean(mean: int, n_rounds: int) -> None:
    growing = course(mean, "growing", n_rounds)
    line = [mean * (Fraction(1, 2) + Fraction(t, n_rounds - 1)) for t in range(n_rounds)]
    assert all(abs(budget - exact) < 1 for budget, exact in zip(growing, line, strict=True))
    assert growing[0] == mean // 2
    assert growing[-1] == -(-3 * mean // 2)
    assert course(mean, "shrinking", n_rounds) == growing[::-1]
    assert course(mean, "equal", n_rounds) == [mean] * n_rounds


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: split_budget("10N:rising"), "unknown kind of a budget 'rising'"),
        (lambda: least_budget(10, "rising", 5), "unknown kind of a budget 'rising'"),
        (lambda: least_budget(1, "growing", 5), "a mean of at least 2 looks and 2 rounds, got 1 "),
        (lambda: least_budget(9, "shrinking", 1), "and 2 rounds, got 9 and 1; give more"),
    ],
)
def test_what_cannot_vary_is_refused(wrong: Any, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        wrong()


def test_sentences_name_ends_and_total() -> None:
    assert round_budgets_note("10N") == round_budgets_note(600) == ""
    shrinking = round_budgets_note("60000:shrinking")
    assert "shrink from 90,000 looks to 30,000 looks over the rounds" in shrinking
    assert shrinking.endswith("the total is that of 60,000 looks")
    assert "from 0.5 N to 1.5 N over" in round_budgets_note("1N:growing")


@pytest.fixture(scope="module")
def problem() -> tuple[FeatureBank, Any]:
    X = table(N, F)
    y = (X[:, 0] + X[:, 1] > X[:, 2]).astype(np.int64) + (X[:, 3] > 0.5)
    return FeatureBank.build([Columns(range(F))], X), encode(y, 3)


def booster(problem: tuple[FeatureBank, Any], strategy: str, kind: str, **settings: Any) -> Booster:
    bank, Y = problem
    settings = {"n_rounds": ROUNDS, "budget": "2N", "rng": 0, **settings}
    return Booster(bank, None, Y, strategy, budget_kind=kind, **settings)


@pytest.mark.parametrize("learner", ["stump", "tree:n_leaves=3"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("strategy", [name for name in strategy_names() if name not in EXACT])
def test_each_strategy_keeps_the_budget_of_the_round(
    problem: tuple[FeatureBank, Any], strategy: str, kind: str, learner: str
) -> None:
    run = booster(problem, strategy, kind, learner=learner)
    assert run.budget == 2 * N
    while not run.finished:
        done = run.next_round()
        most = round_budget(2 * N, kind, run.round, ROUNDS)
        for row in done.rows:
            assert 0 < row["looks_search"] + row["looks_modelling"] <= most
            if strategy == "uniform-naive" and row["looks_finish"] == N:
                assert row["looks_search"] >= 0.9 * min(most, F * N)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("strategy", EXACT)
def test_exact_searches_need_their_looks_in_each_round(
    problem: tuple[FeatureBank, Any], strategy: str, kind: str
) -> None:
    with pytest.raises(SettingError, match=f"smallest of the {kind} budgets, 140: .*at least F"):
        booster(problem, strategy, kind, budget="4N")
    assert not booster(problem, strategy, kind, budget="8N").finished


def test_a_run_depends_on_its_rounds_planned(problem: tuple[FeatureBank, Any]) -> None:
    equal, growing = (booster(problem, "uniform-naive", kind) for kind in ("equal", "growing"))
    assert (equal.plans_rounds, growing.plans_rounds) == (False, True)
    assert "budget_kind" not in equal.facts()
    assert growing.facts()["budget_kind"] == "growing"
    for _ in range(ROUNDS):
        growing.next_round()
    with pytest.raises(StrategyError, match="a growing budget is for the 9 rounds planned"):
        growing.next_round()
