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
import traceback
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from multiprocessing.connection import Connection, Pipe
from typing import Any

from boostsample.errors import SettingError, StrategyError, one_line
from boostsample.experiments.cells.cell_file import Cell
from boostsample.experiments.cells.tasks import CellTask
from boostsample.experiments.cells.training import (
    TrainingSplit,
    TrainingWatch,
    train_cell,
    warm_up_key,
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
_BEGUN, _COMPILED = "begun", "compiled"
"""What a worker process answers when it begins a cell, and when it begins to boost."""
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
        return _Threads(n_cores(n_jobs, 1))
    if name == "loky":
        return _Processes(n_cores(n_jobs, -1))
    from boostsample.experiments.run.dask_backend import DaskBackend

    return DaskBackend(name, n_jobs)


class _Threads(Backend):
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
    """Tells the parent process when boosting begins; ends a process whose parent has died."""

    def __init__(self, pipe: Connection) -> None:
        super().__init__()
        self._pipe = pipe
        self._parent = os.getppid()

    def begin(self) -> None:
        self._pipe.send(_COMPILED)

    def check(self) -> None:
        if os.getppid() != self._parent:
            os._exit(1)


def _serve(pipe: Connection) -> None:
    """Train cells in a worker process: reads the data, then tasks, and answers each of them.

    A task is answered by `_BEGUN`, `_COMPILED`, and the cell; or by an error after
    one or both of the first two.
    """
    from joblib.externals.loky.backend import reduction

    for number in OF_TERMINAL:
        signal.signal(number, signal.SIG_IGN)  # the parent ends us
    workplace = Workplace()
    with suppress(EOFError, OSError):  # the parent has gone
        prepared = pipe.recv()
        while True:
            task, before = pipe.recv()
            pipe.send(_BEGUN)
            try:
                answer: Cell | Exception = workplace.work(prepared, task, before, _Orphan(pipe))
            except Exception as error:
                answer = error
                answer.add_note(traceback.format_exc())
                try:
                    reduction.loads(reduction.dumps(error))
                except Exception:  # some exceptions can be written, but not read
                    answer = StrategyError(f"{type(error).__name__}: {one_line(error)}")
            pipe.send_bytes(reduction.dumps(answer))


class _Process:
    """A worker process with a pipe of its own, so that it leaves no lock behind when it dies."""

    def __init__(self, prepared: Prepared) -> None:
        from joblib.externals.loky.backend.process import LokyProcess

        self._pipe, theirs = Pipe()
        self._process: Any = LokyProcess(
            target=_serve, args=(theirs,), daemon=True, env=_ONE_THREAD
        )
        with without_terminal():
            self._process.start()
        theirs.close()
        self.pid: int = self._process.pid
        self._unsent: Prepared | None = prepared
        self._silent = False
        self._stopped_since: float | None = None
        self.cell: Future[Cell] = Future()
        self.warm: set[tuple[str, ...]] = set()  # each a `warm_up_key`

    @property
    def is_lost(self) -> bool:
        """Whether the process has ended."""
        return self._silent or not self._process.is_alive()

    def train(self, task: CellTask, before: Cell | None, watch: TrainingWatch) -> Cell:
        """Train a cell, in any thread; WorkerLost if the process ends before it has answered.

        A process that ends before its first cell has begun it: the data may be what ends it.
        """
        from joblib.externals.loky.backend import reduction

        begun = self._unsent is not None
        try:
            if self._unsent is not None:
                self._pipe.send_bytes(reduction.dumps(self._unsent))
                self._unsent = None
            self._pipe.send_bytes(reduction.dumps((task, before)))
            begun = self._pipe.recv() == _BEGUN
            answer = self._pipe.recv()
            if answer == _COMPILED:
                watch.begin()
                answer = self._pipe.recv()
        except (EOFError, OSError) as error:
            self._silent = True
            raise WorkerLost(f"process {self.pid} has ended", begun=begun) from error
        if isinstance(answer, Exception):
            raise answer
        cell: Cell = answer
        return cell

    def check_stopped(self) -> None:
        """Kill the process if it has been stopped for `_STOPPED` seconds."""
        if not _is_stopped(self.pid):
            self._stopped_since = None
        elif self._stopped_since is None:
            self._stopped_since = time.monotonic()
        elif time.monotonic() - self._stopped_since >= _STOPPED:
            self.kill()

    def kill(self) -> None:
        """End the process; `train` in another thread then raises WorkerLost."""
        if self._process.is_alive():
            os.kill(self.pid, _KILL)

    def close(self) -> None:
        """Wait for the end of a lost or killed process and close its pipe."""
        self._process.join(_STOPPED)
        self._pipe.close()


def _is_stopped(pid: int) -> bool:
    """Whether a child is stopped, as by SIGSTOP; False where the system cannot tell."""
    try:
        return os.waitid(os.P_PID, pid, os.WSTOPPED | os.WNOHANG | os.WNOWAIT) is not None
    except (AttributeError, ChildProcessError):  # Windows or an older macOS; it has ended
        return False


class _Processes(Backend):
    """Processes of joblib's loky, which start from any program and share no memory.

    A thread of this process waits for each. A lost process is replaced when a cell needs it.
    """

    def __init__(self, n_workers: int) -> None:
        super().__init__(n_workers)
        self._pool = ThreadPoolExecutor(n_workers)
        self._prepared: Prepared | None = None
        self._workers: list[_Process] = []

    def begin(self, prepared: Prepared) -> None:
        self._end_workers()
        self._prepared = prepared

    def submit(
        self,
        task: CellTask,
        before: Cell | None,
        split: TrainingSplit | None,
        watch: TrainingWatch,
    ) -> Future[Cell]:
        assert self._prepared is not None
        idle = [worker for worker in self._workers if worker.cell.done()]
        for lost in [worker for worker in idle if worker.is_lost]:
            self._workers.remove(lost)
            idle.remove(lost)
            lost.close()  # no thread reads its pipe any more
        worker = next(iter(idle), None)
        if worker is None:
            worker = _Process(self._prepared)
            self._workers.append(worker)
        key = warm_up_key(self._prepared, task)
        watch.compiling = key not in worker.warm
        worker.warm.add(key)
        worker.cell = self._pool.submit(worker.train, task, before, watch)
        return worker.cell

    def look(self) -> None:
        for worker in self._workers:
            worker.check_stopped()

    def _end_workers(self) -> None:
        for worker in self._workers:
            worker.kill()
        wait([worker.cell for worker in self._workers], _STOPPED)
        for worker in self._workers:
            worker.close()
        self._workers.clear()

    def end(self) -> None:
        self._end_workers()
        self._pool.shutdown(cancel_futures=True)
