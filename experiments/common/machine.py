"""Versions of the libraries, and the machine: processor, cores, memory."""

from __future__ import annotations

import math
import os
import platform
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import boostsample

_LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba", "llvmlite", "PyWavelets")


@cache
def versions() -> dict[str, str | None]:
    """Versions of this package, of Python and of the libraries that compute."""
    return {
        "boostsample": boostsample.__version__,
        "python": platform.python_version(),
        **{name: version_of(name) for name in _LIBRARIES},
    }


def version_of(name: str) -> str | None:
    """The version of an installed distribution; None if it is not installed."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


@cache
def machine() -> dict[str, Any]:
    """Processor, cores and system; no names of hosts or users."""
    system = f"{platform.system()} {platform.release()} {platform.machine()}".strip()
    return {"platform": system, "processor": _processor(), "cores": os.cpu_count()}


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8", "replace").splitlines()
    except OSError:  # not Linux
        return platform.processor()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def machine_memory() -> float:
    """Return the bytes of main memory; infinity where the system does not report them."""
    if not hasattr(os, "sysconf") or "SC_PHYS_PAGES" not in os.sysconf_names:
        return math.inf
    return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))


def machine_cache() -> int:
    """Bytes of the largest cache that the system reports; 32 MiB if it reports none."""
    paths = Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size")
    sizes = [1024 * int(path.read_text().strip().removesuffix("K")) for path in paths]
    return max(sizes, default=32 * 2**20)
