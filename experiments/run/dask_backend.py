"""Trains cells on the workers of a Dask cluster.

The data are scattered to all workers; a worker that joins later fetches them from another one.
Dask chooses the worker of each cell. It hands the cells of a lost worker to others, which refuse
them, so that `Schedule` counts the loss and tries them again.
"""

from __future__ import annotations

import asyncio
import importlib
import logging
import os
import time
import uuid
from collections.abc import Coroutine
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from typing import Any

from boostsample.banks.cache_folder import cache_dir
from boostsample.dask.cluster import check_versions, versions_here
from boostsample.errors import DataError, one_line
from boostsample.experiments.cells.cell_file import Cell
from boostsample.experiments.cells.tasks import CellTask
from boostsample.experiments.cells.training import TrainingStopped, TrainingWatch
from boostsample.experiments.plan.prepared import Prepared
from boostsample.experiments.run.backends import Backend, WorkerLost, Workplace, without_terminal
from boostsample.threads import n_threads

_CONNECT, _WORKERS = 20.0, 60.0
"""Seconds to wait for the scheduler, also for a lost one, and for its first worker."""
_LOOK, _ANSWER = 1.0, 3.0
"""Seconds between two questions to the scheduler, and to wait for its answer."""
_SILENT = 60.0  # seconds without a heartbeat of any worker after which the cluster is lost
_CLOSE = 5.0  # seconds to wait for the connection, and for a cluster on this machine, to close
_LOCAL_CLUSTER = {"distributed.scheduler.worker-ttl": "30s"}
"""Settings of Dask for a cluster on this machine: when a worker without heartbeats is lost."""

_LOG = logging.getLogger(__name__)
_distributed: Any = importlib.import_module("distributed")
_dask: Any = importlib.import_module("dask")


# ------------------------------------------------------------------------------- on the workers

_workplace = Workplace()


class _Unwanted(TrainingWatch):
    """Stops a cell that the client has given up, or whose worker is closing."""

    def __init__(self, worker: Any) -> None:
        super().__init__()
        self._worker = worker
        self._key = worker.get_current_task()

    def check(self) -> None:
        task = self._worker.state.tasks.get(self._key)
        if task is None or task.state == "cancelled" or self._worker.status.name != "running":
            raise TrainingStopped


def _work_there(
    versions: dict[str, Any],
    prepared: Prepared,
    task: CellTask,
    before: Cell | None,
    folder: str,
    name: str,
) -> Cell:
    """Train a cell; WorkerLost if another worker has begun it under this `name`.

    The bank is read from the cache folder, or built there.
    """
    worker = _distributed.get_worker()
    check_versions(worker.address, versions_here(), versions)
    begun = _distributed.Event(name)
    if begun.is_set():
        begun.clear()
        raise WorkerLost("its worker has ended")
    begun.set()
    if os.path.isdir(folder):  # a shared file system with the bank of the client
        os.environ.setdefault("BOOSTSAMPLE_CACHE_DIR", folder)
    try:
        cell = _workplace.work(prepared, task, before, _Unwanted(worker))
    except OSError as error:  # in the client, an OSError is one of the network
        where = worker.address
        raise DataError(f"a cell failed on the worker {where}: {one_line(error)}") from error
    begun.clear()  # a lost result is computed again
    return cell


# -------------------------------------------------------------------------------- in the client


