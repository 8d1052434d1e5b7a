"""Interrupts leave a checkpoint of whole rounds and one line that says how to go on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from boostsample.loop.checkpoint import Checkpoint
from boostsample.loop.run_file import read_checkpoint
from boostsample.step import Step
from boostsample.strategies import UniformNaive
from boostsample.strategy import Stump
from tests.loop.checkpoint_runs import finished, new_booster, straight
from tests.paths import ROOT

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


def rounds_in(path: Path) -> int:
    saved = read_checkpoint(path)
    return 0 if saved is None else len(saved.rounds)


def train(path: Path, run: Any = None) -> None:
    run = booster() if run is None else run
    with Checkpoint(path, run, seconds=1000) as checkpoint:
        while not run.finished:
            checkpoint.next_round()


def test_ctrl_c_waits_for_the_end_of_the_round_and_saves(
    tmp_path: Path, interrupted: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "run.checkpoint"
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
    tmp_path: Path, interrupted: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "run.checkpoint"
    interrupted(4, times=2)
    with pytest.raises(KeyboardInterrupt):
        train(path)
    assert rounds_in(path) == 1  # that of the first round: half of the fourth cannot be undone
    assert "holds the rounds up to 1" in capsys.readouterr().err
    interrupted(0)
    assert finished(path, booster()) == straight(booster())


def test_ctrl_c_before_anything_is_saved(
    tmp_path: Path, interrupted: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    interrupted(1, times=2)
    with pytest.raises(KeyboardInterrupt):
        train(tmp_path / "run.checkpoint")
    assert capsys.readouterr().err == "interrupted: nothing is saved yet\n"
    assert not list(tmp_path.iterdir())


def test_between_two_rounds_signals_work_as_ever(
    tmp_path: Path, interrupted: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "run.checkpoint"

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


def test_handlers_of_the_user_stay(tmp_path: Path, interrupted: Any) -> None:
    path = tmp_path / "run.checkpoint"

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


def test_threads_cannot_hold_signals_and_save_all_the_same(tmp_path: Path) -> None:
    path = tmp_path / "run.checkpoint"
    thread = threading.Thread(target=train, args=[path])
    thread.start()
    thread.join()
    assert rounds_in(path) == 7


TERMINATED = """
import signal, sys
from tests.loop.test_checkpoint_interrupts import *
if sys.argv[2] == "round":
    Interrupted.at, Interrupted.number = 3, int(sys.argv[3])
    train(Path(sys.argv[1]))
with Checkpoint(sys.argv[1], booster()) as checkpoint:
    for _ in range(3):
        checkpoint.next_round()
    signal.raise_signal(int(sys.argv[3]))
"""


@pytest.mark.parametrize(("where", "number"), [("round", signal.SIGTERM), ("between", SIGHUP)])
def test_sigterm_and_sighup_save_and_end_the_process(
    where: str, number: int, tmp_path: Path
) -> None:
    path = tmp_path / "run.checkpoint"
    done = subprocess.run(
        [sys.executable, "-c", TERMINATED, str(path), where, str(int(number))],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == -number
    assert rounds_in(path) == 3
    assert done.stderr.splitlines()[-1].startswith(
        f"interrupted: '{path}' holds the rounds up to 3"
    )
    assert "Traceback" not in done.stderr


def test_an_error_in_a_round_keeps_the_last_checkpoint(tmp_path: Path) -> None:
    path = tmp_path / "run.checkpoint"

    class Failing(UniformNaive):
        def choose(self, step: Step) -> Stump:
            step.rng.random()
            if step.round == 3:
                raise ZeroDivisionError
            return super().choose(step)

    with pytest.raises(ZeroDivisionError):
        train(path, new_booster(Failing()))
    assert rounds_in(path) == 1


def test_old_temporary_files_are_removed(tmp_path: Path) -> None:
    path = tmp_path / "run.checkpoint"
    names = [".run.checkpoint.1234.tmp", ".run.checkpoint.5678.tmp", ".other.1234.tmp"]
    for name in names:
        (tmp_path / name).write_bytes(b"half")
    for name in (names[0], names[2]):
        os.utime(tmp_path / name, (0, 0))
    Checkpoint(path, booster())
    assert sorted(file.name for file in tmp_path.iterdir()) == sorted(names[1:])
