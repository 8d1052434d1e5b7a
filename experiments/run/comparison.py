"""Compares strategies on data sets at an equal budget of looks.

`compare` is the function for users, exported by `boostsample.experiments`: one data set, in memory
or in a folder. `compare_all` is the general form for several data sets, any store and any backend;
`boostsample compare` uses it. Both train the cells that are missing in the store and make the
results from the cells. Except for their seconds, rows depend on the plan alone.
"""

from __future__ import annotations

import itertools
import logging
import math
import os
import re
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from boostsample.errors import DataError, SettingError, StrategyError, unknown
from boostsample.experiments.cells.cell_file import Cell
from boostsample.experiments.cells.store import Store
from boostsample.experiments.cells.tasks import CellTask, task_groups
from boostsample.experiments.cells.training import (
    TrainingSplit,
    TrainingStopped,
    TrainingWatch,
    warm_up_key,
    warm_up_training,
)
from boostsample.experiments.common.progress import Progress
from boostsample.experiments.data.arrays import dataset_of_arrays
from boostsample.experiments.data.dataset import Dataset
from boostsample.experiments.metrics import add_metric, metric_named
from boostsample.experiments.plan.grid import GRID_ENTRIES, combined_grid, grid_entries
from boostsample.experiments.plan.plan import DataSource, Plan, whole_number
from boostsample.experiments.plan.prepared import Prepared, prepare_all, prepare_setups
from boostsample.experiments.plan.variants import Variant, parse_names
from boostsample.experiments.results.plan_file import finished_record, plan_record
from boostsample.experiments.results.read_folder import Results, make_results
from boostsample.experiments.results.scored_runs import scored_results
from boostsample.experiments.results.write_folder import ResultsFolder
from boostsample.experiments.run.backends import (
    Backend,
    WorkerLost,
    check_backend,
    form_of_processes,
    local_backend,
)
from boostsample.hashing import code_of
from boostsample.threads import n_threads

_POLL = 0.1
_CHECK_AGAIN = 1.0  # seconds between two checks for cells that other processes train
_TRIES = 3  # workers that may be lost while they train a cell before it fails
_LOG = logging.getLogger(__name__)


def parse_shard(text: str) -> tuple[int, int]:
    """Parse the number of a process, from 1, and how many share the cells, as in ``2/8``."""
    match = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", text)
    if not match or not 1 <= int(match[1]) <= int(match[2]):
        raise SettingError(
            f"shard must be I/N with 1 <= I <= N < 1,000,000 as in 2/8, got {text!r}"
        )
    return int(match[1]), int(match[2])


def share_of(keys: Sequence[str], index: int, count: int) -> set[str]:
    """One process's share of the cells: dealt out in order, so that none need communicate."""
    return set(sorted(set(keys))[index - 1 :: count])


def open_backend(name: str, n_jobs: int | None) -> Backend:
    """Open a backend by name; errors as in `check_backend`."""
    check_backend(name, n_jobs)
    if not name.startswith("dask"):
        return local_backend(name, n_jobs)
    from boostsample.experiments.run.dask_backend import DaskBackend

    return DaskBackend(name, n_jobs)


