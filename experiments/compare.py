"""The main job: strategies on one data set at an equal budget of looks, results at the marks.

`compare` trains every strategy of a plan in every repetition, on threads that share one feature
bank (kernels release the GIL; processes would each copy the bank), and returns flat result rows.
The rows depend on the plan alone, not on the number of threads; only their seconds do.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from boostsample.banks import make_bank
from boostsample.booster import Booster, Round
from boostsample.errors import BoostSampleError, StrategyError
from boostsample.experiments.content import one_line
from boostsample.experiments.datasets import Dataset
from boostsample.experiments.plan import Plan, Prepared, prepare
from boostsample.experiments.runs import LOOKS, RESULT_COLUMNS, Run
from boostsample.experiments.scores import Scores
from boostsample.experiments.tuning import Search, explanation
from boostsample.labels import encode, error_percent
from boostsample.learners import Term

__all__ = [
    "LOOKS",
    "RESULT_COLUMNS",
    "Comparison",
    "Progress",
    "Run",
    "compare",
    "run",
]

Progress = Callable[[str, int, int], None]
"""Called in the calling thread, some ten times a second: what is being done, done, total."""

_POLL = 0.1
_WARM_UP = 2
"""Rounds that compile what a strategy uses before anything is timed; models start in the second."""
_CURVE_POINTS = 40


@dataclass(frozen=True)
class Comparison:
    """All runs of a plan.

    Attributes
    ----------
    prepared : Prepared
        The plan and what it meant for the data.
    runs : list of Run
        By strategy, then repetition; of a tuned strategy those that were kept.
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
                **one.row_names,
                "repetition": one.repetition,
                **row,
            }
            for one in self.runs
            for row in one.history
        ]

    @property
    def notes(self) -> tuple[str, ...]:
        """What a table must not hide: strategies left out, tuning, runs that ended early."""
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
        tuning = explanation(self.prepared.variants, self.prepared.plan.n_rounds)
        return (*self.prepared.notes, *([tuning] if tuning else []), *early)


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
    searches = [
        Search(
            [
                Run(variant, repetition, prepared.budget(one, repetition), one)
                for one in variant.trained
            ],
            plan.marks,
        )
        for variant in prepared.variants
        for repetition in range(plan.repeats)
    ]
    runs = [one for search in searches for one in search.runs]
    total = len(runs) * plan.n_rounds

    def tick() -> None:
        report("boosting", sum(one.n_rounds for one in runs), total)

    for n_done, repetitions in enumerate(_same_split(prepared)):
        split = _Split(prepared, repetitions[0], report)
        if n_done == 0:
            split.compile([one for one in runs if one.repetition == 0], report)
        tasks = [
            partial(split.train, search, number)
            for search in searches
            if search.repetition in repetitions
            for number in range(len(search.runs))
        ]
        _in_threads(tasks, _n_threads(plan.n_jobs or 1), tick)
    report("boosting", total, total)
    return Comparison(prepared, [search.kept for search in searches])


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
        self.bank = make_bank(
            plan.bank.name,
            prepared.families,
            data.X,
            self.train_rows,
            progress=partial(report, "features"),
            n_jobs=_n_threads(plan.n_jobs or -1),
            name=data.name,
            **plan.bank.settings,
        )
        self.labels = encode(data.y[self.train_rows], data.n_classes)
        self.truth = data.y[self.test_rows]
        self.curve: set[int] = set()
        if plan.curves:
            curve = np.geomspace(1, plan.n_rounds, min(_CURVE_POINTS, plan.n_rounds))
            self.curve = set(np.rint(curve).astype(int).tolist())

    def booster(self, one: Run, rng: np.random.SeedSequence | int) -> Booster:
        """A loop that has not begun."""
        plan = self.prepared.plan
        return Booster(
            self.bank,
            self.train_rows,
            self.labels,
            one.trained.strategy(),
            n_rounds=plan.n_rounds,
            budget=one.budget,
            weights=plan.weights,
            rng=np.random.default_rng(rng),
        )

    def compile(self, runs: Sequence[Run], report: Progress) -> None:
        """Do the first rounds of each strategy for nothing, so that no compiling is timed."""
        for n_done, one in enumerate(runs):
            report("compiling", n_done, len(runs))
            booster = self.booster(one, 0)
            while booster.round < _WARM_UP and not booster.finished:
                _next_round(booster, one)
        report("compiling", len(runs), len(runs))

    def train(self, search: Search, number: int, stop: threading.Event) -> None:
        """Fill in one run of a search; with the last one, score the run that is kept."""
        data, plan = self.prepared.data, self.prepared.plan
        one = search.runs[number]
        booster = self.booster(one, one.trained.stream(data.name, plan.seed, one.repetition))
        terms: list[list[Term]] = []
        points = {*plan.marks, *search.charged}
        while not booster.finished:
            if stop.is_set():
                raise _Stopped
            done = _next_round(booster, one)
            one.add(done, plan.history)
            terms.append(done.terms)
            if one.n_rounds in points or booster.finished:
                one.note_spent()
        kept = search.finish(number, terms)
        if kept is not None:
            self._score(search.kept, kept, points | self.curve, stop)
            search.kept.make_rows(data.name, plan.marks)

    def _score(
        self, one: Run, rounds: list[list[Term]], points: set[int], stop: threading.Event
    ) -> None:
        """Take the test errors, which choose nothing: they are not known before the end."""
        scores = Scores(self.bank, self.test_rows, self.labels.shape[1])
        for stumps, terms in enumerate(rounds, start=1):
            if stop.is_set():
                raise _Stopped
            scores.add(terms)
            if stumps in points or stumps == one.n_rounds:
                one.errors[stumps] = error_percent(scores.current(), self.truth)


def _next_round(booster: Booster, one: Run) -> Round:
    """One round; what a strategy trips over is told with its name and place."""
    try:
        return booster.next_round()
    except (BoostSampleError, MemoryError):
        raise
    except Exception as error:
        raise StrategyError(
            f"strategy {one.trained.label!r} failed in round {booster.round + 1} of repetition "
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
