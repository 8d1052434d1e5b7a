"""The main job: strategies on data sets at an equal budget of looks, results at the marks.

`compare` and `run` have every cell of a plan trained that is not in the store yet and put the
results together from the cells. There is one way, whatever the backend and wherever cells are kept:
the rows depend on the plan alone; only their seconds do not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from boostsample.errors import DataError
from boostsample.experiments.cells.store import MemoryStore, Store
from boostsample.experiments.cells.tasks import Search, searches_of
from boostsample.experiments.data.datasets import Dataset
from boostsample.experiments.plan.plan import Plan, Prepared, prepare
from boostsample.experiments.results.comparison import Comparison
from boostsample.experiments.results.runs import LOOKS, RESULT_COLUMNS, Run
from boostsample.experiments.results.tuning import keep
from boostsample.experiments.run.backends import Backend, open_backend
from boostsample.experiments.run.schedule import Progress, Schedule, orders_of

__all__ = [
    "LOOKS",
    "RESULT_COLUMNS",
    "Comparison",
    "Progress",
    "Run",
    "Shard",
    "compare",
    "put_together",
    "run",
    "run_all",
]


@dataclass(frozen=True)
class Shard:
    """The cells that are one process's share: number `index` of `count`, from 1 on.

    Cells are dealt out in the order of their keys, so that all processes agree without a word.
    """

    index: int
    count: int

    def mine(self, keys: Sequence[str]) -> set[str]:
        """The keys of this share."""
        return set(sorted(set(keys))[self.index - 1 :: self.count])


def compare(
    data: Dataset, plan: Plan | None = None, progress: Progress | None = None
) -> Comparison:
    """Compare strategies on a data set, in memory.

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
        As `boostsample.experiments.plan.plan.prepare`, before anything is computed.

    Examples
    --------
    >>> from boostsample.experiments.data.datasets import load_dataset
    >>> from boostsample.experiments.plan.plan import parse_names
    >>> plan = Plan(strategies=parse_names("uniform-naive"), marks=(5, 10), repeats=1)
    >>> [row["stumps"] for row in compare(load_dataset("chess"), plan).rows]
    [5, 10]
    """
    return run(prepare(data, Plan() if plan is None else plan), progress)


def run(prepared: Prepared, progress: Progress | None = None) -> Comparison:
    """Train everything that was prepared, in threads, and keep it in memory."""
    with open_backend("threading", prepared.plan.n_jobs) as backend:
        (comparison,) = run_all([prepared], MemoryStore(), backend, progress)
    return comparison


def run_all(
    prepared: Sequence[Prepared],
    store: Store,
    backend: Backend,
    progress: Progress | None = None,
    left: Callable[[float | None], None] | None = None,
    shard: Shard | None = None,
) -> list[Comparison]:
    """Train the cells that the store lacks; the comparisons, one a data set.

    Parameters
    ----------
    prepared : sequence of Prepared
        One a data set.
    store : Store
    backend : Backend
    progress : callable, optional
        See `Progress`.
    left : callable, optional
        Called with the seconds that the rest will take, None as long as that is not known.
    shard : Shard, optional
        Train only these cells. Where others are missing then, the result is empty.

    Raises
    ------
    BoostSampleError
        A cell failed or could not be kept; those that were finished before are in the store.
    """
    report = progress or (lambda stage, done, total: None)
    schedule = Schedule(store, backend, report, left or (lambda seconds: None))
    searches = [searches_of(one) for one in prepared]
    orders = [orders_of(*both) for both in zip(prepared, searches, strict=True)]
    if shard is not None:
        mine = shard.mine([order.task.key for part in orders for order in part])
        orders = [[order for order in part if order.task.key in mine] for part in orders]
    try:
        missing = [schedule.missing(part) for part in orders]
        schedule.run(list(zip(prepared, missing, strict=True)))
    finally:
        store.close()
    return put_together(prepared, searches, store, complete=shard is None)


def put_together(
    prepared: Sequence[Prepared],
    searches: Sequence[Sequence[Search]],
    store: Store,
    *,
    complete: bool,
) -> list[Comparison]:
    """The comparisons that the cells of a store make; none while cells are missing.

    Raises
    ------
    DataError
        Cells are missing though they should be `complete`: somebody removed or damaged them.
    """
    comparisons = []
    for one, part in zip(prepared, searches, strict=True):
        runs = []
        for search in part:
            try:
                kept = keep(_runs(search, store), len(search.tasks), one.plan.marks)
            except LookupError as error:
                if not complete:
                    return []
                raise DataError(
                    f"the cell {error.args[0]} was there a moment ago and cannot be used now; run "
                    "the same command again"
                ) from None
            kept.make_rows(one.data.name, one.plan.marks)
            runs.append(kept)
        comparisons.append(Comparison(one, runs))
    return comparisons


def _runs(search: Search, store: Store) -> Iterator[Run]:
    """The runs of a search; LookupError for the first one that is not there."""
    for task in search.tasks:
        cell = store.load(task)
        if cell is None:
            raise LookupError(task.file_name)
        yield Run(search.variant, search.repetition, task.budget, task.variant, cell)
