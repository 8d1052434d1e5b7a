"""Work shared among threads whose results do not depend on how many there are.

Kernels release the GIL. What they do is cut at places that are fixed beforehand; threads only take
stretches of it.
"""

from __future__ import annotations

import bisect
import functools
import itertools
import threading
import weakref
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from typing import TypeAlias

import numpy as np

from boostsample.errors import SettingError
from boostsample.kernels.waiting import changes

__all__ = ["Threads", "n_threads"]

Work: TypeAlias = Callable[[int, int], None]
_Task: TypeAlias = tuple[Work, int, int]
#: Looks at a count before a thread goes to sleep, some 0.3 ms, and after it has changed.
_LOOKS, _LINGER = 300_000, 15_000


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
            weakref.finalize(self, other.give, None)
        return others

    def share(self, work: Work, cuts: Sequence[int]) -> None:
        """Call work(first, end) for stretches that together are cuts[0], ..., cuts[-1].

        Stretches begin and end at `cuts`, ascending, and are as even as these allow. Returns when
        all are done; an error of any of them is raised then. One caller at a time.
        """
        if self.n == 1 or len(cuts) < 3:
            work(cuts[0], cuts[-1])
            return
        ends = self._ends(cuts)
        busy = self._others[: len(ends) - 2]
        for other, (first, end) in zip(busy, itertools.pairwise(ends[1:]), strict=True):
            other.give((work, first, end))
        try:
            work(ends[0], ends[1])
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
        self._given, self._done = _Signal(), _Signal()
        self._task: _Task | None = None
        self._error: BaseException | None = None

    def give(self, task: _Task | None) -> None:
        """Have work done, or none ever again."""
        self._task = task
        self._given.send()

    def result(self) -> BaseException | None:
        """Wait until the work is done; the error that it raised."""
        self._done.wait()
        error, self._error = self._error, None
        return error

    def serve(self) -> None:
        """What the thread does."""
        while True:
            self._given.wait()
            if self._task is None:
                return
            work, first, end = self._task
            try:
                work(first, end)
            except BaseException as raised:  # told to the caller, who raises it
                self._error = raised
            self._task = None
            del work  # or what it holds would live until the next one
            self._done.send()


class _Signal:
    """A count that one thread raises and another one waits for: busily at first, then asleep."""

    def __init__(self) -> None:
        self._count = np.zeros(1, np.int64)
        self._seen = 0
        self._asleep = False
        self._bell = SimpleQueue[None]()

    def send(self) -> None:
        self._count[0] += 1
        if self._asleep:
            self._bell.put(None)

    def wait(self) -> None:
        if not changes(self._count, self._seen, _LOOKS, _LINGER):
            self._asleep = True
            while self._count[0] == self._seen:  # a bell may be left over from before
                self._bell.get()
            self._asleep = False
        self._seen += 1
