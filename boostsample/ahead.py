"""Kernels compiled by other processes, while this one is busy with those that it needs first.

The first fit on a machine compiles for ten seconds and more, since numba compiles one kernel at a
time in a process. What a bank is built with is needed first, the search only when it stands. So a
helper is started that compiles the search, and what the strategy plans with, into the cache on
disk; whoever needs such a kernel waits until it is there (`boostsample._jit`). Nothing depends on
a helper: where it fails, or none can be started, kernels are compiled here.
"""

from __future__ import annotations

import contextlib
import json
import logging
import multiprocessing
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from boostsample import _compile_jobs, _jit
from boostsample.threads import n_threads

__all__ = ["compiling_ahead", "serve"]

_log = logging.getLogger("boostsample")
#: Seconds that a helper may take, many times what it needs.
_LONGEST = 120.0
#: Seconds that a helper is given to end.
_PATIENCE = 5.0
#: Jobs that strategies with models of edges need.
_PLANS = {"allocate", "plan_family"}
#: Away from the terminal, whose interrupts are for the process that waits.
_APART: dict[str, Any] = (
    {"creationflags": 0x08000200}  # CREATE_NO_WINDOW, CREATE_NEW_PROCESS_GROUP
    if sys.platform == "win32"
    else {"process_group": 0}
)
#: What it runs; this package may be where only this process looks for it.
_SCRIPT = (
    "import json, sys\n"
    "order = json.loads(sys.argv[1])\n"
    "sys.path[:] = order['path']\n"
    "from boostsample.ahead import serve\n"
    "serve(order)\n"
)


@contextlib.contextmanager
def compiling_ahead(n_labels: int, strategies: Sequence[Any]) -> Iterator[None]:
    """Have helpers compile what a run will need; they end with this context, whatever happens.

    Parameters
    ----------
    n_labels : int
        K, one for two classes.
    strategies : sequence of Strategy
        What their modules have imported of `boostsample.expected_edge` is compiled too.
    """
    helpers: list[_Helper] = []
    try:
        for names in _shares(n_labels, strategies):
            helpers.append(_Helper(names, n_labels))
        if helpers:
            _compile_jobs.finish(n_labels).run()  # not to wait for it at the end
        yield
    finally:
        for helper in helpers:
            helper.end()


def _shares(n_labels: int, strategies: Sequence[Any]) -> list[list[str]]:
    """The jobs of each helper; no helpers where this process would be as fast alone."""
    jobs = _compile_jobs.jobs(n_labels)
    missing = [name for name in _wanted(strategies) if not _jit.is_kept(jobs[name].kernels[0])]
    here = *_compile_jobs.bank_kernels(), *_compile_jobs.finish(n_labels).kernels
    if missing and all(map(_jit.is_kept, here)):
        del missing[0]  # this process would have nothing else to do
    if not missing or not _jit.can_keep(here[0]) or not _may_start():
        return []
    # What a helper would come to last is compiled by this process, unless there is a core to spare.
    last = {"draw", "fit_mixture"} if _PLANS.intersection(missing) else {"fit_mixture"}
    first = [name for name in missing if name not in last]
    second = [name for name in missing if name in last and n_threads(-1) > 2]
    return [names for names in (first, second) if names]


def _wanted(strategies: Sequence[Any]) -> list[str]:
    """The jobs for strategies, in the order in which these will need them."""
    modules = [sys.modules.get(type(strategy).__module__) for strategy in strategies]
    plans = {
        value.__name__
        for module in modules
        for value in getattr(module, "__dict__", {}).values()
        if getattr(value, "__module__", "") == "boostsample.expected_edge"
    }
    wanted = ["search", "draw"] if strategies else []
    if plans:
        wanted += ["allocate"] * ("allocate" in plans)
        wanted += ["plan_family"] * bool(plans & {"plan", "plan_family"})
        # Single Gaussians have a kernel of their own, which takes no time to speak of.
        wanted += ["fit_mixture"] * any(getattr(s, "n_components", 0) != 1 for s in strategies)
    return wanted


def _may_start() -> bool:
    """Whether a helper could be of use, and can be started without harm."""
    return (
        n_threads(-1) > 1
        and not getattr(sys, "frozen", False)
        and Path(sys.executable or "none").name.lower().startswith("python")
        # Workers of a pool keep all cores busy already.
        and multiprocessing.parent_process() is None
        and multiprocessing.current_process().name == "MainProcess"
    )


class _Helper:
    """A process that compiles, and ends at once when its standard input does."""

    def __init__(self, names: Sequence[str], n_labels: int) -> None:
        jobs = _compile_jobs.jobs(n_labels)
        self._kernels = [kernel for name in names for kernel in jobs[name].kernels]
        order = {
            "path": [os.path.abspath(path) for path in sys.path],
            "cache": self._kernels[0]._cache.cache_path,
            "names": names,
            "n_labels": n_labels,
        }
        self._process: subprocess.Popen[Any] | None = None
        self._last = time.monotonic() + _LONGEST
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _SCRIPT, json.dumps(order)],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                **_APART,
            )
        except OSError as error:
            _log.debug("no process to compile kernels: %s", error)
            return
        for kernel in self._kernels:
            _jit.await_elsewhere(kernel, self.is_at_work)

    def is_at_work(self) -> bool:
        """Whether kernels may still come."""
        process = self._process
        return process is not None and process.poll() is None and time.monotonic() < self._last

    def end(self) -> None:
        """End the process, whether it is done or not."""
        for kernel in self._kernels:
            _jit.await_elsewhere(kernel, None)
        process, self._process = self._process, None
        if process is None:
            return
        assert process.stdin is not None
        with contextlib.suppress(OSError):
            process.stdin.close()
        try:
            process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.returncode:
            _log.debug("the process that compiles kernels ended with %d", process.returncode)


def serve(order: dict[str, Any]) -> None:
    """What a helper does: the jobs of an order, unless its kernels would be kept elsewhere."""
    threading.Thread(target=_end_with_input, daemon=True).start()
    jobs = _compile_jobs.jobs(order["n_labels"])
    for name in order["names"]:
        if jobs[name].kernels[0]._cache.cache_path == order["cache"]:
            jobs[name].run()
    os._exit(0)  # Python's own end would take a second to put things away


def _end_with_input() -> None:
    sys.stdin.buffer.read()
    with _jit.saving:
        os._exit(0)