def compare(
    data: Dataset | str | os.PathLike[str] | tuple[Any, Any] = "digits",
    plan: Plan | None = None,
    progress: Progress | None = None,
    *,
    results: str | os.PathLike[str] | None = None,
    data_dir: str | os.PathLike[str] | None = None,
    backend: str = "threading",
    **settings: Any,
) -> Results:
    """Compare strategies on a data set.

    Parameters
    ----------
    data : Dataset, str, path or (X, y)
        A data set, its name or path with options as of `boostsample compare --data`, or arrays as
        of `content_of_arrays`.
    plan : Plan, optional
        Default: five strategies, three repetitions, rounds 10, 100 and 300.
    progress : callable, optional
        See `Progress`.
    results : path, optional
        Folder for the results: a new one, or one of the same settings, to be completed. The same as
        of the command, for `boostsample table`, `plot` and `report`. None keeps cells in memory.
    data_dir : path, optional
        As of `load_dataset`.
    backend : str
        See `open_backend`.
    **settings
        Settings of the plan, named as the entries of a grid file: ``strategies``, a list of names
        and instances of `Strategy`, ``metrics``, a list of names and functions, ``rounds``,
        ``repeats``, ``budget``, ``learner``, ..., of axes also a list of values; and ``n_jobs``.

    Returns
    -------
    Results
        With ``runs``, their cells, and ``to_frame`` for pandas.

    Raises
    ------
    SettingError, DataError
        See `boostsample.experiments.plan.prepared.prepare`; raised before anything is computed.

    Examples
    --------
    >>> from boostsample.strategies import UniformNaive
    >>> strategies = [UniformNaive(n_features=3), "laminating"]
    >>> results = compare("chess", strategies=strategies, rounds=[5, 10], repeats=1)
    >>> [(row["strategy"], row["stumps"]) for row in results.rows[:2]]
    [('uniform-naive', 5), ('uniform-naive', 10)]
    """
    if plan is not None and settings:
        raise SettingError(f"give a plan or settings, got both; leave out {', '.join(settings)}")
    plan = plan_of_settings(settings) if plan is None else plan
    if isinstance(data, tuple):
        data = dataset_of_arrays(*data)
    if isinstance(data, Dataset):
        prepared = prepare_setups(data, plan)
    else:
        plan = replace(plan, data=(DataSource.parse(os.fspath(data)),))
        prepared = prepare_all(plan, None if data_dir is None else os.fspath(data_dir))
    with ExitStack() as stack:
        workers = stack.enter_context(open_backend(backend, plan.n_jobs))
        store, folder = Store(), None
        if results is not None:
            for variant in prepared[0].variants:
                code_of(type(variant.strategy()))  # cells of an older version must be noticed
            folder = stack.enter_context(ResultsFolder(results))
            about: dict[str, Any] = {"title": plan.title}
            if not isinstance(data, Dataset):
                about["entries"] = grid_entries(plan, prepared)
            store = folder.begin(prepared, about)
        made = compare_all(prepared, store, workers, progress)
        assert made is not None
        if folder is not None:
            folder.write(made)
    return made


def plan_of_settings(settings: Mapping[str, Any]) -> Plan:
    """A plan of settings that are named as the entries of a grid file, see `compare`."""
    parsers: dict[str, Callable[[Any], Any]] = {
        "strategies": lambda names: tuple(map(Variant.of, listed(names))),
        "families": lambda names: parse_names(listed(names)),
        "rounds": lambda marks: tuple(listed(marks)),
        "bank": lambda banks: tuple(map(Variant.of, listed(banks))),
        "max_looks": partial(whole_number, "max_looks"),
        "metrics": lambda metrics: tuple(
            metric if isinstance(metric, str) else add_metric(metric.__name__, metric).name
            for metric in listed(metrics)
        ),
    }
    options: dict[str, Any] = {}
    for name, value in settings.items():
        if name not in {*GRID_ENTRIES, "n_jobs"} - {"data"}:
            raise unknown("setting of compare", name, [*GRID_ENTRIES, "n_jobs"])
        value = tuple(value) if isinstance(value, list) else value
        options[name] = parsers[name](value) if name in parsers else value
    n_jobs = options.pop("n_jobs", None)
    return replace(combined_grid(None, options), n_jobs=n_jobs)


def listed(values: Any) -> Sequence[Any]:
    """Several values, or one as a list."""
    return list(values) if isinstance(values, list | tuple) else [values]


def compare_all(
    prepared: Sequence[Prepared],
    store: Store,
    backend: Backend,
    progress: Progress | None = None,
    left: Callable[[float | None], None] | None = None,
    shard: tuple[int, int] | None = None,
) -> Results | None:
    """Train the cells that are missing in the store, and return the results of all data sets.

    `prepared` has the setups of each data set in turn, as `prepare_all` returns them.

    The store is closed at the end. `left` is called with the estimated seconds until the end. With
    `shard`, see `parse_shard`, only its cells are trained; if others are missing, there are no
    results.
    BoostSampleError if a cell fails or cannot be stored; finished cells are in the store.
    """
    report = progress or (lambda stage, done, total: None)
    schedule = Schedule(store, backend, report, left or (lambda seconds: None))
    parts = tasks_by_bank(prepared)
    if shard is not None:
        keys = share_of([task.key for _, tasks in parts for task in tasks], *shard)
        parts = [(setup, [task for task in tasks if task.key in keys]) for setup, tasks in parts]
    try:
        schedule.run(parts)
    finally:
        store.close()
    record = plan_record(prepared)
    results = make_results(record, store.find, keep_runs=True)
    if results.missing and shard is not None:
        return None
    if results.missing:
        raise DataError(
            f"{results.missing:,} cells were removed or damaged during the run; run the same "
            "command again"
        )
    metrics = [metric_named(name) for name in prepared[0].plan.metrics]
    if metrics:
        report("scoring by metrics of the user", 0, 0)
        results = scored_results(results, prepared, metrics)
    return replace(results, settings=finished_record(record, results.runs))


