"""Timed rounds are the rounds of the plain loop, and their parts add up. No test asserts a time."""

from __future__ import annotations

import numpy as np
import pytest

from boostsample.experiments.bench.looks import look_vectors
from boostsample.experiments.bench.problem import (
    BenchProblem,
    made_bench_problem,
    relabelled_bench_problem,
)
from boostsample.experiments.bench.rounds import (
    ROUND_BASELINE,
    ROUND_PARTS,
    RoundTimes,
    TimedRounds,
    _Clock,
    bench_rounds,
    bench_rounds_table,
    time_rounds,
)
from boostsample.experiments.bench.timing import TimingSizes
from boostsample.loop.booster import Booster
from boostsample.registry import make_strategy
from boostsample.strategy import Strategy

STRATEGIES = ("mas-q1", "ucb", "laminating")


@pytest.fixture(scope="module")
def problem() -> BenchProblem:
    return made_bench_problem(400, 23, 3)


def test_made_problems_are_what_they_say(problem: BenchProblem) -> None:
    assert problem.bank.n_features == 23
    assert problem.Y.shape == (400, 3)
    assert (problem.Y > 0).sum() == 400
    bins = problem.bank.take(np.arange(23), np.arange(400))
    assert bins.min() >= 1
    assert [len(np.unique(row)) > 50 for row in bins] == [True] * 23
    assert problem.sizes() == {"data": "made data", "examples": 400, "features": 23, "classes": 3}


def test_other_labels_on_the_same_bank(problem: BenchProblem) -> None:
    assert relabelled_bench_problem(problem, 3) is problem
    two = relabelled_bench_problem(problem, 2)
    assert two.Y.shape == (400, 1)
    assert two.n_classes == 2
    assert two.bank is problem.bank
    many = relabelled_bench_problem(problem, 26)
    assert many.Y.shape == (400, 26)
    assert ((many.Y > 0).sum(axis=1) == 1).all()


@pytest.mark.parametrize(
    ("n_labels", "text"),
    [(1, "1"), (3, "4"), (7, "8"), (10, "8 + 2"), (26, "3 x 8 + 2"), (64, "8 x 8")],
)
def test_layouts(n_labels: int, text: str) -> None:
    assert look_vectors(n_labels) == text


def test_parts_add_up_to_the_rounds(problem: BenchProblem) -> None:
    sizes = TimingSizes(strategies=STRATEGIES, rounds=6, turn=4, threads=2)
    times = time_rounds(problem, sizes, lambda *_: None)
    threads = f"{ROUND_BASELINE}, 2 threads"
    assert [one.strategy for one in times] == [ROUND_BASELINE, *STRATEGIES, threads]
    assert times[-1].looks == times[0].looks
    for one in times:
        assert len(one.seconds) == len(one.looks) == 6
        assert all(0 < looks <= 4000 for looks in one.looks)
        for number, seconds in enumerate(one.seconds):
            parts = {part: one.parts[part][number] for part in ROUND_PARTS}
            assert sum(parts.values()) == pytest.approx(seconds)
            assert all(spent >= 0 for spent in parts.values())
        assert sum(one.numbers(times[0])["shares"].values()) == pytest.approx(1.0)
        modelled = sum(one.parts["modelling"]) > 0
        assert modelled == (one.strategy == "mas-q1")


@pytest.mark.parametrize("name", STRATEGIES)
def test_the_clock_changes_nothing(problem: BenchProblem, name: str) -> None:
    def stumps(strategy: Strategy) -> list[tuple[int, float]]:
        booster = Booster(problem.bank, problem.rows, problem.Y, strategy, rng=0)
        rounds = [booster.next_round() for _ in range(6)]
        return [(row["feature"], row["edge"]) for done in rounds for row in done.rows]

    timed = stumps(_Clock(make_strategy(name)))
    assert timed == stumps(make_strategy(name))


def test_a_run_that_ends_early_is_timed_as_far_as_it_goes(problem: BenchProblem) -> None:
    column = problem.bank.take(np.array([0]), problem.rows)[0]
    Y = np.where(column > np.median(column), 1, -1).astype(np.int8)[:, None]
    run = TimedRounds(problem._replace(Y=Y), "full", 9)
    assert run.run(9) == run.times.seconds[0]
    assert len(run.times.seconds) == 1


def made_times(name: str, seconds: list[float]) -> RoundTimes:
    parts = {part: [0.0] * len(seconds) for part in ROUND_PARTS}
    parts["search"] = [0.75 * one for one in seconds]
    parts["finish"] = [0.25 * one for one in seconds]
    return RoundTimes(name, seconds, [100] * len(seconds), parts)


def test_ratios_are_those_of_rounds_that_both_have_done() -> None:
    base = made_times(ROUND_BASELINE, [1.0, 1.0, 1.0, 1.0, 2.0])
    assert base.ratio(base) == 1.0
    assert base.ratio(base, np.median) == 1.0
    shorter = made_times("ucb", [2.0, 2.0, 4.0, 5.0])
    assert shorter.ratio(base) == pytest.approx(13 / 4)
    assert shorter.ratio(base, np.median) == 3.0


def test_the_table_has_means_medians_and_parts() -> None:
    base = made_times(ROUND_BASELINE, [0.001, 0.001, 0.004])
    other = made_times("ucb", [0.002, 0.003, 0.004])
    first, second = bench_rounds_table([base, other]).rows
    assert first[:7] == (ROUND_BASELINE, "100", "1.00", "1.00", "2.00", "1.00", "1.00")
    assert second[:7] == ("ucb", "100", "2.00", "3.00", "3.00", "1.50", "3.00")
    assert second[7:] == ("0.0%", "0.0%", "75.0%", "0.0%", "25.0%")


def test_the_section_keeps_a_ratio_for_each_strategy(problem: BenchProblem) -> None:
    stages: list[tuple[str, int, int]] = []
    sizes = TimingSizes(strategies=("ucb",), rounds=4, turn=2, threads=2)
    found = bench_rounds(problem, sizes, lambda *told: stages.append(told))
    assert set(found.ratios) == {"ucb"}
    assert found.conditions == {**problem.sizes(), "rounds": 4}
    names = [ROUND_BASELINE, "ucb", f"{ROUND_BASELINE}, 2 threads"]
    assert [one["strategy"] for one in found.numbers["rounds"]] == names
    assert found.numbers["rounds"][0]["ratio"] == 1.0
    compiling = [("compiling", number, 3) for number in range(3)]
    assert stages == [*compiling, ("rounds", 0, 4), ("rounds", 2, 4)]
