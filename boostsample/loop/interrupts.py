"""Signals that end a process, and interrupts that wait until a run can be saved."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import Any

_ENDING = [signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])]
"""Signals that end a process by default; Windows has no SIGHUP."""


class Stopped(KeyboardInterrupt):
    """Raised in place of the sudden end that a signal brings; the text is its name."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


def _raise_stopped(number: int, frame: FrameType | None) -> None:
    raise Stopped(number)


@contextmanager
def stopping_signals() -> Iterator[None]:
    """A block in which SIGTERM and SIGHUP raise `Stopped`, unless they are ignored or handled."""
    main = threading.current_thread() is threading.main_thread()
    changed = [number for number in _ENDING if main and signal.getsignal(number) == signal.SIG_DFL]
    for number in changed:
        signal.signal(number, _raise_stopped)
    try:
        yield
    finally:
        for number in changed:
            signal.signal(number, signal.SIG_DFL)


class HeldInterrupts:
    """Holds Ctrl-C, SIGTERM and SIGHUP back during rounds; a second Ctrl-C breaks a round off.

    Only in the main thread, and only signals without a handler of the user. Between rounds,
    `before_end` is called before a signal ends the process.
    """

    _HANDLERS: Mapping[int, tuple[Any, ...]] = {
        signal.SIGINT: (signal.default_int_handler,),
        **dict.fromkeys(_ENDING, (signal.SIG_DFL, _raise_stopped)),
    }

    def __init__(self, before_end: Callable[[], None]) -> None:
        self._before_end = before_end
        self._holding = False
        self._received: list[int] = []
        self._installed: dict[int, Any] = {}

    def install(self) -> None:
        """Begin to handle the signals."""
        if threading.current_thread() is threading.main_thread():
            for number, handlers in self._HANDLERS.items():
                if signal.getsignal(number) in handlers:
                    self._installed[number] = signal.signal(number, self._handle)

    def remove(self) -> None:
        """Handle the signals as before."""
        for number, before in self._installed.items():
            if signal.getsignal(number) == self._handle:
                signal.signal(number, before)
        self._installed.clear()

    @contextmanager
    def held(self) -> Iterator[None]:
        """A block that signals do not interrupt; those that came do their work after it."""
        self._holding = True
        self._received.clear()
        try:
            yield
        finally:  # of a round that fails too: its caller may go on
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
        self._received.clear()
        before = self._installed[number]
        if before != signal.SIG_DFL:  # it raises, and `Checkpoint.__exit__` saves
            before(number, None)
        self._before_end()
        self.remove()  # the process then ends by the signal, as its parent expects
        signal.raise_signal(number)
