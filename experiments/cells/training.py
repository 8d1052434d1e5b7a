"""Training one cell, wherever it is done: in a thread, in a process, on another machine.

A `Ground` is what all cells of a data set share; it travels to a worker once. On it a worker stands
a `Split` for the training rows of a repetition, with the feature bank; cells of one split share it.
"""

from __future__ import annotations

import os
import platform
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, cached_property
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
from numpy.typing import NDArray

import boostsample
from boostsample.banks.bank import Bank
from boostsample.banks.forms import make_bank
from boostsample.errors import BoostSampleError, StrategyError
from boostsample.experiments.cells.cell import Cell, search_arrays
from boostsample.experiments.cells.evaluation import evaluate
from boostsample.experiments.cells.keys import key_of
from boostsample.experiments.cells.tasks import Task, families_digest
from boostsample.experiments.common.files import one_line
from boostsample.experiments.data.datasets import Dataset
from boostsample.experiments.plan.plan import Plan, Prepared
from boostsample.family import Family
from boostsample.labels import encode
from boostsample.loop.booster import Booster, Round
from boostsample.numerics import NUMERICS
from boostsample.records import Term

__all__ = [
    "Ground",
    "Order",
    "Split",
    "Stopped",
    "Watch",
    "machine",
    "train",
    "version_of",
    "versions",
    "warm_up",
]

_WARM_UP = 2
"""Rounds that compile what a strategy uses before anything is timed; models start in the second."""
_LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba", "llvmlite", "PyWavelets")


class Stopped(Exception):
    """Another cell has failed, the user wants to stop, or nobody waits for the result."""


class Watch:
    """How far a cell has come, and whether it should stop; shared with whoever waits for it."""

    def __init__(self) -> None:
        self.rounds = 0
        self.seconds = 0.0
        self.stop: threading.Event | None = None

    def check(self) -> None:
        """Raise `Stopped` when the work is not wanted any more."""
        if self.stop is not None and self.stop.is_set():
            raise Stopped


@dataclass(frozen=True)
class Order:
    """A cell to be trained, and what is to be known of it.

    Parameters
    ----------
    task : Task
    points, marks : tuple of int
        Numbers of stumps at which it is scored, see `boostsample.experiments.cells.cell`.
    history : bool
        Whether to keep the history rows.
    known : bytes or None
        The cell as it was trained before; it is scored anew, not trained.
    """

    task: Task
    points: tuple[int, ...]
    marks: tuple[int, ...]
    history: bool = False
    known: bytes | None = None


@dataclass(frozen=True, eq=False)
class Ground:
    """What all cells of one data set share.

    Parameters
    ----------
    data : Dataset
    families : tuple of Family
    plan : Plan
        Of it, the bank, the seed of the splits, learner and initial weights are used.
    digest : str
        Checksum of the data.
    """

    data: Dataset
    families: tuple[Family, ...]
    plan: Plan
    digest: str

    @classmethod
    def of(cls, prepared: Prepared) -> Ground:
        """That of a plan that fits its data."""
        return cls(prepared.data, prepared.families, prepared.plan, prepared.digest)

    @cached_property
    def token(self) -> str:
        """What tells it from another one in the memory of a worker."""
        facts = [self.digest, families_digest(self.families), str(self.plan)]
        return key_of({"ground": facts})

    @cached_property
    def about_data(self) -> dict[str, Any]:
        """What every cell tells of its data."""
        return {
            "shape": list(self.data.X.shape),
            "classes": self.data.n_classes,
            "families": [[family.name, family.n_features] for family in self.families],
        }


