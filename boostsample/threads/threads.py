"""Work shared among threads whose results do not depend on how many there are.

What a kernel does is cut at places that are fixed beforehand; threads only take stretches of it.
They are handed kernels without the GIL, which only plain functions need.
"""

from __future__ import annotations

import bisect
import functools
import os
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from typing import Any, TypeAlias

import numpy as np
from numba.core import config

from boostsample.errors import SettingError
from boostsample.jit.compiling import entry
from boostsample.threads import mailbox

__all__ = ["Threads", "n_threads"]

Arguments: TypeAlias = Callable[[int, int], tuple[Any, ...]]
#: Looks into a mailbox before a thread goes to sleep, 0.5 to 1 ms, longer than from one piece of
#: work to the next as a rule; where there are more threads than cores; and where nothing is
#: compiled, and each takes the GIL.
_LOOKS, _LOOKS_IN_A_CROWD, _LOOKS_IN_PYTHON = 20_000, 1_000, 1
#: Seconds between looks at work that takes another thread longer than that.
_NAP = 5e-5
#: Pieces of work that are not shared after one for which others were late by more than _LATE
#: seconds: the least, doubled each time, up to the most.
_FEWEST, _MOST, _LATE = 8, 512, 2e-4


def n_threads(n_jobs: int) -> int:
    """Threads that `n_jobs` means, in joblib's words: -1 is all cores, -2 all but one."""
    if n_jobs > 0:
        return n_jobs
    if n_jobs == 0:
        raise SettingError("n_jobs must be 1 or more, or -1 for all cores, got 0")
    import joblib

    return max(int(joblib.cpu_count()) + 1 + n_jobs, 1)


