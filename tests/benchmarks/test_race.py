"""Whose seconds are counted, when runs end, who runs again. No test asserts a real time."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks import race as peer_race
from benchmarks.race import (
    RaceJob,
    RaceMethod,
    RaceRules,
    RaceRun,
    race,
    race_table,
    time_race_run,
)
from boostsample.families import Columns


class Time:
    """Time that passes only when somebody says so."""

    def __init__(self) -> None:
        self.seconds = 1000.0
        self.fits: list[int] = []

    def perf_counter(self) -> float:
        return self.seconds


def falling(job: RaceJob, done: int) -> NDArray[np.int64]:
    """Codes that are wrong in 30 - `done` of the 100 test rows."""
    codes = job.y_test.copy()
    codes[: max(30 - done, 0)] ^= 1
    return codes


def stepper(
    time: Time, pace: float, most: int, wrong: bool, job: RaceJob, seed: int
) -> Iterator[Any]:
    """Takes 10 s to prepare, `pace` an iteration, 99 to score; errors fall by 1 % from 30 %."""
    before = np.zeros((job.y_test.size, 2))

    def scores(first: int, end: int) -> NDArray[np.float64]:
        time.seconds += 99.0
        total = np.eye(2)[job.y_test ^ 1 if wrong else falling(job, end)]
        new: NDArray[np.float64] = total - before
        before[:] = total
        return new

    time.seconds += 10.0
    yield scores
    for _ in range(most):
        time.seconds += pace
        yield True


def fitter(time: Time, pace: float, most: int, wrong: bool, job: RaceJob, seed: int, n: int) -> Any:
    """Takes 10 s and `pace` an iteration in each fit; the same errors."""
    time.fits.append(n)
    time.seconds += 10.0 + pace * n

    def staged(X: Any) -> Iterator[NDArray[np.int64]]:
        for done in range(1, min(n, most) + 1):
            time.seconds += 99.0
            yield falling(job, done)

    return SimpleNamespace(staged_predict=staged)


def method(
    kind: str, time: Time, pace: float = 1.0, most: int = 10**9, wrong: bool = False
) -> RaceMethod:
    work: Any = {"stepper": stepper, "fitter": fitter}[kind]
    start = functools.partial(work, time, pace, most, wrong)
    return RaceMethod(f"{kind} {pace:g}", start, whole=kind == "fitter")


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Time:
    stopped = Time()
    monkeypatch.setattr(peer_race, "time", stopped)
    return stopped


@pytest.fixture
def job(rng: np.random.Generator) -> RaceJob:
    """Two classes, 100 test rows, a table of 7 columns in which the second tells the class."""
    X = rng.normal(size=(400, 7)).astype(np.float32)
    y = (X[:, 1] + 0.1 * X[:, 2] > 0).astype(np.int64)
    families = (Columns(range(3), "left", n_columns=7), Columns(range(3, 7), "right", n_columns=7))
    return RaceJob("made", X[:300], y[:300], X[300:], y[300:], 2, families, n_rounds=1000)


def run_once(job: RaceJob, method: RaceMethod, **rules: Any) -> RaceRun:
    return time_race_run(job, method, RaceRules(**rules), 0)


# ----------------------------------------------------------------------------------------- a run


def test_preparing_and_iterations_count_predictions_do_not(job: RaceJob, time: Time) -> None:
    run = run_once(job, method("stepper", time, 2.0), error=20.0)
    assert (run.prepared, run.iterations, run.seconds) == (10.0, 10, 30.0)
    assert run.ended == "reached"
    assert run.curve[:2] == [(1, 12.0, 29.0), (2, 14.0, 28.0)]
    assert run.error == 20.0


def test_errors_are_taken_within_two_percent(job: RaceJob, time: Time) -> None:
    run = run_once(job, method("stepper", time, most=900, wrong=True), error=0.0, limit=1e9)
    assert run.ended == "nothing left"
    points = [done for done, _, _ in run.curve]
    assert points[:101] == [*range(1, 101), 102]
    assert points[-1] == 900
    assert all(b <= max(a + 1, 1.02 * a) for a, b in pairwise(points))


@pytest.mark.parametrize(
    ("kind", "settings", "rules", "ended", "iterations"),
    [
        ("stepper", {}, {"error": 0.0, "limit": 25.0}, "limit", 15),
        ("stepper", {"most": 7}, {"error": 0.0}, "nothing left", 7),
        ("fitter", {}, {"error": 0.0, "limit": 25.0}, "limit", 2),
        ("fitter", {"most": 7}, {"error": 0.0}, "nothing left", 7),
        ("fitter", {"pace": 50}, {"error": 28.0, "limit": 5.0}, "limit", 2),
    ],
)
def test_runs_end(
    job: RaceJob,
    time: Time,
    kind: str,
    settings: dict[str, Any],
    rules: dict[str, float],
    ended: str,
    iterations: int,
) -> None:
    run = run_once(job, method(kind, time, **settings), **rules)
    assert (run.ended, run.iterations) == (ended, iterations)


def test_whole_fits_grow_until_one_is_just_enough(job: RaceJob, time: Time) -> None:
    run = run_once(job, method("fitter", time), error=20.0)
    assert time.fits == [2, 6, 18, 10]
    assert (run.iterations, run.seconds) == (10, 20.0)
    assert run.curve == [(2, 12.0, 28.0), (6, 16.0, 24.0), (10, 20.0, 20.0)]
    assert run.prepared is None


def test_methods_take_turns_with_other_seeds(job: RaceJob, time: Time) -> None:
    methods = [method("stepper", time), method("fitter", time)]
    runs = race(job, methods, RaceRules(error=20.0, repeats=2, seed=4))
    assert [(run.method, run.seed) for run in runs] == [
        ("stepper 1", 4),
        ("fitter 1", 4),
        ("stepper 1", 5),
        ("fitter 1", 5),
    ]


def test_who_misses_the_error_runs_once(job: RaceJob, time: Time) -> None:
    methods = [method("stepper", time), method("fitter", time, 8.0)]
    rules = RaceRules(error=0.0, limit=30.0, repeats=3)
    runs = race(job, methods, rules)
    assert [run.ended for run in runs] == ["limit", "limit"]
    first, second = race_table(runs, rules).rows
    assert first == ("stepper 1", "10.00", "> 30.00 (limit)", "1", "20", "10.00", "-")
    assert second == ("fitter 8", "-", "> 26.00 (limit)", "1", "2", "28.00", "-")


def run_of(seconds: float, ended: str = "reached", **named: Any) -> RaceRun:
    run = RaceRun(ended=ended, **{"method": "a", "seed": 0, "prepared": 0.5, **named})
    run.add(1, seconds / 2, 7.0)
    run.add(3, seconds, 1.25)
    return run


def test_the_table() -> None:
    runs = [
        run_of(2.0),
        run_of(25.0, method="b", prepared=None),
        run_of(60.0, "limit", method="c"),
        run_of(7.0, "rounds", method="d"),
    ]
    table = race_table(runs, RaceRules(error=1.25, limit=60.0))
    assert table.rows == (
        ("a", "0.50", "2.00", "1", "3", "1.25", "1.00"),
        ("b", "-", "25.00", "1", "3", "1.25", "12.50"),
        ("c", "0.50", "> 60.00 (limit)", "1", "3", "1.25", "> 30.00"),
        ("d", "0.50", "> 7.00 (rounds)", "1", "3", "1.25", "> 3.50"),
    )
    assert "1.25 %" in table.title
