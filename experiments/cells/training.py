"""Training and scoring of one cell, in any thread, process or machine.

A worker receives the data, a `Prepared` plan, once. A `TrainingSplit` of the data has the feature
bank; all cells with these training rows share it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostsample.banks.bank import Bank
from boostsample.banks.bank_forms import make_bank
from boostsample.errors import BoostSampleError, StrategyError, one_line
from boostsample.experiments.cells.cell_file import Cell, cell_arrays
from boostsample.experiments.cells.continued import joined_cells, resume_booster, saved_state
from boostsample.experiments.cells.evaluation import evaluate_cell
from boostsample.experiments.cells.tasks import CellTask
from boostsample.experiments.common.machine import machine, versions
from boostsample.experiments.plan.prepared import Prepared
from boostsample.labels import encode
from boostsample.learners import make_learner
from boostsample.loop.booster import Booster
from boostsample.loop.numerics import NUMERICS
from boostsample.records import Round, Term

_WARM_UP = 2  # discarded rounds of strategies and learners of other distributions


class TrainingStopped(Exception):
    """Training was stopped: another cell failed, or the user interrupted the comparison."""


class TrainingWatch:
    """Progress of a cell, shared with the thread that waits for it, and a request to stop.

    While `compiling`, the worker of the cell prepares: no round has begun.
    """

    def __init__(self) -> None:
        self.compiling = False
        self.rounds = 0
        self.seconds = 0.0
        self.stop: threading.Event | None = None

    def begin(self) -> None:
        """Called when everything is compiled."""
        self.compiling = False

    def check(self) -> None:
        """Raise `TrainingStopped` if a stop is requested."""
        if self.stop is not None and self.stop.is_set():
            raise TrainingStopped


class TrainingSplit:
    """The split of a repetition with its feature bank; immutable, so that threads can share it.

    While the bank is built by `n_jobs` threads, `progress` is called with features done and in all.
    `form` replaces the plan's form of the bank, see `boostsample.banks.bank_forms`.
    """

    def __init__(
        self,
        prepared: Prepared,
        repetition: int,
        *,
        progress: Callable[[int, int], None] | None = None,
        n_jobs: int = 1,
        form: str | None = None,
    ) -> None:
        data, plan = prepared.data, prepared.plan
        self.prepared = prepared
        self.train_rows, self.test_rows = prepared.splits[repetition]
        self.bank: Bank = make_bank(
            plan.bank.name if form is None else form,
            prepared.families,
            data.X,
            self.train_rows,
            progress=progress,
            n_jobs=n_jobs,
            name=data.name,
            **plan.bank.settings,
        )
        self.labels = encode(data.y[self.train_rows], data.n_classes)

    def booster(
        self, task: CellTask, rng: np.random.SeedSequence | int, n_rounds: int | None = None
    ) -> Booster:
        """A booster for a task, before its first round; `n_rounds` replaces the task's."""
        plan = self.prepared.plan
        return Booster(
            self.bank,
            self.train_rows,
            self.labels,
            task.variant.strategy(),
            plan.learner,
            n_rounds=task.n_rounds if n_rounds is None else n_rounds,
            budget=task.budget,
            weight_init=plan.weights,
            rng=np.random.default_rng(rng),
            **plan.step_settings,
        )

    def scores(
        self, task: CellTask, rounds: Sequence[Sequence[Term]], watch: TrainingWatch
    ) -> dict[str, NDArray[Any]]:
        """The arrays of `evaluate` for the stumps of a cell, by round."""
        data, rows = self.prepared.data, (self.train_rows, self.test_rows)
        wanted = (task.points, task.marks)
        return evaluate_cell(self.bank, *rows, data.y, data.n_classes, rounds, *wanted, watch.check)


def warm_up_training(split: TrainingSplit, task: CellTask) -> None:
    """Compile all that the cells of a `warm_up_key` can need, so that it is not timed.

    A new booster compiles what strategies and learners of this distribution need; others train two
    rounds, which are discarded.
    """
    booster = split.booster(task, 0)
    parts = booster.strategy, make_learner(split.prepared.plan.learner)
    if all(map(_is_own, parts)):
        return
    while booster.round < _WARM_UP and not booster.finished:
        _next_round(booster, task)


def _is_own(part: object) -> bool:
    """Whether a strategy or learner is of this distribution."""
    return type(part).__module__.startswith("boostsample.")