def tasks_by_bank(prepared: Sequence[Prepared]) -> list[tuple[Prepared, list[CellTask]]]:
    """The different tasks of the setups that share a data set and its bank, with the first setup.

    Setups share a task where they differ in nothing that it depends on: `full` is the same at any
    budget that is too small for it.
    """
    first: dict[tuple[str, str], Prepared] = {}
    tasks: dict[tuple[str, str], dict[Any, CellTask]] = {}
    for setup in prepared:
        place = setup.data.name, str(setup.plan.bank)
        first.setdefault(place, setup)
        of_place = tasks.setdefault(place, {})
        for task in itertools.chain.from_iterable(task_groups(setup)):
            of_place.setdefault((task.key, task.points), task)
    return [(first[place], list(of_place.values())) for place, of_place in tasks.items()]


@dataclass(eq=False)
class Job:
    """A cell of a comparison; `watch` has the rounds and seconds of its training."""

    task: CellTask
    known: Cell | None = None  # the cell, if it only lacks scores
    done: bool = False
    tries: int = 0
    n_begun: int = 0  # rounds of the run that is continued
    watch: TrainingWatch = field(default_factory=TrainingWatch)
    error: BaseException | None = None

    @property
    def kind(self) -> tuple[str, ...]:
        """Data set, strategy, learner and budget; cells of a kind take about the same time."""
        facts, name = self.task.facts, self.task.variant.name
        budget = str(self.task.plan.budget)
        return str(facts["data"]["name"]), name, str(facts["learner"]), budget

    def finish(self, cell: Cell) -> None:
        """Record the complete cell."""
        self.done = True
        self.watch.rounds, self.watch.seconds = cell.n_rounds, float(cell.about["wall"])


