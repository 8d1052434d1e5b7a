"""Trains cells on the workers of a Dask cluster.

This process chooses the worker of each cell, so that it knows which cells are lost with a worker.
A worker that lacks the data answers a cell with None and is sent them; no worker fetches anything
from another one. About once a second the scheduler is asked for its workers:

- a worker that the scheduler no longer lists, or that has sent no heartbeat for 15 s, is lost, and
  its cells are trained elsewhere; how long a cell takes does not matter;
- a worker that Dask has paused for a minute, usually since its memory is full, loses its cells;
- a worker that has joined, or sends heartbeats again, receives cells;
- without workers, the backend waits a minute for one;
- a scheduler is lost after 5 s without a connection, or a minute without an answer.

The last two end the run with a DataError. The time between two questions counts at most 4 s, so
that a process that was suspended does not take the others for dead.
"""

from __future__ import annotations

import asyncio
import importlib
import logging
import os
import time
import uuid
from collections.abc import Coroutine, Mapping
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from typing import Any

from boostsample.banks.cache_folder import cache_dir
from boostsample.dask.cluster import check_versions, versions_here, versions_there
from boostsample.errors import DataError, one_line
from boostsample.experiments.cells.cell_file import Cell
from boostsample.experiments.cells.tasks import CellTask
from boostsample.experiments.cells.training import (
    TrainingSplit,
    TrainingStopped,
    TrainingWatch,
    warm_up_key,
)
from boostsample.experiments.plan.prepared import Prepared
from boostsample.experiments.run.backend import (
    Backend,
    WorkerLost,
    Workplace,
    n_cores,
    without_terminal,
)

_CONNECT, _WORKERS = 20.0, 60.0
"""Seconds to wait for the scheduler, and for its first worker."""
_LOOK = 1.0
"""Seconds between two questions to the scheduler."""
_SILENT, _PAUSED, _NO_WORKER = 15.0, 60.0, 60.0
"""Seconds for which a worker may send no heartbeat, or be paused, and there may be no worker."""
_ANSWER = 3.0
"""Seconds to wait for the scheduler's answer."""
_NOT_SENT, _UNANSWERED = 5, 15
"""Questions after which the scheduler is lost, without a connection and without an answer."""
_CLOSE = 5.0
"""Seconds to wait for the connection, and for a cluster on this machine, to close."""
_MOST_DATA = 2
"""Data sets that a worker keeps in memory."""

_LOG = logging.getLogger(__name__)
_distributed: Any = importlib.import_module("distributed")
_cloudpickle: Any = importlib.import_module("cloudpickle")  # required by distributed


# ------------------------------------------------------------------------------- on the workers

_workplace = Workplace()
_data: dict[str, Prepared] = {}


class _Unwanted(TrainingWatch):
    """Stops a cell that the client has given up, or whose worker is closing."""

    def __init__(self) -> None:
        super().__init__()
        self._worker = _distributed.get_worker()
        self._key = self._worker.get_current_task()

    def check(self) -> None:
        task = self._worker.state.tasks.get(self._key)
        if task is None or task.state == "cancelled" or self._worker.status.name != "running":
            raise TrainingStopped


def _has_data(name: str) -> bool:
    return name in _data


def _receive(name: str, prepared: Prepared) -> None:
    """Keep the data `name` on this worker; runs in its event loop."""
    _data[name] = prepared
    while len(_data) > _MOST_DATA:
        del _data[next(iter(_data))]


def _work_there(name: str, order: bytes, folder: str, only_compile: bool) -> bytes | None:
    """Train a cell, or compile all that it needs; None if the worker has no data `name`.

    The bank is read from the cache folder, or built there.
    """
    if os.path.isdir(folder):  # a shared file system with the bank of the client
        os.environ.setdefault("BOOSTSAMPLE_CACHE_DIR", folder)
    prepared = _data.get(name)
    if prepared is None:
        return None
    task, before = _cloudpickle.loads(order)
    try:
        if only_compile:
            _workplace.warm_up(prepared, task, before)
            return b""
        return _workplace.work(prepared, task, before, _Unwanted()).to_bytes()
    except OSError as error:  # in the client, an OSError is one of the network
        address = _distributed.get_worker().address
        raise DataError(f"a cell failed on the worker {address}: {one_line(error)}") from error


# -------------------------------------------------------------------------------- in the client


