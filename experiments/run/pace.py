"""Progress of a comparison in rounds, and an estimate of the remaining time."""

from __future__ import annotations

from dataclasses import dataclass, replace

from boostsample.experiments.cells.cell import Cell
from boostsample.experiments.cells.tasks import Task
from boostsample.experiments.cells.training import Watch

__all__ = ["Pace"]


@dataclass
class _Sum:
    """Seconds and the number of rounds that they were spent on."""

    seconds: float = 0.0
    rounds: int = 0

    def add(self, seconds: float, rounds: int) -> None:
        self.seconds += seconds
        self.rounds += rounds


class Pace:
    """Rounds of all cells and their seconds, by data set and strategy.

    The seconds per round of a strategy are taken from its finished cells, including those of
    earlier commands; without any, from its running cells; without these, from other strategies.
    """

    def __init__(self) -> None:
        self._tasks: dict[str, Task] = {}
        self._done: set[str] = set()
        self._running: dict[str, Watch] = {}
        self._known: dict[tuple[str, str], _Sum] = {}

    def expect(self, task: Task) -> None:
        """Add a cell to the comparison."""
        self._tasks[task.key] = task

    def begun(self, task: Task, watch: Watch) -> None:
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
            sums = self._known.setdefault(_kind(task), _Sum())
            sums.add(float(cell.about["wall"]), cell.n_rounds)

    def rounds(self) -> tuple[int, int]:
        """Rounds done and rounds in all."""
        total = sum(task.n_rounds for task in self._tasks.values())
        done = sum(self._tasks[key].n_rounds for key in self._done)
        return done + sum(watch.rounds for watch in self._running.values()), total

    def seconds_left(self, n_workers: int) -> float | None:
        """Estimated seconds until all cells are complete; None while unknown."""
        known = {kind: replace(one) for kind, one in self._known.items()}
        for key, watch in self._running.items():
            kind = _kind(self._tasks[key])
            if kind not in self._known and watch.rounds:
                known.setdefault(kind, _Sum()).add(watch.seconds, watch.rounds)
        rates = {kind: one.seconds / one.rounds for kind, one in known.items() if one.rounds}
        if not rates:
            return None
        usual = sum(rates.values()) / len(rates)
        each = [0.0]
        for key in self._tasks.keys() - self._done:
            task = self._tasks[key]
            done = self._running[key].rounds if key in self._running else 0
            each.append((task.n_rounds - done) * rates.get(_kind(task), usual))
        return max(sum(each) / n_workers, max(each))


def _kind(task: Task) -> tuple[str, str]:
    return str(task.facts["data"]["name"]), task.variant.name
