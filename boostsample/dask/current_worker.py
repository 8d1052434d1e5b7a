"""The Dask worker that a thread works for: threads of shards are not those of tasks."""

from __future__ import annotations

import contextlib
import importlib
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_thread = threading.local()
_distributed: Any = importlib.import_module("distributed")


def name_worker(worker: Any) -> None:
    """Name the worker that this thread works for, for the functions below; None is none."""
    _thread.worker = worker


def _worker() -> Any:
    """The worker of this thread, None outside of workers."""
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
