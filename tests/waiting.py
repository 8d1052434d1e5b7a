"""Waiting for other threads and processes: what never comes is an error, not a hang."""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE = 300.0
"""Seconds, far more than a busy machine takes for anything that is waited for."""


def wait_until(is_done: Callable[[], bool], awaited: str, pause: float = 0.05) -> None:
    """Ask every `pause` seconds; TimeoutError with what is awaited if it does not come."""
    end = time.monotonic() + PATIENCE
    while not is_done():
        if time.monotonic() > end:
            raise TimeoutError(f"{awaited}: not within {PATIENCE:g} s")
        time.sleep(pause)