class Threads:
    """`n` threads, the caller among them; the others start with the first work that is shared.

    Between two pieces of work they wait, at first busily, and they end with this object. Where they
    are late, since other programs hold their cores, kernels run in the caller's alone for a while.

    Parameters
    ----------
    n : int
        At least 1; with 1 nothing is started.
    """

    def __init__(self, n: int) -> None:
        self.n = n
        self._alone, self._pause = 0, _FEWEST

    @functools.cached_property
    def _others(self) -> list[_Other]:
        looks = _LOOKS if self.n <= n_threads(-1) else _LOOKS_IN_A_CROWD
        others = [_Other(looks) for _ in range(1, self.n)]
        self._process = os.getpid()
        for number, other in enumerate(others, 1):
            name = f"boostsample-{number}"
            threading.Thread(target=other.serve, name=name, daemon=True).start()
            weakref.finalize(self, other.end)
        return others

    def share(self, work: Callable[..., None], arguments: Arguments, cuts: Sequence[int]) -> None:
        """Call work(*arguments(first, end)) for stretches, together cuts[0], ..., cuts[-1].

        Stretches begin and end at `cuts`, ascending, and are as even as these allow. The arguments
        of one are formed while others run. Returns when all are done; an error of any of them is
        raised then. One caller at a time.
        """
        self._alone -= self._alone > 0
        if self.n == 1 or len(cuts) < 3 or self._alone:
            work(*arguments(cuts[0], cuts[-1]))
            return
        ends = _ends(tuple(cuts), self.n)
        busy = self._free()[: len(ends) - 2]
        started = finished = time.perf_counter()
        try:
            for number, other in enumerate(busy, 1):
                other.give(work, arguments(ends[number], ends[number + 1]))
            work(*arguments(ends[0], ends[1]))
            finished = time.perf_counter()
        finally:
            errors = _results(busy)
        for error in errors:
            if error is not None:
                raise error
        self._learn(finished - started, time.perf_counter() - finished)

    def _free(self) -> list[_Other]:
        """The others, new ones where an interrupt or a fork has left these with work."""
        others = self._others
        if self._process != os.getpid():
            del self._others  # only the thread that forks goes on in the other process
        elif any(other.has_work for other in others):
            _settle(others)
            del self._others
        return self._others

    def _learn(self, mine: float, waited: float) -> None:
        """Share less where all of the work would have been done sooner by this thread alone."""
        if waited > (self.n - 1) * mine + _LATE:
            self._alone, self._pause = self._pause, min(2 * self._pause, _MOST)
        else:
            self._pause = max(self._pause // 2, _FEWEST)


@functools.lru_cache(maxsize=256)
def _ends(cuts: tuple[int, ...], n: int) -> list[int]:
    """The ends of `n` threads' stretches: the cuts nearest to an even division."""
    first, last = cuts[0], cuts[-1]
    ends = [first]
    for k in range(1, n):
        even = first + (last - first) * k / n
        at = bisect.bisect_left(cuts, even)
        end = min(cuts[max(at - 1, 0) : at + 1], key=lambda cut: abs(cut - even))
        if ends[-1] < end < last:
            ends.append(end)
    return [*ends, last]


class _Other:
    """One more thread: what it is given to do, and what came of it."""

    def __init__(self, looks: int) -> None:
        self._box = np.zeros(mailbox.SIZE, np.int64)
        self._looks = _LOOKS_IN_PYTHON if vars(config)["DISABLE_JIT"] else looks
        self._task: tuple[Callable[..., None], tuple[Any, ...]] | None = None
        self._error: BaseException | None = None
        self._ended = self._asleep = self._is_kernel = False
        self._bell = SimpleQueue[None]()
        # All are compiled here: nobody would hear of an error of that in the thread itself.
        mailbox.call_back(self._box)
        mailbox.done(self._box)
        mailbox.serve(self._box, 0)
        mailbox.failed(self._box)
        mailbox.is_idle(self._box)
        mailbox.finished(self._box, 0)

    def give(self, work: Callable[..., None], arguments: tuple[Any, ...]) -> None:
        """Have work done."""
        address = entry(work, arguments)
        self._is_kernel = bool(address)
        self._task = work, arguments  # alive until it is done, whatever becomes of the caller
        if address:
            mailbox.put(self._box, address, arguments)
        else:
            mailbox.call_back(self._box)
        self._wake()

    def end(self) -> None:
        """Have the thread end."""
        self._ended = True
        mailbox.call_back(self._box)
        self._wake()

    def _wake(self) -> None:
        if self._asleep:
            self._bell.put(None)

    @property
    def has_work(self) -> bool:
        """Whether work was given of which nobody has heard yet."""
        return self._task is not None

    def result(self) -> BaseException | None:
        """Wait until the work is done; the error that it raised."""
        if self._task is None:  # an error came before it was given
            return None
        self._wake()  # an interrupt may have come before that
        while not mailbox.finished(self._box, self._looks):
            time.sleep(_NAP)
        error, self._error = self._error, None
        if self._is_kernel and mailbox.failed(self._box):
            error = RuntimeError(
                f"{self._task[0].__name__} failed in another thread; n_jobs=1 tells more"
            )
        self._task = None  # last: an interrupt before leaves work that nobody has heard of
        return error

    def settle(self) -> None:
        """Wait for a kernel that an interrupted caller has left: it writes to what others use."""
        self._wake()
        while self._is_kernel and not mailbox.finished(self._box, self._looks):
            time.sleep(_NAP)

    def serve(self) -> None:
        """What the thread does."""
        while not self._ended:
            if mailbox.serve(self._box, self._looks):
                self._run()
            else:
                self._sleep()

    def _run(self) -> None:
        if self._ended or self._task is None:
            return
        work, arguments = self._task
        try:
            work(*arguments)
        except BaseException as raised:  # told to the caller, who raises it
            self._error = raised
        del work, arguments  # or what they hold would live until the next ones
        mailbox.done(self._box)

    def _sleep(self) -> None:
        self._asleep = True
        while mailbox.is_idle(self._box):  # a bell may be left over from before
            self._bell.get()
        self._asleep = False


def _results(others: Sequence[_Other]) -> list[BaseException | None]:
    """Wait for what they were given; the errors. An interrupt leaves no kernel running."""
    try:
        return [other.result() for other in others]
    except BaseException:
        _settle(others)
        raise


def _settle(others: Sequence[_Other]) -> None:
    for other in others:
        other.settle()
