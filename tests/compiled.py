"""Whether kernels are compiled, and kernels that only other kernels call, for tests to call."""

from __future__ import annotations

import os
from typing import Any

import numba
import pytest

COMPILED = os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0")
slow_without_jit = pytest.mark.skipif(not COMPILED, reason="minutes or hours without compilation")


def called(inner: Any) -> Any:
    """A function that Python can call and that does nothing but call this kernel."""

    @numba.njit  # type: ignore[untyped-decorator]  # numba ships no annotations
    def call(*args: Any) -> Any:
        return inner(*args)

    return call
