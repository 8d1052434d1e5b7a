"""Work shared among threads whose results do not depend on how many there are.

What a kernel does is cut at places that are fixed beforehand; threads only take stretches of it.
They are handed kernels without the GIL, which only plain functions need.
"""

from __future__ import annotations

import bisect
import functools
import itertools
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from typing import Any, TypeAlias

import numpy as np
from numba.core import config

from boostsample._jit import entry
from boostsample.errors import SettingError
from boostsample.kernels import mailbox

__all__ = ["Threads", "n_threads"]

Arguments: TypeAlias = Callable[[int, int], tuple[Any, ...]]
#: Looks into a mailbox before a thread goes to sleep, 1 to 5 ms, longer than from one piece of work
#: to the next; each takes the GIL where nothing is compiled.
_LOOKS = 1 if vars(config)["DISABLE_JIT"] else 100_000
#: Seconds between looks at work that takes another thread longer than that.
_NAP = 5e-5


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

    Between two pieces of work they wait, at first busily, and they end with this object.

    Parameters
    ----------
    n : int
        At least 1; with 1 nothing is started.
    """

    def __init__(self, n: int) -> None:
        self.n = n

    @functools.cached_property
    def _others(self) -> list[_Other]:
        others = [_Other() for _ in range(1, self.n)]
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
        if self.n == 1 or len(cuts) < 3:
            work(*arguments(cuts[0], cuts[-1]))
            return
        ends = self._ends(cuts)
        busy = []
        try:
            for other, (first, end) in zip(
                self._others[: len(ends) - 2], itertools.pairwise(ends[1:]), strict=True
            ):
                other.give(work, arguments(first, end))
                busy.append(other)
            work(*arguments(ends[0], ends[1]))
        finally:
            errors = self._wait_for(busy)
        for error in errors:
            if error is not None:
                raise error

    def _wait_for(self, others: Sequence[_Other]) -> list[BaseException | None]:
        try:
            return [other.result() for other in others]
        except BaseException:  # interrupted: what comes later must not be taken for other work
            del self._others
            raise

    def _ends(self, cuts: Sequence[int]) -> list[int]:
        """The ends of the threads' stretches: the cuts nearest to an even division."""
        first, last = cuts[0], cuts[-1]
        ends = [first]
        for k in range(1, self.n):
            even = first + (last - first) * k / self.n
            at = bisect.bisect_left(cuts, even)
            end = min(cuts[max(at - 1, 0) : at + 1], key=lambda cut: abs(cut - even))
            if ends[-1] < end < last:
                ends.append(end)
        return [*ends, last]


class _Other:
    """One more thread: what it is given to do, and what came of it."""

    def __init__(self) -> None:
        self._box = np.zeros(mailbox.SIZE, np.int64)
        self._task: tuple[Callable[..., None], tuple[Any, ...]] | None = None
        self._error: BaseException | None = None
        self._ended = self._asleep = False
        self._bell = SimpleQueue[None]()

    def give(self, work: Callable[..., None], arguments: tuple[Any, ...]) -> None:
        """Have work done."""
        address = entry(work, arguments)
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

    def result(self) -> BaseException | None:
        """Wait until the work is done; the error that it raised."""
        while not mailbox.finished(self._box, _LOOKS):
            time.sleep(_NAP)
        self._task = None
        error, self._error = self._error, None
        return error

    def serve(self) -> None:
        """What the thread does."""
        while not self._ended:
            if mailbox.serve(self._box, _LOOKS):
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
