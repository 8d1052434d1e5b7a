"""The loop that has the missing cells of a comparison trained, and keeps them as they come in.

What is there already is not trained again. What another process of the same folder is working on is
left to it; in the end its cells are waited for, or taken over if it dies. A cell whose worker was
lost is tried again, alone from then on, so that a cell that kills its workers can be told by name.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field, replace
from functools import partial

from boostsample.errors import StrategyError
from boostsample.experiments.cells.cell import Cell
from boostsample.experiments.cells.store import Store
from boostsample.experiments.cells.tasks import Search, Task
from boostsample.experiments.cells.training import Ground, Order, Split, Stopped, Watch, warm_up
from boostsample.experiments.plan.plan import Prepared
from boostsample.experiments.run.backends import Backend, n_cores
from boostsample.experiments.run.pace import Pace

__all__ = ["Progress", "Schedule", "orders_of"]

Progress = Callable[[str, int, int], None]
"""Called in the calling thread, some ten times a second: what is being done, done, total."""

_POLL = 0.1
_LOOK_AGAIN = 1.0
"""Seconds between two looks at cells that other processes train."""
_TRIES = 3
"""Workers that may be lost over a cell before it is given up."""


@dataclass(eq=False)
class _Job:
    """An order on its way."""

    order: Order
    tries: int = 0
    is_there: bool = False
    watch: Watch = field(default_factory=Watch)

    @property
    def task(self) -> Task:
        return self.order.task


def orders_of(prepared: Prepared, searches: Iterable[Search]) -> list[Order]:
    """What is to be trained and known for the searches of a plan."""
    plan = prepared.plan
    return [
        Order(task, tuple(sorted(search.points(plan.marks))), plan.marks, plan.history)
        for search in searches
        for task in search.tasks
    ]


class Schedule:
    """Has cells trained.

    Parameters
    ----------
    store : Store
    backend : Backend
    report : Progress
    left : callable
        Called with the seconds that the rest will take, None as long as that is not known.
    """

    def __init__(
        self,
        store: Store,
        backend: Backend,
        report: Progress,
        left: Callable[[float | None], None],
    ) -> None:
        self._store = store
        self._backend = backend
        self._report = report
        self._left = left
        self._pace = Pace()
        self._in_flight: dict[Future[Cell], _Job] = {}
        self._warm: set[str] = set()

    def missing(self, orders: Sequence[Order]) -> list[Order]:
        """Those of the orders whose cells are not there as they are wanted.

        A cell that was only not scored at the right points is passed on to be scored.
        """
        open_ones = []
        for done, order in enumerate(orders):
            self._report("looking for cells", done, len(orders))
            self._pace.expect(order.task)
            if self._found(order) is None:
                cell = self._store.load(order.task)
                if cell is not None and (cell.history is not None or not order.history):
                    order = replace(order, known=cell.to_bytes())
                open_ones.append(order)
        return open_ones

    def _found(self, order: Order) -> Cell | None:
        """The cell of an order if it is there as it is wanted."""
        cell = self._store.load(order.task)
        if cell is None or not cell.has(order.points, order.marks, order.history):
            return None
        self._pace.finished(order.task, cell)
        return cell

    def run(self, parts: Sequence[tuple[Prepared, Sequence[Order]]]) -> None:
        """Train cells, data set by data set and split by split.

        Cells that other processes train are left to them, and looked at again when all else is
        done.

        Raises
        ------
        BoostSampleError
            A cell failed; of several the first one in the order given.
        DataError
            A cell could not be kept.
        """
        left = parts
        while True:
            left = [(prepared, self._run_data(prepared, orders)) for prepared, orders in left]
            left = [(prepared, orders) for prepared, orders in left if orders]
            if not left:
                break
            until = time.monotonic() + _LOOK_AGAIN
            while time.monotonic() < until:
                self._tick()
                time.sleep(_POLL)
        self._tick()

    def _run_data(self, prepared: Prepared, orders: Sequence[Order]) -> list[Order]:
        """Train cells of one data set; those that other processes train."""
        ground = Ground.of(prepared)
        began = False
        groups: dict[str, list[Order]] = {}
        for order in orders:
            groups.setdefault(str(order.task.facts["split"]), []).append(order)
        foreign: list[Order] = []
        for group in groups.values():
            free = deque(_Job(order) for order in group)
            while free and not self._take(free[0]):
                foreign += self._left_over(free.popleft())
            if free:
                if not began:
                    self._backend.begin(ground)
                    began = True
                split = self._split(ground, free)
                foreign += self._run_split(split, free)
        return foreign

    def _take(self, job: _Job) -> bool:
        """Claim a cell; False if another process trains it, or has done so by now."""
        if not self._store.take(job.task):
            return False
        if job.order.known is None and self._found(job.order) is not None:
            self._store.release(job.task)
            job.is_there = True
            return False
        return True

    @staticmethod
    def _left_over(job: _Job) -> list[Order]:
        return [] if job.is_there else [job.order]

    def _run_split(self, split: Split, waiting: deque[_Job]) -> list[Order]:
        """Train cells of one split, the first of which is claimed already; those of others."""
        place = {job.task.key: at for at, job in enumerate(waiting)}
        foreign: list[Order] = []
        failed: dict[int, BaseException] = {}
        self._submit(waiting.popleft(), split)
        while waiting or self._in_flight:
            while waiting and self._has_room(waiting[0]):
                job = waiting.popleft()
                if self._take(job):
                    self._submit(job, split)
                else:
                    foreign += self._left_over(job)
            self._tick()
            if self._in_flight:
                done, _ = wait(self._in_flight, _POLL, FIRST_COMPLETED)
                self._collect(done, waiting, failed, place)
            if failed:
                self._backend.end()
                done, _ = wait(self._in_flight, 1.0)
                self._collect(done, waiting, failed, place)
                raise failed[min(failed)]
        return foreign

    def _has_room(self, job: _Job) -> bool:
        """Whether a job can be given to the workers now; one that lost workers goes alone."""
        if job.tries:
            return not self._in_flight
        alone = any(other.tries for other in self._in_flight.values())
        return not alone and len(self._in_flight) < self._backend.n_workers

    def _split(self, ground: Ground, jobs: Sequence[_Job]) -> Split:
        """The split of these jobs, its bank built; for other processes it is only put on disk."""
        form = None if self._backend.in_process or ground.plan.bank.name == "lazy" else "disk"
        # Other processes warm themselves up, but find the kernels that are compiled here.
        cold = {job.task.variant.label: job.task for job in jobs if job.order.known is None}
        cold = {label: task for label, task in cold.items() if label not in self._warm}
        split = Split(
            ground,
            jobs[0].task.repetition,
            progress=partial(self._report, "features"),
            n_jobs=n_cores(ground.plan.n_jobs, -1),
            form=form,
        )
        for n_done, task in enumerate(cold.values()):
            self._report("compiling", n_done, len(cold))
            self._store.beat()
            warm_up(split, task)
        if cold:
            self._report("compiling", len(cold), len(cold))
        self._warm |= cold.keys()
        return split

    def _submit(self, job: _Job, split: Split) -> None:
        job.watch = Watch()
        self._in_flight[self._backend.submit(job.order, split, job.watch)] = job
        self._pace.begun(job.task, job.watch)

    def _collect(
        self,
        done: Iterable[Future[Cell]],
        waiting: deque[_Job],
        failed: dict[int, BaseException],
        place: dict[str, int],
    ) -> None:
        """Keep what has come in; jobs whose workers were lost wait again."""
        lost = False
        for future in done:
            job = self._in_flight.pop(future)
            error = future.exception()
            if error is None:
                cell = future.result()
                self._store.save(job.task, cell)
                self._pace.finished(job.task, cell)
                continue
            self._pace.failed(job.task)
            self._store.release(job.task)
            if isinstance(error, self._backend.lost):
                lost = True
                job.tries += 1
                if job.tries < _TRIES:
                    waiting.appendleft(job)
                    continue
                error = StrategyError(
                    f"{job.task.name}: {_TRIES} workers were lost over this cell, the last one "
                    f"with {type(error).__name__}; it may need more memory than there is: take "
                    "fewer --jobs, or leave it out"
                )
            if not isinstance(error, Stopped):
                failed[place[job.task.key]] = error
        if lost and not failed:
            self._backend.restart()

    def _tick(self) -> None:
        """Show progress, and that this process is alive."""
        self._store.beat()
        self._report("boosting", *self._pace.rounds())
        self._left(self._pace.seconds_left(self._backend.n_workers))
