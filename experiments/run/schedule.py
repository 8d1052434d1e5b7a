"""Trains the missing cells of a comparison on a backend and stores them.

Existing cells are not trained again; those with fewer rounds are continued. Cells that another
process of the same folder is training are skipped; at the end, this process waits for them, or
takes them over if the other one dies. A cell whose worker is lost is tried again; after a second
loss without other cells beside it, so that a cell that kills its workers can be identified.
"""

from __future__ import annotations

import logging
import math
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field
from functools import partial

from boostsample.errors import StrategyError
from boostsample.experiments.cells.cell_file import Cell
from boostsample.experiments.cells.store import Store
from boostsample.experiments.cells.tasks import CellTask
from boostsample.experiments.cells.training import (
    TrainingSplit,
    TrainingStopped,
    TrainingWatch,
    warm_up_key,
    warm_up_training,
)
from boostsample.experiments.common.progress import Progress
from boostsample.experiments.plan.prepared import Prepared
from boostsample.experiments.run.backend import Backend, WorkerLost, n_cores

_POLL = 0.1
_CHECK_AGAIN = 1.0  # seconds between two checks for cells that other processes train
_TRIES = 3  # workers that may be lost while they train a cell before it fails
_LOG = logging.getLogger(__name__)


@dataclass(eq=False)
class _Job:
    """A cell to train or to score again."""

    task: CellTask
    known: Cell | None  # the cell, if it only lacks scores
    place: int = 0  # among the cells of a split
    tries: int = 0
    n_begun: int = 0  # rounds of the run that is continued
    watch: TrainingWatch = field(default_factory=TrainingWatch)


