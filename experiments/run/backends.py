"""Backends that train cells: threads, processes of this machine, a Dask cluster.

The rows do not depend on the backend. Threads share the plan's bank. Processes map a bank on disk
that this process builds, as each would need its own bank in memory. The data are sent once to each
worker; with a cell only the order and its result are sent.
"""

from __future__ import annotations

import importlib.util
import os
import re
import signal
import subprocess
import threading
import time
import traceback
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from typing import Any

from boostsample.errors import SettingError, StrategyError
from boostsample.experiments.cells.cell_file import Cell
from boostsample.experiments.cells.training import (
    TrainingOrder,
    TrainingSplit,
    TrainingStopped,
    TrainingWatch,
    train_cell,
)
from boostsample.experiments.common.faults import one_line
from boostsample.experiments.plan.prepared import Prepared
from boostsample.experiments.run.backend import Backend, WorkerLost, n_cores, without_ctrl_c
from boostsample.experiments.run.workplace import Workplace

__all__ = ["BACKENDS", "Backend", "check_backend", "n_cores", "open_backend"]

BACKENDS = ("threading", "serial", "loky", "dask", "dask://HOST:PORT")
"""Names that `open_backend` accepts."""

_STOPPED = 5.0
"""Seconds after which a stopped worker process is replaced."""
_KILL = getattr(signal, "SIGKILL", signal.SIGTERM)
_LOOK = 1.0  # seconds between two checks for stopped processes
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
        self, order: TrainingOrder, split: TrainingSplit | None, watch: TrainingWatch
    ) -> Future[Cell]:
        assert split is not None
        watch.stop = self.stop
        return self._pool.submit(train_cell, split, order, watch)

    def end(self) -> None:
        self.stop.set()
        self._pool.shutdown(cancel_futures=True)


class _Orphan(TrainingWatch):
    """Ends a worker process whose parent has died."""

    def __init__(self) -> None:
        super().__init__()
        self._parent = os.getppid()

    def check(self) -> None:
        if os.getppid() != self._parent:
            os._exit(1)


def _serve(pipe: Connection) -> None:
    """Train cells in a worker process: reads the data, then orders, and answers each of them."""
    from joblib.externals.loky.backend import reduction

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C and ends us
    workplace = Workplace()
    with suppress(EOFError, OSError):  # the parent has gone
        prepared = pipe.recv()
        while True:
            order = pipe.recv()
            try:
                answer: bytes | Exception = workplace.work(prepared, order, _Orphan())
            except Exception as error:
                answer = error
                answer.add_note(traceback.format_exc())
                try:
                    reduction.loads(reduction.dumps(error))
                except Exception:  # some exceptions can be written, but not read
                    answer = StrategyError(f"{type(error).__name__}: {one_line(error)}")
            pipe.send_bytes(reduction.dumps(answer))


class _Worker:
    """A worker process with a pipe of its own, so that it leaves no lock behind when it dies."""

    def __init__(self) -> None:
        from joblib.externals.loky.backend.process import LokyProcess

        self._pipe, theirs = Pipe()
        self._process: Any = LokyProcess(
            target=_serve, args=(theirs,), daemon=True, env=_ONE_THREAD
        )
        with without_ctrl_c():
            self._process.start()
        theirs.close()
        self._has_data = False
        self._stopped_since: float | None = None

    @property
    def pid(self) -> int:
        """Number of the process."""
        return int(self._process.pid)

    def train(self, prepared: Prepared, order: TrainingOrder) -> Cell:
        """Train a cell; WorkerLost if the process ends before it has answered."""
        from joblib.externals.loky.backend import reduction

        try:
            if not self._has_data:
                self._pipe.send_bytes(reduction.dumps(prepared))
                self._has_data = True
            self._pipe.send_bytes(reduction.dumps(order))
            answer = self._pipe.recv()
        except (EOFError, OSError) as error:
            self.kill()
            raise WorkerLost(f"process {self.pid} has ended") from error
        if isinstance(answer, Exception):
            raise answer
        return Cell.from_bytes(answer)

    def check_stopped(self) -> None:
        """Kill the process if it has been stopped for `_STOPPED` seconds."""
        now = time.monotonic()
        if not _is_stopped(self.pid):
            self._stopped_since = None
        elif self._stopped_since is None:
            self._stopped_since = now
        elif now - self._stopped_since >= _STOPPED:
            self.kill()

    def kill(self) -> None:
        """End the process; `train` in another thread then raises WorkerLost."""
        with suppress(OSError):
            if self._process.exitcode is None:
                os.kill(self.pid, _KILL)

    def close(self) -> None:
        """Wait for the end of a killed process and close its pipe."""
        self._process.join(_STOPPED)
        self._pipe.close()


def _is_stopped(pid: int) -> bool:
    """Whether a process is stopped, as by SIGSTOP; False where the system cannot tell."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text("ascii", "replace").rpartition(")")[2].strip()
    except OSError:  # not Linux, or the process has ended
        if os.name != "posix" or Path("/proc/self/stat").exists():
            return False
        command = ["ps", "-o", "stat=", "-p", str(pid)]
        state = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    return state.startswith("T")


class _Processes(Backend):
    """Processes of joblib's loky, which start from any program and share no memory.

    A thread of this process waits for each. A lost process is replaced when a cell needs it.
    """

    def __init__(self, n_workers: int) -> None:
        super().__init__(n_workers)
        self._prepared: Prepared | None = None
        self._pool: ThreadPoolExecutor | None = None
        self._lock = threading.Lock()
        self._workers: list[_Worker] = []
        self._idle: list[_Worker] = []
        self._looked = 0.0

    def begin(self, prepared: Prepared) -> None:
        self.end()
        self._prepared = prepared

    def submit(
        self, order: TrainingOrder, split: TrainingSplit | None, watch: TrainingWatch
    ) -> Future[Cell]:
        assert self._prepared is not None
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self._n_workers)
        with self._lock:
            worker = self._idle.pop() if self._idle else None
        if worker is None:
            worker = _Worker()
            with self._lock:
                self._workers.append(worker)
        return self._pool.submit(self._train, worker, self._prepared, order)

    def _train(self, worker: _Worker, prepared: Prepared, order: TrainingOrder) -> Cell:
        """Train a cell; runs in a thread of the pool."""
        try:
            return worker.train(prepared, order)
        except WorkerLost:
            with self._lock:
                if worker not in self._workers:  # `end` has killed it
                    raise TrainingStopped from None
                self._workers.remove(worker)
            worker.close()
            raise
        finally:
            with self._lock:
                if worker in self._workers:
                    self._idle.append(worker)

    def look(self) -> None:
        if time.monotonic() - self._looked >= _LOOK:
            self._looked = time.monotonic()
            with self._lock:
                busy = [worker for worker in self._workers if worker not in self._idle]
            for worker in busy:
                worker.check_stopped()

    def end(self) -> None:
        with self._lock:
            workers, self._workers, self._idle = self._workers, [], []
        for worker in workers:
            worker.kill()
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(cancel_futures=True)
        for worker in workers:
            worker.close()
