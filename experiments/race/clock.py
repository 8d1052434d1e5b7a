"""A clock that can stand still, and how much of the machine others took meanwhile."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType

import numpy as np

__all__ = ["Clock", "Neighbours", "Now"]

Now = Callable[[], float]
"""The time in seconds."""


class Clock:
    """Seconds spent inside of its `with` blocks.

    Parameters
    ----------
    now : callable
        The time in seconds.
    """

    def __init__(self, now: Now = time.perf_counter) -> None:
        self._now = now
        self.seconds = 0.0

    def __enter__(self) -> Clock:
        self._started = self._now()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.seconds += self._now() - self._started


class Neighbours:
    """What other processes take of the machine from now on."""

    def __init__(self) -> None:
        self._before = self._times()

    @staticmethod
    def _times() -> tuple[float, float, float]:
        """Time, seconds of all cores in use (NaN if unknown), and those of this process."""
        busy = math.nan
        with suppress(OSError, ValueError, IndexError):  # only Linux has such a file
            line = Path("/proc/stat").read_text(encoding="ascii").partition("\n")[0]
            ticks = [int(part) for part in line.split()[1:9]]
            busy = (sum(ticks) - ticks[3] - ticks[4]) / os.sysconf("SC_CLK_TCK")  # idle, iowait
        return time.perf_counter(), busy, time.process_time()

    def share(self) -> float:
        """The share of all cores, 0 to 1."""
        wall, busy, own = np.subtract(self._times(), self._before)
        if math.isnan(busy):
            return math.nan
        return float(np.clip((busy - own) / (wall * (os.cpu_count() or 1)), 0.0, 1.0))
