"""Kernels in another thread: the arguments that they get, and that they need no GIL for it."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

from boostsample.jit.compile_kernels import compiled_address, kernel
from boostsample.jit.mailbox import (
    MAILBOX_SIZE,
    call_back_from_mailbox,
    mailbox_finished,
    put_in_mailbox,
    serve_mailbox,
)
from tests.compiled import slow_without_jit
from tests.waiting import PATIENCE

pytestmark = slow_without_jit


@kernel
def gather(
    matrix: Any, rows: Any, small: Any, whole: int, part: float, yes: bool, output: Any
) -> None:
    """What depends on each argument; takes views, whose owners it must not count."""
    for i in range(rows.size):
        row = matrix[rows[i]]
        half = row[: row.size // 2]
        output[i] = half.sum() * part + whole - small if yes else -1.0


@kernel
def twice(whole: int) -> int:
    return 2 * whole


@pytest.fixture
def box() -> Iterator[Any]:
    """A mailbox that another thread serves."""
    box = np.zeros(MAILBOX_SIZE, np.int64)
    thread = threading.Thread(target=lambda: serve_mailbox(box, 10**12))
    thread.start()
    yield box
    call_back_from_mailbox(box)
    thread.join(300)
    assert not thread.is_alive()


def work(rows: Any, yes: bool = True) -> tuple[Any, ...]:
    matrix = np.arange(60, dtype=np.float32).reshape(6, 10)
    return matrix, rows, np.int16(-3), 2**40, 0.1, yes, np.full(rows.size, np.nan)


def run(box: Any, arguments: tuple[Any, ...]) -> Any:
    put_in_mailbox(box, compiled_address(gather, arguments), arguments)
    assert mailbox_finished(box, 10**12)
    return arguments[-1]


@pytest.mark.parametrize("yes", [True, False])
@pytest.mark.parametrize("step", [1, 2])  # contiguous or not: types of their own
@pytest.mark.parametrize("frozen", [True, False])
def test_a_kernel_gets_its_arguments(box: Any, yes: bool, step: int, frozen: bool) -> None:
    rows = np.array([5, 0, 3, 1, 4, 2, 0, 5], np.int64)[::step]
    rows.flags.writeable = not frozen
    alone = work(rows, yes)
    gather(*alone)
    assert np.isfinite(alone[-1]).all()
    assert np.array_equal(run(box, work(rows, yes)), alone[-1])


def test_the_other_thread_needs_no_gil(box: Any) -> None:
    arguments = work(np.arange(6))
    run(box, arguments)[:] = np.nan  # compiled
    before = sys.getswitchinterval()
    sys.setswitchinterval(1000)  # nobody is asked to give up the GIL
    try:
        put_in_mailbox(box, compiled_address(gather, arguments), arguments)
        until = time.monotonic() + PATIENCE
        while np.isnan(arguments[-1]).any() and time.monotonic() < until:
            pass
    finally:
        sys.setswitchinterval(before)
    assert not np.isnan(arguments[-1]).any()


def test_arguments_that_do_not_fit_are_refused() -> None:
    box, many = np.zeros(MAILBOX_SIZE, np.int64), tuple(np.zeros(1) for _ in range(40))
    with pytest.raises(Exception, match="40 arguments do not fit into a mailbox"):
        put_in_mailbox(box, 1, many)
    assert not box.any()


def test_arguments_whose_owners_would_be_lost_are_refused() -> None:
    box = np.zeros(MAILBOX_SIZE, np.int64)
    for kind, argument in (("Tuple", (np.zeros(1), 1)), ("unicode", "text")):
        with pytest.raises(Exception, match=f"{kind}.* cannot be put into a mailbox"):
            put_in_mailbox(box, 1, (argument,))
    assert not box.any()


def test_what_has_an_entry() -> None:
    assert compiled_address(lambda: None, ()) == 0
    arguments = work(np.arange(3))
    assert compiled_address(gather, arguments) == compiled_address(gather, work(np.arange(5))) > 0
    assert compiled_address(gather, work(np.arange(6)[::2])) != compiled_address(gather, arguments)
    with pytest.raises(TypeError, match="twice must return None"):
        compiled_address(twice, (1,))


class Scaling(NamedTuple):
    values: Any
    factor: float


@kernel
def scale(pairs: Any, output: Any) -> None:
    for i in range(output.size):
        output[i] = pairs.values.values[i] * pairs.values.factor + pairs.factor


def test_named_tuples_are_handed_over_with_their_arrays(box: Any) -> None:
    arguments = Scaling(Scaling(np.arange(5.0), 3.0), 0.25), np.full(5, np.nan)
    put_in_mailbox(box, compiled_address(scale, arguments), arguments)
    assert mailbox_finished(box, 10**12)
    np.testing.assert_array_equal(arguments[1], np.arange(5.0) * 3.0 + 0.25)
