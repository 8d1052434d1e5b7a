"""Progress and messages for whoever waits at a terminal or reads a log."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any

__all__ = ["Display", "duration"]

_PAUSE = 10.0
"""Seconds between two lines of progress where no terminal shows a bar."""


def duration(seconds: float) -> str:
    """A time in the two largest units that it has, the rest left out.

    >>> duration(4.2), duration(100), duration(7300), duration(200_000)
    ('4 s', '1 min 40 s', '2 h 1 min', '2 d 7 h')
    """
    units = (("d", 86400), ("h", 3600), ("min", 60), ("s", 1))
    rest = max(round(seconds), 0)
    parts: list[str] = []
    for name, size in units:
        number, rest = divmod(rest, size)
        if number or parts:
            parts.append(f"{number} {name}")
    shown = [part for part in parts[:2] if not part.startswith("0 ")]
    return " ".join(shown) or "0 s"


class _Messages(logging.Handler):
    """Shows what the library logs, downloads for instance."""

    def __init__(self, say: Callable[[str], None]) -> None:
        super().__init__(logging.INFO)
        self._say = say

    def emit(self, record: logging.LogRecord) -> None:
        self._say(record.getMessage())


class Display:
    """What is being done, on standard error: a bar on a terminal, else a line now and then.

    Parameters
    ----------
    quiet : bool
        Show nothing.
    """

    def __init__(self, quiet: bool) -> None:
        self._quiet = quiet
        self._terminal = not quiet and sys.stderr.isatty()
        self._bar: Any = None
        self._task: Any = None
        self._stage = ""
        self._told = 0.0
        self._seconds: float | None = None
        self._log = logging.getLogger("boostsample")
        self._log_level = self._log.level
        self._messages = _Messages(self.say)

    def __enter__(self) -> Display:
        self._log.addHandler(self._messages)
        if not self._quiet:
            self._log.setLevel(logging.INFO)
        if self._terminal:
            from rich import progress
            from rich.console import Console

            self._bar = progress.Progress(
                progress.TextColumn("{task.description}"),
                progress.BarColumn(),
                progress.MofNCompleteColumn(),
                progress.TimeElapsedColumn(),
                progress.TextColumn("{task.fields[left]}"),
                console=Console(stderr=True),
                transient=True,
            )
            self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Take the bar away; calls that come later do nothing."""
        self._quiet = True
        self._log.removeHandler(self._messages)
        self._log.setLevel(self._log_level)
        if self._bar is not None:
            self._bar.stop()

    def say(self, text: str) -> None:
        """A message for the user."""
        if self._bar is not None:
            self._bar.console.print(f"boostsample: {text}", markup=False, highlight=False)
        elif not self._quiet:
            self._line(text)

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Show how far a stage has come."""
        if self._quiet:
            return
        begins, self._stage = stage != self._stage, stage
        if begins:
            self._seconds = None
        left = "" if self._seconds is None else f"about {duration(self._seconds)} left"
        if self._bar is not None:
            if begins and self._task is not None:
                self._bar.remove_task(self._task)
            if begins:
                self._task = self._bar.add_task(stage, total=total or None, left="")
            self._bar.update(self._task, completed=done, total=total or None, left=left)
            return
        now = time.monotonic()
        if begins or now - self._told >= _PAUSE:
            self._told = now
            share = f": {done:,} of {total:,} ({100 * done // total} %)" if total else ""
            self._line(f"{stage}{share}{f', {left}' if left and total else ''}")

    def left(self, seconds: float | None) -> None:
        """Say how long the rest will take, from the next progress on; None if that is unknown."""
        self._seconds = seconds

    @staticmethod
    def _line(text: str) -> None:
        sys.stderr.write(f"boostsample: {text}\n")
        sys.stderr.flush()
