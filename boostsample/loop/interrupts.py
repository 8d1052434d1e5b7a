"""Interrupts that wait for the end of a round, so that a run can be saved before it ends."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

__all__ = ["HeldInterrupts"]


class HeldInterrupts:
    """Holds Ctrl-C and SIGTERM back during rounds; a second Ctrl-C breaks a round off.

    Only signals that are handled as Python and the system handle them by default are held, and only
    in the main thread: other handlers are the user's. Between rounds a signal does at once what it
    does by default, SIGTERM after `before_end` is called.
    """

    _DEFAULTS = ((signal.SIGINT, signal.default_int_handler), (signal.SIGTERM, signal.SIG_DFL))

    def __init__(self, before_end: Callable[[], None]) -> None:
        self._before_end = before_end
        self._holding = False
        self._received: list[int] = []
        self._installed: dict[int, Any] = {}

    def install(self) -> None:
        """Begin to handle the signals."""
        if threading.current_thread() is threading.main_thread():
            for number, default in self._DEFAULTS:
                if signal.getsignal(number) == default:
                    self._installed[number] = default
                    signal.signal(number, self._handle)

    def remove(self) -> None:
        """Handle the signals as before."""
        for number, default in self._installed.items():
            if signal.getsignal(number) == self._handle:
                signal.signal(number, default)
        self._installed.clear()

    @contextmanager
    def held(self) -> Iterator[None]:
        """A block that signals do not interrupt; those that came do their work after it."""
        self._holding = True
        self._received.clear()
        try:
            yield
        finally:
            self._holding = False
        if self._received:
            self._deliver(self._received[0])

    def _handle(self, number: int, frame: FrameType | None) -> None:
        again = self._received and number == signal.SIGINT
        if self._holding and not again:
            self._received.append(number)
        else:
            self._deliver(number)

    def _deliver(self, number: int) -> None:
        if number == signal.SIGINT:
            raise KeyboardInterrupt
        self._before_end()
        self.remove()
        signal.raise_signal(number)
