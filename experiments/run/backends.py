"""Backends that train cells: threads, processes of this machine, a Dask cluster.

The rows do not depend on the backend. Threads share the plan's bank. Processes map a bank on disk
that this process builds, as each would need its own bank in memory. The data are sent once to each
worker; with a cell only the order and its result are sent.
"""

from __future__ import annotations

import importlib
import importlib.util
import logging
import os
import re
import signal
import threading
from abc import abstractmethod
from collections import OrderedDict
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any

from boostsample.banks.cache_folder import cache_dir
from boostsample.errors import DataError, SettingError
from boostsample.experiments.cells.cell_file import Cell
from boostsample.experiments.cells.training import (
    TrainingOrder,
    TrainingSplit,
    TrainingWatch,
    train_cell,
    warm_up_training,
)
from boostsample.experiments.plan.prepared import Prepared
from boostsample.threads.threads import n_threads

__all__ = ["BACKENDS", "Backend", "check_backend", "open_backend"]

BACKENDS = ("threading", "serial", "loky", "dask", "dask://HOST:PORT")
"""Names that `open_backend` accepts."""

_CONNECT, _WORKERS = 20.0, 60.0
"""Seconds to wait for the scheduler of Dask, and for its first worker."""
_MOST_SPLITS = 2  # splits that a worker process keeps in memory
_ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS"), "1"
)


def _n_cores(n_jobs: int | None, default: int) -> int:
    """Number of workers, `default` for None; see `boostsample.threads.threads.n_threads`."""
    return n_threads(default if n_jobs is None else n_jobs)


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


class Backend(AbstractContextManager["Backend"]):
    """Workers that train cells; a context manager that ends them."""

    lost: tuple[type[BaseException], ...] = ()
    """Exceptions of a future whose worker has died; the cell is tried again."""
    in_process = False
    """Whether cells are trained on a `Split` of this process, given to `submit`."""

    def __init__(self, n_workers: int = 1) -> None:
        self._n_workers = n_workers

    @property
    def n_workers(self) -> int:
        """Cells that can be trained at once."""
        return self._n_workers

    def begin(self, prepared: Prepared) -> None:
        """Set the data of the cells that are submitted next."""

    @abstractmethod
    def submit(
        self, order: TrainingOrder, split: TrainingSplit | None, watch: TrainingWatch
    ) -> Future[Cell]:
        """Train a cell."""

    def restart(self) -> None:
        """Replace lost workers."""

    def end(self) -> None:
        """Stop all training immediately."""

    def __exit__(self, *_: object) -> None:
        self.end()


def open_backend(name: str, n_jobs: int | None) -> Backend:
    """Open a backend by name; errors as in `check_backend`."""
    check_backend(name, n_jobs)
    if name in ("threading", "serial"):
        return _Threads(_n_cores(n_jobs, 1))
    if name == "loky":
        return _Processes(_n_cores(n_jobs, -1))
    return _Dask(name, n_jobs)


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


class _Workplace:
    """The splits of a worker process, made on first use."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._splits: OrderedDict[tuple[str, ...], TrainingSplit] = OrderedDict()
        self._warm: set[tuple[str, ...]] = set()

    def work(self, prepared: Prepared, order: TrainingOrder, watch: TrainingWatch) -> bytes:
        """Train a cell and return the content of its file."""
        facts = order.task.facts
        data = (str(prepared.plan), str(facts["data"]), str(facts["families"]))
        place = (*data, str(facts["split"]))
        with self._lock:
            split = self._splits.get(place)
            if split is None:
                form = "lazy" if prepared.plan.bank.name == "lazy" else "disk"
                split = TrainingSplit(prepared, order.task.repetition, form=form)
                self._splits[place] = split
                while len(self._splits) > _MOST_SPLITS:
                    self._splits.popitem(last=False)
            warm = (*data, order.task.variant.label)
            if order.known is None and warm not in self._warm:
                warm_up_training(split, order.task)
                self._warm.add(warm)
        return train_cell(split, order, watch).to_bytes()


_workplace = _Workplace()
_prepared: Prepared | None = None


def _install(prepared: Prepared) -> None:
    """Initialise a worker process."""
    global _prepared
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C and ends us
    _prepared = prepared


def _work_here(order: TrainingOrder) -> bytes:
    assert _prepared is not None
    return _workplace.work(_prepared, order, _Orphan())


class _Processes(Backend):
    """Processes of joblib's loky, which start from any program and share no memory."""

    lost = (BrokenExecutor,)

    def __init__(self, n_workers: int) -> None:
        super().__init__(n_workers)
        self._pool: Any = None
        self._prepared: Prepared | None = None

    def begin(self, prepared: Prepared) -> None:
        self.end()
        self._prepared = prepared

    def submit(
        self, order: TrainingOrder, split: TrainingSplit | None, watch: TrainingWatch
    ) -> Future[Cell]:
        if self._pool is None:
            from joblib.externals.loky import ProcessPoolExecutor

            self._pool = ProcessPoolExecutor(
                self._n_workers, initializer=_install, initargs=(self._prepared,), env=_ONE_THREAD
            )
        return _decoded(self._pool.submit(_work_here, order))

    def end(self) -> None:
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(wait=True, kill_workers=True)

    restart = end


