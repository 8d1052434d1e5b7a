"""Shows progress and messages on standard error: a bar on a terminal, lines elsewhere.

Lines show the begin and the end of each stage, and what is done every ten seconds.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable
from typing import Any

from boostsample.errors import printable
from boostsample.experiments.common.streams import EscapedStream, unescaped

Progress = Callable[[str, int, int], None]
"""Called in the calling thread, about ten times a second: the stage, done, total."""

_PAUSE = 10.0  # seconds between two lines of progress where there is no terminal


def duration_text(seconds: float) -> str:
    """Format a time in its two largest units.

    >>> duration_text(4.2), duration_text(100), duration_text(7300), duration_text(200_000)
    ('4 s', '1 min 40 s', '2 h 1 min', '2 d 7 h')
    """
    rest = max(round(seconds), 0)
    parts: list[str] = []
    for name, size in (("d", 86400), ("h", 3600), ("min", 60), ("s", 1)):
        number, rest = divmod(rest, size)
        if number or parts:
            parts.append(f"{number} {name}")
    return " ".join(part for part in parts[:2] if not part.startswith("0 ")) or "0 s"


class _Messages(logging.Handler):
    def __init__(self, display: ProgressDisplay) -> None:
        super().__init__(logging.INFO)
        self._display = display

    def emit(self, record: logging.LogRecord) -> None:
        self._display.say(record.getMessage())


class ProgressDisplay:
    """Progress and messages of a command and of the library's logger; none if `quiet`."""

    def __init__(self, quiet: bool) -> None:
        self._quiet = quiet
        self._bar: Any = None
        self._task: Any = None
        self._stage = ""
        self._shown = 0.0
        self._complete = False  # whether a line has shown the end of the stage
        self._seconds_left: float | None = None
        self._log = logging.getLogger("boostsample")
        self._log_level = self._log.level
        self._messages = _Messages(self)

    def __enter__(self) -> ProgressDisplay:
        self._log.addHandler(self._messages)
        if not self._quiet:
            self._log.setLevel(logging.INFO)
        if not self._quiet and sys.stderr.isatty():
            from rich import progress
            from rich.console import Console

            self._bar = progress.Progress(
                progress.TextColumn("{task.description}", markup=False),
                progress.BarColumn(),
                progress.MofNCompleteColumn(),
                progress.TimeElapsedColumn(),
                progress.TextColumn("{task.fields[left]}"),
                console=Console(file=unescaped(sys.stderr)),
                transient=True,
            )
            self._bar.start()
            sys.stderr = EscapedStream(sys.stderr)  # rich has put its own there, and removes it
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Remove the bar; later calls do nothing."""
        self._quiet = True
        self._log.removeHandler(self._messages)
        self._log.setLevel(self._log_level)
        if self._bar is not None:
            self._bar.stop()

    def say(self, text: str) -> None:
        """Show a message."""
        if self._bar is not None:
            self._bar.console.print(
                f"boostsample: {printable(text)}", markup=False, highlight=False
            )
        elif not self._quiet:
            _line(text)

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Show that `done` of `total` parts of a stage are done; a total of 0 is unknown."""
        if self._quiet:
            return
        stage = printable(stage)
        begins, self._stage = stage != self._stage, stage
        if begins:
            self._seconds_left = None
        seconds, ends = self._seconds_left, bool(total) and done == total
        left = "" if seconds is None or ends else f"about {duration_text(seconds)} left"
        if self._bar is not None:
            if begins and self._task is not None:
                self._bar.remove_task(self._task)
            if begins:
                self._task = self._bar.add_task(stage, total=total or None, left="")
            self._bar.update(self._task, completed=done, total=total or None, left=left)
            return
        now = time.monotonic()
        if begins or now - self._shown >= _PAUSE or ends > self._complete:
            self._shown, self._complete = now, ends
            share = f": {done:,} of {total:,} ({100 * done // total} %)" if total else ""
            _line(f"{stage}{share}{f', {left}' if left and total else ''}")

    def left(self, seconds: float | None) -> None:
        """Show an estimate of the time left with the next progress; None if it is unknown."""
        self._seconds_left = seconds


def _line(text: str) -> None:
    sys.stderr.write(f"boostsample: {text}\n")
    sys.stderr.flush()
