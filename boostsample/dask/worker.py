"""Shards on a Dask worker: they answer messages outside Dask's task graph.

A shard answers in a thread that belongs to it; a ping is answered at once, so that a worker that
works can be told from one that hangs. Importing this module is light: shards import the rest.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import cloudpickle

_thread = threading.local()
_distributed: Any = importlib.import_module("distributed")


def name_worker(worker: Any) -> None:
    """Name the worker that this thread works for, for the functions below."""
    _thread.worker = worker


def _worker() -> Any:
    named = getattr(_thread, "worker", None)
    if named is not None:
        return named
    try:
        return _distributed.get_worker()
    except ValueError:
        return None


@contextlib.contextmanager
def client_here() -> Iterator[Any]:
    """A client of the cluster of this worker; outside of workers, the client of this process."""
    worker = _worker()
    if worker is None:
        yield _distributed.get_client()
        return
    address, security = worker.scheduler.address, worker.security
    with _distributed.Client(address, security=security, set_as_default=False) as client:
        yield client


def scratch_here() -> Path:
    """The folder for temporary files of this worker, or of the system."""
    worker = _worker()
    return Path(tempfile.gettempdir() if worker is None else worker.local_directory)


TELL, PING, DROP = "boostsample_tell", "boostsample_ping", "boostsample_drop"
#: Seconds after which a shard that nobody has asked gives up its memory; its driver, if it still
#: lives, takes it for lost and loads it again.
_IDLE = 3600.0

_shards: dict[str, _ShardPlace] = {}
_workers: list[Any] = []  # the last one is this process's


def _work_here() -> None:
    """Let the source of a shard find the worker in the thread of the shard."""
    if _workers:
        name_worker(_workers[-1])


class _ShardPlace:
    """A shard of this process, and its thread."""

    def __init__(self, source: bytes) -> None:
        self._source = source
        self._server: Any = None
        self._thread = ThreadPoolExecutor(1, "boostsample-shard", _work_here)
        self.asked, self.n_asked = time.monotonic(), 0

    def _answer(self, messages: list[bytes]) -> bytes:
        if self._server is None:
            from boostsample.shards.server import ShardServer

            self._server = ShardServer(cloudpickle.loads(self._source))
        answer = b""
        for message in messages:
            answer = self._server.handle(message)
        return answer

    async def answer(self, messages: list[bytes]) -> bytes:
        """The answer to the last message."""
        self.n_asked += 1
        try:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._thread, self._answer, messages)
        finally:
            self.n_asked -= 1
            self.asked = time.monotonic()

    def close(self) -> None:
        """End the thread; memory is freed with this object."""
        self._thread.shutdown(wait=False)


async def _tell(key: str, messages: list[bytes], source: bytes | None = None) -> dict[str, Any]:
    """Let a shard answer: {"answer": bytes}, {"error": bytes}, or {} if there is no such shard."""
    if source is not None:
        _shards[key] = _ShardPlace(source)
    if key not in _shards:
        return {}
    try:
        return {"answer": await _shards[key].answer(messages)}
    except Exception as error:
        return {"error": _portable(error)}


def _portable(error: Exception) -> bytes:
    try:
        return bytes(cloudpickle.dumps(error))
    except Exception:  # of a class that cannot be pickled
        return bytes(cloudpickle.dumps(RuntimeError(f"{type(error).__name__}: {error}")))


async def _ping() -> int:
    """The number of shards here."""
    now = time.monotonic()
    for key, place in list(_shards.items()):
        if not place.n_asked and now - place.asked > _IDLE:
            _drop(key)
    return len(_shards)


def _drop(key: str) -> None:
    """Give up the shards whose keys begin with `key`."""
    for known in [known for known in _shards if known.startswith(key)]:
        _shards.pop(known).close()


def install(dask_worker: Any) -> None:
    """Add the handlers to a worker; `dask_worker` is filled in by Dask."""
    _workers[:] = [dask_worker]
    dask_worker.handlers.update({TELL: _tell, PING: _ping, DROP: _drop})
