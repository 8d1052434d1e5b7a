"""What users are told while kernels are compiled, and who can call them."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from boostsample.jit import compile_kernels as _jit
from boostsample.kernels import draw
from tests.compiled import called, slow_without_jit


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
