"""Progress of a comparison in rounds, and an estimate of the remaining time."""

from __future__ import annotations

from boostsample.experiments.cells.cell_file import Cell
from boostsample.experiments.cells.tasks import Task
from boostsample.experiments.cells.training import TrainingWatch

_Sums = dict[tuple[str, str], tuple[float, int]]
"""Seconds and rounds by data set and strategy."""


class Pace:
    """Rounds of all cells and their seconds, by data set and strategy.

    The seconds per round of a strategy are taken from its finished cells, including those of
    earlier commands; without any, from its running cells; without these, from other strategies.
    """

    def __init__(self) -> None:
        self._tasks: dict[str, Task] = {}
        self._done: set[str] = set()
        self._running: dict[str, TrainingWatch] = {}
        self._known: _Sums = {}

    def expect(self, task: Task) -> None:
        """Add a cell to the comparison."""
        self._tasks[task.key] = task

    def begun(self, task: Task, watch: TrainingWatch) -> None:
        """Record that a cell is being trained."""
        self._running[task.key] = watch

    def failed(self, task: Task) -> None:
        """Record that the training of a cell failed."""
        self._running.pop(task.key, None)

    def finished(self, task: Task, cell: Cell) -> None:
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


def _add(sums: _Sums, task: Task, seconds: float, rounds: int) -> None:
    before = sums.get(_kind(task), (0.0, 0))
    sums[_kind(task)] = (before[0] + seconds, before[1] + rounds)


def _kind(task: Task) -> tuple[str, str]:
    return str(task.facts["data"]["name"]), task.variant.name
