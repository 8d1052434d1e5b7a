"""Compares strategies on data sets at an equal budget of looks.

`compare` is the function for users: one data set, in memory. `compare_all` is the general form for
several data sets, any store and any backend; `boostsample compare` uses it. Both train the cells
that are missing in the store and make the results from the cells. Except for their seconds, rows
depend on the plan alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from boostsample.errors import DataError, SettingError
from boostsample.experiments.cells.store import Store
from boostsample.experiments.cells.tasks import task_groups
from boostsample.experiments.common.progress import Progress
from boostsample.experiments.data.dataset import Dataset
from boostsample.experiments.plan.plan import Plan
from boostsample.experiments.plan.prepared import Prepared, prepare
from boostsample.experiments.results.plan_file import finished_record, plan_record
from boostsample.experiments.results.read_folder import Results, make_results
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


def compare(data: Dataset, plan: Plan | None = None, progress: Progress | None = None) -> Results:
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
        results = compare_all([prepared], Store(), backend, progress)
    assert results is not None
    return results


def compare_all(
    prepared: Sequence[Prepared],
    store: Store,
    backend: Backend,
    progress: Progress | None = None,
    left: Callable[[float | None], None] | None = None,
    shard: JobShare | None = None,
) -> Results | None:
    """Train the cells that are missing in the store, and return the results of all data sets.

    The store is closed at the end. `left` is called with the estimated seconds until the end, None
    while unknown. With `shard`, only its cells are trained; if others are missing, there are no
    results. BoostSampleError if a cell fails or cannot be stored; the cells finished before are in
    the store.
    """
    report = progress or (lambda stage, done, total: None)
    schedule = Schedule(store, backend, report, left or (lambda seconds: None))
    tasks = [[task for group in task_groups(one) for task in group] for one in prepared]
    if shard is not None:
        keys = shard.share_of([task.key for of_data in tasks for task in of_data])
        tasks = [[task for task in of_data if task.key in keys] for of_data in tasks]
    try:
        schedule.run(list(zip(prepared, tasks, strict=True)))
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
    return replace(results, settings=finished_record(record, results.runs))
