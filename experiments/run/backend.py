"""Base class of the backends, and the loss of a worker."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import AbstractContextManager, contextmanager

from boostsample.experiments.cells.cell_file import Cell
from boostsample.experiments.cells.training import TrainingOrder, TrainingSplit, TrainingWatch
from boostsample.experiments.plan.prepared import Prepared
from boostsample.threads.threads import n_threads

__all__ = ["Backend", "WorkerLost", "n_cores", "without_ctrl_c"]


class WorkerLost(Exception):
    """The worker of a cell has died, left or stopped; the message is a phrase that says how."""


class Backend(AbstractContextManager["Backend"]):
    """Workers that train cells; a context manager that ends them.

    All methods are called in one thread.
    """

    in_process = False
    """Whether cells are trained on a `TrainingSplit` of this process, given to `submit`."""

    def __init__(self, n_workers: int = 1) -> None:
        self._n_workers = n_workers

    @property
    def n_workers(self) -> int:
        """Cells that can be trained at once; 0 while the backend waits for a worker."""
        return self._n_workers

    def begin(self, prepared: Prepared) -> None:
        """Set the data of the cells that are submitted next."""

    def submit(
        self, order: TrainingOrder, split: TrainingSplit | None, watch: TrainingWatch
    ) -> Future[Cell]:
        """Train a cell; at most `n_workers` at once. `WorkerLost` means that it can be retried."""
        raise NotImplementedError

    def look(self) -> None:
        """Notice lost workers; called about ten times a second while cells are trained.

        DataError if the backend has waited in vain for a worker.
        """

    def end(self) -> None:
        """Stop all training immediately."""

    def __exit__(self, *_: object) -> None:
        self.end()


def n_cores(n_jobs: int | None, default: int) -> int:
    """Number of workers, `default` for None; see `boostsample.threads.threads.n_threads`."""
    return n_threads(default if n_jobs is None else n_jobs)


@contextmanager
def without_ctrl_c() -> Iterator[None]:
    """Start processes that ignore Ctrl-C; they are ended without printing tracebacks."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
