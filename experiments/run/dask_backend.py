"""Trains cells on the workers of a Dask cluster.

This process chooses the worker of each cell, so that it knows which cells are lost with a worker.
A worker that lacks the data answers a cell with None and receives them in a task of its own; no
worker fetches anything from another one. About once a second the scheduler is asked for its
workers:

- a worker that the scheduler no longer lists, or that has sent no heartbeat for 15 s, is lost, and
  its cells are trained elsewhere; how long a cell takes does not matter;
- a worker that has joined, or sends heartbeats again, receives cells;
- without workers, the backend waits a minute for one;
- a scheduler that fails to answer five times in a row, after 5 to 20 s, is lost.

The last two end the run with a DataError. Times are counted in questions to the scheduler, so that
a process that was suspended does not take the others for dead.
"""

from __future__ import annotations

import asyncio
import importlib
import logging
import os
import threading
import uuid
from collections import OrderedDict
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from typing import Any

from boostsample.banks.cache import cache_dir
from boostsample.errors import DataError
from boostsample.experiments.cells.cell_file import Cell
from boostsample.experiments.cells.training import (
    TrainingOrder,
    TrainingSplit,
    TrainingStopped,
    TrainingWatch,
)
from boostsample.experiments.common.faults import one_line
from boostsample.experiments.plan.prepared import Prepared
from boostsample.experiments.run.backend import Backend, WorkerLost, n_cores, without_ctrl_c
from boostsample.experiments.run.workplace import Workplace

__all__ = ["DaskBackend"]

_CONNECT, _WORKERS = 20.0, 60.0
"""Seconds to wait for the scheduler, and for its first worker."""
_LOOK = 1.0
"""Seconds between two questions to the scheduler, the unit of the next two."""
_SILENT, _NO_WORKER = 15, 60
"""Questions during which a worker may send no heartbeat, and there may be no worker."""
_ANSWER, _UNANSWERED = 3.0, 5
"""Seconds to wait for the scheduler's answer, and unanswered questions after which it is lost."""
_GATHER = 60.0
"""Seconds to wait for the content of a finished cell."""
_CLOSE = 5.0
"""Seconds to wait for the connection, and for a cluster on this machine, to close."""
_MOST_DATA = 2
"""Data sets that a worker keeps in memory."""

_LOG = logging.getLogger(__name__)
_distributed: Any = importlib.import_module("distributed")
_dask: Any = importlib.import_module("dask")
_cloudpickle: Any = importlib.import_module("cloudpickle")  # required by distributed


# ------------------------------------------------------------------------------- on the workers

_workplace = Workplace()
_data: OrderedDict[str, Prepared] = OrderedDict()
_data_lock = threading.Lock()


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


def _receive(name: str, content: bytes) -> None:
    """Keep the data `name` of this worker."""
    prepared = _cloudpickle.loads(content)
    with _data_lock:
        _data[name] = prepared
        while len(_data) > _MOST_DATA:
            _data.popitem(last=False)


def _work_there(name: str, order: bytes, folder: str) -> bytes | None:
    """Train a cell; None if the worker has no data `name`.

    The bank is read from the cache folder, or built there.
    """
    if os.path.isdir(folder):  # a shared file system with the bank of the client
        os.environ.setdefault("BOOSTSAMPLE_CACHE_DIR", folder)
    prepared = _data.get(name)
    if prepared is None:
        return None
    try:
        return _workplace.work(prepared, _cloudpickle.loads(order), _Unwanted())
    except OSError as error:  # in the client, an OSError is one of the network
        address = _distributed.get_worker().address
        raise DataError(f"a cell failed on the worker {address}: {one_line(error)}") from error


# -------------------------------------------------------------------------------- in the client


class _Worker:
    """A worker as the client sees it."""

    def __init__(self, address: str, facts: Mapping[str, Any]) -> None:
        self.address = address
        self.n_threads = int(facts["nthreads"])
        self.n_busy = 0
        self.accepts = True
        self.heartbeat = facts["last_seen"]
        self.n_silent = 0  # questions since the last heartbeat
        self.lost: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.sending = asyncio.Lock()

    def see(self, facts: Mapping[str, Any]) -> None:
        """Compare with an answer of the scheduler."""
        self.accepts = facts["status"] == "running"
        self.n_silent = self.n_silent + 1 if facts["last_seen"] == self.heartbeat else 0
        self.heartbeat = facts["last_seen"]


