"""Whose seconds are counted, when runs end, who runs again. No test asserts a real time."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from boostsample.experiments.plan.plan import parse_names
from boostsample.experiments.plan.variants import Variant
from boostsample.experiments.race import peers
from boostsample.experiments.race import race as peer_race
from boostsample.experiments.race import tables as peer_tables
from boostsample.experiments.race.clock import Clock, Neighbours
from boostsample.experiments.race.job import Job
from boostsample.experiments.race.methods import Codes, Paused, Whole
from boostsample.experiments.race.peers import Method, peer
from boostsample.experiments.race.race import race, time_run
from boostsample.experiments.race.runs import Rules, Run
from boostsample.families import Columns


class Time:
    """Time that passes only when somebody says so."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds


class Stepper(Paused):
    """Takes 10 s to prepare, `pace` an iteration, 99 to predict; errors fall by 1 % from 30 %."""

    time: Time
    predicted: list[int]

    def prepare(self) -> None:
        self.time.seconds += 10.0
        self.done = 0

    def advance(self) -> bool:
        self.time.seconds += float(self.settings.settings["pace"])
        self.done += 1
        return self.done < int(self.settings.settings.get("most", 10**9))

    def predict(self) -> Codes:
        self.time.seconds += 99.0
        self.predicted.append(self.done)
        return falling(self.job, self.done)


class Fitter(Whole):
    """Takes 10 s and `pace` an iteration in each fit; the same errors."""

    time: Time
    fits: list[int]

    def fit(self, n_iterations: int) -> None:
        self.fits.append(n_iterations)
        self.n = min(n_iterations, int(self.settings.settings.get("most", 10**9)))
        self.time.seconds += 10.0 + float(self.settings.settings["pace"]) * n_iterations

    def staged(self) -> Iterator[Codes]:
        for done in range(1, self.n + 1):
            self.time.seconds += 99.0
            yield falling(self.job, done)


def falling(job: Job, done: int) -> NDArray[np.int64]:
    """Codes that are wrong in 30 - `done` of the 100 test rows."""
    codes = job.y_test.copy()
    codes[: max(30 - done, 0)] ^= 1
    return codes


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Time:
    made = Time()
    monkeypatch.setattr(Stepper, "time", made, raising=False)
    monkeypatch.setattr(Stepper, "predicted", [], raising=False)
    monkeypatch.setattr(Fitter, "time", made, raising=False)
    monkeypatch.setattr(Fitter, "fits", [], raising=False)
    for name, kind in (("stepper", Stepper), ("fitter", Fitter)):
        known = peers.Peer("numpy", kind, {"pace": (1, 2)}, ("most",))
        monkeypatch.setitem(peers.PEERS, name, known)
    return made


@pytest.fixture
def job(rng: np.random.Generator) -> Job:
    """Two classes, 100 test rows, a table of 7 columns in which the second tells the class."""
    X = rng.normal(size=(400, 7)).astype(np.float32)
    y = (X[:, 1] + 0.1 * X[:, 2] > 0).astype(np.int64)
    families = (Columns(range(3), "left", n_columns=7), Columns(range(3, 7), "right", n_columns=7))
    return Job("made", X[:300], X[300:], y[:300], y[300:], 2, families, n_rounds=1000)


def run_one(job: Job, text: str, time: Time, **named: Any) -> Run:
    method = peer(Variant.parse(text))
    (settings,) = method.grid
    stop = named.pop("stop", math.inf)
    return time_run(job, method, settings, Rules(**named), stop=stop, now=time)


# ------------------------------------------------------------------------------------- the clock


def test_the_clock_runs_inside_its_blocks_only(time: Time) -> None:
    clock = Clock(time)
    for seconds in (2.0, 3.0):
        with clock:
            time.seconds += seconds
        time.seconds += 100.0
    assert clock.seconds == 5.0


def test_the_clock_counts_a_block_that_fails(time: Time) -> None:
    clock = Clock(time)
    with suppress(KeyError), clock:
        time.seconds += 2.0
        raise KeyError
    assert clock.seconds == 2.0


def test_neighbours_take_a_share() -> None:
    share = Neighbours().share()
    assert math.isnan(share) or 0.0 <= share <= 1.0


def test_neighbours_of_an_unknown_system_are_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: Any, **__: Any) -> str:
        raise FileNotFoundError

    monkeypatch.setattr(Path, "read_text", missing)
    assert math.isnan(Neighbours().share())


# ----------------------------------------------------------------------------------------- a run


def test_preparing_and_iterations_count_predictions_do_not(job: Job, time: Time) -> None:
    run = run_one(job, "stepper:pace=2", time, error=20.0)
    assert (run.prepared, run.iterations, run.seconds) == (10.0, 10, 30.0)
    assert run.reached
    assert run.curve[:2] == ((1, 12.0, 29.0), (2, 14.0, 28.0))
    assert run.lowest == 20.0


