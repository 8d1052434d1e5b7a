"""How far a comparison has come, and how long the rest will take."""

from __future__ import annotations

from dataclasses import dataclass

from boostsample.experiments.cells.cell import Cell
from boostsample.experiments.cells.tasks import Task
from boostsample.experiments.cells.training import Watch

__all__ = ["Pace"]


@dataclass
class _Sum:
    """Seconds of so many rounds."""

    seconds: float = 0.0
    rounds: int = 0

    def add(self, seconds: float, rounds: int) -> None:
        self.seconds += seconds
        self.rounds += rounds

    def per_round(self) -> float | None:
        return self.seconds / self.rounds if self.rounds else None


class Pace:
    """Rounds of all cells, and seconds a round: by data set and strategy, as far as known.

    What finished cells took counts, those of earlier runs too; of a strategy that has none, what
    its running cells have taken so far; of one that has not begun, the mean of the others.
    """

    def __init__(self) -> None:
        self._tasks: dict[str, Task] = {}
        self._done: set[str] = set()
        self._running: dict[str, Watch] = {}
        self._known: dict[tuple[str, str], _Sum] = {}

    def expect(self, task: Task) -> None:
        """A cell belongs to the comparison."""
        self._tasks[task.key] = task

    def begun(self, task: Task, watch: Watch) -> None:
        """A cell is in work."""
        self._running[task.key] = watch

    def failed(self, task: Task) -> None:
        """A cell is not in work any more."""
        self._running.pop(task.key, None)

    def finished(self, task: Task, cell: Cell) -> None:
        """A cell is there."""
        self._running.pop(task.key, None)
        if task.key in self._tasks and task.key not in self._done:
            self._done.add(task.key)
            sums = self._known.setdefault(_kind(task), _Sum())
            sums.add(float(cell.about["wall"]), cell.n_rounds)

    def rounds(self) -> tuple[int, int]:
        """Rounds done, and rounds in all."""
        total = sum(task.n_rounds for task in self._tasks.values())
        done = sum(self._tasks[key].n_rounds for key in self._done)
        return done + sum(watch.rounds for watch in self._running.values()), total

    def seconds_left(self, n_workers: int) -> float | None:
        """Seconds until all cells are there, with so many trained at once; None if unknown."""
        known = {kind: _Sum(one.seconds, one.rounds) for kind, one in self._known.items()}
        for key, watch in self._running.items():
            kind = _kind(self._tasks[key])
            if kind not in self._known and watch.rounds:
                known.setdefault(kind, _Sum()).add(watch.seconds, watch.rounds)
        rates = {kind: one.per_round() for kind, one in known.items()}
        found = [rate for rate in rates.values() if rate is not None]
        if not found:
            return None
        usual = sum(found) / len(found)
        left = longest = 0.0
        for key, task in self._tasks.items():
            if key not in self._done:
                rate = rates.get(_kind(task))
                begun = self._running.get(key)
                rest = task.n_rounds - (0 if begun is None else begun.rounds)
                seconds = rest * (usual if rate is None else rate)
                left += seconds
                longest = max(longest, seconds)
        return max(left / n_workers, longest)


def _kind(task: Task) -> tuple[str, str]:
    return str(task.facts["data"]["name"]), task.variant.name
