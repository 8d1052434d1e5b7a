"""Budgets of rounds that grow or shrink, and limits of runs."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from boostsample import Booster, FeatureBank, SettingError, boost
from boostsample.errors import StrategyError
from boostsample.families import Columns
from boostsample.labels import encode
from boostsample.loop.budgets import (
    RunLimits,
    least_budget,
    round_budget,
    round_budgets_note,
    split_budget,
)
from boostsample.records import Round
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


def made(*rows: tuple[int, int, float]) -> Round:
    """A round of searches with these looks of search and modelling, and seconds."""
    names = "looks_search", "looks_modelling", "seconds"
    finish = {"looks_finish": 10**9}
    return Round([], [{**dict(zip(names, row, strict=True)), **finish} for row in rows], 0.5)


NO_LOOKS = {"looks_search": 0, "looks_modelling": 0, "seconds": 0.0}


def clock(times: Iterable[float]) -> Callable[[], float]:
    return iter(times).__next__


def test_looks_of_all_searches_count() -> None:
    limits = RunLimits(max_looks=100)
    assert limits.reached == ""
    limits.count(made((40, 0, 1.0), (20, 39, 1.0)))
    assert limits.reached == ""
    limits.count(made((1, 0, 0.0)))
    assert limits.reached == "max_looks=100 is reached"


def test_seconds_are_those_of_rounds_or_of_a_clock() -> None:
    of_rounds = RunLimits(max_seconds=3)
    for seconds, reached in ((1.0, ""), (1.5, ""), (0.5, "max_seconds=3 is reached")):
        of_rounds.count(made((1, 0, seconds / 2), (1, 0, seconds / 2)))
        assert of_rounds.reached == reached
    by_clock = RunLimits(max_seconds=3, clock=clock([100.0, 102.9, 103.0]))
    by_clock.count(made((1, 0, 99.0)))
    assert by_clock.reached == ""
    assert by_clock.reached == "max_seconds=3 is reached"
    resumed = RunLimits(max_seconds=3, clock=clock([100.0, 100.9, 101.0]))
    resumed.resume([made((1, 0, 2.0))])  # of another process: the clock has not run
    assert resumed.reached == ""
    assert resumed.reached == "max_seconds=3 is reached"


def test_seconds_of_rounds_are_counted_as_cells_store_them() -> None:
    limits = RunLimits(max_seconds=10e-6)
    for _ in range(9):
        limits.count(made((1, 0, 1.4e-6)))  # stored as one microsecond
    assert limits.reached == ""
    limits.count(made((1, 0, 1.4e-6)))
    assert limits.reached == "max_seconds=1e-05 is reached"


def test_cost_is_that_of_the_rounds_in_whole_nanoseconds() -> None:
    """The limit is nominal seconds, the rows have microseconds."""
    done = [Round([], [{"cost": 100.0, **NO_LOOKS}, {"cost": 49.9999, **NO_LOOKS}], 0.5)] * 4
    limits, states = RunLimits(max_cost=450e-6), []
    for of_round in done:
        limits.count(of_round)
        states.append((limits.reached, limits.passed))
    text = "max_cost=0.00045 is reached"
    assert states == [("", False), ("", False), (text, False), (text, True)]
    first = RunLimits(max_cost=1e-9)
    first.count(done[0])
    assert (first.reached, first.passed) == ("max_cost=1e-09 is reached", False)


def test_a_round_is_always_trained() -> None:
    limits = RunLimits(max_seconds=1e-9, max_looks=1, clock=clock(itertools.count()))
    assert limits.reached == ""
    limits.count(made((1, 0, 0.0)))
    assert limits.reached == "max_looks=1 is reached"


def test_a_run_beyond_the_limit_is_refused() -> None:
    rounds = [made((10, 0, 1.0))] * 4
    RunLimits(max_looks=31).resume(rounds)
    RunLimits(max_looks=5).resume(rounds, turn=4)
    with pytest.raises(SettingError, match="first 3 of the 4 rounds that are trained already, 30,"):
        RunLimits(max_looks=30).resume(rounds)
    with pytest.raises(SettingError, match="looks of the first 2 of the 4 rounds"):
        RunLimits(max_looks=5).resume(rounds, turn=2)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max_looks": 0}, "max_looks must be an integer at least 1, got 0; None is no limit"),
        ({"max_looks": 1e6}, "max_looks must be an integer at least 1, got 1000000.0"),
        ({"max_looks": True}, "max_looks must be an integer at least 1, got True"),
        ({"max_seconds": 0}, "max_seconds must be above 0 and finite, got 0; None is no limit"),
        ({"max_cost": 0}, "max_cost must be above 0 and finite, got 0; None is no limit"),
        ({"max_seconds": np.inf}, "max_seconds must be above 0 and finite, got inf"),
        ({"max_seconds": "long"}, "max_seconds must be a number, got 'long'; None is no limit"),
    ],
)
def test_wrong_limits(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        RunLimits(**settings)


def test_boost_ends_at_a_limit_and_goes_on_from_its_checkpoint(tmp_path: Path) -> None:
    bank = FeatureBank.build([Columns(range(4))], table(70, 4))
    Y = encode(np.random.default_rng(0).integers(0, 3, 70))

    def run(**settings: Any) -> list[Round]:
        return list(boost(bank, None, Y, "ucb", n_rounds=9, rng=0, budget=140, **settings))

    def bits(rounds: list[Round]) -> str:
        return repr([{**row, "seconds": 0.0} for done in rounds for row in done.rows])

    whole = run()
    spent = np.cumsum([done.rows[0]["looks_search"] for done in whole])
    some = run(max_looks=int(spent[3]), checkpoint=tmp_path / "run")
    assert bits(some) == bits(whole[:4])
    more = run(max_looks=int(spent[3]) + 1, checkpoint=tmp_path / "run")
    assert bits(more) == bits(whole[:5])
    assert bits(run(checkpoint=tmp_path / "run")) == bits(whole)
    assert len(run(max_seconds=1e-9)) == 1
