"""A run that goes on after an end, an interrupt or a kill is the run without it, to the bit."""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from boostsample.banks.bank import Bank
from boostsample.banks.bank_forms import make_bank
from boostsample.errors import DataError, StrategyError
from boostsample.learner import Learner, Targets
from boostsample.loop.checkpoint import Checkpoint, boost, checkpoint_notes
from boostsample.registry import strategy_names
from boostsample.step import Step
from boostsample.strategies import UniformNaive
from boostsample.strategy import Pool, Stump
from tests.loop import kill_cycles
from tests.loop.checkpoint_runs import (
    LEARNERS,
    PLANNED,
    bits_of,
    finished,
    new_booster,
    rounds_in,
    straight,
    until,
)
from tests.paths import run_python
from tests.problems import noisy_labels, perfect, powers, table


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.checkpoint"


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("strategy", strategy_names())
def test_any_strategy_and_learner_goes_on_to_the_same_bits(
    strategy: str, learner: str, path: Path
) -> None:
    want = straight(new_booster(strategy, learner))
    for stop in (1, 3, 1):  # rounds 1, 4 and 5, each by another process
        booster = new_booster(strategy, learner)
        with Checkpoint(path, booster) as checkpoint:
            for _ in range(stop):
                checkpoint.next_round()
    assert finished(path, new_booster(strategy, learner)) == want
    assert finished(path, new_booster(strategy, learner)) == want  # nothing is left to train
    assert rounds_in(path) == PLANNED


def test_rows_and_weights_of_examples(path: Path) -> None:
    rows = np.random.default_rng(3).permutation(80)[:50]
    problem: dict[str, Any] = {
        "rows": rows,
        "Y": noisy_labels()[rows],
        "example_weight": np.random.default_rng(4).integers(0, 4, 50).astype(float),
        "weight_init": "uniform",
        "rng": np.random.Generator(np.random.MT19937(8)),
    }

    def fresh() -> dict[str, Any]:
        return {**problem, "rng": np.random.Generator(np.random.MT19937(8))}

    until(path, new_booster(**fresh()), 3)
    assert finished(path, new_booster(**fresh())) == straight(new_booster(**fresh()))


