"""Interrupts that wait for the end of a round, so that a run can be saved before it ends."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Any

__all__ = ["HeldInterrupts"]


class HeldInterrupts:
    """Holds Ctrl-C and SIGTERM back inside a `with` block; a second Ctrl-C interrupts at once.

    Only signals that are handled as Python and the system handle them by default are held, and only
    in the main thread: other handlers are the user's.

    Attributes
    ----------
    received : int or None
        The first signal that was held.
    """

    _DEFAULTS = ((signal.SIGINT, signal.default_int_handler), (signal.SIGTERM, signal.SIG_DFL))

    def __init__(self) -> None:
        self.received: int | None = None
        self._before: list[tuple[int, Any]] = []

    def __enter__(self) -> HeldInterrupts:
        if threading.current_thread() is threading.main_thread():
            for number, handler in self._DEFAULTS:
                if signal.getsignal(number) == handler:
                    self._before.append((number, handler))
                    signal.signal(number, self._hold)
        return self

    def _hold(self, number: int, frame: FrameType | None) -> None:
        if self.received is not None and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.received = number

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        while self._before:
            signal.signal(*self._before.pop())

    def deliver(self) -> None:
        """Do now what the held signal does: raise KeyboardInterrupt, or end the process."""
        if self.received == signal.SIGINT:
            raise KeyboardInterrupt
        if self.received is not None:
            signal.raise_signal(self.received)
