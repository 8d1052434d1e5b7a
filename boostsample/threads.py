"""Shares work among threads; results do not depend on their number.

Work is cut at fixed places, and each thread takes a stretch of it. Kernels are handed over without
the GIL, which only Python functions need.
"""

from __future__ import annotations

import bisect
import functools
import itertools
import operator
import os
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from typing import Any

import numpy as np

from boostsample.errors import SettingError
from boostsample.jit.compile_kernels import COMPILED, compiled_address
from boostsample.jit.mailbox import (
    MAILBOX_SIZE,
    call_back_from_mailbox,
    mailbox_failed,
    mailbox_finished,
    mark_mailbox_done,
    put_in_mailbox,
    serve_mailbox,
)

#: Polls of a mailbox before a thread goes to sleep: usually (0.5 to 1 ms, longer than most pauses
#: between two pieces of work); with more threads than cores; and uncompiled: each takes the GIL.
_POLLS, _POLLS_IN_A_CROWD, _POLLS_IN_PYTHON = 20_000, 1_000, 1
#: Most threads for each core, and on machines of few cores.
_PER_CORE, _ANYWHERE = 8, 64
#: Seconds between two waits for another thread.
_NAP = 5e-5
#: Pieces of work to do alone after other threads were late by more than _LATE seconds: the least,
#: doubled each time, up to the most.
_FEWEST, _MOST, _LATE = 8, 512, 2e-4


def n_threads(n_jobs: int) -> int:
    """Number of threads for `n_jobs`, as in joblib: -1 is all cores, -2 all but one.

    SettingError for 0 and for more than eight for each core, or 64 on smaller machines.
    """
    try:
        number = 0 if isinstance(n_jobs, bool) else operator.index(n_jobs)
    except TypeError:
        number = 0
    if number == 0:
        raise SettingError(f"n_jobs must be 1 or more, or -1 for all cores, got {n_jobs!r}")
    if 0 < number <= _ANYWHERE:
        return number
    import joblib

    try:
        cores = int(joblib.cpu_count())
    except ValueError:
        raise SettingError(
            "the environment variable LOKY_MAX_CPU_COUNT must be a whole number, got "
            f"{os.environ.get('LOKY_MAX_CPU_COUNT')!r}; correct it, or unset it"
        ) from None
    most = max(_PER_CORE * cores, _ANYWHERE)
    if abs(number) > most:
        raise SettingError(
            f"n_jobs must be at most {most} on this machine of {cores} "
            f"core{'' if cores == 1 else 's'}, got {n_jobs}; -1 takes all cores"
        )
    return number if number > 0 else max(cores + 1 + number, 1)


