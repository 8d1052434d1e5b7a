"""Backends that train cells: threads, processes of this machine, a Dask cluster.

The rows do not depend on the backend. Threads share the plan's bank. Processes map a bank on disk
that this process builds, as each would need its own bank in memory. The data are sent once to each
worker; with a cell only its task and the result are sent.
"""

from __future__ import annotations

import importlib.util
import os
import re
import signal
import threading
import time
from concurrent.futures import BrokenExecutor, CancelledError, Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any

from boostsample.errors import SettingError, StrategyError, one_line
from boostsample.experiments.cells.cell_file import Cell
from boostsample.experiments.cells.tasks import CellTask
from boostsample.experiments.cells.training import (
    TrainingSplit,
    TrainingWatch,
    train_cell,
)
from boostsample.experiments.plan.prepared import Prepared
from boostsample.experiments.run.backend import (
    OF_TERMINAL,
    Backend,
    WorkerLost,
    Workplace,
    n_cores,
    without_terminal,
)

BACKENDS = ("threading", "serial", "loky", "dask", "dask://HOST:PORT")
"""Names that `open_backend` accepts."""

_STOPPED = 5.0
"""Seconds after which a stopped worker process is replaced."""
_IDLE = 20.0
"""Seconds after which a process without a cell ends; the next cell starts it again."""
_KILL = getattr(signal, "SIGKILL", signal.SIGTERM)
_ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS"), "1"
)


def check_backend(name: str, n_jobs: int | None) -> None:
    """Raise SettingError for an unknown backend, one not installed, or an unsuitable `n_jobs`."""
    if name not in BACKENDS[:-1] and not re.fullmatch(r"dask://[^/\s:]+:[0-9]+", name):
        raise SettingError(f"backend must be one of {', '.join(BACKENDS)}, got {name!r}")
    if name == "serial" and n_jobs not in (None, 1):
        raise SettingError(
            f"the backend serial trains one cell at a time, got --jobs {n_jobs}; leave --jobs out, "
            "or take --backend threading"
        )
    if name.startswith("dask") and importlib.util.find_spec("distributed") is None:
        raise SettingError(
            "the backend dask needs the package distributed, which is not installed; run "
            "pip install 'boostsample[dask]', or take --backend loky"
        )


def open_backend(name: str, n_jobs: int | None) -> Backend:
    """Open a backend by name; errors as in `check_backend`."""
    check_backend(name, n_jobs)
    if name in ("threading", "serial"):
        return _ThreadBackend(n_cores(n_jobs, 1))
    if name == "loky":
        return _Processes(n_cores(n_jobs, -1))
    from boostsample.experiments.run.dask_backend import DaskBackend

    return DaskBackend(name, n_jobs)


class _ThreadBackend(Backend):
    """Threads of this process, which share one bank; the kernels release the GIL."""

    in_process = True

    def __init__(self, n_workers: int) -> None:
        super().__init__(n_workers)
        self.stop = threading.Event()
        self._pool = ThreadPoolExecutor(n_workers)

    def submit(
        self,
        task: CellTask,
        before: Cell | None,
        split: TrainingSplit | None,
        watch: TrainingWatch,
    ) -> Future[Cell]:
        assert split is not None
        watch.stop = self.stop
        return self._pool.submit(train_cell, split, task, watch, before)

    def end(self) -> None:
        self.stop.set()
        self._pool.shutdown(cancel_futures=True)


class _Orphan(TrainingWatch):
    """Ends a process whose parent has died."""

    def __init__(self) -> None:
        super().__init__()
        self._parent = os.getppid()

    def check(self) -> None:
        if os.getppid() != self._parent:
            os._exit(1)


_here: dict[str, Any] = {}
"""Of a worker process: its plan and its `Workplace`."""


def _begin_work(prepared: Prepared) -> None:
    """Keep the data in a new worker process."""
    from joblib.externals.loky import process_executor

    process_executor._USE_PSUTIL = False  # banks that are kept would be taken for a leak
    for number in OF_TERMINAL:
        signal.signal(number, signal.SIG_IGN)  # the parent ends us
    _here.update(prepared=prepared, workplace=Workplace())


