"""The main job: strategies on one data set at an equal budget of looks, results at the marks.

`compare` trains every strategy of a plan in every repetition, on threads that share one feature
bank (kernels release the GIL; processes would each copy the bank), and returns flat result rows.
The rows depend on the plan alone, not on the number of threads; only their seconds do.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from boostsample.bank import FeatureBank
from boostsample.booster import Booster, Round
from boostsample.errors import BoostSampleError, StrategyError
from boostsample.experiments.content import one_line
from boostsample.experiments.datasets import Dataset
from boostsample.experiments.plan import Plan, Prepared, Variant, prepare
from boostsample.experiments.scores import Scores
from boostsample.labels import encode, error_percent

__all__ = [
    "LOOKS",
    "RESULT_COLUMNS",
    "Comparison",
    "Progress",
    "Run",
    "compare",
    "run",
]

RESULT_COLUMNS = (
    "data",
    "strategy",
    "settings",
    "learner",
    "repetition",
    "stumps",
    "log10_loss",
    "test_error",
    "looks",
    "seconds",
)
LOOKS = ("search", "modelling", "finish")
"""What looks are spent on; the finish stands outside the budget."""

Progress = Callable[[str, int, int], None]
"""Called in the calling thread, some ten times a second: what is being done, done, total."""

_POLL = 0.1
_WARM_UP = 2
"""Rounds that compile what a strategy uses before anything is timed; models start in the second."""
_CURVE_POINTS = 40


@dataclass
class Run:
    """One strategy in one repetition.

    Attributes
    ----------
    variant, repetition
        Which one.
    budget : int
        Looks a search.
    rows : list of dict
        One result row a mark, with `RESULT_COLUMNS`.
    loss : list of float
        log10 of the exponential loss after each round.
    errors : dict of int to float
        Test error in percent by number of stumps, at the marks and the points of the curve.
    looks : dict of str to int
        Looks in all rounds, for each of `LOOKS`.
    seconds : float
        Training time, evaluation apart.
    stopped : str
        Why training ended before the last mark; empty if it did not.
    history : list of dict
        History rows, if the plan asked for them.
    """

    variant: Variant
    repetition: int
    budget: int
    rows: list[dict[str, Any]] = field(default_factory=list)
    loss: list[float] = field(default_factory=list)
    errors: dict[int, float] = field(default_factory=dict)
    looks: dict[str, int] = field(default_factory=lambda: dict.fromkeys(LOOKS, 0))
    seconds: float = 0.0
    stopped: str = ""
    history: list[dict[str, Any]] = field(default_factory=list)

    @property
    def n_rounds(self) -> int:
        """Rounds done."""
        return len(self.loss)

    def add(self, done: Round, keep_history: bool) -> None:
        """Take in one more round."""
        for row in done.rows:
            for purpose in LOOKS:
                self.looks[purpose] += row[f"looks_{purpose}"]
            self.seconds += row["seconds"]
        self.loss.append(done.rows[-1]["log10_loss"])
        self.stopped = done.rows[-1]["stopped"]
        if keep_history:
            self.history.extend(done.rows)


@dataclass(frozen=True)
class Comparison:
    """All runs of a plan.

    Attributes
    ----------
    prepared : Prepared
        The plan and what it meant for the data.
    runs : list of Run
        By strategy, then repetition.
    """

    prepared: Prepared
    runs: list[Run]

    @property
    def rows(self) -> list[dict[str, Any]]:
        """All result rows, by strategy, repetition and mark."""
        return [row for one in self.runs for row in one.rows]

    @property
    def history(self) -> list[dict[str, Any]]:
        """All history rows, with the strategy and repetition that each belongs to."""
        return [
            {
                "data": self.prepared.data.name,
                "strategy": one.variant.name,
                "settings": one.variant.settings_text,
                "repetition": one.repetition,
                **row,
            }
            for one in self.runs
            for row in one.history
        ]

    @property
    def notes(self) -> tuple[str, ...]:
        """What a table must not hide: strategies left out, runs that ended early."""
        early = []
        for variant in self.prepared.variants:
            ended = [
                one
                for one in self.runs
                if one.variant is variant and one.n_rounds < self.prepared.plan.n_rounds
            ]
            places = ", ".join(f"{one.n_rounds:,} in repetition {one.repetition}" for one in ended)
            reasons = "; ".join(dict.fromkeys(one.stopped for one in ended))
            if ended:
                early.append(
                    f"{variant.label}: training ended early, number of stumps: {places} "
                    f"({reasons}); later rows repeat the last state"
                )
        return (*self.prepared.notes, *early)


def compare(
    data: Dataset, plan: Plan | None = None, progress: Progress | None = None
) -> Comparison:
    """Compare strategies on a data set.

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
        As `boostsample.experiments.plan.prepare`, before anything is computed.

    Examples
    --------
    >>> from boostsample.experiments.datasets import load_dataset
    >>> from boostsample.experiments.plan import parse_names
    >>> plan = Plan(strategies=parse_names("uniform-naive"), marks=(5, 10), repeats=1)
    >>> [row["stumps"] for row in compare(load_dataset("chess"), plan).rows]
    [5, 10]
    """
    return run(prepare(data, Plan() if plan is None else plan), progress)


def run(prepared: Prepared, progress: Progress | None = None) -> Comparison:
    """Train everything that was prepared; repetitions of the same split share one feature bank."""
    report = progress or (lambda stage, done, total: None)
    plan = prepared.plan
    runs = [
        Run(variant, repetition, prepared.budget(variant, repetition))
        for variant in prepared.variants
        for repetition in range(plan.repeats)
    ]
    total = len(runs) * plan.n_rounds

    def tick() -> None:
        report("boosting", sum(one.n_rounds for one in runs), total)

    for n_done, repetitions in enumerate(_same_split(prepared)):
        split = _Split(prepared, repetitions[0], report)
        if n_done == 0:
            split.compile(runs, report)
        tasks = [partial(split.train, one) for one in runs if one.repetition in repetitions]
        _in_threads(tasks, _n_threads(plan.n_jobs or 1), tick)
    report("boosting", total, total)
    return Comparison(prepared, runs)


def _same_split(prepared: Prepared) -> list[list[int]]:
    """Repetitions, those with the same training rows together."""
    groups: list[list[int]] = []
    for repetition, (train_rows, _) in enumerate(prepared.splits):
        if groups and np.array_equal(train_rows, prepared.splits[groups[-1][0]][0]):
            groups[-1].append(repetition)
        else:
            groups.append([repetition])
    return groups


def _n_threads(n_jobs: int) -> int:
    import joblib

    return int(joblib.cpu_count()) if n_jobs == -1 else n_jobs


class _Stopped(Exception):
    """Another run has failed, or the user wants to stop."""


class _Split:
    """One way to split the data, with its feature bank; shared by threads, never changed."""

    def __init__(self, prepared: Prepared, repetition: int, report: Progress) -> None:
        data, plan = prepared.data, prepared.plan
        self.prepared = prepared
        self.train_rows, self.test_rows = prepared.splits[repetition]
        self.bank = FeatureBank.build(
            prepared.families,
            data.X,
            self.train_rows,
            progress=partial(report, "features"),
            n_jobs=_n_threads(plan.n_jobs or -1),
        )
        self.labels = encode(data.y[self.train_rows], data.n_classes)
        self.truth = data.y[self.test_rows]
        self.points = set(plan.marks)
        if plan.curves:
            curve = np.geomspace(1, plan.n_rounds, min(_CURVE_POINTS, plan.n_rounds))
            self.points |= set(np.rint(curve).astype(int).tolist())

    def booster(self, one: Run, rng: np.random.SeedSequence | int) -> Booster:
        """A loop that has not begun."""
        plan = self.prepared.plan
        return Booster(
            self.bank,
            self.train_rows,
            self.labels,
            one.variant.strategy(),
            n_rounds=plan.n_rounds,
            budget=one.budget,
            weights=plan.weights,
            rng=np.random.default_rng(rng),
        )

    def compile(self, runs: Sequence[Run], report: Progress) -> None:
        """Do the first rounds of each strategy for nothing, so that no compiling is timed."""
        first = [one for one in runs if one.repetition == runs[0].repetition]
        for n_done, one in enumerate(first):
            report("compiling", n_done, len(first))
            booster = self.booster(one, 0)
            while booster.round < _WARM_UP and not booster.finished:
                _next_round(booster, one)
        report("compiling", len(first), len(first))

    def train(self, one: Run, stop: threading.Event) -> None:
        """Fill in a run."""
        data, plan = self.prepared.data, self.prepared.plan
        booster = self.booster(one, one.variant.stream(data.name, plan.seed, one.repetition))
        scores = Scores(self.bank, self.test_rows, self.labels.shape[1])
        while not booster.finished:
            if stop.is_set():
                raise _Stopped
            done = _next_round(booster, one)
            one.add(done, plan.history)
            scores.add(done.terms)
            if one.n_rounds in self.points or booster.finished:
                one.errors[one.n_rounds] = error_percent(scores.current(), self.truth)
            if one.n_rounds in plan.marks:
                one.rows.append(self._row(one, one.n_rounds))
        missed = [mark for mark in plan.marks if mark > one.n_rounds]
        one.rows.extend(self._row(one, mark) for mark in missed)

    def _row(self, one: Run, mark: int) -> dict[str, Any]:
        values = (
            self.prepared.data.name,
            one.variant.name,
            one.variant.settings_text,
            "stump",
            one.repetition,
            mark,
            one.loss[-1],
            one.errors[one.n_rounds],
            one.looks["search"] + one.looks["modelling"],
            one.seconds,
        )
        return dict(zip(RESULT_COLUMNS, values, strict=True))


def _next_round(booster: Booster, one: Run) -> Round:
    """One round; what a strategy trips over is told with its name and place."""
    try:
        return booster.next_round()
    except (BoostSampleError, MemoryError):
        raise
    except Exception as error:
        raise StrategyError(
            f"strategy {one.variant.label!r} failed in round {booster.round + 1} of repetition "
            f"{one.repetition}: {type(error).__name__}: {one_line(error)}"
        ) from error


def _in_threads(
    tasks: Sequence[Callable[[threading.Event], None]], n_threads: int, tick: Callable[[], None]
) -> None:
    """Do the tasks in threads, calling `tick` in this one meanwhile.

    The first task that failed, in the order of the tasks, is the one whose error is raised; the
    others stop at the end of their round.
    """
    stop = threading.Event()
    pool = ThreadPoolExecutor(n_threads)
    futures: list[Future[None]] = []
    try:
        for task in tasks:
            futures.append(pool.submit(task, stop))
        waiting = set(futures)
        while waiting:
            done, waiting = wait(waiting, _POLL, FIRST_EXCEPTION)
            tick()
            if any(future.exception() for future in done):
                stop.set()
                break
    except BaseException:  # Ctrl-C may come at any line: never wait for whole runs then
        stop.set()
        raise
    finally:
        pool.shutdown(cancel_futures=True)
    for future in futures:
        if not future.cancelled() and not isinstance(future.exception(), _Stopped):
            future.result()
