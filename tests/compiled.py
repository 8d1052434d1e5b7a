"""Kernels that only other kernels call, for tests to call."""

from __future__ import annotations

from typing import Any

import numba


def called(inner: Any) -> Any:
    """A function that Python can call and that does nothing but call this kernel."""

    @numba.njit  # type: ignore[untyped-decorator]  # numba ships no annotations
    def call(*args: Any) -> Any:
        return inner(*args)

    return call
