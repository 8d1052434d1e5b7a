"""Backends that train cells: threads, processes of this machine, a Dask cluster.

The rows do not depend on the backend. Threads share the plan's bank. Processes map a bank on disk
that this process builds. Each worker receives the data once, with a cell only its task.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import signal
import tempfile
import threading
import time
from abc import abstractmethod
from collections import OrderedDict
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor, CancelledError, Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any

from boostsample.errors import DataError, SettingError, StrategyError, one_line, os_fault
from boostsample.experiments.cells.cell_file import Cell
from boostsample.experiments.cells.tasks import CellTask
from boostsample.experiments.cells.training import (
    TrainingSplit,
    TrainingWatch,
    train_cell,
    warm_up_key,
    warm_up_training,
)
from boostsample.experiments.plan.prepared import Prepared
from boostsample.threads import n_threads

BACKENDS = ("threading", "serial", "loky", "dask", "dask://HOST:PORT")
"""Names of backends."""

_STOPPED = 5.0  # seconds after which a stopped worker process is replaced
_IDLE = 20.0  # seconds after which a process without a cell ends; the next cell starts it again
_KILL = getattr(signal, "SIGKILL", signal.SIGTERM)
_OF_TERMINAL = [getattr(signal, name) for name in ("SIGINT", "SIGHUP") if hasattr(signal, name)]
"""Signals that a terminal sends to all processes of a command."""
_ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS"), "1"
)
_MOST_SPLITS = 2  # splits that a worker process keeps in memory


class WorkerLost(Exception):
    """The worker of a cell has died, left or stopped; the message is a phrase that says how."""


class Backend(AbstractContextManager["Backend"]):
    """Workers that train cells; a context manager that ends them."""

    in_process = False
    """Whether cells are trained on `split`, in this process."""

    def __init__(self, n_workers: int = 1) -> None:
        self._n_workers = n_workers
        self._prepared: Prepared | None = None
        self.split: TrainingSplit | None = None
        """The split of the cells that are submitted next."""

    @property
    def n_workers(self) -> int:
        """Cells that can be trained at once; 0 while the backend waits for a worker."""
        return self._n_workers

    def begin(self, prepared: Prepared) -> None:
        """Set the data of the cells that are submitted next."""
        self._prepared = prepared

    @abstractmethod
    def submit(self, task: CellTask, before: Cell | None, watch: TrainingWatch) -> Future[Cell]:
        """Start `train_cell`; at most `n_workers` at once. `WorkerLost`: it can be retried."""

    def look(self) -> None:
        """Notice lost workers; called about ten times a second.

        DataError if the backend has waited in vain for a worker.
        """

    def end(self) -> None:
        """Stop all training immediately."""

    def __exit__(self, *_: object) -> None:
        self.end()


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


def local_backend(name: str, n_jobs: int | None) -> Backend:
    """Processes for "loky", else threads of this process."""
    if name == "loky":
        return _Processes(n_threads(-1 if n_jobs is None else n_jobs))
    return _ThreadBackend(n_threads(1 if n_jobs is None else n_jobs))


class _ThreadBackend(Backend):
    """Threads of this process, which share one bank; the kernels release the GIL."""

    in_process = True

    def __init__(self, n_workers: int) -> None:
        super().__init__(n_workers)
        self.stop = threading.Event()
        self._pool = ThreadPoolExecutor(n_workers)

    def submit(self, task: CellTask, before: Cell | None, watch: TrainingWatch) -> Future[Cell]:
        assert self.split is not None
        watch.stop = self.stop
        return self._pool.submit(train_cell, self.split, task, watch, before)

    def end(self) -> None:
        self.stop.set()
        self._pool.shutdown(cancel_futures=True)


def form_of_processes(prepared: Prepared) -> str:
    """The form of the bank in worker processes: on disk, unless it computes features when asked."""
    form = prepared.plan.bank.name
    return form if form in ("lazy", "columns") else "disk"


class Workplace:
    """Trains cells in a worker process; its threads share the splits."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._splits: OrderedDict[tuple[str, ...], TrainingSplit] = OrderedDict()
        self._warm: set[tuple[str, ...]] = set()

    def work(
        self, prepared: Prepared, task: CellTask, before: Cell | None, watch: TrainingWatch
    ) -> Cell:
        """Compile all that a cell needs, and train it, see `train_cell`."""
        warm = warm_up_key(task)
        place = (str(prepared.plan), *warm[1:-1], str(task.facts["split"]))
        with self._lock:
            split = self._splits.get(place)
            if split is None:
                split = TrainingSplit(prepared, task.repetition, form=form_of_processes(prepared))
                self._splits[place] = split
                while len(self._splits) > _MOST_SPLITS:
                    self._splits.popitem(last=False)
            is_trained = before is not None and before.key == task.key
            if not is_trained and warm not in self._warm:
                warm_up_training(split, task)
                self._warm.add(warm)
        return train_cell(split, task, watch, before)