class DaskBackend(Backend):
    """Workers of a Dask cluster: one on this machine for "dask", or that of "dask://HOST:PORT".

    The coroutines run in the event loop of the client. DataError if no cluster with workers is
    found.
    """

    def __init__(self, name: str, n_jobs: int | None) -> None:
        super().__init__(0)
        self._most = None if n_jobs is None else n_threads(n_jobs)
        self._where = "this machine" if name == "dask" else name.removeprefix("dask://")
        self._cluster: Any = None
        self._client: Any = None
        self._data: Any = None  # the future of the scattered data
        self._sending = asyncio.Lock()
        self._failure = ""
        self._running: set[Future[Any]] = set()
        # We report losses ourselves; tornado reports how an interrupt ends a call of the client.
        for logger in ("distributed", "distributed.client", "tornado.application"):
            logging.getLogger(logger).setLevel(logging.CRITICAL)
        try:
            if name == "dask":
                with without_terminal(), _dask.config.set(_LOCAL_CLUSTER):
                    self._cluster = _distributed.LocalCluster(
                        n_workers=n_threads(-1 if n_jobs is None else n_jobs),
                        threads_per_worker=1,
                        dashboard_address="127.0.0.1:0",
                        silence_logs=logging.CRITICAL,
                    )
            address = self._cluster or name.replace("dask://", "tcp://")
            self._client = _distributed.Client(address, timeout=_CONNECT, set_as_default=False)
            self._client.wait_for_workers(1, timeout=_WORKERS)
        except BaseException as error:
            self.end()
            if not isinstance(error, OSError):
                raise
            raise DataError(
                f"no Dask cluster with workers was found at {self._where}: {one_line(error)}; "
                "start 'dask scheduler' and 'dask worker', or take --backend loky"
            ) from error
        self._start(self._watch())

    def _start(self, work: Coroutine[Any, Any, Any]) -> Future[Any]:
        future = asyncio.run_coroutine_threadsafe(work, self._client.loop.asyncio_loop)
        self._running.add(future)
        future.add_done_callback(self._running.discard)
        return future

    @property
    def n_workers(self) -> int:
        """Threads of all workers, at most `n_jobs`; 0 without contact to the scheduler."""
        if self._client.status != "running":
            return 0
        return self._n_workers if self._most is None else min(self._n_workers, self._most)

    def begin(self, prepared: Prepared) -> None:
        """Set the data, which are sent with the next cell."""
        super().begin(prepared)
        self._data = None

    def submit(self, task: CellTask, before: Cell | None, watch: TrainingWatch) -> Future[Cell]:
        """Train a cell on any worker."""
        return self._start(self._train(task, before))

    def look(self) -> None:
        """Raise DataError if the cluster is lost."""
        if self._failure:
            raise DataError(
                f"the Dask cluster at {self._where} is lost: {self._failure}; finished cells are "
                "kept: start the cluster again, and run the same command"
            )

    def end(self) -> None:
        """Give up all cells, which stops their training, and close the connection."""
        for future in list(self._running):
            future.cancel()
        for part in (self._client, self._cluster):
            if part is not None:
                with suppress(Exception):  # the cluster may be gone already
                    part.close(timeout=_CLOSE)

    async def _watch(self) -> None:
        silent, before, heard = 0.0, time.monotonic(), None
        while True:
            # A process that was suspended does not take the cluster for dead.
            silent += min(time.monotonic() - before, _LOOK + _ANSWER)
            before = time.monotonic()
            with suppress(Exception):  # what is not heard counts, whatever the reason
                answer = await asyncio.wait_for(self._client.scheduler.identity(), _ANSWER)
                workers = answer["workers"]
                ready = [facts for facts in workers.values() if facts["status"] == "running"]
                n_before, self._n_workers = (
                    self._n_workers,
                    sum(facts["nthreads"] for facts in ready),
                )
                if n_before and not ready:
                    _LOG.warning("Dask has no workers left; waiting %.0f s for one", _SILENT)
                last = {address: facts["last_seen"] for address, facts in workers.items()}
                if last and last != heard:
                    silent, heard = 0.0, last
            if self._client.status == "closed":
                self._failure = "the scheduler does not answer"
            elif silent > _SILENT:
                self._failure = f"no worker has sent a heartbeat for {_SILENT:.0f} s"
            await asyncio.sleep(_LOOK)

    async def _train(self, task: CellTask, before: Cell | None) -> Cell:
        client = self._client
        try:
            async with self._sending:
                if self._data is None:
                    self._data = await client.scatter(self._prepared, hash=False, broadcast=True)
                data = self._data
            order = task, before, str(cache_dir().absolute()), uuid.uuid4().hex
            cell = client.submit(_work_there, versions_here(), data, *order, pure=False)
            try:
                trained: Cell = await cell
                return trained
            except CancelledError:  # all workers with the data were lost, or the scheduler
                if self._data is data:
                    self._data = None
                raise
            finally:
                cell.release()  # which stops it
        except asyncio.CancelledError:
            raise
        except Exception as error:
            lost = isinstance(error, OSError | CancelledError | TrainingStopped)
            if lost or type(error).__module__.startswith("distributed"):
                raise WorkerLost(one_line(error)) from error
            if isinstance(error, ImportError) or "deserialization" in str(error):
                raise DataError(
                    f"the Dask cluster at {self._where} cannot read a cell: {one_line(error)}; "
                    "scheduler and workers need the same versions of Python and boostsample"
                ) from error
            raise
