"""The finish that is timed: what it is done on, and what is computed from its times."""

from __future__ import annotations

import json

import numpy as np
import pytest

from boostsample.experiments.bench_finish import (
    FinishTimes,
    _Cell,
    finish_section,
    finish_table,
    time_finish,
)
from boostsample.experiments.bench_problem import Problem, made_problem, relabelled


@pytest.fixture(scope="module")
def problem() -> Problem:
    return made_problem(500, 24, 3)


def test_nanoseconds_are_those_of_an_example() -> None:
    sums, update, rewrite = (1e-3 * np.array(ms) for ms in ([1, 2, 9], [4, 8, 5], [1, 2, 3]))
    times = FinishTimes(1, 1_000_000, sums, update, rewrite)
    assert times.nanoseconds("sums").tolist() == pytest.approx([1.0, 2.0, 9.0])
    table = finish_table([times])
    assert table.rows == (("2", "1", "2.00", "5.00", "2.00", "40"),)


def test_the_timed_stump_divides_the_examples_at_random(problem: Problem) -> None:
    cell = _Cell(problem)
    above = cell._column >= 128
    assert above.size == 500
    assert 0.4 < above.mean() < 0.6
    assert 0.4 < (above[1:] != above[:-1]).mean() < 0.6


def test_weights_stay_what_they_are_but_for_their_scale(problem: Problem) -> None:
    cell = _Cell(problem)
    before = cell._weights.exact().values.copy()
    cell.run(0)
    changed = cell._weights.exact().values.copy()
    cell.run(1)
    after = cell._weights.exact().values
    used = before != 0.0
    assert np.ptp(changed[used] / before[used]) > 0.01 * np.abs(changed[used] / before[used]).max()
    np.testing.assert_allclose(after[used] / before[used], after[used][0] / before[used][0], 1e-6)


def test_the_section_of_finishes(problem: Problem) -> None:
    problems = [relabelled(problem, 2), problem]
    assert [one.update.shape for one in time_finish(problems, 4)] == [(4,), (4,)]
    found = finish_section(problems, 3)
    assert [row[:2] for row in found.tables[0].rows] == [("2", "1"), ("3", "4")]
    assert list(found.ratios) == [
        "2 classes, label sums",
        "2 classes, update",
        "3 classes, label sums",
        "3 classes, update",
    ]
    assert all(ratio.value > 0.0 for ratio in found.ratios.values())
    json.dumps([found.numbers, found.conditions])