def test_errors_are_taken_within_two_percent(
    job: Job, time: Time, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Stepper, "predict", lambda one: one.job.y_test ^ 1)
    run = run_one(job, "stepper:pace=1:most=900", time, error=0.0, limit=1e9)
    assert run.ended == "nothing left"
    points = [done for done, _, _ in run.curve]
    assert points[:101] == [*range(1, 101), 102]
    assert points[-1] == 900
    assert all(b <= max(a + 1, 1.02 * a) for a, b in pairwise(points))
    assert list(peer_race._points(900)) == points


@pytest.mark.parametrize(
    ("text", "rules", "ended", "iterations"),
    [
        ("stepper:pace=1", {"error": 0.0, "limit": 25.0}, "limit", 15),
        ("stepper:pace=1", {"error": 0.0, "limit": 99.0, "stop": 25.0}, "best", 15),
        ("stepper:pace=1", {"error": 0.0, "limit": 25.0, "stop": 99.0}, "limit", 15),
        ("stepper:pace=1:most=7", {"error": 0.0}, "nothing left", 7),
        ("stepper:pace=1:most=7", {"error": 23.0}, "reached", 7),
        ("stepper:pace=50", {"error": 29.0, "limit": 5.0}, "reached", 1),
        ("fitter:pace=1", {"error": 0.0, "limit": 25.0}, "limit", 12),
        ("fitter:pace=1", {"error": 0.0, "limit": 99.0, "stop": 25.0}, "best", 12),
        ("fitter:pace=1:most=7", {"error": 0.0}, "nothing left", 7),
        ("fitter:pace=1", {"error": 24.0}, "reached", 6),
    ],
)
def test_runs_end(
    job: Job, time: Time, text: str, rules: dict[str, float], ended: str, iterations: int
) -> None:
    run = run_one(job, text, time, **rules)
    assert (run.ended, run.iterations) == (ended, iterations)


@pytest.mark.parametrize("kind", ["stepper", "fitter"])
def test_a_run_has_a_most_of_iterations(job: Job, time: Time, kind: str) -> None:
    short = Job(**{**vars(job), "n_rounds": 5})
    run = run_one(short, f"{kind}:pace=1", time, error=0.0)
    assert (run.ended, run.iterations) == ("rounds", 5)


def test_whole_fits_grow_until_one_is_just_enough(job: Job, time: Time) -> None:
    run = run_one(job, "fitter:pace=1", time, error=20.0)
    assert Fitter.fits == [2, 6, 18, 10]
    assert (run.iterations, run.seconds) == (10, 20.0)
    assert run.curve == ((2, 12.0, 28.0), (6, 16.0, 24.0), (10, 20.0, 20.0))
    assert math.isnan(run.prepared)


# ---------------------------------------------------------------------------------------- a race


def methods_of(text: str) -> list[Method]:
    return [peer(variant) for variant in parse_names(text)]


def test_the_grid_is_tried_before_the_best_settings_run_again(job: Job, time: Time) -> None:
    stages: list[str] = []
    found = race(
        job,
        methods_of("stepper:pace=3|1|2,fitter:pace=1"),
        Rules(error=20.0, repeats=2),
        lambda stage, done, total: stages.append(stage),
        time,
    )
    stepper, fitter = found.methods
    tries = found.of(stepper, final=False)
    assert [(run.settings, run.ended) for run in tries] == [
        ("pace=3", "reached"),
        ("pace=1", "reached"),
        ("pace=2", "best"),
    ]
    assert [(r.method, r.settings, r.seed) for r in found.runs[3:]] == [
        (stepper, "pace=1", 0),
        (fitter, "pace=1", 0),
        (stepper, "pace=1", 1),
        (fitter, "pace=1", 1),
    ]
    assert found.of(fitter, final=False) == []
    assert {"warming up", "stepper:pace=2", "fitter:pace=1"} <= set(stages)


def test_who_never_reaches_the_error_runs_once(job: Job, time: Time) -> None:
    found = race(
        job,
        methods_of("stepper:pace=1,fitter:pace=8|9"),
        Rules(error=0.0, limit=30.0, repeats=3),
        now=time,
    )
    assert [run.ended for run in found.runs] == ["limit", "limit", "limit"]
    rows = peer_tables.result_table(found).rows
    assert rows[0] == ("stepper:pace=1", "10.00", "> 30.00 (limit)", "1", "20", "10.00", "-")
    assert rows[1][:4] == ("fitter:pace=8|9", "-", "> 26.00 (limit)", "0")
