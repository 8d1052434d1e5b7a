"""The finish that is timed: what it is done on, and what is computed from its times."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from boostsample.experiments.bench.finish import (
    FinishTimes,
    _Cell,
    finish_section,
    finish_table,
    time_finish,
)
from boostsample.experiments.bench.problem import Problem, made_problem, relabelled


@pytest.fixture(scope="module")
def problem() -> Problem:
    return made_problem(500, 24, 3)


def test_nanoseconds_are_those_of_an_example() -> None:
    ms = ([1, 2, 9], [4, 8, 5], [4, 4, 4], [1, 2, 3])
    times = FinishTimes(1, 1_000_000, *(1e-3 * np.array(part) for part in ms))
    assert times.nanoseconds("sums").tolist() == pytest.approx([1.0, 2.0, 9.0])
    assert finish_table([times]).rows == (("2", "1", "2.00", "5.00", "4.00", "2.00", "40"),)


def test_what_is_timed(problem: Problem, monkeypatch: pytest.MonkeyPatch) -> None:
    cell = _Cell(problem)
    called: list[tuple[Any, ...]] = []
    for name in ("label_sums", "update"):
        real = getattr(cell._weights, name)

        def recorded(*args: Any, name: str = name, real: Any = real) -> Any:
            called.append((name, args[0] >= args[1], *args[2:]))
            return real(*args)

        monkeypatch.setattr(cell._weights, name, recorded)
    signs = np.full(cell._others.size, 1.0, np.float32)
    cell._others[:] = signs
    cell.run(0)
    assert [name for name, *_ in called] == ["label_sums", "update"] * 3
    for random, stretches in zip(called[2:4], called[4:], strict=True):
        above, sorted_above = random[1], stretches[1]
        assert above.size == 500
        assert above.sum() == sorted_above.sum()
        assert 0.4 < above.mean() < 0.6
        assert 0.4 < (above[1:] != above[:-1]).mean() < 0.6
        assert (sorted_above[1:] != sorted_above[:-1]).sum() == 1
    votes = called[1][2]
    assert set(votes.tolist()) == {-1, 1}
    assert cell._others.size == cell._weights.exact().values.size
    np.testing.assert_array_equal(cell._others, signs)  # changed twice
    assert cell._rewrite() > 0.0
    np.testing.assert_array_equal(cell._others, -signs)
    (timed,) = cell._timed
    assert len(timed) == 4
    assert min(timed) > 0.0


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
