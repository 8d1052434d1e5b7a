"""Size of the main memory."""

from __future__ import annotations

import math
import os

__all__ = ["machine_memory"]


def machine_memory() -> float:
    """Return the bytes of main memory; infinity where the system does not report them."""
    if not hasattr(os, "sysconf") or "SC_PHYS_PAGES" not in os.sysconf_names:
        return math.inf
    return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
