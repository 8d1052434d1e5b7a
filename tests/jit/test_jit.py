"""What users are told while kernels are compiled, who can call them, and their memory."""

from __future__ import annotations

import gc
import logging
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numba.core.caching import NullCache
from numba.core.errors import TypingError
from numpy.typing import NDArray

from boostsample.jit import compile_kernels as _jit
from boostsample.jit.compile_kernels import allocating_kernel, inner_kernel, kernel
from boostsample.jit.vectors import on_stack
from boostsample.kernels import draw
from tests.compiled import COMPILED, called, slow_without_jit


def started_by(module: str, kept: str | None = "folder") -> Any:
    """An event of numba's: a function of that module is compiled."""
    function = SimpleNamespace(__module__=module)
    cache = SimpleNamespace(cache_path=kept)
    return SimpleNamespace(data={"dispatcher": SimpleNamespace(py_func=function, _cache=cache)})


def told(seconds: list[float], event: Any, caplog: pytest.LogCaptureFixture) -> list[str]:
    """The messages of kernels that take so long, each compiled after the other."""

    def clock() -> Iterator[float]:
        now = 0.0
        for one in seconds:
            yield now
            now += one
            yield now

    ticks = clock()
    waiting = _jit._Waiting(lambda: next(ticks))
    caplog.clear()
    with caplog.at_level(logging.WARNING, "boostsample"):
        for _ in seconds:
            waiting.on_start(event)
            waiting.on_end(event)
    return [record.getMessage() for record in caplog.records]


def test_a_long_wait_is_explained_once(caplog: pytest.LogCaptureFixture) -> None:
    mine = started_by("boostsample.kernels.search")
    assert told([0.5, 1.0, 0.4], mine, caplog) == []
    (message,) = told([0.5, 1.0, 0.6, 3.0], mine, caplog)
    assert message == "compiling kernels for this machine, which takes 5 to 15 seconds, once"


@pytest.mark.parametrize(("folder", "not_kept"), [(None, []), ("folder", ["a full disk"])])
def test_without_a_cache_it_does_not_say_once(
    folder: str | None,
    not_kept: list[str],
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_jit, "_not_kept", not_kept)
    (message,) = told([60.0], started_by("boostsample.kernels.draw", folder), caplog)
    assert message == "compiling kernels for this machine, which takes 5 to 15 seconds"


@pytest.mark.parametrize("collects", [True, False])
def test_garbage_waits_for_the_outermost_compilation(collects: bool) -> None:
    waiting, event = _jit._Waiting(), started_by("boostsample.kernels.search")
    other = started_by("numpy.linalg")
    if not collects:
        gc.disable()
    try:
        found = []
        for step in ("on_start", "on_start", "on_end", "on_end"):
            for each in (event, other):
                getattr(waiting, step)(each)
            found.append(gc.isenabled())
        assert found == [False, False, False, collects]
    finally:
        gc.enable()


@slow_without_jit
def test_what_only_kernels_call_is_refused_to_python() -> None:
    with pytest.raises(TypeError, match=r"^_block_of can be called by other kernels only$"):
        draw._block_of(np.ones(3), 0, 0.5)
    assert called(draw._block_of)(np.ones(3), 0, 0.5) == 0


@pytest.mark.parametrize("decorator", [_jit.inner_kernel, _jit.kernel])
def test_a_closure_has_to_be_named(decorator: Any) -> None:
    size = 3

    def closure() -> int:
        return size

    with pytest.raises(TypeError, match="compile it with kernel_for"):
        decorator(closure)


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