class Schedule:
    """Trains cells on a backend and puts them into a store.

    `left` is called with the estimated seconds until the end, None while unknown.
    """

    def __init__(
        self, store: Store, backend: Backend, report: Progress, left: Callable[[float | None], None]
    ) -> None:
        self._store = store
        self._backend = backend
        self._report = report
        self._left = left
        self._pace = Pace()
        self._in_flight: dict[Future[Cell], _Job] = {}
        self._warm: set[tuple[str, ...]] = set()
        self._said: set[str] = set()

    def run(self, parts: Sequence[tuple[Prepared, Sequence[CellTask]]]) -> None:
        """Train cells by data set and split; wait for those that other processes train.

        BoostSampleError if a cell fails (of several, that of the first one in the given order) or
        cannot be stored.
        """
        left = [(prepared, self._missing(tasks)) for prepared, tasks in parts]
        while True:
            left = [(prepared, self._run_data(prepared, jobs)) for prepared, jobs in left if jobs]
            if not any(jobs for _, jobs in left):
                break
            until = time.monotonic() + _CHECK_AGAIN
            while time.monotonic() < until:
                self._tick()
                time.sleep(_POLL)
        self._tick()

    def _missing(self, tasks: Sequence[CellTask]) -> list[_Job]:
        """The cells that are not complete."""
        jobs = []
        for n_seen, task in enumerate(tasks):
            self._report("looking for cells", n_seen, len(tasks))
            self._pace.expect(task)
            cell = self._store.load(task)
            if not self._is_done(task, cell):
                lacks_scores = cell is not None and (cell.history is not None or not task.history)
                jobs.append(_Job(task, cell if lacks_scores else None))
        return jobs

    def _is_done(self, task: CellTask, cell: Cell | None) -> bool:
        """Whether a cell of the store has all requested scores."""
        if cell is None or not cell.has(task.points, task.marks, task.history):
            return False
        self._pace.finished(task, cell)
        return True

    def _run_data(self, prepared: Prepared, jobs: Sequence[_Job]) -> list[_Job]:
        """Train the cells of a data set; return those that other processes work on."""
        began = False
        splits: dict[str, list[_Job]] = {}
        for job in jobs:
            splits.setdefault(str(job.task.facts["split"]), []).append(job)
        foreign: list[_Job] = []
        for of_split in splits.values():
            for place, job in enumerate(of_split):
                job.place = place
            free = deque(of_split)
            while free and not self._take(free[0], foreign):
                free.popleft()
            if free:
                if not began:
                    self._backend.begin(prepared)
                    began = True
                self._run_split(self._split(prepared, free), free, foreign)
        return foreign

    def _take(self, job: _Job, foreign: list[_Job]) -> bool:
        """Claim a cell. False if it is done by now, or if another process trains it: `foreign`."""
        if not self._store.take(job.task):
            foreign.append(job)
            return False
        if job.known is None and self._is_done(job.task, self._store.load(job.task)):
            self._store.release(job.task)
            return False
        return True

    def _run_split(self, split: TrainingSplit, waiting: deque[_Job], foreign: list[_Job]) -> None:
        """Train the cells of a split, of which the first one may be claimed already."""
        failed: dict[int, BaseException] = {}
        while waiting or self._in_flight:
            while waiting and self._has_room(waiting[0]):
                job = waiting.popleft()
                if self._take(job, foreign):
                    self._submit(job, split)
            self._tick()
            if self._in_flight:
                done, _ = wait(self._in_flight, _POLL, FIRST_COMPLETED)
                self._collect(done, waiting, failed)
            elif waiting:  # for a worker
                time.sleep(_POLL)
            if failed:
                self._backend.end()
                done, _ = wait(self._in_flight, 1.0)
                self._collect(done, waiting, failed)
                raise failed[min(failed)]

    def _has_room(self, job: _Job) -> bool:
        """Whether a job can be submitted now; one that has lost two workers runs alone."""
        alone = any(other.tries > 1 for other in (job, *self._in_flight.values()))
        return len(self._in_flight) < min(self._backend.n_workers, 1 if alone else math.inf)

    def _split(self, prepared: Prepared, jobs: Sequence[_Job]) -> TrainingSplit:
        """The split of the jobs with its bank, which other processes read from disk."""
        form = None if self._backend.in_process or prepared.plan.bank.name == "lazy" else "disk"
        # Other processes warm up themselves, with kernels from the cache that is filled here.
        new = [job.task for job in jobs if job.known is None]
        cold = {warm_up_key(prepared, task): task for task in new}
        cold = {key: task for key, task in cold.items() if key not in self._warm}
        split = TrainingSplit(
            prepared,
            jobs[0].task.repetition,
            progress=partial(self._report, "features"),
            n_jobs=n_cores(prepared.plan.n_jobs, -1),
            form=form,
        )
        for n_done, task in enumerate(cold.values()):
            self._report("compiling", n_done, len(cold))
            self._store.beat()
            warm_up_training(split, task)
        if cold:
            self._report("compiling", len(cold), len(cold))
        self._warm |= cold.keys()
        return split

    def _submit(self, job: _Job, split: TrainingSplit) -> None:
        job.watch = TrainingWatch()
        before = self._store.begun(job.task) if job.known is None else job.known
        job.n_begun = 0 if before is None or job.known else before.facts["n_rounds"]
        self._in_flight[self._backend.submit(job.task, before, split, job.watch)] = job
        self._pace.begun(job.task, job.watch)

    def _collect(
        self, done: set[Future[Cell]], waiting: deque[_Job], failed: dict[int, BaseException]
    ) -> None:
        """Store finished cells; queue jobs again whose workers were lost."""
        for future in done:
            job = self._in_flight.pop(future)
            error = WorkerLost("it gave up") if future.cancelled() else future.exception()
            if error is None:
                cell = future.result()
                self._store.save(job.task, cell)
                self._tell(job, cell)
                self._pace.finished(job.task, cell)
                continue
            self._pace.failed(job.task)
            self._store.release(job.task)
            if isinstance(error, WorkerLost):
                job.tries += 1
                if job.tries < _TRIES:
                    waiting.appendleft(job)
                    continue
                error = StrategyError(
                    f"{job.task.name}: {_TRIES} workers were lost over this cell, the last time: "
                    f"{error}; it may need more memory than there is: take fewer --jobs, or leave "
                    "it out"
                )
            if not isinstance(error, TrainingStopped):
                failed[job.place] = error

    def _tell(self, job: _Job, cell: Cell) -> None:
        """Say once for each strategy whether runs with fewer rounds were continued."""
        if not job.n_begun:
            return
        name = f"{job.task.variant.label} of {cell.facts['data']['name']}"
        why = cell.about.get("trained_anew", "")
        how = f"are trained anew: {why}" if why else "are continued"
        said = f"{name}: runs of {job.n_begun:,} rounds {how}"
        if said not in self._said:
            self._said.add(said)
            _LOG.info("%s", said)

    def _tick(self) -> None:
        """Renew the claims, notice lost workers and report progress."""
        self._store.beat()
        self._backend.look()
        if self._in_flight and all(job.watch.compiling for job in self._in_flight.values()):
            self._report("compiling", 0, 0)
            return
        self._report("boosting", *self._pace.rounds())
        self._left(self._pace.seconds_left(max(self._backend.n_workers, 1)))