class Split:
    """One way to split the data, with its feature bank; shared by threads, never changed.

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
        The form of the bank, see `boostsample.banks.forms`, if it is not that of the plan.
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
        """A loop that has not begun."""
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


def warm_up(split: Split, task: Task) -> None:
    """Do the first rounds for nothing, so that no compiling is timed."""
    booster = split.booster(task, 0)
    while booster.round < _WARM_UP and not booster.finished:
        _next_round(booster, task)


def train(split: Split, order: Order, watch: Watch) -> Cell:
    """Train and score a cell.

    Raises
    ------
    StrategyError
        The strategy failed; the message names it and the place.
    Stopped
        See `Watch`.
    """
    started, clock = datetime.now(UTC), time.perf_counter()
    task = order.task
    if order.known is not None:
        return _scored(split, order, Cell.from_bytes(order.known), watch)
    plan, data = split.ground.plan, split.ground.data
    stream = task.variant.stream(data.name, plan.seed, task.repetition)
    booster = split.booster(task, stream)
    rounds: list[list[Term]] = []
    rows: list[dict[str, Any]] = []
    ends: list[float] = []
    while not booster.finished:
        watch.check()
        done = _next_round(booster, task)
        rounds.append(done.terms)
        rows.extend(done.rows)
        ends.append(done.rows[-1]["log10_loss"])
        watch.rounds, watch.seconds = len(rounds), time.perf_counter() - clock
    families = [family.name for family in split.ground.families]
    terms = [term for one in rounds for term in one]
    scored = _evaluate(split, order, rounds, watch)
    loss = np.array([ends[at - 1] for at in scored["points"].tolist()], np.float64)
    about = {
        "numerics": NUMERICS,
        "n_rounds": len(rounds),
        "stopped": rows[-1]["stopped"],
        "n_labels": split.labels.shape[1],
        "data": split.ground.about_data,
        "bank": plan.bank.name,
        "versions": versions(),
        "machine": machine(),
        "started": started.isoformat(timespec="seconds"),
        "wall": time.perf_counter() - clock,
    }
    arrays = {**search_arrays(rows, terms, families), **scored, "loss": loss}
    return Cell(dict(task.facts), about, arrays, rows if order.history else None)


def _scored(split: Split, order: Order, cell: Cell, watch: Watch) -> Cell:
    """A cell that was trained before, with scores at other points."""
    rounds = _rounds_of(cell, split.bank)
    points = {*order.points, *cell.errors}
    marks = {*order.marks, *cell.arrays["marks"].tolist()}
    wider = Order(order.task, tuple(points), tuple(marks))
    scored = _evaluate(split, wider, rounds, watch)
    known = cell.loss_at
    loss = [known.get(at, float(cell.loss[at - 1])) for at in scored["points"].tolist()]
    arrays = {**cell.arrays, **scored, "loss": np.array(loss, np.float64)}
    return Cell(cell.facts, cell.about, arrays, cell.history)


def _rounds_of(cell: Cell, bank: Bank) -> list[list[Term]]:
    """The stumps of a cell by round, their thresholds as bins of the bank."""
    arrays = cell.arrays
    feature = arrays["feature"].astype(np.int64)
    raw = arrays["threshold"]
    rounds: list[list[Term]] = [[] for _ in range(cell.n_rounds)]
    for at in range(feature.size):
        cuts = bank.cuts_of(feature[at : at + 1])[0]
        rounds[int(cell.round[at]) - 1].append(
            Term(
                int(feature[at]),
                1 + int(np.searchsorted(cuts, raw[at], side="right")),
                float(raw[at]),
                cell.votes[at],
                float(cell.alpha[at]),
            )
        )
    return rounds


def _evaluate(
    split: Split, order: Order, rounds: Sequence[Sequence[Term]], watch: Watch
) -> dict[str, NDArray[Any]]:
    data = split.ground.data
    return evaluate(
        split.bank,
        split.train_rows,
        split.test_rows,
        data.y,
        data.n_classes,
        rounds,
        order.points,
        order.marks,
        watch.check,
    )


def _next_round(booster: Booster, task: Task) -> Round:
    """One round; what a strategy trips over is told with its name and place."""
    try:
        return booster.next_round()
    except (BoostSampleError, MemoryError):
        raise
    except Exception as error:
        raise StrategyError(
            f"strategy {task.variant.label!r} failed in round {booster.round + 1} of repetition "
            f"{task.repetition}: {type(error).__name__}: {one_line(error)}"
        ) from error


@cache
def versions() -> dict[str, str | None]:
    """Versions of this package, of Python and of the libraries that compute."""
    return {
        "boostsample": boostsample.__version__,
        "python": platform.python_version(),
        **{name: version_of(name) for name in _LIBRARIES},
    }


def version_of(name: str) -> str | None:
    """The version of an installed distribution; None if it is not there."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


@cache
def machine() -> dict[str, Any]:
    """Processor, cores and system; no names of hosts or users."""
    return {"platform": _platform(), "processor": _processor(), "cores": os.cpu_count()}


def _platform() -> str:
    return f"{platform.system()} {platform.release()} {platform.machine()}".strip()


def _processor() -> str:
    lines: Iterable[str] = ()
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as stream:
            lines = stream.read().splitlines()
    except OSError:  # another system than Linux
        return platform.processor()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()
