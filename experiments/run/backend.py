"""What the backends share: their base class, the loss of a worker, and the work in a process."""

from __future__ import annotations

import signal
import threading
from abc import abstractmethod
from collections import OrderedDict
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import AbstractContextManager, contextmanager

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
from boostsample.threads.threads import n_threads

OF_TERMINAL = [getattr(signal, name) for name in ("SIGINT", "SIGHUP") if hasattr(signal, name)]
"""Signals that a terminal sends to all processes of a command."""
_MOST_SPLITS = 2  # splits that a worker process keeps in memory


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

    @abstractmethod
    def submit(
        self,
        task: CellTask,
        before: Cell | None,
        split: TrainingSplit | None,
        watch: TrainingWatch,
    ) -> Future[Cell]:
        """Start `train_cell`; at most `n_workers` at once. `WorkerLost`: it can be retried."""

    def look(self) -> None:
        """Notice lost workers; called about ten times a second while cells are trained.

        DataError if the backend has waited in vain for a worker.
        """

    def end(self) -> None:
        """Stop all training immediately."""

    def __exit__(self, *_: object) -> None:
        self.end()


class Workplace:
    """Trains cells in a worker process; its threads share the splits."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._splits: OrderedDict[tuple[str, ...], TrainingSplit] = OrderedDict()
        self._warm: set[tuple[str, ...]] = set()

    def work(
        self, prepared: Prepared, task: CellTask, before: Cell | None, watch: TrainingWatch
    ) -> Cell:
        """Train a cell, see `train_cell`."""
        split = self.warm_up(prepared, task, before)
        watch.begin()
        return train_cell(split, task, watch, before)

    def warm_up(self, prepared: Prepared, task: CellTask, before: Cell | None) -> TrainingSplit:
        """Compile all that a cell needs, and return its split."""
        warm = warm_up_key(prepared, task)
        place = (*warm[:-1], str(task.facts["split"]))
        with self._lock:
            split = self._splits.get(place)
            if split is None:
                form = "lazy" if prepared.plan.bank.name == "lazy" else "disk"
                split = TrainingSplit(prepared, task.repetition, form=form)
                self._splits[place] = split
                while len(self._splits) > _MOST_SPLITS:
                    self._splits.popitem(last=False)
            is_trained = before is not None and before.key == task.key
            if not is_trained and warm not in self._warm:
                warm_up_training(split, task)
                self._warm.add(warm)
        return split


def n_cores(n_jobs: int | None, default: int) -> int:
    """Number of workers, `default` for None; see `boostsample.threads.threads.n_threads`."""
    return n_threads(default if n_jobs is None else n_jobs)


@contextmanager
def without_terminal() -> Iterator[None]:
    """Start processes that ignore what a terminal sends: Ctrl-C, and SIGHUP when it closes.

    The process that starts them receives it as well and ends them.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, signal.SIG_IGN) for number in OF_TERMINAL}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
