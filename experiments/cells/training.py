"""Training and scoring of one cell, in any thread, process or machine.

A `Ground` is the data that all cells of a data set share; each worker receives it once. A `Split`
adds the training rows of a repetition and the feature bank; all cells of the split share it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostsample.banks.bank import Bank
from boostsample.banks.forms import make_bank
from boostsample.errors import BoostSampleError, StrategyError
from boostsample.experiments.cells.cell import Cell, key_of, search_arrays
from boostsample.experiments.cells.environment import machine, versions
from boostsample.experiments.cells.evaluation import evaluate
from boostsample.experiments.cells.tasks import Task, families_digest
from boostsample.experiments.common.files import one_line
from boostsample.experiments.data.datasets import Dataset
from boostsample.experiments.plan.plan import Plan, Prepared
from boostsample.family import Family
from boostsample.labels import encode
from boostsample.loop.booster import Booster, Round
from boostsample.numerics import NUMERICS
from boostsample.records import Term

__all__ = ["Ground", "Order", "Split", "Stopped", "Watch", "train", "warm_up"]

_WARM_UP = 2
"""Rounds that compile everything a strategy uses; models of edges start in the second."""


class Stopped(Exception):
    """Training was stopped: another cell failed, or the user interrupted the comparison."""


class Watch:
    """Progress of a cell, shared with the thread that waits for it, and a request to stop."""

    def __init__(self) -> None:
        self.rounds = 0
        self.seconds = 0.0
        self.stop: threading.Event | None = None

    def check(self) -> None:
        """Raise `Stopped` if a stop is requested."""
        if self.stop is not None and self.stop.is_set():
            raise Stopped


@dataclass(frozen=True)
class Order:
    """A request to train and score a cell.

    Parameters
    ----------
    task : Task
    points, marks : tuple of int
        Numbers of stumps at which it is scored, see `boostsample.experiments.cells.cell`.
    history : bool
        Whether to keep the history rows.
    known : bytes or None
        The file of a trained cell, which is then scored again, not trained.
    """

    task: Task
    points: tuple[int, ...]
    marks: tuple[int, ...]
    history: bool = False
    known: bytes | None = None


@dataclass(frozen=True, eq=False)
class Ground:
    """The data that all cells of one data set share.

    Parameters
    ----------
    data : Dataset
    families : tuple of Family
    plan : Plan
        Provides the bank, the seed of the splits, the learner and the initial weights.
    digest : str
        Checksum of the data.
    """

    data: Dataset
    families: tuple[Family, ...]
    plan: Plan
    digest: str

    @classmethod
    def of(cls, prepared: Prepared) -> Ground:
        """The ground of a prepared plan."""
        return cls(prepared.data, prepared.families, prepared.plan, prepared.digest)

    @cached_property
    def token(self) -> str:
        """A hash that identifies it in the memory of a worker."""
        return key_of({"ground": [self.digest, families_digest(self.families), str(self.plan)]})

    @cached_property
    def about_data(self) -> dict[str, Any]:
        """Facts about the data that every cell records."""
        return {
            "shape": list(self.data.X.shape),
            "classes": self.data.n_classes,
            "families": [[family.name, family.n_features] for family in self.families],
        }


class Split:
    """A split of the data with its feature bank; immutable, so that threads can share it.

    Parameters
    ----------
    ground : Ground
    repetition : int
        Any repetition with these training rows.
    progress : callable, optional
        Called with features done and in all while the bank is built.
    n_jobs : int
        Threads that build the bank.
    form : str, optional
        The form of the bank, see `boostsample.banks.forms`. Default: that of the plan.
    """

    def __init__(
        self,
        ground: Ground,
        repetition: int,
        *,
        progress: Callable[[int, int], None] | None = None,
        n_jobs: int = 1,
        form: str | None = None,
    ) -> None:
        data, plan = ground.data, ground.plan
        self.ground = ground
        self.train_rows, self.test_rows = data.split(repetition, plan.seed)
        self.bank: Bank = make_bank(
            plan.bank.name if form is None else form,
            ground.families,
            data.X,
            self.train_rows,
            progress=progress,
            n_jobs=n_jobs,
            name=data.name,
            **plan.bank.settings,
        )
        self.labels = encode(data.y[self.train_rows], data.n_classes)

    def booster(self, task: Task, rng: np.random.SeedSequence | int) -> Booster:
        """A booster for a task, before its first round."""
        plan = self.ground.plan
        return Booster(
            self.bank,
            self.train_rows,
            self.labels,
            task.variant.strategy(),
            plan.learner,
            n_rounds=task.n_rounds,
            budget=task.budget,
            weights=plan.weights,
            rng=np.random.default_rng(rng),
        )

    def scores(
        self, order: Order, rounds: Sequence[Sequence[Term]], watch: Watch
    ) -> dict[str, NDArray[Any]]:
        """The arrays of `evaluate` for the stumps of a cell, by round."""
        data, rows = self.ground.data, (self.train_rows, self.test_rows)
        wanted = (order.points, order.marks)
        return evaluate(self.bank, *rows, data.y, data.n_classes, rounds, *wanted, watch.check)


def warm_up(split: Split, task: Task) -> None:
    """Train a few rounds and discard them, so that compilation is not timed."""
    booster = split.booster(task, 0)
    while booster.round < _WARM_UP and not booster.finished:
        _next_round(booster, task)


def train(split: Split, order: Order, watch: Watch) -> Cell:
    """Train and score a cell.

    Raises
    ------
    StrategyError
        The strategy failed; the message contains its name and the round.
    Stopped
        See `Watch`.
    """
    started, clock = datetime.now(UTC), time.perf_counter()
    task, ground = order.task, split.ground
    if order.known is not None:
        return _scored_again(split, order, Cell.from_bytes(order.known), watch)
    stream = task.variant.stream(ground.data.name, ground.plan.seed, task.repetition)
    booster = split.booster(task, stream)
    rounds: list[list[Term]] = []
    rows: list[dict[str, Any]] = []
    losses: list[float] = []
    while not booster.finished:
        watch.check()
        done = _next_round(booster, task)
        rounds.append(done.terms)
        rows.extend(done.rows)
        losses.append(done.rows[-1]["log10_loss"])
        watch.rounds, watch.seconds = len(rounds), time.perf_counter() - clock
    scores = split.scores(order, rounds, watch)
    arrays = {
        **search_arrays(
            rows,
            [term for terms in rounds for term in terms],
            [family.name for family in ground.families],
        ),
        **scores,
        "loss": np.array([losses[at - 1] for at in scores["points"].tolist()], np.float64),
    }
    about = {
        "numerics": NUMERICS,
        "n_rounds": len(rounds),
        "stopped": rows[-1]["stopped"],
        "n_labels": split.labels.shape[1],
        "data": ground.about_data,
        "bank": ground.plan.bank.name,
        "versions": versions(),
        "machine": machine(),
        "started": started.isoformat(timespec="seconds"),
        "wall": time.perf_counter() - clock,
    }
    return Cell(dict(task.facts), about, arrays, rows if order.history else None)


def _scored_again(split: Split, order: Order, cell: Cell, watch: Watch) -> Cell:
    """A trained cell with the scores that it has and those of the order."""
    points = {*order.points, *cell.errors}
    marks = {*order.marks, *cell.areas}
    wider = replace(order, points=tuple(points), marks=tuple(marks))
    scores = split.scores(wider, _rounds_of(cell, split.bank), watch)
    known = cell.loss_at
    losses = [known.get(at, float(cell.loss[at - 1])) for at in scores["points"].tolist()]
    arrays = {**cell.arrays, **scores, "loss": np.array(losses, np.float64)}
    return Cell(cell.facts, cell.about, arrays, cell.history)


def _rounds_of(cell: Cell, bank: Bank) -> list[list[Term]]:
    """The stumps of a cell by round, with thresholds as bins of the bank."""
    rounds: list[list[Term]] = [[] for _ in range(cell.n_rounds)]
    feature = cell.arrays["feature"].astype(np.int64)
    raw = cell.arrays["threshold"]
    for at, number in enumerate(cell.round.tolist()):
        cuts = bank.cuts_of(feature[at : at + 1])[0]
        threshold = 1 + int(np.searchsorted(cuts, raw[at], side="right"))
        votes, alpha = cell.votes[at], float(cell.alpha[at])
        rounds[number - 1].append(Term(int(feature[at]), threshold, float(raw[at]), votes, alpha))
    return rounds


def _next_round(booster: Booster, task: Task) -> Round:
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
