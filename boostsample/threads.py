"""Work shared among threads whose results do not depend on how many there are.

Kernels release the GIL. What they do is cut at places that are fixed beforehand; threads only take
stretches of it.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from boostsample.errors import SettingError

__all__ = ["Threads", "n_threads"]


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

    Parameters
    ----------
    n : int
        At least 1; with 1 nothing is started.
    """

    def __init__(self, n: int) -> None:
        self.n = n

    @functools.cached_property
    def _others(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(self.n - 1, thread_name_prefix="boostsample")

    def share(self, work: Callable[[int, int], None], cuts: Sequence[int]) -> None:
        """Call work(first, end) for stretches that together are cuts[0], ..., cuts[-1].

        Stretches begin and end at `cuts`, ascending, and are as even as these allow. Returns when
        all are done; an error of any of them is raised then.
        """
        if self.n == 1:
            work(cuts[0], cuts[-1])
            return
        ends = self._ends(cuts)
        stretches = itertools.pairwise(ends[1:])
        others = [self._others.submit(work, first, end) for first, end in stretches]
        try:
            work(ends[0], ends[1])
        finally:
            errors = [other.exception() for other in others]
        for error in errors:
            if error is not None:
                raise error

    def _ends(self, cuts: Sequence[int]) -> list[int]:
        """The ends of the threads' stretches: the cuts nearest to an even division."""
        first, last = cuts[0], cuts[-1]
        ends = [first]
        for k in range(1, self.n):
            even = first + (last - first) * k / self.n
            end = min(cuts, key=lambda cut: abs(cut - even))
            if ends[-1] < end < last:
                ends.append(end)
        return [*ends, last]