_Sums = dict[tuple[str, str], tuple[float, int]]
"""Seconds and rounds by data set and strategy."""


class Pace:
    """Rounds of all cells and their seconds, by data set and strategy.

    The seconds per round of a strategy are taken from its finished cells, including those of
    earlier commands; without any, from its running cells; without these, from other strategies.
    """

    def __init__(self) -> None:
        self._tasks: dict[str, CellTask] = {}
        self._done: set[str] = set()
        self._running: dict[str, TrainingWatch] = {}
        self._known: _Sums = {}

    def expect(self, task: CellTask) -> None:
        """Add a cell to the comparison."""
        self._tasks[task.key] = task

    def begun(self, task: CellTask, watch: TrainingWatch) -> None:
        """Record that a cell is being trained."""
        self._running[task.key] = watch

    def failed(self, task: CellTask) -> None:
        """Record that the training of a cell failed."""
        self._running.pop(task.key, None)

    def finished(self, task: CellTask, cell: Cell) -> None:
        """Record that a cell is complete."""
        self._running.pop(task.key, None)
        if task.key in self._tasks and task.key not in self._done:
            self._done.add(task.key)
            _add(self._known, task, float(cell.about["wall"]), cell.n_rounds)

    def rounds(self) -> tuple[int, int]:
        """Rounds done and rounds in all."""
        total = sum(task.n_rounds for task in self._tasks.values())
        done = sum(self._tasks[key].n_rounds for key in self._done)
        return done + sum(watch.rounds for watch in self._running.values()), total

    def seconds_left(self, n_workers: int) -> float | None:
        """Estimated seconds until all cells are complete; None while unknown."""
        known = dict(self._known)
        for key, watch in self._running.items():
            if _kind(self._tasks[key]) not in self._known:
                _add(known, self._tasks[key], watch.seconds, watch.rounds)
        rates = {kind: seconds / rounds for kind, (seconds, rounds) in known.items() if rounds}
        if not rates:
            return None
        usual = sum(rates.values()) / len(rates)
        each = [0.0]
        for key in self._tasks.keys() - self._done:
            task = self._tasks[key]
            done = self._running[key].rounds if key in self._running else 0
            each.append((task.n_rounds - done) * rates.get(_kind(task), usual))
        return max(sum(each) / n_workers, max(each))


def _add(sums: _Sums, task: CellTask, seconds: float, rounds: int) -> None:
    before = sums.get(_kind(task), (0.0, 0))
    sums[_kind(task)] = (before[0] + seconds, before[1] + rounds)


def _kind(task: CellTask) -> tuple[str, str]:
    return str(task.facts["data"]["name"]), task.variant.name