def warm_up_key(prepared: Prepared, task: CellTask) -> tuple[str, ...]:
    """Plan, data, families and strategy of a cell: one warm-up serves all cells with the same."""
    facts = task.facts
    return str(prepared.plan), str(facts["data"]), str(facts["families"]), task.variant.label


def train_cell(
    split: TrainingSplit, task: CellTask, watch: TrainingWatch, before: Cell | None = None
) -> Cell:
    """Train and score a cell.

    `before` is the cell itself, which is then only scored again, or one of the same run with fewer
    rounds, which is continued.

    StrategyError, with name and round, if the strategy fails; Stopped as requested by `watch`.
    """
    started, clock = datetime.now(UTC), time.perf_counter()
    data, plan, families = split.prepared.data, split.prepared.plan, split.prepared.families
    if before is not None and before.key == task.key:
        return _scored_again(split, task, before, watch)
    booster, begun, why = _begin(split, task, before)
    rounds = [] if begun is None else begun.rounds(split.bank)
    wall = 0.0 if begun is None else float(begun.about["wall"])
    losses = [] if begun is None else begun.loss.tolist()
    fresh: list[Round] = []
    while not booster.finished:
        watch.check()
        done = _next_round(booster, task)
        rounds.append(done.terms)
        fresh.append(done)
        losses.append(done.rows[-1]["log10_loss"])
        watch.rounds, watch.seconds = len(rounds), wall + time.perf_counter() - clock
    scores = split.scores(task, rounds, watch)
    known = {} if begun is None else begun.loss_at
    loss = [known.get(at, losses[at - 1]) for at in scores["points"].tolist()]
    scores["loss"] = np.array(loss, np.float64)
    state, stateless = saved_state(booster, _is_own(make_learner(plan.learner)))
    about = {
        "numerics": NUMERICS,
        "n_rounds": len(rounds),
        "stopped": booster.stopped,
        "n_labels": split.labels.shape[1],
        "data": {
            "shape": list(data.X.shape),
            "classes": data.n_classes,
            "families": [[family.name, family.n_features] for family in families],
        },
        "bank": plan.bank.name,
        "versions": versions(),
        "machine": machine(),
        "started": started.isoformat(timespec="seconds"),
        "wall": wall + time.perf_counter() - clock,
        **({"stateless": stateless} if stateless else {}),
        **({"trained_anew": why} if why else {}),
    }
    arrays = cell_arrays(fresh, [family.name for family in families]) if fresh else {}
    rows = [row for one in fresh for row in one.rows]
    cell = Cell(
        dict(task.facts), about, {**arrays, **scores}, rows if task.history else None, state
    )
    return cell if begun is None else joined_cells(begun, cell)


def _begin(
    split: TrainingSplit, task: CellTask, begun: Cell | None
) -> tuple[Booster, Cell | None, str]:
    """A booster for a task, the run that it continues, and why it does not continue `begun`."""
    plan = split.prepared.plan

    def booster(n_rounds: int) -> Booster:
        stream = task.variant.stream(split.prepared.data.seeded_by, plan.seed, task.repetition)
        return split.booster(task, stream, n_rounds)

    new = booster(task.n_rounds)
    if begun is None:
        return new, None, ""
    rounds = begun.rounds(split.bank)
    why = resume_booster(new, booster(begun.facts["n_rounds"]), begun, rounds, task.history)
    return new, None if why else begun, why


def _scored_again(split: TrainingSplit, task: CellTask, cell: Cell, watch: TrainingWatch) -> Cell:
    """A trained cell with the scores that it has and those of the task."""
    points = {*task.points, *cell.errors}
    marks = {*task.marks, *cell.areas}
    wider = replace(task, points=tuple(points), marks=tuple(marks))
    scores = split.scores(wider, cell.rounds(split.bank), watch)
    known = cell.loss_at
    losses = [known.get(at, float(cell.loss[at - 1])) for at in scores["points"].tolist()]
    arrays = {**cell.arrays, **scores, "loss": np.array(losses, np.float64)}
    return Cell(cell.facts, cell.about, arrays, cell.history, cell.state)


def _next_round(booster: Booster, task: CellTask) -> Round:
    """Train one round; other exceptions than ours become a StrategyError with name and place."""
    try:
        return booster.next_round()
    except (BoostSampleError, MemoryError):
        raise
    except Exception as error:
        raise StrategyError(
            f"strategy {task.variant.label!r} failed in round {booster.round + 1} of repetition "
            f"{task.repetition}: {type(error).__name__}: {one_line(error)}"
        ) from error
