"""A short version of `python -m tests.stress.random_inputs`."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from boostsample.errors import DataError
from tests.stress.fit_invariants import refusal
from tests.stress.forked import heard, outcomes
from tests.stress.random_inputs import check_case, random_case

_AT_ONCE = 15


@pytest.mark.parametrize("first", range(0, 60, _AT_ONCE))
def test_random_inputs_are_fitted_or_refused(
    first: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BOOSTSAMPLE_CACHE_DIR", str(tmp_path))
    fits = [check_case(random_case(at, seed=1)) == "fit" for at in range(first, first + _AT_ONCE)]
    assert _AT_ONCE // 2 < sum(fits) < _AT_ONCE


def test_an_input_is_that_of_its_number() -> None:
    case, other = random_case(3), random_case(3)
    assert case.words == other.words
    assert case.words != random_case(4).words
    assert np.asarray(case.y).tobytes() == np.asarray(other.y).tobytes()


@pytest.mark.parametrize(
    "error",
    [
        KeyError("x"),
        ValueError("from anywhere"),
        MemoryError(),
        DataError(""),
        DataError("x" * 601),
    ],
)
def test_other_errors_are_faults(error: Exception) -> None:
    with pytest.raises(type(error)) as caught:
        raise error
    with pytest.raises(AssertionError, match="not one clear line"):
        refusal(caught.value)


def test_a_message_is_one_printable_line() -> None:
    assert str(DataError("a\nb\x00 \u00e9")) == "a\\nb\\x00 \u00e9"
    assert len(str(DataError("x" * 10_000))) < 1010


def _work(number: int) -> str:
    if number == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    if number == 2:
        time.sleep(60)
    if number == 3:
        raise KeyError("three")
    if number == 4:
        np.ones(2**36)
    return str(number)


def test_crashes_hangs_and_errors_are_seen() -> None:
    seen = list(outcomes(_work, range(6), seconds=2.0, gigabytes=8))
    assert [outcome.kind for outcome in seen] == ["ok", "crash", "hang", "fault", "fault", "ok"]
    assert "KeyError: 'three'" in seen[3].text
    assert "MemoryError" in seen[4].text


class _Stopped:
    """A connection to a process that is stopped together with ours, longer than the first wait."""

    def __init__(self) -> None:
        self.n_waits = 0

    def poll(self, seconds: float) -> bool:
        assert 0 < seconds <= 1
        self.n_waits += 1
        return self.n_waits == 3


def test_a_stop_of_both_processes_is_no_hang() -> None:
    stopped: Any = _Stopped
    assert heard(stopped(), 5.0)
    assert not heard(stopped(), 2.0)
