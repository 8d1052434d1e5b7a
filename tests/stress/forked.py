"""Work in a forked process, so that a crash, a hang or a lack of memory is seen and named."""

from __future__ import annotations

import contextlib
import math
import multiprocessing
import os
import resource
import signal
import traceback
from collections.abc import Callable, Iterable, Iterator
from multiprocessing.connection import Connection
from typing import Any, NamedTuple


class Outcome(NamedTuple):
    """What became of one case: `kind` is "ok", "fault", "crash" or "hang"."""

    number: int
    kind: str
    text: str


def outcomes(
    work: Callable[[int], str],
    numbers: Iterable[int],
    *,
    seconds: float = 60.0,
    gigabytes: float = 6.0,
) -> Iterator[Outcome]:
    """The outcomes of `work` for each number, in a forked process of limited memory.

    `work` returns a text, or raises what is a fault. A process that dies or is silent for `seconds`
    is replaced by a new one for the numbers that are left.
    """
    left = list(numbers)
    while left:
        ours, theirs = multiprocessing.Pipe(duplex=False)
        child = os.fork()
        if child == 0:
            ours.close()
            _serve(work, left, theirs, gigabytes)
        theirs.close()
        try:
            yield from _results(ours, child, left, seconds)
        finally:
            ours.close()
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(child, 0)


def _results(ours: Connection, child: int, left: list[int], seconds: float) -> Iterator[Outcome]:
    """The outcomes of one process, until it has done all that is left, or is lost."""
    while left:
        if not heard(ours, seconds):
            yield Outcome(left.pop(0), "hang", f"silent for {seconds:g} s")
            return
        try:
            kind, text = ours.recv()
        except EOFError:
            _, status = os.waitpid(child, 0)
            yield Outcome(left.pop(0), "crash", f"exit code {os.waitstatus_to_exitcode(status)}")
            return
        yield Outcome(left.pop(0), kind, text)


def heard(ours: Connection, seconds: float) -> bool:
    """Whether there is an outcome within `seconds`; the time of a stop counts as one second."""
    steps = math.ceil(seconds)
    return any(ours.poll(seconds / steps) for _ in range(steps))


def _serve(
    work: Callable[[int], str], numbers: list[int], theirs: Connection, gigabytes: float
) -> None:
    """The forked process: it sends an outcome for each number, and exits without any cleanup."""
    try:
        most = int(gigabytes * 2**30)
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
        for number in numbers:
            theirs.send(_done(work, number))
    finally:
        os._exit(0)


def _done(work: Callable[[int], str], number: int) -> tuple[str, Any]:
    try:
        return "ok", work(number)
    except BaseException:
        return "fault", traceback.format_exc(limit=-6)
