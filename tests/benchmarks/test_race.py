"""Who takes part in a race, whose seconds count, when runs end. No test asserts a real time."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
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
    main,
    make_race_job,
    peer_method,
    race,
    race_table,
    strategy_race_method,
    time_race_run,
)
from boostsample.banks.bank import FeatureBank
from boostsample.errors import SettingError
from boostsample.experiments.data.datasets import load_dataset
from boostsample.experiments.plan.plan import Plan
from boostsample.experiments.plan.variants import Variant
from boostsample.families import Columns
from boostsample.labels import classify, encode
from boostsample.loop.checkpoint import boost
from boostsample.models.model import Model
from boostsample.registry import default_families


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
    assert run.curve[-1][-1] == 20.0


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


def test_who_misses_the_error_runs_once(job: RaceJob, time: Time) -> None:
    methods = [method("stepper", time), method("fitter", time, 8.0)]
    rules = RaceRules(error=0.0, limit=30.0, repeats=3)
    runs = race(job, methods, rules)
    assert [run.ended for run in runs] == ["limit", "limit"]
    first, second = race_table(runs, rules).rows
    assert first == ("stepper 1", "10.00", "> 30.00 (limit)", "1", "20", "10.00", "-")
    assert second == ("fitter 8", "-", "> 26.00 (limit)", "1", "2", "28.00", "-")


def run_of(seconds: float, ended: str = "reached", **named: Any) -> RaceRun:
    curve = [(1, seconds / 2, 7.0), (3, seconds, 1.25)]
    settings = {"method": "a", "prepared": 0.5, "seconds": seconds, "curve": curve, **named}
    return RaceRun(ended=ended, **settings)


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


# ---------------------------------------------------------------------------------------- the job


def test_a_job_has_the_drawn_columns_of_the_split() -> None:
    data = load_dataset("digits")
    job = make_race_job(data, 40, seed=3)
    families = default_families(data.X.shape[1:], seed=3)
    train, test = data.split(0, 3)
    drawn = np.sort(
        np.random.default_rng(3).choice(sum(f.n_features for f in families), 40, replace=False)
    )
    first = 0
    names: list[str] = []
    for family in families:
        local = drawn[(drawn >= first) & (drawn < first + family.n_features)] - first
        at = np.searchsorted(drawn, local + first)
        for rows, X in ((train, job.X_train), (test, job.X_test)):
            np.testing.assert_array_equal(X[:, at], family.compute(data.X[rows], local))
        names += [family.name] * local.size
        first += family.n_features
    assert [f.name for f in job.families for _ in range(f.n_features)] == names
    assert [c for f in job.families for c in f.columns] == list(range(40))
    assert job.X_train.flags.c_contiguous
    assert job.X_train.dtype == np.float32
    np.testing.assert_array_equal(job.y_test, data.y[test])
    assert job.X_test.shape == (test.size, 40)


# ------------------------------------------------------------------------------------ the methods


def test_peers_that_cannot_be(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SettingError, match="unknown peer 'foo'; known: lightgbm, xgboost"):
        peer_method(Variant("foo"))
    with pytest.raises(
        SettingError, match=r"unknown setting of adaboost 'depth' .* known: learning"
    ):
        peer_method(Variant.parse("adaboost:depth=3"))
    monkeypatch.setattr(peer_race, "find_spec", lambda package: None)
    with pytest.raises(SettingError, match=r"lightgbm is not installed; .*boostsample\[peers\]"):
        peer_method(Variant("lightgbm"))


def scores_of(job: RaceJob, method: RaceMethod, checks: set[int], n: int) -> Any:
    """Scores after n iterations, taken in parts after those of `checks`."""
    run = method.start(job, 4)
    take, done, total = next(run), 0, 0.0
    for number in range(1, n + 1):
        next(run)
        if number in checks or number == n:
            total = total + take(done, number)
            done = number
    return total


def method_of(text: str) -> RaceMethod:
    variant = Variant.parse(text)
    return (
        strategy_race_method(variant, Plan()) if text == "uniform-naive" else peer_method(variant)
    )


@pytest.fixture
def digits() -> RaceJob:
    data = load_dataset("digits")
    return make_race_job(data, 60).for_warm_up()._replace(n_rounds=50)


@pytest.mark.parametrize(
    ("package", "text"),
    [
        ("lightgbm", "lightgbm:num_leaves=4"),
        ("xgboost", "xgboost:max_leaves=4"),
        ("boostsample", "uniform-naive"),
    ],
)
def test_scores_add_up_whenever_they_are_taken(digits: RaceJob, package: str, text: str) -> None:
    pytest.importorskip(package, reason="boostsample[peers] has it")
    method = method_of(text)
    often = classify(scores_of(digits, method, {1, 2, 3, 5}, 12))
    np.testing.assert_array_equal(often, classify(scores_of(digits, method, set(), 12)))
    assert np.mean(often != digits.y_test) < 0.5
    halves = digits._replace(y_train=digits.y_train % 2, y_test=digits.y_test % 2, n_classes=2)
    predicted = classify(scores_of(halves, method, {2}, 12))
    assert np.mean(predicted != halves.y_test) < 0.4


def test_scores_of_boostsample_are_those_of_a_model_of_the_same_stumps(digits: RaceJob) -> None:
    variant = Variant("uniform-naive")
    scores = scores_of(digits, strategy_race_method(variant, Plan(budget="5N")), {3}, 10)
    rounds = boost(
        FeatureBank.build(digits.families, digits.X_train),
        None,
        encode(digits.y_train, digits.n_classes),
        variant.strategy(),
        n_rounds=50,
        budget=5 * digits.y_train.size,
        weight_init=Plan().weights,
        rng=np.random.default_rng(variant.stream(digits.name, 4, 0)),
    )
    terms = [term for _, done in zip(range(10), rounds, strict=False) for term in done.terms]
    model = Model(digits.families, terms, 10)
    np.testing.assert_allclose(scores, model.decision_function(digits.X_test), rtol=1e-12)


QUICK = (
    *("--data", "chess(d=3,n=200)", "--error", "49", "--limit", "300", "--repeats", "1"),
    *("--strategies", "uniform-naive,full", "--jobs", "1", "--rounds", "60"),
)


def test_the_program_prints_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*QUICK, "--peers", "adaboost:learning_rate=0.5"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith(
        "chess(d=3,J=3,L=3,n=200): 150 training and 50 test examples, 2 classes, 3 columns;"
    )
    assert "seconds to a test error of 49 %" in printed
    for name in ("uniform-naive", "full", "adaboost:learning_rate=0.5"):
        assert re.search(rf"^{name} +[-\d.]+ +[\d.]+ +1 +\d+ +[\d.]+ ", printed, re.M)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--peers", "adaboost:max_depth=1|2"], "adaboost: max_depth=1|2 are alternatives, but"),
        (["--strategies", "ucb:exploration=1|2"], "but a race does not tune"),
        (["--limit", "0"], "limit must be above 0 and finite, got 0"),
        (["--columns", "9"], "columns must be at most the 3 features of the families of chess"),
    ],
)
def test_options_that_are_refused(
    capsys: pytest.CaptureFixture[str], args: list[str], message: str
) -> None:
    with pytest.raises(SystemExit):
        main([*QUICK, *args])
    assert message in capsys.readouterr().err