@contextmanager
def _without_ctrl_c() -> Iterator[None]:
    """Start processes that ignore Ctrl-C; they are ended without printing tracebacks."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _work_there(prepared: Prepared, order: TrainingOrder, folder: str) -> bytes:
    """Train a cell on a worker of Dask; its bank is read from the cache folder, or built there."""
    if os.path.isdir(folder):  # a shared file system with the bank of the client
        os.environ.setdefault("BOOSTSAMPLE_CACHE_DIR", folder)
    return _workplace.work(prepared, order, TrainingWatch())


class _Dask(Backend):
    """Workers of a Dask cluster; its scheduler reassigns the work of lost ones."""

    def __init__(self, name: str, n_jobs: int | None) -> None:
        super().__init__()
        distributed: Any = importlib.import_module("distributed")
        self.lost = (CancelledError, distributed.KilledWorker)
        self._most = None if n_jobs is None else _n_cores(n_jobs, -1)
        self._cluster: Any = None
        self._where = name.removeprefix("dask://")
        if name == "dask":
            self._where = "this machine"
            with _without_ctrl_c():
                self._cluster = distributed.LocalCluster(
                    n_workers=_n_cores(n_jobs, -1),
                    threads_per_worker=1,
                    dashboard_address=None,
                    silence_logs=logging.CRITICAL,
                )
        address = self._cluster if self._cluster else name.replace("dask://", "tcp://")
        try:
            self._client: Any = distributed.Client(address, timeout=_CONNECT, set_as_default=False)
            self._client.wait_for_workers(1, timeout=_WORKERS)
        except (OSError, TimeoutError) as error:
            raise DataError(
                f"no Dask cluster with workers was found at {self._where}: {_text(error)}; start "
                "'dask scheduler' and 'dask worker', or take --backend loky"
            ) from error
        self._pool: Executor = self._client.get_executor(pure=False)
        self._prepared: Prepared | None = None
        self._scattered: Any = None

    @property
    def n_workers(self) -> int:
        found = sum(self._client.nthreads().values()) or 1
        return found if self._most is None else min(found, self._most)

    def begin(self, prepared: Prepared) -> None:
        self._prepared = prepared
        self._scattered = self._client.scatter(prepared, broadcast=True, hash=False)

    def submit(
        self, order: TrainingOrder, split: TrainingSplit | None, watch: TrainingWatch
    ) -> Future[Cell]:
        return _decoded(
            self._pool.submit(_work_there, self._scattered, order, str(cache_dir().absolute()))
        )

    def restart(self) -> None:
        try:
            self._client.wait_for_workers(1, timeout=_WORKERS)
            if self._prepared is not None:
                self.begin(self._prepared)
        except (OSError, TimeoutError) as error:
            raise DataError(
                f"the Dask cluster at {self._where} has no workers left: {_text(error)}; start "
                "some, and run the same command again"
            ) from error

    def end(self) -> None:
        # Dask logs our shutdown as errors.
        logging.getLogger("distributed").setLevel(logging.CRITICAL)
        with suppress(Exception):  # the cluster may be gone already
            self._pool.shutdown(wait=False, cancel_futures=True)
        for part in (self._client, self._cluster):
            if part is not None:
                with suppress(Exception):
                    part.close()


def _text(error: BaseException) -> str:
    return " ".join(str(error).split()) or "no answer"


def _decoded(encoded: Future[bytes]) -> Future[Cell]:
    """Turn a future of a cell's file content into one of the cell."""
    decoded: Future[Cell] = Future()
    decoded.set_running_or_notify_cancel()

    def finish(done: Future[bytes]) -> None:
        try:
            decoded.set_result(Cell.from_bytes(done.result()))
        except BaseException as error:
            decoded.set_exception(error)

    encoded.add_done_callback(finish)
    return decoded
