"""Arrays on the stack, and which kernels count references."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numba.core.caching import NullCache
from numba.core.errors import TypingError
from numpy.typing import NDArray

from boostsample.jit.compile_kernels import allocating_kernel, inner_kernel, kernel
from boostsample.jit.memory import on_stack
from tests.compiled import COMPILED

compiled_only = pytest.mark.skipif(not COMPILED, reason="nothing is compiled")
Array = NDArray[np.float64]
SIZE = 5


def uncached(compiled: Any) -> Any:
    """Compiled in each process: kernels are kept by the contents of their files, not of this."""
    if COMPILED:
        compiled._cache = NullCache()
    return compiled


@uncached
@inner_kernel
def running(values: Array, sums: Array) -> None:
    so_far = 0.0
    for i in range(values.size):
        so_far += values[i]
        sums[i] = so_far


@uncached
@kernel
def reversed_sums(values: Array, out: Array) -> None:
    """Running sums of SIZE values at a time, last to first, by way of two arrays of its own."""
    for start in range(0, values.size, SIZE):
        sums, whole = on_stack(SIZE, np.float64), on_stack(SIZE, np.int32)
        running(values[start : start + SIZE], sums)
        for i in range(SIZE):
            whole[i] = np.int32(sums[i])
        for i in range(SIZE):
            out[start + i] = sums[SIZE - 1 - i] + 1000 * whole[i]


@uncached
@allocating_kernel
def doubled(values: Array) -> Array:
    result = np.empty(values.size)
    for i in range(values.size):
        result[i] = 2.0 * values[i]
    return result


def test_arrays_on_the_stack_do_not_share_their_memory() -> None:
    values, out = np.arange(15.0) + 0.25, np.empty(15)
    reversed_sums(values, out)
    sums = np.cumsum(values.reshape(3, SIZE), axis=1)
    np.testing.assert_array_equal(out, (sums[:, ::-1] + 1000 * np.floor(sums)).ravel())


@compiled_only
def test_only_kernels_that_allocate_count_references() -> None:
    reversed_sums(np.zeros(SIZE), np.zeros(SIZE))
    doubled(np.zeros(2))
    counting = {
        one.py_func.__name__: "NRT_" in "".join(one.inspect_llvm().values())
        for one in (reversed_sums, doubled)
    }
    assert counting == {"reversed_sums": False, "doubled": True}


@compiled_only
def test_a_kernel_that_allocates_has_to_say_so() -> None:
    @uncached
    @kernel
    def silent(n: int) -> float:
        room = np.empty(n)
        room[0] = 1.0
        return float(room[0])

    with pytest.raises(TypingError, match="empty"):
        silent(3)