class Threads:
    """`n` threads including the caller's; the others start with the first shared work.

    Between two pieces of work they poll, then sleep; they end with this object. When they are late
    because other programs use their cores, the caller works alone for a while.
    """

    def __init__(self, n: int) -> None:
        self.n = n
        self._alone, self._pause = 0, _FEWEST

    @functools.cached_property
    def _others(self) -> list[_Other]:
        polls = _POLLS if self.n <= n_threads(-1) else _POLLS_IN_A_CROWD
        others = [_Other(polls) for _ in range(1, self.n)]
        self._process = os.getpid()
        for number, other in enumerate(others, 1):
            name = f"boostsample-{number}"
            threading.Thread(target=other.serve, name=name, daemon=True).start()
            weakref.finalize(self, other.end)
        return others

    def stretches(self, cuts: Sequence[int]) -> Sequence[tuple[int, int]]:
        """Even stretches between `cuts`, ascending: one for each thread that should work now."""
        self._alone -= self._alone > 0
        if self.n == 1 or len(cuts) < 3 or self._alone:
            return [(cuts[0], cuts[-1])]
        return _stretches(tuple(cuts), self.n)

    def run(self, work: Callable[..., None], calls: Sequence[tuple[Any, ...]]) -> None:
        """Call work(*arguments) for each of at most `n` calls, the first in this thread.

        Returns, or raises an error of any of them, when all are done. One caller at a time.
        """
        first, *others = calls
        if not others:
            work(*first)
            return
        busy = self._free()[: len(others)]
        started = finished = time.perf_counter()
        try:
            for other, arguments in zip(busy, others, strict=True):
                other.give(work, arguments)
            work(*first)
            finished = time.perf_counter()
        finally:
            errors = _results(busy)
        for error in errors:
            if error is not None:
                raise error
        self._learn(finished - started, time.perf_counter() - finished)

    def _free(self) -> list[_Other]:
        """The other threads; new ones if an interrupt or a fork left them with work."""
        others = self._others
        if self._process != os.getpid():
            del self._others  # only the forking thread exists in the new process
        elif any(other.has_work for other in others):
            _settle(others)
            del self._others
        return self._others

    def _learn(self, mine: float, waited: float) -> None:
        """Share less if this thread alone would have been faster."""
        if waited > (self.n - 1) * mine + _LATE:
            self._alone, self._pause = self._pause, min(2 * self._pause, _MOST)
        else:
            self._pause = max(self._pause // 2, _FEWEST)


class CompilingThreads(Threads):
    """One thread that compiles all that several would need for the same work."""

    def __init__(self) -> None:
        super().__init__(2)
        _Other(_POLLS)

    def run(self, work: Callable[..., None], calls: Sequence[tuple[Any, ...]]) -> None:
        """Do the work alone; compile what hands it to another thread."""
        for arguments in calls:
            address = compiled_address(work, arguments)
            if address:
                put_in_mailbox(np.zeros(MAILBOX_SIZE, np.int64), address, arguments)
            work(*arguments)


@functools.lru_cache(maxsize=256)
def _stretches(cuts: tuple[int, ...], n: int) -> Sequence[tuple[int, int]]:
    """The stretches of `n` threads: they end at the cuts nearest to an even division."""
    first, last = cuts[0], cuts[-1]
    ends = [first]
    for k in range(1, n):
        even = first + (last - first) * k / n
        at = bisect.bisect_left(cuts, even)
        end = min(cuts[max(at - 1, 0) : at + 1], key=lambda cut: abs(cut - even))
        if ends[-1] < end < last:
            ends.append(end)
    return tuple(itertools.pairwise([*ends, last]))


class _Other:
    def __init__(self, polls: int) -> None:
        self._box = np.zeros(MAILBOX_SIZE, np.int64)
        self._polls = polls if COMPILED else _POLLS_IN_PYTHON
        self._task: tuple[Callable[..., None], tuple[Any, ...]] | None = None
        self._error: BaseException | None = None
        self._ended = self._asleep = self._is_kernel = False
        self._bell = SimpleQueue[None]()
        # Compiles all of them here: an error in the thread itself would be lost.
        call_back_from_mailbox(self._box)
        mark_mailbox_done(self._box)
        serve_mailbox(self._box, 0)
        mailbox_finished(self._box, 0)

    def give(self, work: Callable[..., None], arguments: tuple[Any, ...]) -> None:
        """Start work(*arguments)."""
        address = compiled_address(work, arguments)
        self._is_kernel = bool(address)
        self._task = work, arguments  # keeps arrays alive after an interrupt
        if address:
            put_in_mailbox(self._box, address, arguments)
        else:
            call_back_from_mailbox(self._box)
        self._wake()

    def end(self) -> None:
        """End the thread."""
        self._ended = True
        call_back_from_mailbox(self._box)
        self._wake()

    def _wake(self) -> None:
        if self._asleep:
            self._bell.put(None)

    @property
    def has_work(self) -> bool:
        """Whether there is work without a result."""
        return self._task is not None

    def result(self) -> BaseException | None:
        """Wait until the work is done; return the error that it raised."""
        if self._task is None:  # an error occurred before the work was started
            return None
        self._wake()  # in case of an interrupt before it
        while not mailbox_finished(self._box, self._polls):
            time.sleep(_NAP)
        error, self._error = self._error, None
        if self._is_kernel and mailbox_failed(self._box):
            error = RuntimeError(
                f"{self._task[0].__name__} failed in another thread; n_jobs=1 shows the error"
            )
        self._task = None  # last: after an interrupt `has_work` is true
        return error

    def settle(self) -> None:
        """Wait for a kernel after an interrupt: it writes to shared arrays."""
        self._wake()
        while self._is_kernel and not mailbox_finished(self._box, self._polls):
            time.sleep(_NAP)

    def serve(self) -> None:
        """Main loop of the thread."""
        while not self._ended:
            if serve_mailbox(self._box, self._polls):
                self._run()
            else:
                self._sleep()

    def _run(self) -> None:
        if self._ended or self._task is None:
            return
        work, arguments = self._task
        try:
            work(*arguments)
        except BaseException as raised:  # the caller raises it
            self._error = raised
        del work, arguments  # or their arrays would live until the next work
        mark_mailbox_done(self._box)

    def _sleep(self) -> None:
        self._asleep = True
        while mailbox_finished(self._box, 1):  # a bell can be left over
            self._bell.get()
        self._asleep = False


def _results(others: Sequence[_Other]) -> list[BaseException | None]:
    """Wait for all results; return the errors. After an interrupt no kernel is running."""
    try:
        return [other.result() for other in others]
    except BaseException:
        _settle(others)
        raise


def _settle(others: Sequence[_Other]) -> None:
    for other in others:
        other.settle()