class _Worker:
    """A worker as the client sees it; `facts` are those of the scheduler."""

    def __init__(self, address: str, facts: Mapping[str, Any]) -> None:
        self.address = address
        self.facts = facts
        self.silent = 0.0  # seconds since the last heartbeat
        self.paused = 0.0  # seconds since it was last ready for cells
        self.lost = ""  # how, if it is lost
        self.cells: set[asyncio.Task[Any]] = set()
        self.warm: set[tuple[str, ...]] = set()  # each a `warm_up_key`; none before its versions
        self.sending = asyncio.Lock()

    @property
    def n_threads(self) -> int:
        """Cells that the worker can train now."""
        ready = self.facts["status"] == "running" and not self.lost
        return int(self.facts["nthreads"]) if ready else 0

    def see(self, facts: Mapping[str, Any], seconds: float) -> None:
        """Compare with the facts of some seconds ago."""
        if facts["last_seen"] == self.facts["last_seen"]:
            self.silent += seconds
        else:
            self.silent, self.lost = 0.0, ""
        self.facts = facts
        self.paused = 0.0 if facts["status"] == "running" else self.paused + seconds
        if self.silent >= _SILENT and not self.lost:
            self.lose(f"has sent no heartbeat for {_SILENT:.0f} s")
        elif self.paused >= _PAUSED and self.cells:
            self.lose(f"has been {facts['status']} for {_PAUSED:.0f} s")

    def lose(self, how: str) -> None:
        """Give up the cells of this worker, which must not get others."""
        self.lost = f"the worker {self.address} {how}"
        _LOG.info(self.lost)
        for cell in self.cells:
            cell.cancel()


