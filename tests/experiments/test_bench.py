"""Timed rounds are the rounds of the plain loop, and their parts add up. No test asserts a time."""

from __future__ import annotations

import numpy as np
import pytest

from boostsample.booster import Booster
from boostsample.cli import main
from boostsample.experiments import bench
from boostsample.experiments.bench import BASELINE, PARTS, made_problem, time_rounds
from boostsample.registry import make_strategy
from boostsample.strategy import Strategy

STRATEGIES = ("mas-q1", "ucb", "laminating")


@pytest.fixture(scope="module")
def problem() -> bench.Problem:
    return made_problem(400, 23, 3)


def test_made_problems_are_what_they_say(problem: bench.Problem) -> None:
    assert problem.bank.n_features == 23
    assert problem.Y.shape == (400, 3)
    assert (problem.Y > 0).sum() == 400
    bins = problem.bank.take(np.arange(23), np.arange(400))
    assert bins.min() >= 1
    assert [len(np.unique(row)) > 50 for row in bins] == [True] * 23


def test_parts_add_up_to_the_rounds(problem: bench.Problem) -> None:
    times = time_rounds(problem, STRATEGIES, 6)
    assert [one.strategy for one in times] == [BASELINE, *STRATEGIES]
    for one in times:
        assert len(one.seconds) == 6
        for number, seconds in enumerate(one.seconds):
            parts = {part: one.parts[part][number] for part in PARTS}
            assert sum(parts.values()) == pytest.approx(seconds)
            assert all(spent >= 0 for spent in parts.values())
        assert sum(one.share(part) for part in PARTS) == pytest.approx(1.0)
        modelled = sum(one.parts["modelling"]) > 0
        assert modelled == (one.strategy == "mas-q1")


@pytest.mark.parametrize("name", STRATEGIES)
def test_the_clock_changes_nothing(problem: bench.Problem, name: str) -> None:
    def stumps(strategy: Strategy) -> list[tuple[int, float]]:
        booster = Booster(problem.bank, problem.rows, problem.Y, strategy, rng=0)
        rounds = [booster.next_round() for _ in range(6)]
        return [(row["feature"], row["edge"]) for done in rounds for row in done.rows]

    timed = stumps(bench._Clock(make_strategy(name)))
    assert timed == stumps(make_strategy(name))


def test_tables_are_ratios_of_one_run(problem: bench.Problem) -> None:
    times = time_rounds(problem, ["ucb"], 4)
    rows = bench.rounds_table(times).rows
    assert rows[0][0] == BASELINE
    assert rows[0][4] == "1.00"
    assert float(rows[1][4]) == pytest.approx(
        sum(times[1].seconds) / sum(times[0].seconds), abs=0.006
    )
    grown = bench.growth_table((300, 600), 3).rows
    assert [row[0] for row in grown] == ["300", "600"]
    assert [row[3] == "" for row in grown] == [True, False]


def test_looks_count_the_rows_that_are_read() -> None:
    exact = bench.time_looks(500, 4, 10, searches=2)
    assert (exact.n_labels, exact.n_features, exact.n_examples) == (10, 4, 500)
    sampled = bench.time_looks(500, 4, 2, sample=50, searches=2)
    assert sampled.n_examples <= 50
    assert 0 < sampled.least <= sampled.median


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--strategies", "ucv"]) == 2
    assert "unknown strategy 'ucv' (did you mean 'ucbv'" in capsys.readouterr().err
    assert main(["bench", "--rounds", "0"]) == 2
    assert "rounds must be at least 1, got 0" in capsys.readouterr().err
    code = main(["bench", "--data", "digits", "--strategies", "mas-naive", "--rounds", "5"])
    printed = capsys.readouterr().out
    assert code == 0
    assert "rounds on digits: 1,347 examples, 10 labels, 1," in printed
    assert "mas-naive" in printed
