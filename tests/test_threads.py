"""Threads share work without leaving a trace of themselves in the results."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest

from boostsample import threads as threads_module
from boostsample.errors import SettingError
from boostsample.jit.compile_kernels import kernel
from boostsample.loop.booster import Booster
from boostsample.registry import make_strategy
from boostsample.threads import Threads, n_threads
from tests.compiled import COMPILED, slow_without_jit
from tests.paths import ROOT
from tests.problems import bank_of
from tests.waiting import wait_until


def share(threads: Threads, work: Callable[..., None], cuts: Sequence[int], *more: Any) -> None:
    """Call work(*more, first, end) for the stretches of the cuts."""
    threads.run(work, [(*more, *stretch) for stretch in threads.stretches(cuts)])


@pytest.mark.parametrize("n", [1, 2, 3, 8])
@pytest.mark.parametrize("cuts", [[0, 1], [0, 5, 10], [0, 5, 10, 12, 13], list(range(16)), [3, 9]])
def test_stretches_cover_the_work_once_and_end_at_cuts(n: int, cuts: list[int]) -> None:
    seen: list[tuple[int, int]] = []
    share(Threads(n), lambda first, end: seen.append((first, end)), cuts)
    seen.sort()
    assert len(seen) <= n
    assert [first for first, _ in seen] == [cuts[0], *(end for _, end in seen[:-1])]
    assert seen[-1][1] == cuts[-1]
    assert {end for _, end in seen} <= set(cuts)


def test_threads_work_at_the_same_time() -> None:
    both = threading.Barrier(2, timeout=300)

    def work(first: int, end: int) -> None:
        both.wait()

    share(Threads(2), work, [0, 1, 2])


@pytest.mark.parametrize("wrong", [0, 1])
def test_an_error_is_raised_when_all_have_ended(wrong: int) -> None:
    ended: list[int] = []

    def work(first: int, end: int) -> None:
        if first == wrong:
            raise ValueError(f"stretch {first}")
        time.sleep(0.05)
        ended.append(first)

    with pytest.raises(ValueError, match=f"stretch {wrong}"):
        share(Threads(2), work, [0, 1, 2])
    assert ended == [1 - wrong]


@kernel
def count(counts: Any, first: int, end: int, seconds: float) -> None:
    """Count calls of each cell; slow, by sums that cannot be left out."""
    so_far = 0.0
    for k in range(int(seconds * 1e9)):
        so_far += 1.0 / (k + 1.0)
    for i in range(first, end):
        counts[i] += 1 if so_far >= 0.0 else 2


@kernel
def stumble(first: int) -> None:
    if first == 1:
        raise ValueError("the second stretch")


def test_an_error_of_a_kernel_in_another_thread_is_told() -> None:
    threads = Threads(2)
    message = "the second stretch|stumble failed in another thread; n_jobs=1 shows the error"
    for _ in range(3):
        with pytest.raises((ValueError, RuntimeError), match=message):
            threads.run(stumble, [(0,), (1,)])
    threads.run(stumble, [(0,), (0,)])


@slow_without_jit
@pytest.mark.parametrize("asleep", [False, True])
def test_work_after_an_interrupt_anywhere_is_done_once(asleep: bool) -> None:
    """Interrupted before each line of the module in turn, up to one that is never come to."""
    counts = np.zeros(4)

    def count_all(threads: Threads) -> None:
        threads.run(count, [(counts, *ends, 1e-5) for ends in threads.stretches([0, 2, 4])])

    count_all(Threads(2))  # compiled
    line = 0
    for line in itertools.count(1):
        threads, left = Threads(2), [line]
        count_all(threads)
        threads._alone = 0
        if asleep:
            is_asleep = partial(getattr, threads._others[0], "_asleep")
            wait_until(is_asleep, "the other thread sleeps", 1e-3)

        def trace(frame: Any, event: str, _: Any, left: list[int] = left) -> Any:
            if frame.f_code.co_filename != threads_module.__file__:
                return None
            left[0] -= event == "line"
            if event == "line" and left[0] == 0:
                raise KeyboardInterrupt
            return trace

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            count_all(threads)
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(before)
        threads._free()  # as the next work does: between two lines a kernel may be left running
        after = counts.copy()
        for _ in range(3):
            count_all(threads)
        done = counts - after
        assert np.array_equal(done, np.full(4, 3.0)) or left[0] > 0, (line, done)
        if left[0] > 0:
            break
    assert line > 40


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_process_has_threads_of_its_own() -> None:
    code = (
        "import os, signal, warnings\n"
        "from boostsample.threads import Threads\n"
        "warnings.simplefilter('ignore')\n"
        "threads, seen = Threads(2), []\n"
        "def share():\n"
        "    work = lambda a, b: seen.extend(range(a, b))\n"
        "    threads.run(work, threads.stretches([0, 1, 2]))\n"
        "share()\n"
        "threads._alone = 0\n"
        "if os.fork():\n"
        "    share()\n"
        "    _, status = os.wait()\n"
        "    assert status == 0 and len(seen) == 4\n"
        "else:\n"
        "    signal.alarm(300)\n"
        "    share()\n"
        "    os._exit(len(seen) != 4)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=600, cwd=ROOT)


@pytest.mark.parametrize("pause", [0.0, 0.002, 0.05])  # seconds; threads wait busily, then asleep
def test_no_work_is_lost_whoever_is_slow(pause: float) -> None:
    threads, rng = Threads(3), np.random.default_rng(0)
    for _ in range(20 if pause else 300):
        slow, seen = int(rng.integers(-1, 3)), list[int]()

        def work(first: int, end: int, slow: int = slow, seen: list[int] = seen) -> None:
            if first == slow:
                time.sleep(pause)
            seen.extend(range(first, end))

        share(threads, work, [0, 1, 2, 3])
        assert sorted(seen) == [0, 1, 2]
        if slow < 0:
            time.sleep(pause)


def test_threads_end_with_their_object() -> None:
    others = set(threading.enumerate())  # those of other tests may be ending just now
    threads = Threads(3)
    share(threads, lambda first, end: None, [0, 1, 2, 3])
    started = [thread for thread in threading.enumerate() if thread not in others]
    assert [thread.name for thread in started] == ["boostsample-1", "boostsample-2"]
    del threads
    for thread in started:
        thread.join(300)
        assert not thread.is_alive()


def test_n_jobs_is_read_as_joblib_reads_it() -> None:
    assert n_threads(3) == 3
    assert n_threads(-1) >= 1
    with pytest.raises(SettingError, match="n_jobs must be 1 or more, or -1"):
        n_threads(0)


@pytest.mark.parametrize("name", ["uniform-naive", "laminating", "mas-q1", "full"])
@pytest.mark.parametrize("n_labels", [1, 3, 10])
def test_bits_do_not_depend_on_the_threads(name: str, n_labels: int) -> None:
    """Examples in several parts, features in several groups, rows in an order of their own."""
    n, n_features, n_rounds = (9_001, 33, 12) if COMPILED else (60, 7, 2)
    rng = np.random.default_rng(n_labels)
    X = rng.normal(size=(n, n_features)).astype(np.float32)
    Y = np.where(rng.random((n, n_labels)) < 0.3, 1, -1).astype(np.int8)
    bank, rows = bank_of(X), rng.permutation(n)

    def run(n_jobs: int) -> list[dict[str, Any]]:
        booster = Booster(bank, rows, Y, make_strategy(name), rng=1, n_jobs=n_jobs)
        history = [booster.next_round().rows[0] for _ in range(n_rounds)]
        return [{k: v for k, v in row.items() if k != "seconds"} for row in history]

    alone = run(1)
    assert run(2) == alone
    assert run(3) == alone
