"""Compares strategies on data sets at an equal budget of looks.

`compare` is the function for users: one data set, in memory. `compare_all` is the general form for
several data sets, any store and any backend; `boostsample compare` uses it. Both train the cells
that are missing in the store and make the results from the cells. Except for their seconds, rows
depend on the plan alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from boostsample.errors import DataError, SettingError
from boostsample.experiments.cells.store import Store
from boostsample.experiments.cells.tasks import CellTask, task_groups
from boostsample.experiments.common.progress import Progress
from boostsample.experiments.data.dataset import Dataset
from boostsample.experiments.plan.plan import Plan
from boostsample.experiments.plan.prepared import Prepared, prepare
from boostsample.experiments.plan.variants import Variant
from boostsample.experiments.results.comparison import Comparison
from boostsample.experiments.results.runs import Run, keep_tuned_run
from boostsample.experiments.run.backend import Backend
from boostsample.experiments.run.backends import open_backend
from boostsample.experiments.run.schedule import Schedule


@dataclass(frozen=True)
class JobShare:
    """One process's share of the cells: number `index` of `count`, counted from 1.

    Cells are dealt out in the order of their keys, so that processes need not communicate.
    """

    index: int
    count: int

    @classmethod
    def parse(cls, text: str) -> JobShare:
        """Parse I/N as in ``2/8``."""
        match = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", text)
        if not match or not 1 <= int(match[1]) <= int(match[2]):
            raise SettingError(
                f"shard must be I/N with 1 <= I <= N < 1,000,000 as in 2/8, got {text!r}"
            )
        return cls(int(match[1]), int(match[2]))

    def share_of(self, keys: Sequence[str]) -> set[str]:
        """The keys of this share."""
        return set(sorted(set(keys))[self.index - 1 :: self.count])


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
    shard: JobShare | None = None,
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
    tasks = [[task for group in of_data for task in group] for of_data in groups]
    if shard is not None:
        keys = shard.share_of([task.key for of_data in tasks for task in of_data])
        tasks = [[task for task in of_data if task.key in keys] for of_data in tasks]
    try:
        schedule.run(list(zip(prepared, tasks, strict=True)))
    finally:
        store.close()
    try:
        found = []
        for one, mine in zip(prepared, groups, strict=True):
            searched = [variant for variant in one.variants for _ in range(one.plan.repeats)]
            kept = [
                keep_tuned_run(_runs(variant, group, store), len(group), one.plan.marks)
                for variant, group in zip(searched, mine, strict=True)
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


def _runs(variant: Variant, group: Sequence[CellTask], store: Store) -> Iterator[Run]:
    for task in group:
        cell = store.load(task)
        if cell is None or not cell.has(task.points, task.marks, task.history):
            raise _MissingCell(task.file_name)
        yield Run(variant, task.repetition, task.budget, task.variant, cell)