class Schedule:
    """Trains cells on a backend and puts them into a store.

    Existing cells are not trained again; those with fewer rounds are continued. Cells that another
    process of the same folder is training are skipped; at the end, this process waits for them, or
    takes them over if the other one dies. A cell whose worker is lost is tried again; after a
    second loss without other cells beside it, so that a cell that kills its workers can be
    identified.
    """

    def __init__(
        self, store: Store, backend: Backend, report: Progress, left: Callable[[float | None], None]
    ) -> None:
        self._store = store
        self._backend = backend
        self._report = report
        self._left = left
        self._jobs: list[Job] = []
        self._in_flight: dict[Future[Cell], Job] = {}
        self._warm: set[tuple[str, ...]] = set()
        self._said: set[str] = set()

    def run(self, parts: Sequence[tuple[Prepared, Sequence[CellTask]]]) -> None:
        """Train cells by data set and split; wait for those that other processes train."""
        jobs = [(prepared, [Job(task) for task in tasks]) for prepared, tasks in parts]
        self._jobs = [job for _, of_data in jobs for job in of_data]
        for n_seen, job in enumerate(self._jobs):
            self._report("looking for cells", n_seen, len(self._jobs))
            job.known = self._find(job)
        while True:
            for prepared, of_data in jobs:
                self._run_data(prepared, of_data)
            if all(job.done for job in self._jobs):
                break
            until = time.monotonic() + _CHECK_AGAIN
            while time.monotonic() < until:
                self._tick()
                time.sleep(_POLL)
        self._tick()

    def _find(self, job: Job) -> Cell | None:
        """The cell of a job if it only lacks scores; the job is done if it lacks nothing."""
        task, cell = job.task, self._store.find(job.task.file_name)
        if cell is None:
            return None
        if cell.has(task.points, task.marks, task.history, task.regret):
            job.finish(cell)
            return None
        lacks_history = task.history and cell.history is None
        lacks = lacks_history or not cell.has_regret(task.points, task.regret)
        return None if lacks else cell

    def _run_data(self, prepared: Prepared, jobs: Sequence[Job]) -> None:
        began = False
        splits: dict[str, deque[Job]] = {}
        for job in jobs:
            if not job.done:
                splits.setdefault(str(job.task.facts["split"]), deque()).append(job)
        for waiting in splits.values():
            while waiting and not self._take(waiting[0]):
                waiting.popleft()
            if waiting:
                if not began:
                    self._backend.begin(prepared)
                    began = True
                self._backend.split = self._split(prepared, waiting)
                self._run_split(waiting)

    def _take(self, job: Job) -> bool:
        """Claim a cell; False if another process trains it, or has completed it by now."""
        if not self._store.take(job.task.file_name):
            return False
        if job.known is None:
            self._find(job)
        if job.done:
            self._store.release(job.task.file_name)
        return not job.done

    def _run_split(self, waiting: deque[Job]) -> None:
        """Train the cells of a split, of which the first one may be claimed already."""
        while waiting or self._in_flight:
            while waiting and self._has_room(waiting[0]):
                job = waiting.popleft()
                if self._take(job):
                    self._submit(job)
            self._tick()
            if self._in_flight:
                done, _ = wait(self._in_flight, _POLL, FIRST_COMPLETED)
                self._collect(done, waiting)
            elif waiting:  # for a worker
                time.sleep(_POLL)
            if any(job.error for job in self._jobs):
                self._backend.end()
                done, _ = wait(self._in_flight, 1.0)
                self._collect(done, waiting)
                raise next(job.error for job in self._jobs if job.error)

    def _has_room(self, job: Job) -> bool:
        """Whether a job can be submitted now; one that has lost two workers runs alone."""
        alone = any(other.tries > 1 for other in (job, *self._in_flight.values()))
        return len(self._in_flight) < min(self._backend.n_workers, 1 if alone else math.inf)

    def _split(self, prepared: Prepared, jobs: Sequence[Job]) -> TrainingSplit:
        form = None if self._backend.in_process else form_of_processes(prepared)
        # Other processes warm up themselves, with kernels from the cache that is filled here.
        new = [job.task for job in jobs if job.known is None]
        cold = {warm_up_key(task): task for task in new}
        cold = {key: task for key, task in cold.items() if key not in self._warm}
        n_jobs = prepared.plan.n_jobs
        split = TrainingSplit(
            prepared,
            jobs[0].task.repetition,
            progress=partial(self._report, "features"),
            n_jobs=n_threads(-1 if n_jobs is None else n_jobs),
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

    def _submit(self, job: Job) -> None:
        job.watch = TrainingWatch()
        before = self._store.begun(job.task) if job.known is None else job.known
        job.n_begun = 0 if before is None or job.known else before.facts["n_rounds"]
        self._in_flight[self._backend.submit(job.task, before, job.watch)] = job

    def _collect(self, done: set[Future[Cell]], waiting: deque[Job]) -> None:
        for future in done:
            job = self._in_flight.pop(future)
            error = WorkerLost("it gave up") if future.cancelled() else future.exception()
            if error is None:
                cell = future.result()
                self._store.save(job.task, cell)
                self._tell(job, cell)
                job.finish(cell)
                continue
            job.watch = TrainingWatch()
            self._store.release(job.task.file_name)
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
                job.error = error

    def _tell(self, job: Job, cell: Cell) -> None:
        name = f"{job.task.variant.label} of {cell.facts['data']['name']}"
        why = cell.about.get("trained_anew", "")
        how = f"are trained anew: {why}" if why else "are continued"
        said = f"{name}: runs of {job.n_begun:,} rounds {how}"
        if job.n_begun and said not in self._said:
            self._said.add(said)
            _LOG.info("%s", said)

    def _tick(self) -> None:
        self._store.beat()
        self._backend.look()
        n_done = sum(job.task.n_rounds if job.done else job.watch.rounds for job in self._jobs)
        self._report("boosting", n_done, sum(job.task.n_rounds for job in self._jobs))
        self._left(seconds_left(self._jobs, max(self._backend.n_workers, 1)))


def seconds_left(jobs: Sequence[Job], n_workers: int) -> float | None:
    """Estimated seconds until all cells are complete; None while unknown.

    The seconds per round are those of finished cells of the same kind, including those of earlier
    commands; without any, of running cells; without these, of other kinds.
    """
    rates: dict[tuple[str, ...], float] = {}
    for done in (False, True):
        sums: dict[tuple[str, ...], tuple[float, int]] = {}
        for job in jobs:
            if job.done == done and job.watch.rounds:
                seconds, rounds = sums.get(job.kind, (0.0, 0))
                sums[job.kind] = seconds + job.watch.seconds, rounds + job.watch.rounds
        rates |= {kind: seconds / rounds for kind, (seconds, rounds) in sums.items()}
    if not rates:
        return None
    usual = sum(rates.values()) / len(rates)
    each = [
        (job.task.n_rounds - job.watch.rounds) * rates.get(job.kind, usual)
        for job in jobs
        if not job.done
    ]
    return max(sum(each) / n_workers, max(each, default=0.0))
