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
from boostsample.experiments.cells.cell_scores import evaluate_cell
from boostsample.experiments.cells.tasks import CellTask
from boostsample.experiments.common.machine import machine, versions
from boostsample.experiments.plan.prepared import Prepared
from boostsample.files.booster_state import pack_state
from boostsample.labels import encode
from boostsample.learners import make_learner
from boostsample.loop.booster import Booster
from boostsample.loop.numerics import NUMERICS
from boostsample.loop.run_file import RunFile, start_of
from boostsample.records import Round, Term

PLANS_ROUNDS = "the strategy depends on the number of rounds planned"
_WARM_UP = 2  # discarded rounds of strategies and learners of other distributions


class TrainingStopped(Exception):
    """Training was stopped: another cell failed, or the user interrupted the comparison."""


class TrainingWatch:
    """Progress of a cell, shared with the thread that waits for it, and a request to stop."""

    def __init__(self) -> None:
        self.rounds = 0
        self.seconds = 0.0
        self.stop: threading.Event | None = None

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

    def booster(self, task: CellTask, rng: np.random.SeedSequence | int) -> Booster:
        """A booster for a task, before its first round."""
        plan = self.prepared.plan
        return Booster(
            self.bank,
            self.train_rows,
            self.labels,
            task.variant.strategy(),
            plan.learner,
            n_rounds=task.n_rounds,
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
    stream = task.variant.stream(data.seeded_by, plan.seed, task.repetition)
    booster = split.booster(task, stream)
    start = _start(booster)
    rounds, why = _continued(booster, before, start, task.history)
    begun = before if rounds else None
    wall = 0.0 if begun is None else float(begun.about["wall"])
    losses = [] if begun is None else begun.loss.tolist()
    while not booster.finished:
        watch.check()
        rounds.append(_next_round(booster, task))
        losses.append(rounds[-1].rows[-1]["log10_loss"])
        watch.rounds, watch.seconds = len(rounds), wall + time.perf_counter() - clock
    scores = split.scores(task, [done.terms for done in rounds], watch)
    known = {} if begun is None else begun.loss_at
    loss = [known.get(at, losses[at - 1]) for at in scores["points"].tolist()]
    scores["loss"] = np.array(loss, np.float64)
    state, stateless = saved_state(booster, _is_own(make_learner(plan.learner)))
    began = started.isoformat(timespec="seconds") if begun is None else begun.about["started"]
    about = {
        "numerics": NUMERICS,
        "n_rounds": len(rounds),
        "stopped": booster.stopped,
        "n_labels": split.labels.shape[1],
        "n_examples": int(split.train_rows.size),
        "data": {
            "shape": list(data.X.shape),
            "classes": data.n_classes,
            "families": [[family.name, family.n_features] for family in families],
        },
        "bank": plan.bank.name,
        "versions": versions(),
        "machine": machine(),
        "start": start,
        "started": began,
        "wall": wall + time.perf_counter() - clock,
        **({"stateless": stateless} if stateless else {}),
        **({"trained_anew": why} if why else {}),
    }
    arrays = {**cell_arrays(rounds, [family.name for family in families]), **scores}
    rows = [row for done in rounds for row in done.rows]
    return Cell(dict(task.facts), about, arrays, rows if task.history else None, state)


def _start(booster: Booster) -> str:
    """`start_of` a booster; empty if its state cannot be saved, and no run can continue it."""
    try:
        return start_of(booster)
    except TypeError:
        return ""


def _continued(
    booster: Booster, begun: Cell | None, start: str, history: bool
) -> tuple[list[Round], str]:
    """The rounds of a trained run, to whose end the booster is set; the reason if there are none.

    A run can be continued to the bit if its state was kept and its strategy does not depend on the
    number of rounds planned: it neither reads `Step.n_rounds` nor starts in another state.
    """
    if begun is None:
        return [], ""
    if begun.state is None:
        return [], begun.about.get("stateless", "it was saved without the state of its booster")
    if history and begun.history is None:
        return [], "it was saved without history rows"
    of_start = begun.about["start"], begun.facts["n_rounds"], False, begun.about["n_labels"]
    run = RunFile(begun.facts, *of_start, {}, begun.rounds(), begun.state)
    if run.other_plan(booster.n_rounds, start):
        return [], PLANS_ROUNDS
    try:
        run.continue_in(booster)
    except BoostSampleError as error:
        return [], str(error)
    return run.rounds, ""


def saved_state(booster: Booster, own_learner: bool) -> tuple[dict[str, Any] | None, str]:
    """The state to keep of a trained run; None with the reason if it would be of no use.

    `own_learner` is whether the learner is of this distribution: others may have a state.
    """
    if booster.plans_rounds:
        return None, PLANS_ROUNDS
    if not own_learner:
        return None, "a learner of another distribution may have a state of its own"
    state = booster.small_state()
    try:
        pack_state(state)
    except TypeError as error:
        return None, f"the state of the strategy cannot be saved: {error}"
    return state, ""


def _scored_again(split: TrainingSplit, task: CellTask, cell: Cell, watch: TrainingWatch) -> Cell:
    """A trained cell with the scores that it has and those of the task."""
    points = {*task.points, *cell.errors}
    marks = {*task.marks, *cell.areas}
    wider = replace(task, points=tuple(points), marks=tuple(marks))
    scores = split.scores(wider, cell.terms(), watch)
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