def _bank(form: str, X: NDArray[Any]) -> Bank:
    return make_bank(form, powers(), X)


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_bank_on_disk_goes_on_from_one_in_memory(
    learner: str, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BOOSTSAMPLE_CACHE_DIR", str(tmp_path / "cache"))
    X = table(80, 3)
    until(path, new_booster("full", learner, _bank("memory", X)), 2)
    until(path, new_booster("full", learner, _bank("disk", X)), 2)
    resumed = finished(path, new_booster("full", learner, _bank("memory", X)))
    assert resumed == straight(new_booster("full", learner, _bank("memory", X)))


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_lazy_bank_computes_only_what_the_terms_need(learner: str, path: Path) -> None:
    X = table(80, 3)
    until(path, new_booster("uniform-naive:n_features=2", learner, _bank("lazy", X)), 4)
    bank = _bank("lazy", X)
    booster = new_booster("uniform-naive:n_features=2", learner, bank)
    for family in bank.families:
        family.asked.clear()  # type: ignore[attr-defined]  # of Powers, asked to compile
    checkpoint = Checkpoint(path, booster)
    used = {term.feature for done in checkpoint.rounds for term in done.terms}
    computed = {j for family in bank.families for asked in family.asked for j in asked}  # type: ignore[attr-defined]  # of Powers
    assert computed
    assert len(computed) <= len(used)
    with checkpoint:
        while not booster.finished:
            checkpoint.next_round()
    plain = new_booster("uniform-naive:n_features=2", learner, _bank("lazy", X))
    rounds = [plain.next_round() for _ in range(PLANNED)]
    for done in (*rounds, *checkpoint.rounds):
        for row in done.rows:
            row["values_computed"] = 0  # what this process computed
    assert bits_of(checkpoint.rounds, booster) == bits_of(rounds, plain)


def test_an_edge_of_one_has_ended_the_run(path: Path) -> None:
    X, Y = perfect()
    bank = _bank("memory", np.tile(X, (1, 3)))
    first = new_booster("full", bank=bank, Y=Y)
    until(path, first, 1)
    second = new_booster("full", bank=bank, Y=Y)
    Checkpoint(path, second)
    assert second.finished
    assert second.stopped == first.stopped != ""


def test_more_rounds_than_planned(path: Path) -> None:
    until(path, new_booster(n_rounds=3), 3)
    assert finished(path, new_booster(n_rounds=9)) == straight(new_booster(n_rounds=9))


class Planner(UniformNaive):
    def choose(self, step: Step) -> Stump:
        if step.round == 2:
            _ = step.n_rounds
        return super().choose(step)


class Starter(UniformNaive):
    def start(self, pool: Pool, budget: int, n_rounds: int, rng: np.random.Generator) -> None:
        super().start(pool, budget, n_rounds, rng)
        self.rate_ = 1.0 / n_rounds


@pytest.mark.parametrize("kind", [Planner, Starter])
def test_a_strategy_that_plans_is_not_continued_to_more_rounds(kind: Any, path: Path) -> None:
    until(path, new_booster(kind(), n_rounds=5), 2)
    until(path, new_booster(kind(), n_rounds=5), 1)  # it does not read them again
    with pytest.raises(DataError, match="n_rounds 5, now 6, which the strategy depends on"):
        Checkpoint(path, new_booster(kind(), n_rounds=6))
    assert finished(path, new_booster(kind(), n_rounds=5))


def test_boost_goes_on(path: Path) -> None:
    parts: dict[str, Any] = {"learner": "product", "n_rounds": 6, "rng": 0}
    bank, Y = _bank("memory", table(80, 3)), noisy_labels()
    want = list(boost(bank, None, Y, "ucb", **parts))
    running = boost(bank, None, Y, "ucb", checkpoint=path, **parts)
    for _ in range(3):
        next(running)
    running.close()  # type: ignore[attr-defined]  # of a generator
    assert rounds_in(path) == 3
    rounds = list(boost(bank, None, Y, "ucb", checkpoint=path, checkpoint_seconds=0, **parts))
    booster = new_booster()
    assert bits_of(rounds, booster) == bits_of(want, booster)


def test_saves_happen_after_the_first_round_and_then_every_so_often(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    monkeypatch.setattr("boostsample.loop.checkpoint.time.monotonic", lambda: now[0])
    booster = new_booster(n_rounds=100)
    checkpoint = Checkpoint(path, booster, seconds=10.0)
    assert rounds_in(path) == 0
    lengths = []
    for _ in range(25):
        checkpoint.next_round()
        lengths.append(rounds_in(path))
        now[0] += 1.0
    assert lengths == [1] * 10 + [11] * 10 + [21] * 5
    checkpoint.save()
    assert rounds_in(path) == 25


def test_a_save_takes_a_small_part_of_the_time(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("boostsample.loop.checkpoint.time.monotonic", lambda: now[0])

    def slow(*_: Any) -> None:
        now[0] += 4.0

    monkeypatch.setattr("boostsample.loop.checkpoint.write_file", slow)
    checkpoint = Checkpoint(path, new_booster(n_rounds=500), seconds=10.0)
    for _ in range(450):
        checkpoint.next_round()
        now[0] += 1.0
    assert now[0] == 450.0 + 3 * 4.0  # after rounds 1, 201 and 401: 50 times as long apart


def test_notes_are_kept(path: Path) -> None:
    assert checkpoint_notes(path) is None
    with Checkpoint(path, new_booster(), notes={"seed": [1, 2]}) as checkpoint:
        checkpoint.next_round()
    assert checkpoint_notes(str(path)) == {"seed": [1, 2]}


class Counting(Learner):
    """A learner that breaks the rule: it keeps something between rounds."""

    name = "counting"
    one_search = True

    def __init__(self) -> None:
        self.calls = 0

    def learn(self, targets: Targets) -> list[Targets]:
        self.calls += 1
        return [targets.times(targets.search())]


class Aliased(UniformNaive):
    """Two attributes are one list, and the stream of `start` is that of the run."""

    def start(self, pool: Pool, budget: int, n_rounds: int, rng: np.random.Generator) -> None:
        super().start(pool, budget, n_rounds, rng)
        self.stream = rng
        self.count_ = [0]
        self.seen_: dict[str, Any] = {"count": self.count_, "again": [self.count_]}

    def choose(self, step: Step) -> Stump:
        self.count_[0] += int(self.stream.integers(1, 5))
        feature = (self.seen_["count"][0] + self.seen_["again"][0][0]) % step.n_features
        return step.search([feature], step.draw(step.budget)).best()


def test_a_state_may_hold_one_list_in_several_places(path: Path) -> None:
    until(path, new_booster(Aliased()), 3)
    assert finished(path, new_booster(Aliased())) == straight(new_booster(Aliased()))


def test_a_learner_that_keeps_something_is_refused_in_the_first_round(path: Path) -> None:
    checkpoint = Checkpoint(path, new_booster(learner=Counting()))
    with pytest.raises(
        Exception, match=r"keep nothing between rounds.* calls of the learner 0, no"
    ):
        checkpoint.next_round()
    assert not path.exists()


SIGHUP = getattr(signal, "SIGHUP", signal.SIGTERM)  # Windows has none


class Interrupted(UniformNaive):
    """Sends a signal, once or several times, to this process in the middle of some round."""

    at, number, times = 0, signal.SIGINT, 1

    def choose(self, step: Step) -> Stump:
        stump = super().choose(step)
        if step.round == self.at:
            for _ in range(self.times):
                signal.raise_signal(self.number)
        return stump


@pytest.fixture
def interrupted(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A function that sets when the strategy sends which signal; Python's own handler of Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)

    def set_to(at: int, times: int = 1, number: int = signal.SIGINT) -> None:
        for name, value in (("at", at), ("times", times), ("number", number)):
            monkeypatch.setattr(Interrupted, name, value)

    yield set_to
    signal.signal(signal.SIGINT, before)


def booster() -> Any:
    return new_booster(Interrupted())


def train(path: Path, run: Any = None) -> None:
    run = booster() if run is None else run
    with Checkpoint(path, run, seconds=1000) as checkpoint:
        while not run.finished:
            checkpoint.next_round()


def test_ctrl_c_waits_for_the_end_of_the_round_and_saves(
    path: Path, interrupted: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    interrupted(4)
    with pytest.raises(KeyboardInterrupt):
        train(path)
    assert rounds_in(path) == 4
    assert capsys.readouterr().err == (
        f"interrupted: '{path}' holds the rounds up to 4; the same run goes on from there\n"
    )
    assert signal.getsignal(signal.SIGINT) == signal.default_int_handler
    interrupted(0)
    assert finished(path, booster()) == straight(booster())


def test_a_second_ctrl_c_breaks_the_round_off(
    path: Path, interrupted: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    interrupted(4, times=2)
    with pytest.raises(KeyboardInterrupt):
        train(path)
    assert rounds_in(path) == 1  # that of the first round: half of the fourth cannot be undone
    assert "holds the rounds up to 1" in capsys.readouterr().err
    interrupted(0)
    assert finished(path, booster()) == straight(booster())


def test_ctrl_c_in_a_round_that_fails_is_not_lost(
    path: Path, interrupted: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    class Failing(Interrupted):
        def choose(self, step: Step) -> Stump:
            stump = super().choose(step)
            if step.round == self.at:
                raise StrategyError("this round fails")
            return stump

    interrupted(4)
    with pytest.raises(KeyboardInterrupt) as raised:
        train(path, new_booster(Failing()))
    assert str(raised.value.__context__) == "this round fails"
    assert rounds_in(path) == 1
    assert capsys.readouterr().err.count("holds the rounds up to 1") == 1


def test_ctrl_c_before_anything_is_saved(
    tmp_path: Path, interrupted: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    interrupted(1, times=2)
    with pytest.raises(KeyboardInterrupt):
        train(tmp_path / "run.checkpoint")
    assert capsys.readouterr().err == "interrupted: nothing is saved yet\n"
    assert not list(tmp_path.iterdir())


def test_between_two_rounds_signals_work_as_ever(
    path: Path, interrupted: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    def consumer() -> None:
        with Checkpoint(path, booster()) as checkpoint:
            for _ in range(3):
                checkpoint.next_round()
            signal.raise_signal(signal.SIGINT)
            checkpoint.next_round()

    with pytest.raises(KeyboardInterrupt):
        consumer()
    assert rounds_in(path) == 3
    assert "holds the rounds up to 3" in capsys.readouterr().err


def test_handlers_of_the_user_stay(path: Path, interrupted: Any) -> None:
    class Mine(Exception):
        pass

    def handler(*_: Any) -> None:
        raise Mine

    interrupted(3)
    signal.signal(signal.SIGINT, handler)
    with pytest.raises(Mine):
        train(path)
    assert signal.getsignal(signal.SIGINT) is handler
    assert rounds_in(path) == 1
    interrupted(0)
    assert finished(path, booster()) == straight(booster())


def test_threads_cannot_hold_signals_and_save_all_the_same(path: Path) -> None:
    thread = threading.Thread(target=train, args=[path])
    thread.start()
    thread.join()
    assert rounds_in(path) == 7


TERMINATED = """
import signal, sys
from tests.loop.test_checkpoint import *
if sys.argv[2] == "round":
    Interrupted.at, Interrupted.number = 3, int(sys.argv[3])
    train(Path(sys.argv[1]))
with Checkpoint(sys.argv[1], booster()) as checkpoint:
    for _ in range(3):
        checkpoint.next_round()
    signal.raise_signal(int(sys.argv[3]))
"""


@pytest.mark.parametrize(("where", "number"), [("round", signal.SIGTERM), ("between", SIGHUP)])
def test_sigterm_and_sighup_save_and_end_the_process(where: str, number: int, path: Path) -> None:
    done = run_python("-c", TERMINATED, str(path), where, str(int(number)))
    assert done.returncode == -number
    assert rounds_in(path) == 3
    assert done.stderr.splitlines()[-1].startswith(
        f"interrupted: '{path}' holds the rounds up to 3"
    )
    assert "Traceback" not in done.stderr


def test_an_error_in_a_round_keeps_the_last_checkpoint(path: Path) -> None:
    class Failing(UniformNaive):
        def choose(self, step: Step) -> Stump:
            step.rng.random()
            if step.round == 3:
                raise ZeroDivisionError
            return super().choose(step)

    with pytest.raises(ZeroDivisionError):
        train(path, new_booster(Failing()))
    assert rounds_in(path) == 1


def test_old_temporary_files_are_removed(path: Path, tmp_path: Path) -> None:
    names = [".run.checkpoint.1234.tmp", ".run.checkpoint.5678.tmp", ".other.1234.tmp"]
    for name in names:
        (tmp_path / name).write_bytes(b"half")
    for name in (names[0], names[2]):
        os.utime(tmp_path / name, (0, 0))
    Checkpoint(path, booster())
    assert sorted(file.name for file in tmp_path.iterdir()) == sorted(names[1:])


def test_killed_runs_go_on_to_the_same_bits() -> None:
    done = run_python("-m", "tests.loop.kill_cycles", "--cycles", "10")
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.match(r"10 kills in \d+ runs of .*: the same bits$", done.stdout)


def test_the_harness_notices_a_difference(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    calls = iter(range(100))
    monkeypatch.setattr(kill_cycles, "WAYS", (lambda *_: [str(next(calls))],))
    monkeypatch.setattr(kill_cycles.Kills, "cycle", _counted)
    monkeypatch.setattr(sys, "argv", ["kill_cycles", "--cycles", "1"])
    assert kill_cycles.main() == 1
    assert "DIFFERENT" in capsys.readouterr().out


def _counted(kills: kill_cycles.Kills, *_: object) -> bool:
    kills.killed += 1
    return True