class DaskBackend(Backend):
    """Workers of a Dask cluster: one on this machine for "dask", or that of "dask://HOST:PORT".

    The coroutines run in the event loop of the client. DataError if no cluster with workers is
    found.
    """

    def __init__(self, name: str, n_jobs: int | None) -> None:
        super().__init__()
        self._most = None if n_jobs is None else n_cores(n_jobs, -1)
        self._where = "this machine" if name == "dask" else name.removeprefix("dask://")
        self._cluster: Any = None
        self._client: Any = None
        self._workers: dict[str, _Worker] = {}
        self._n_unanswered = 0
        self._failure = ""
        self._running: set[Future[Any]] = set()
        self._prepared: Prepared | None = None
        self._name = ""
        # We report losses ourselves; tornado reports how an interrupt ends a call of the client.
        for logger in ("distributed", "distributed.client", "tornado.application"):
            logging.getLogger(logger).setLevel(logging.CRITICAL)
        try:
            if name == "dask":
                with without_terminal():
                    self._cluster = _distributed.LocalCluster(
                        n_workers=n_cores(n_jobs, -1),
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
        """Start a coroutine, which `end` cancels."""
        future = asyncio.run_coroutine_threadsafe(work, self._client.loop.asyncio_loop)
        self._running.add(future)
        future.add_done_callback(self._running.discard)
        return future

    @property
    def _in_contact(self) -> bool:
        return not self._n_unanswered and self._client.status == "running"

    @property
    def n_workers(self) -> int:
        """Threads of all workers, at most `n_jobs`; 0 without contact to the scheduler."""
        if not self._in_contact:
            return 0
        found = sum(worker.n_threads for worker in list(self._workers.values()))
        return found if self._most is None else min(found, self._most)

    def begin(self, prepared: Prepared) -> None:
        """Set the data; a worker receives them with its first cell."""
        self._prepared = prepared
        self._name = uuid.uuid4().hex

    def submit(
        self,
        task: CellTask,
        before: Cell | None,
        split: TrainingSplit | None,
        watch: TrainingWatch,
    ) -> Future[Cell]:
        """Train a cell on a worker that has a free thread."""
        assert self._prepared is not None
        key = warm_up_key(self._prepared, task)
        watch.compiling = not any(key in worker.warm for worker in list(self._workers.values()))
        return self._start(self._train(_cloudpickle.dumps((task, before)), watch, key))

    def look(self) -> None:
        """Raise DataError if the scheduler is lost, or no worker has come in time."""
        if self._failure:
            raise DataError(self._failure)

    def end(self) -> None:
        """Give up all cells, which stops their training, and close the connection."""
        for future in list(self._running):
            future.cancel()
        for part in (self._client, self._cluster):
            if part is not None:
                with suppress(Exception):  # the cluster may be gone already
                    part.close(timeout=_CLOSE)

    # ---------------------------------------------------------------------------------- workers

    async def _watch(self) -> None:
        """Ask the scheduler again and again; set `_failure` when there is nothing to wait for."""
        empty, before = 0.0, time.monotonic()
        while not self._failure:
            seconds = min(time.monotonic() - before, _LOOK + _ANSWER)
            before = time.monotonic()
            try:
                if self._client.status != "running":  # it tries to connect again
                    raise OSError("the connection is lost")
                await self._ask(seconds)
                self._n_unanswered = 0
            except Exception as error:
                self._n_unanswered += 1
                most = _UNANSWERED if isinstance(error, TimeoutError) else _NOT_SENT
                if self._n_unanswered >= most or self._client.status == "closed":
                    self._fail(f"the scheduler does not answer: {one_line(error)}")
            workers = self._workers.values()
            if self._n_unanswered or any(worker.n_threads or worker.cells for worker in workers):
                empty = 0.0
            else:
                if not empty:
                    _LOG.warning("Dask has no workers left; waiting %.0f s for one", _NO_WORKER)
                empty += seconds
            if empty > _NO_WORKER:
                self._fail(f"it has no workers left, and none came within {_NO_WORKER:.0f} s")
            await asyncio.sleep(_LOOK)

    def _fail(self, why: str) -> None:
        self._failure = (
            f"the Dask cluster at {self._where} is lost: {why}; finished cells are kept: start the "
            "cluster again, and run the same command"
        )

    async def _ask(self, seconds: float) -> None:
        """Ask the scheduler for its workers, some seconds after the last time."""
        answer = await asyncio.wait_for(self._client.scheduler.identity(), _ANSWER)
        found: Mapping[str, Mapping[str, Any]] = answer["workers"]
        for address in self._workers.keys() - found.keys():
            self._workers.pop(address).lose("has left the cluster")
        for address, facts in found.items():
            self._workers.setdefault(address, _Worker(address, facts)).see(facts, seconds)

    # ------------------------------------------------------------------------------------ cells

    async def _train(self, order: bytes, watch: TrainingWatch, key: tuple[str, ...]) -> Cell:
        """Train a cell on a free worker; WorkerLost as soon as that is lost."""
        worker, task = await self._free_worker(), asyncio.current_task()
        assert task is not None
        worker.cells.add(task)
        try:
            if key not in worker.warm:
                watch.compiling = True
                if not worker.warm:
                    there = await versions_there(self._client, worker.address)
                    check_versions(worker.address, there, versions_here())
                await self._work_on(worker, order, only_compile=True)
                worker.warm.add(key)
            watch.begin()
            return Cell.from_bytes(await self._work_on(worker, order, only_compile=False))
        except asyncio.CancelledError:
            if worker.lost:
                raise WorkerLost(worker.lost) from None
            raise
        except Exception as error:
            lost = isinstance(error, OSError | CancelledError | TrainingStopped)
            if lost or type(error).__module__.startswith("distributed") or not self._in_contact:
                raise WorkerLost(f"the worker {worker.address}: {one_line(error)}") from error
            if isinstance(error, ImportError) or "deserialization" in str(error):
                raise DataError(
                    f"the Dask cluster at {self._where} cannot read a cell: {one_line(error)}; "
                    "scheduler and workers need the same versions of Python and boostsample"
                ) from error
            raise
        finally:
            worker.cells.discard(task)

    async def _free_worker(self) -> _Worker:
        while True:
            workers = self._workers.values()
            free = [worker for worker in workers if len(worker.cells) < worker.n_threads]
            if free and self._in_contact:
                return min(free, key=lambda worker: len(worker.cells))
            await asyncio.sleep(0.1)  # one has just been lost; `_watch` ends this

    async def _work_on(self, worker: _Worker, order: bytes, *, only_compile: bool) -> bytes:
        client, here, name = self._client, [worker.address], self._name
        wanted = name, order, str(cache_dir().absolute()), only_compile
        while True:
            cell = client.submit(_work_there, *wanted, workers=here, pure=False)
            try:
                content: bytes | None = await cell.result()
            finally:
                cell.release()  # which stops it
            if content is not None:
                return content
            async with worker.sending:  # all threads of a worker share the data
                if not (await client.run(_has_data, name, workers=here))[worker.address]:
                    await client.run(_receive, name, self._prepared, workers=here)