class DaskBackend(Backend):
    """Workers of a Dask cluster: one on this machine for "dask", or that of "dask://HOST:PORT".

    Everything but the methods of `Backend` runs in the event loop of the client. DataError if no
    cluster with workers is found.
    """

    def __init__(self, name: str, n_jobs: int | None) -> None:
        super().__init__()
        self._most = None if n_jobs is None else n_cores(n_jobs, -1)
        self._where = "this machine" if name == "dask" else name.removeprefix("dask://")
        self._cluster: Any = None
        self._client: Any = None
        self._workers: dict[str, _Worker] = {}
        self._given_up: dict[str, float] = {}  # silent workers and their last heartbeats
        self._n_unanswered = self._n_empty = 0
        self._failure = ""
        self._tasks: set[asyncio.Task[Any]] = set()
        self._prepared: Prepared | None = None
        self._name = ""
        for logger in ("distributed", "distributed.client"):  # we report losses ourselves
            logging.getLogger(logger).setLevel(logging.CRITICAL)
        try:
            self._connect(name, n_jobs)
        except BaseException:
            self.end()
            raise

    def _connect(self, name: str, n_jobs: int | None) -> None:
        if name == "dask":
            ttl = {"distributed.scheduler.worker-ttl": f"{_SILENT} s"}
            with without_ctrl_c(), _dask.config.set(ttl):
                self._cluster = _distributed.LocalCluster(
                    n_workers=n_cores(n_jobs, -1),
                    threads_per_worker=1,
                    dashboard_address="127.0.0.1:0",
                    silence_logs=logging.CRITICAL,
                )
        address = self._cluster if self._cluster else name.replace("dask://", "tcp://")
        try:
            self._client = _distributed.Client(address, timeout=_CONNECT, set_as_default=False)
            self._client.wait_for_workers(1, timeout=_WORKERS)
            asyncio.run_coroutine_threadsafe(self._ask(), self._loop).result(_CONNECT)
        except (OSError, TimeoutError) as error:
            raise DataError(
                f"no Dask cluster with workers was found at {self._where}: {_text(error)}; start "
                "'dask scheduler' and 'dask worker', or take --backend loky"
            ) from error
        asyncio.run_coroutine_threadsafe(self._keep(self._watch()), self._loop)

    @property
    def _loop(self) -> asyncio.AbstractEventLoop:
        loop: asyncio.AbstractEventLoop = self._client.loop.asyncio_loop
        return loop

    @property
    def _in_contact(self) -> bool:
        return not self._n_unanswered and self._client.status == "running"

    @property
    def n_workers(self) -> int:
        """Threads of all workers, at most `n_jobs`; 0 without contact to the scheduler."""
        if not self._in_contact:
            return 0
        found = sum(worker.n_threads for worker in list(self._workers.values()) if worker.accepts)
        return found if self._most is None else min(found, self._most)

    def begin(self, prepared: Prepared) -> None:
        """Set the data; a worker receives them with its first cell."""
        self._prepared = prepared
        self._name = uuid.uuid4().hex

    def submit(
        self, order: TrainingOrder, split: TrainingSplit | None, watch: TrainingWatch
    ) -> Future[Cell]:
        """Train a cell on a worker that has a free thread."""
        future: Future[Cell] = Future()
        asyncio.run_coroutine_threadsafe(self._keep(self._fill(future, order)), self._loop)
        return future

    def look(self) -> None:
        """Raise DataError if the scheduler is lost, or no worker has come in time."""
        if self._failure:
            raise DataError(self._failure)

    def end(self) -> None:
        """Give up all cells, which stops their training, and close the connection."""
        if self._client is not None:
            with suppress(Exception):  # the loop may have ended
                self._loop.call_soon_threadsafe(lambda: [task.cancel() for task in self._tasks])
        for part in (self._client, self._cluster):
            if part is not None:
                with suppress(Exception):  # the cluster may be gone already
                    part.close(timeout=_CLOSE)

    async def _keep(self, work: Any) -> None:
        """Run a coroutine that `end` cancels."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        with suppress(asyncio.CancelledError):
            await task
        self._tasks.discard(task)

    # ---------------------------------------------------------------------------------- workers

    async def _watch(self) -> None:
        """Ask the scheduler again and again; set `_failure` when there is nothing to wait for."""
        while not self._failure:
            await asyncio.sleep(_LOOK)
            try:
                if self._client.status != "running":  # it tries to connect again
                    raise OSError("the connection is lost")
                await self._ask()
                self._n_unanswered = 0
            except Exception as error:
                self._n_unanswered += 1
                if self._n_unanswered >= _UNANSWERED or self._client.status == "closed":
                    self._fail(f"the Dask scheduler at {self._where} does not answer", error)
            self._n_empty = 0 if self._n_unanswered or self._has_work() else self._n_empty + 1
            if self._n_empty == 1:
                _LOG.warning(
                    "the Dask cluster at %s has no workers left; waiting %.0f s for one",
                    self._where,
                    _NO_WORKER * _LOOK,
                )
            elif self._n_empty > _NO_WORKER:
                waited = TimeoutError(f"none came within {_NO_WORKER * _LOOK:.0f} s")
                self._fail(f"the Dask cluster at {self._where} has no workers left", waited)

    def _fail(self, what: str, error: Exception) -> None:
        self._failure = (
            f"{what}: {_text(error)}; finished cells are kept: start the cluster again, and run "
            "the same command"
        )

    def _has_work(self) -> bool:
        """Whether some worker can be given cells, or is training one."""
        return any(worker.accepts or worker.n_busy for worker in self._workers.values())

    async def _ask(self) -> None:
        """Ask the scheduler for its workers; OSError if it does not answer."""
        answer = await asyncio.wait_for(self._client.scheduler.identity(), _ANSWER)
        found: Mapping[str, Mapping[str, Any]] = answer["workers"]
        for address in self._workers.keys() - found.keys():
            self._lose(address, "has left the cluster")
        for address, facts in found.items():
            if self._given_up.get(address) == facts["last_seen"]:
                continue
            if address not in self._workers:
                self._workers[address] = _Worker(address, facts)
                continue
            worker = self._workers[address]
            worker.see(facts)
            if worker.n_silent >= _SILENT:
                self._given_up[address] = worker.heartbeat
                self._lose(address, f"has sent no heartbeat for {_SILENT * _LOOK:.0f} s")
        self._given_up = {at: seen for at, seen in self._given_up.items() if at in found}

    def _lose(self, address: str, how: str) -> None:
        worker = self._workers.pop(address)
        _LOG.info("the worker %s %s", address, how)
        worker.lost.set_result(f"the worker {address} {how}")

    # ------------------------------------------------------------------------------------ cells

    async def _fill(self, future: Future[Cell], order: TrainingOrder) -> None:
        """Train a cell on a worker and set the result of its future."""
        try:
            future.set_result(Cell.from_bytes(await self._train(order)))
        except asyncio.CancelledError:
            future.set_exception(TrainingStopped())
        except BaseException as error:
            future.set_exception(error)

    async def _train(self, order: TrainingOrder) -> bytes:
        """The content of a cell's file; WorkerLost as soon as its worker is lost."""
        worker = await self._free_worker()
        worker.n_busy += 1
        work = asyncio.ensure_future(self._train_on(worker, order))
        work.add_done_callback(lambda done: done.cancelled() or done.exception())  # or it is logged
        either: set[asyncio.Future[Any]] = {work, worker.lost}
        try:
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                raise WorkerLost(worker.lost.result())
            return work.result()
        except Exception as error:
            lost = isinstance(error, OSError | CancelledError | TrainingStopped)
            if lost or type(error).__module__.startswith("distributed") or not self._in_contact:
                raise WorkerLost(f"the worker {worker.address}: {_text(error)}") from error
            if isinstance(error, ImportError) or "deserialization" in str(error):
                raise DataError(
                    f"the Dask cluster at {self._where} cannot read a cell: {one_line(error)}; "
                    "scheduler and workers need the same versions of Python and boostsample"
                ) from error
            raise
        finally:
            worker.n_busy -= 1
            work.cancel()

    async def _free_worker(self) -> _Worker:
        while True:
            free = [
                worker
                for worker in self._workers.values()
                if worker.accepts and worker.n_busy < worker.n_threads
            ]
            if free and self._in_contact:
                return min(free, key=lambda worker: worker.n_busy)
            await asyncio.sleep(_LOOK)  # one has just been lost; `_watch` ends this

    async def _train_on(self, worker: _Worker, order: TrainingOrder) -> bytes:
        name, wanted, folder = self._name, _cloudpickle.dumps(order), str(cache_dir().absolute())
        while True:
            content: bytes | None = await self._call(worker, _work_there, name, wanted, folder)
            if content is not None:
                return content
            async with worker.sending:  # all threads of a worker share the data
                if not await self._call(worker, _has_data, name):
                    data = _cloudpickle.dumps(self._prepared)
                    await self._call(worker, _receive, name, data)

    async def _call(self, worker: _Worker, function: Callable[..., Any], *args: Any) -> Any:
        """Call a function on a worker, and on no other."""
        with _dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TiB"}):
            future = self._client.submit(
                function,
                *args,
                key=f"boostsample-{uuid.uuid4().hex}",
                pure=False,
                workers=[worker.address],
                allow_other_workers=False,
            )
        try:
            with self._client.as_current():
                await _distributed.wait([future])
            return await asyncio.wait_for(self._client.gather(future), _GATHER)
        finally:
            future.release()


def _text(error: BaseException) -> str:
    return " ".join(str(error).split()) or "no answer"
