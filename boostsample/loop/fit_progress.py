"""Progress of a fit on standard error: one renewed line on a terminal, ten lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

RENEW = "\r\x1b[K"
"""Text that starts the line of a terminal anew."""

_LINES = 10
"""Lines of a fit where there is no terminal, as in notebooks and log files."""
_PAUSE = 0.1
"""Least seconds between two renewals of the line of a terminal."""


class FitProgress:
    """Shows round, loss and edge of a fit of `n_rounds` rounds, and the text of `more()`."""

    def __init__(self, n_rounds: int, more: Callable[[], str] = str) -> None:
        self._n_rounds = n_rounds
        self._more = more
        self._terminal = sys.stderr is not None and sys.stderr.isatty()
        self._shown = 0.0

    def __call__(self, row: dict[str, Any], edge: float, finished: bool, stopped: str = "") -> None:
        """Show a finished round; training goes on if standard error cannot be written.

        `stopped` is why training ends early, if the row does not say so.
        """
        if sys.stderr is not None:
            with suppress(OSError):
                self._show(row, edge, finished, row["stopped"] or stopped)

    def _show(self, row: dict[str, Any], edge: float, finished: bool, stopped: str) -> None:
        text = (
            f"round {row['round']:,} of {self._n_rounds:,}: log10 loss {row['log10_loss']:.3f}, "
            f"edge {edge:.4f}{self._more()}"
        )
        if stopped:
            text += f"; training ends: {stopped}"
        if not self._terminal:
            if finished or row["round"] % -(-self._n_rounds // _LINES) == 0:
                sys.stderr.write(f"{text}\n")
        elif finished or time.monotonic() - self._shown >= _PAUSE:
            self._shown = time.monotonic()
            sys.stderr.write(f"{RENEW}{text}" + "\n" * finished)
        sys.stderr.flush()
