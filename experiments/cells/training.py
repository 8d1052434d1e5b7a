"""Training and scoring of one cell, in any thread, process or machine."""

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
from boostsample.experiments.cells.tasks import CellTask, check_code, rounds_of_regret
from boostsample.experiments.common.machine import machine, versions
from boostsample.experiments.metrics import SCORED_METRICS
from boostsample.experiments.plan.prepared import Prepared
from boostsample.files.archive import narrowest
from boostsample.files.json_text import pack_state
from boostsample.labels import encode, error_percent
from boostsample.learners import Tree, make_learner
from boostsample.loop.booster import Booster
from boostsample.loop.budgets import EQUAL, RunLimits
from boostsample.loop.numerics import NUMERICS
from boostsample.loop.run_file import RunFile, start_of
from boostsample.models.model import TermArrays
from boostsample.objectives.classes import OneClass
from boostsample.output_codes import OutputCode
from boostsample.records import Round, Term
from boostsample.registry import make_objective

PASSED_COST = "its last round passed max_cost and is left out"
PLANS_ROUNDS = "the strategy depends on the number of rounds planned"
PLANS_BUDGETS = "its budgets depend on the number of rounds planned"
MARGIN_BINS = 200
"""Bins of a histogram of margins, of equal width over [-1, 1]."""
_MOST_TRAINING = 10_000  # most training examples whose margins are counted; of more, every n-th
_CHUNK = 256  # rounds summed at a time, as in `Model.decision_function`
_BLOCK = 4096  # rows summed at a time: a block of 256 terms takes 8 MiB
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

    Setups that differ in other settings than the bank share it.

    `form` replaces the plan's form of the bank, see `boostsample.banks.bank_forms.make_bank`.
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
        self._codes: dict[int, OutputCode | None] = {}

    def code(self, task: CellTask) -> OutputCode | None:
        """The code of a task; repetitions that share the split have different random ones."""
        if task.repetition not in self._codes:
            self._codes[task.repetition] = self.prepared.code(task.repetition)
        return self._codes[task.repetition]

    def boosted_labels(self, task: CellTask) -> NDArray[np.int8]:
        """The labels that a task boosts: int8 (n, K), of a code (n, B)."""
        code = self.code(task)
        return self.labels if code is None else code.encode(self.labels)

    def booster(self, task: CellTask, rng: np.random.SeedSequence | int) -> Booster:
        """A booster for a task, before its first round."""
        plan, groups = task.plan, self.prepared.data.groups
        strategy, learner = task.variant.strategy(), make_learner(plan.learner)
        objective = make_objective(plan.objective)
        check_code(task.facts, strategy=strategy, learner=learner, objective=objective)
        return Booster(
            self.bank,
            self.train_rows,
            self.boosted_labels(task),
            strategy,
            learner,
            n_rounds=task.n_rounds,
            budget=task.budget,
            budget_kind=task.budget_kind,
            weight_init=plan.weights,
            rng=np.random.default_rng(rng),
            groups=None if groups is None else groups[self.train_rows],
            **{**plan.step_settings, "objective": objective},
        )

    def scores(
        self, task: CellTask, rounds: Sequence[Sequence[Term]], watch: TrainingWatch
    ) -> dict[str, NDArray[np.generic]]:
        """Score the stumps of a cell, by round: the arrays that it has for points and marks.

        With a code, the model has scores of bits, which are decoded; margins are those of the bits.
        At points the error and the metrics of scores are computed, at marks also ROC area and
        margins; numbers beyond the last round are replaced by it.
        """
        data, code, last = self.prepared.data, self.code(task), len(rounds)
        of_classes = isinstance(make_objective(task.plan.objective), OneClass)
        at_marks = sorted({min(mark, last) for mark in task.marks})
        at_points = sorted({min(point, last) for point in task.points} | {last, *at_marks})
        step = -(-self.train_rows.size // _MOST_TRAINING)
        seen = self.train_rows[::step]
        y = data.y[self.test_rows]
        signs = [self.labels[::step], encode(y, data.n_classes)]
        of_bits = signs if code is None else list(map(code.encode, signs))
        n_bits = of_bits[0].shape[1]
        train, test = (Scores(self.bank, rows, n_bits) for rows in (seen, self.test_rows))
        total = 0.0
        errors, areas, margins = [], [], []
        others: dict[str, list[float]] = {name: [] for name in SCORED_METRICS}
        groups = None if data.groups is None else data.groups[self.test_rows]
        for stumps, terms in enumerate(rounds, start=1):
            watch.check()
            test.add(terms)
            train.add(terms)
            total += float(TermArrays(terms, n_bits).largest[0])
            if stumps not in at_points:
                continue
            of_test_rows = test.current()
            scores = of_test_rows if code is None else code.decode(of_test_rows)
            errors.append(error_percent(scores, y))
            for name, metric in SCORED_METRICS.items():
                others[name].append(metric(scores, y, groups))
            if stumps in at_marks:
                areas.append(area_under_roc(scores, signs[1]))
                both = zip((train.current(), of_test_rows), of_bits, strict=True)
                margins.append([evaluate_margins(*scored, total, of_classes) for scored in both])
        counts = np.array(margins, np.int64).reshape(len(at_marks), 2, MARGIN_BINS)
        return {
            "points": narrowest(at_points),
            "error": np.array(errors, np.float64),
            **{name: np.array(values, np.float64) for name, values in others.items()},
            "marks": narrowest(at_marks),
            "auc": np.array(areas, np.float64),
            "margins": narrowest(counts.swapaxes(0, 1)),
        }


def warm_up_training(split: TrainingSplit, task: CellTask) -> None:
    """Compile all that the cells of a `warm_up_key` can need, so that it is not timed.

    A new booster compiles what our strategies and learners need; others train two rounds.
    """
    booster = split.booster(task, 0)
    parts = booster.strategy, make_learner(task.plan.learner)
    if all(map(_is_own, parts)):
        return
    while booster.round < _WARM_UP and not booster.finished:
        next_round(booster, task)


def _is_own(part: object) -> bool:
    return type(part).__module__.startswith("boostsample.")


def warm_up_key(task: CellTask) -> tuple[str, ...]:
    """Plan, data, families and strategy of a cell: one warm-up serves all cells with the same."""
    facts = task.facts
    return str(task.plan), str(facts["data"]), str(facts["families"]), task.variant.label


def train_cell(
    split: TrainingSplit, task: CellTask, watch: TrainingWatch, before: Cell | None = None
) -> Cell:
    """Train and score a cell.

    `before` is the cell itself, which is then only scored again, or one of the same run with fewer
    rounds, which is continued. StrategyError if the strategy fails; TrainingStopped by `watch`.
    """
    started, clock = datetime.now(UTC), time.perf_counter()
    data, plan, families = split.prepared.data, task.plan, split.prepared.families
    if before is not None and before.key == task.key:
        return _scored_again(split, task, before, watch)
    stream = task.variant.stream(data.seeded_by, plan.seed, task.repetition)
    booster = split.booster(task, stream)
    try:
        start = start_of(booster)
    except TypeError:
        start = ""  # its state cannot be saved, and no run can continue it
    rounds, why = _continued(booster, before, start, task)
    if why:  # the refused state may have been set in part
        booster = split.booster(task, stream)
    begun = before if rounds else None
    wall = 0.0 if begun is None else float(begun.about["wall"])
    losses = [] if begun is None else begun.loss.tolist()
    limits = RunLimits(**plan.limits)
    limits.resume(rounds)
    measured = rounds_of_regret(task.points, task.n_rounds, task.regret)
    best_edges = {} if begun is None else dict(begun.best_edges)
    while not (booster.finished or limits.reached):
        watch.check()
        if booster.round + 1 in measured:
            best_edges[booster.round + 1] = booster.best_edge(isinstance(booster.learner, Tree))
        rounds.append(next_round(booster, task))
        limits.count(rounds[-1])
        losses.append(rounds[-1].rows[-1]["log10_loss"])
        watch.rounds, watch.seconds = len(rounds), wall + time.perf_counter() - clock
    if limits.passed:
        rounds.pop()
        losses.pop()
        best_edges.pop(booster.round, None)
    scores = split.scores(task, [done.terms for done in rounds], watch)
    known = {} if begun is None else begun.loss_at
    loss = [known.get(at, losses[at - 1]) for at in scores["points"].tolist()]
    scores["loss"] = np.array(loss, np.float64)
    state, stateless = saved_state(booster, _is_own(make_learner(plan.learner)))
    if limits.passed:
        state, stateless = None, PASSED_COST
    began = started.isoformat(timespec="seconds") if begun is None else begun.about["started"]
    about = {
        "numerics": NUMERICS,
        "n_rounds": len(rounds),
        "stopped": limits.reached if limits.passed or not booster.finished else booster.stopped,
        "n_labels": split.boosted_labels(task).shape[1],
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
    if task.regret is not None:
        arrays["best_edge_at"] = narrowest(list(best_edges))
        arrays["best_edge"] = np.array(list(best_edges.values()), np.float64)
    rows = [row for done in rounds for row in done.rows]
    return Cell(dict(task.facts), about, arrays, rows if task.history else None, state)


def _continued(
    booster: Booster, begun: Cell | None, start: str, task: CellTask
) -> tuple[list[Round], str]:
    """The rounds of a trained run, to whose end the booster is set; the reason if there are none.

    A run can be continued if its state was kept and its strategy does not depend on the number of
    rounds planned.
    """
    if begun is None:
        return [], ""
    if begun.state is None:
        return [], begun.about.get("stateless", "it was saved without the state of its booster")
    if task.history and begun.history is None:
        return [], "it was saved without history rows"
    if not begun.has_regret(task.points, task.regret):
        return [], "it was saved without regret"
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
    """The state to keep of a trained run; None with the reason if it would be of no use."""
    if booster.plans_rounds:
        return None, PLANS_ROUNDS if booster.budget_kind == EQUAL else PLANS_BUDGETS
    if not own_learner:
        return None, "a learner of another distribution may have a state of its own"
    try:
        state = booster.small_state()
        pack_state(state)
    except (StrategyError, TypeError) as error:
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


def next_round(booster: Booster, task: CellTask) -> Round:
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


# ------------------------------------------------------------------------------------ scoring


class Scores:
    """Scores f_l(x) of `n_labels` labels for some rows of the bank, updated round by round."""

    def __init__(self, bank: Bank, rows: NDArray[np.int64], n_labels: int) -> None:
        self._bank = bank.reader(rows)
        self._rows = rows
        self._scores = np.zeros((rows.size, n_labels))
        self._rounds: list[Sequence[Term]] = []

    def add(self, terms: Sequence[Term]) -> None:
        """Add the terms of one more round."""
        self._rounds.append(terms)
        if len(self._rounds) == _CHUNK:
            self._sum(self._scores)
            self._rounds = []

    def current(self) -> NDArray[np.float64]:
        """Scores of all rounds so far: float64 (n, K); calls do not change the order of sums."""
        scores = self._scores.copy()
        if self._rounds:
            self._sum(scores)
        return scores

    def _sum(self, scores: NDArray[np.float64]) -> None:
        terms = [term for of_round in self._rounds for term in of_round]
        arrays = TermArrays(terms, scores.shape[1])
        thresholds = np.array([term.threshold for term in terms])
        for start in range(0, self._rows.size, _BLOCK):
            rows = self._rows[start : start + _BLOCK]
            sides = self._bank.sides(arrays.feature, thresholds, rows)
            arrays.add_scores(sides, slice(0, len(terms)), scores[start : start + _BLOCK])


def area_under_roc(scores: NDArray[np.float64], signs: NDArray[np.int8]) -> float:
    """Area under the ROC curve, mean over the labels that have both signs; NaN if none has.

    `scores` is float64 (n, K), `signs` is int8 (n, K) with values +1 and -1.
    """
    from sklearn.metrics import roc_auc_score

    both = np.flatnonzero(np.ptp(signs, axis=0))
    areas = [float(roc_auc_score(signs[:, label], scores[:, label])) for label in both]
    return float(np.mean(areas)) if areas else float("nan")


def evaluate_margins(
    scores: NDArray[np.float64], signs: NDArray[np.int8], total: float, of_classes: bool = False
) -> NDArray[np.int64]:
    """Histogram of y_il f_l(x_i) / total over [-1, 1]: int64 (200,).

    `total` is the sum of the alphas; if it is 0, all margins are 0. Labels of 0 have no margin.
    With `of_classes`, base classifiers vote for one of K classes: the margin of an example is the
    weight of the votes for its class minus that for the best other one (Schapire, Freund, Bartlett
    and Lee 1998, section 2), half the difference of the scores.
    """
    if of_classes and scores.shape[1] > 1:
        right, other = (np.where(signs == y, scores, -np.inf).max(axis=1) for y in (1, -1))
        margins = 0.5 * (right - other)
    else:
        margins = (scores * signs)[signs != 0]
    margins = margins / total if total > 0 else np.zeros(margins.shape)
    counts, _ = np.histogram(np.clip(margins, -1.0, 1.0), bins=MARGIN_BINS, range=(-1.0, 1.0))
    return counts.astype(np.int64)
