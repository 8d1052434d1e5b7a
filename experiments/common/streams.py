"""Standard streams of a command: what fails is noted, what a terminal would obey is escaped."""

from __future__ import annotations

import errno
import io
import os
from typing import Any, TextIO

from boostsample.errors import printable
from boostsample.loop.fit_progress import RENEW

_KEPT = "\n\t"


class _ClosedStream(io.StringIO):
    """In place of None, which Python has for a stream that was closed before it started."""

    def write(self, text: str) -> int:
        raise OSError(errno.EBADF, "it is closed")


class GuardedStream:
    """A text stream that drops all text after its first failure, which is `fault`.

    A command does its work also if nobody can read what it prints.
    """

    def __init__(self, stream: TextIO | None) -> None:
        self.fault: OSError | None = None
        self._stream = _ClosedStream() if stream is None else stream

    def __getattr__(self, name: str) -> Any:
        if name == "buffer":  # bytes would pass by
            raise AttributeError(name)
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write a text."""
        self._attempt(self._stream.write, text)
        return len(text)

    def flush(self) -> None:
        """Write what is buffered."""
        self._attempt(self._stream.flush)

    def _attempt(self, call: Any, *args: str) -> None:
        if self.fault is None:
            try:
                call(*args)
            except OSError as error:
                self.fault = error


class EscapedStream:
    """A text stream that escapes what cannot be printed; `unescaped` has the stream below.

    A text may begin with `RENEW`.
    """

    def __init__(self, stream: Any) -> None:
        self.unescaped = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self.unescaped, name)

    def write(self, text: str) -> int:
        """Write a text."""
        start = RENEW if text.startswith(RENEW) else ""
        self.unescaped.write(start + printable(text[len(start) :], _KEPT))
        return len(text)


def unescaped(stream: Any) -> Any:
    """The stream below an `EscapedStream`, for texts with escape sequences of a library."""
    return getattr(stream, "unescaped", stream)


def open_closed_files() -> None:
    """Open the files 0, 1 and 2 if they are closed, or the next files would take their place."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free