@contextmanager
def without_terminal() -> Iterator[None]:
    """Start processes that ignore Ctrl-C and SIGHUP of a terminal; their parent ends them."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, signal.SIG_IGN) for number in _OF_TERMINAL}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class _Orphan(TrainingWatch):
    """Ends a process whose parent has died, also before the process began its work."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder

    def check(self) -> None:
        if os.getppid() != _here["parent"]:
            shutil.rmtree(self._folder, ignore_errors=True)
            os._exit(1)


_here: dict[str, Any] = {}
"""Of a worker process: its plan, its `Workplace` and the number of its parent."""


@contextmanager
def _exchanging(folder: str | Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise DataError(
            f"processes cannot exchange cells in '{folder}': {os_fault(error)}; make room, or set "
            "TMPDIR to another folder"
        ) from error


def _write(path: Path, value: Any) -> None:
    from joblib.externals.loky.backend import reduction

    with _exchanging(path.parent), path.open("wb") as stream:
        reduction.dump(value, stream)


def _read(path: Path) -> Any:
    """Read a value of `_write`, from a folder that only this user can write to."""
    from joblib.externals.loky.backend import reduction

    return reduction.loads(path.read_bytes())


def _begin_work(plan: Path, parent: int) -> None:
    from joblib.externals.loky import process_executor

    process_executor._USE_PSUTIL = False  # banks that are kept would be taken for a leak
    for number in _OF_TERMINAL:
        signal.signal(number, signal.SIG_IGN)  # the parent ends us
    _here.update(prepared=_read(plan), workplace=Workplace(), parent=parent)


def _work(ask: Path, answer: Path) -> None:
    from joblib.externals.loky.backend import reduction

    try:
        watch = _Orphan(answer.parent)
        _write(answer, _here["workplace"].work(_here["prepared"], *_read(ask), watch))
    except Exception as error:
        try:
            reduction.loads(reduction.dumps(error))
        except Exception:  # some exceptions can be written, but not read
            raise StrategyError(f"{type(error).__name__}: {one_line(error)}") from None
        raise


class _Process:
    """An executor of loky with one process, so that a lost process costs no cell but its own.

    Data and cells go through files: whoever has a long message for a process in a pipe, or from it,
    waits for ever once the process is stopped or killed in the middle of it.
    """

    def __init__(self, plan: Path) -> None:
        from joblib.externals.loky.process_executor import ProcessPoolExecutor

        of_worker = {"initializer": _begin_work, "initargs": (plan, os.getpid())}
        self._executor: Any = ProcessPoolExecutor(1, timeout=_IDLE, env=_ONE_THREAD, **of_worker)
        self._folder = plan.parent
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
        ask, answer = (self._folder / f"{task.key}-{id(cell)}-{end}" for end in ("ask", "answer"))
        _write(ask, (task, before))

        def finish(future: Future[None]) -> None:
            error = CancelledError() if future.cancelled() else future.exception()
            if isinstance(error, BrokenExecutor | CancelledError) or self._executor._flags.shutdown:
                error = WorkerLost("its process has ended")
            try:
                if error is not None:
                    raise error
                cell.set_result(_read(answer))
            except BaseException as fault:
                cell.set_exception(fault)
            for path in (ask, answer):
                path.unlink(missing_ok=True)

        with without_terminal():  # which starts the process
            self._executor.submit(_work, ask, answer).add_done_callback(finish)
        return cell

    def check_stopped(self) -> None:
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
        self._workers: list[_Process] = []
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._plan = Path()

    def begin(self, prepared: Prepared) -> None:
        self.end()
        super().begin(prepared)
        with _exchanging(tempfile.gettempdir()):
            self._folder = tempfile.TemporaryDirectory(
                prefix="boostsample-", ignore_cleanup_errors=True
            )
        self._plan = Path(self._folder.name) / "plan"
        _write(self._plan, prepared)

    def submit(self, task: CellTask, before: Cell | None, watch: TrainingWatch) -> Future[Cell]:
        for lost in [worker for worker in self._workers if worker.is_lost]:
            self._workers.remove(lost)
            lost.close()
        idle = [worker for worker in self._workers if worker.cell is None or worker.cell.done()]
        if idle:
            worker = idle[0]
        else:
            worker = _Process(self._plan)
            self._workers.append(worker)
        return worker.train(task, before)

    def look(self) -> None:
        for worker in self._workers:
            worker.check_stopped()

    def end(self) -> None:
        for worker in self._workers:
            worker.close()
        self._workers.clear()
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None
