"""Compares strategies on data sets at an equal budget of looks.

`compare` is the function for users: one data set, in memory. `compare_all` is the general form for
several data sets, any store and any backend; `boostsample compare` uses it. Both train the cells
that are missing in the store and make the results from the cells. Except for their seconds, rows
depend on the plan alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from boostsample.errors import DataError
from boostsample.experiments.cells.store import Store
from boostsample.experiments.cells.tasks import TaskGroup, task_groups
from boostsample.experiments.cells.training import TrainingOrder
from boostsample.experiments.common.progress import Progress
from boostsample.experiments.data.dataset import Dataset
from boostsample.experiments.plan.plan import Plan
from boostsample.experiments.plan.prepared import Prepared, prepare
from boostsample.experiments.results.comparison import Comparison
from boostsample.experiments.results.runs import Run, keep_tuned_run
from boostsample.experiments.run.backend import Backend
from boostsample.experiments.run.backends import open_backend
from boostsample.experiments.run.schedule import Schedule
from boostsample.experiments.run.shard import RunShard


def compare(
    data: Dataset, plan: Plan | None = None, progress: Progress | None = None
) -> Comparison:
    """Compare strategies on a data set, in threads and in memory.

    Parameters
    ----------
    data : Dataset
    plan : Plan, optional
        Default: five strategies, three repetitions, 300 rounds.
    progress : callable, optional
        See `Progress`.

    Raises
    ------
    SettingError, DataError
        See `boostsample.experiments.plan.prepared.prepare`; raised before anything is computed.

    Examples
    --------
    >>> from boostsample.experiments.data.datasets import load_dataset
    >>> from boostsample.experiments.plan.variants import parse_names
    >>> plan = Plan(strategies=parse_names("uniform-naive"), marks=(5, 10), repeats=1)
    >>> [row["stumps"] for row in compare(load_dataset("chess"), plan).rows]
    [5, 10]
    """
    prepared = prepare(data, Plan() if plan is None else plan)
    with open_backend("threading", prepared.plan.n_jobs) as backend:
        (comparison,) = compare_all([prepared], Store(), backend, progress)
    return comparison


def compare_all(
    prepared: Sequence[Prepared],
    store: Store,
    backend: Backend,
    progress: Progress | None = None,
    left: Callable[[float | None], None] | None = None,
    shard: RunShard | None = None,
) -> list[Comparison]:
    """Train the cells that are missing in the store, and return one comparison per data set.

    The store is closed at the end. `left` is called with the estimated seconds until the end, None
    while unknown. With `shard`, only its cells are trained; if others are missing, the result is
    empty. BoostSampleError if a cell fails or cannot be stored; the cells finished before are in
    the store.
    """
    report = progress or (lambda stage, done, total: None)
    schedule = Schedule(store, backend, report, left or (lambda seconds: None))
    groups = [task_groups(one) for one in prepared]
    orders = [_orders(one.plan, mine) for one, mine in zip(prepared, groups, strict=True)]
    if shard is not None:
        keys = shard.mine([order.task.key for part in orders for order in part])
        orders = [[order for order in part if order.task.key in keys] for part in orders]
    try:
        missing = [schedule.missing(part) for part in orders]
        schedule.run(list(zip(prepared, missing, strict=True)))
    finally:
        store.close()
    try:
        found = []
        for one, mine in zip(prepared, groups, strict=True):
            kept = [
                keep_tuned_run(_runs(group, one.plan, store), len(group.tasks), one.plan.marks)
                for group in mine
            ]
            found.append(Comparison(one, kept))
        return found
    except _MissingCell as error:
        if shard is not None:
            return []
        raise DataError(
            f"the cell {error} was removed or damaged during the run; run the same command again"
        ) from None


class _MissingCell(Exception):
    """A cell, or a score of it, is not in the store; the message is the name of its file."""


def _orders(plan: Plan, groups: Sequence[TaskGroup]) -> list[TrainingOrder]:
    """An order for each task of a plan."""
    return [
        TrainingOrder(task, _points(group, plan), plan.marks, plan.history)
        for group in groups
        for task in group.tasks
    ]


def _points(group: TaskGroup, plan: Plan) -> tuple[int, ...]:
    """Numbers of stumps at which the cells of a group are scored."""
    return tuple(sorted(group.points(plan.marks) | plan.extra_points))


def _runs(group: TaskGroup, plan: Plan, store: Store) -> Iterator[Run]:
    points = _points(group, plan)
    for task in group.tasks:
        cell = store.load(task)
        if cell is None or not cell.has(points, plan.marks, plan.history):
            raise _MissingCell(task.file_name)
        yield Run(group.variant, group.repetition, task.budget, task.variant, cell)