def _work(task: CellTask, before: Cell | None) -> Cell:
    """Train a cell in a worker process."""
    from joblib.externals.loky.backend import reduction

    try:
        cell: Cell = _here["workplace"].work(_here["prepared"], task, before, _Orphan())
        return cell
    except Exception as error:
        try:
            reduction.loads(reduction.dumps(error))
        except Exception:  # some exceptions can be written, but not read
            raise StrategyError(f"{type(error).__name__}: {one_line(error)}") from None
        raise


class _Process:
    """An executor of loky with one process, so that a lost process costs no cell but its own."""

    def __init__(self, prepared: Prepared) -> None:
        from joblib.externals.loky.process_executor import ProcessPoolExecutor

        self._executor: Any = ProcessPoolExecutor(
            1, timeout=_IDLE, initializer=_begin_work, initargs=(prepared,), env=_ONE_THREAD
        )
        self._stopped_since: float | None = None
        self.cell: Future[Cell] | None = None

    @property
    def is_lost(self) -> bool:
        """Whether the process has ended without being asked to."""
        return self._executor._flags.broken is not None

    @property
    def pid(self) -> int | None:
        """Its number; None if it has not begun, or has ended."""
        return next(iter(self._executor._processes or ()), None)

    def train(self, task: CellTask, before: Cell | None) -> Future[Cell]:
        """Train a cell; the future has the error `WorkerLost` if the process ends before."""
        cell: Future[Cell] = Future()
        self.cell = cell

        def finish(future: Future[Cell]) -> None:
            error = CancelledError() if future.cancelled() else future.exception()
            if isinstance(error, BrokenExecutor | CancelledError) or self._executor._flags.shutdown:
                error = WorkerLost("its process has ended")
            if error is None:
                cell.set_result(future.result())
            else:
                cell.set_exception(error)

        with without_terminal():  # which starts the process
            self._executor.submit(_work, task, before).add_done_callback(finish)
        return cell

    def check_stopped(self) -> None:
        """Kill the process if it has been stopped for `_STOPPED` seconds."""
        if self.pid is None or not _is_stopped(self.pid):
            self._stopped_since = None
        elif self._stopped_since is None:
            self._stopped_since = time.monotonic()
        elif time.monotonic() - self._stopped_since >= _STOPPED:
            with suppress(ProcessLookupError):
                os.kill(self.pid, _KILL)

    def close(self) -> None:
        """End the process."""
        self._executor.shutdown(wait=True, kill_workers=True)


def _is_stopped(pid: int) -> bool:
    """Whether a child is stopped, as by SIGSTOP; False where the system cannot tell."""
    try:
        return os.waitid(os.P_PID, pid, os.WSTOPPED | os.WNOHANG | os.WNOWAIT) is not None
    except (AttributeError, ChildProcessError):  # Windows or an older macOS; it has ended
        return False


class _Processes(Backend):
    """Processes of joblib's loky, which start from any program and share no memory.

    A lost process is replaced when a cell needs it.
    """

    def __init__(self, n_workers: int) -> None:
        super().__init__(n_workers)
        self._prepared: Prepared | None = None
        self._workers: list[_Process] = []

    def begin(self, prepared: Prepared) -> None:
        self.end()
        self._prepared = prepared

    def submit(
        self,
        task: CellTask,
        before: Cell | None,
        split: TrainingSplit | None,
        watch: TrainingWatch,
    ) -> Future[Cell]:
        assert self._prepared is not None
        for lost in [worker for worker in self._workers if worker.is_lost]:
            self._workers.remove(lost)
            lost.close()
        idle = (one for one in self._workers if one.cell is None or one.cell.done())
        worker = next(idle, None)
        if worker is None:
            worker = _Process(self._prepared)
            self._workers.append(worker)
        return worker.train(task, before)

    def look(self) -> None:
        for worker in self._workers:
            worker.check_stopped()

    def end(self) -> None:
        for worker in self._workers:
            worker.close()
        self._workers.clear()
