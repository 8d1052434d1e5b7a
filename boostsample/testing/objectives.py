"""Checks for any objective, one for each rule."""

from __future__ import annotations

import copy
import json
import math
import pickle
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from boostsample.errors import DataError, SettingError, StrategyError
from boostsample.learner import EDGE_GAP
from boostsample.loop.booster import Booster, plain_setting
from boostsample.loop.target_search import LEAST_BUDGET
from boostsample.models.model import Model, TermArrays, model_arrays, model_of_arrays
from boostsample.objective import Objective, RealObjective
from boostsample.records import Round
from boostsample.registry import make_strategy
from boostsample.rows.weights import initial_weights
from boostsample.testing.strategies import (
    STRATEGY_ROUNDS,
    StrategyProblem,
    WatchedRun,
    bank_of,
    booster_of,
    examples_of,
    noisy_strategy_problem,
)

__all__ = [
    "OBJECTIVE_CHECKS",
    "check_objective",
    "check_objective_cells",
    "check_objective_labels",
    "check_objective_model",
    "check_objective_pickling",
    "check_objective_resume",
    "check_objective_rounds",
    "check_objective_same_seed",
    "check_objective_state",
    "check_objective_step_sizes",
    "check_objective_threads",
]

MakeObjective: TypeAlias = Callable[[], Objective]

_LEARNERS = "stump", "tree:n_leaves=4"
_STRATEGIES = "full", "uniform-naive", "laminating:scheme=distinct"
#: What float32 weights leave of 1 - Z^2 and of the logarithm of the loss.
_CLOSE = 1e-5


def check_objective(make: MakeObjective) -> None:
    """Run all checks.

    Parameters
    ----------
    make : callable
        Makes the objective, with the same settings at each call: a class or a function.

    Raises
    ------
    AssertionError
        If the objective breaks a rule; names the first one.
    """
    if not callable(make):
        raise SettingError(
            "check_objective needs a class of objectives, or a function that makes one, got an "
            f"object of {type(make).__name__}; pass the class, as in check_objective(MyObjective), "
            f"or lambda: {type(make).__name__}(...)"
        )
    for check in OBJECTIVE_CHECKS:
        check(make)


def check_objective_cells(make: MakeObjective) -> None:
    """Votes and values of any cell are finite and depend on its sums and masses only.

    Edges do not fall as the worth grows from 0 to 1.
    """
    for n_labels in (1, 3):
        booster = _booster(make, noisy_strategy_problem(n_labels=n_labels))
        if booster is None:
            continue
        objective = booster.objective
        for sums, masses in _cells(n_labels):
            before = sums.copy(), masses.copy()
            cell = f"a cell of sums {before[0]} and masses {before[1]}"
            try:
                votes, again = (np.asarray(objective.votes(sums, masses)) for _ in range(2))
            except (StrategyError, ValueError, TypeError) as error:
                raise _failure(make, f"fails on {cell}: {error}") from error
            unchanged = np.array_equal(sums, before[0]) and np.array_equal(masses, before[1])
            _require(unchanged, make, f"changes the sums or masses of {cell}; copy them")
            _require(
                votes.shape == (n_labels,), make, f"shape {votes.shape} of the votes of {cell}"
            )
            _require_votes(votes, objective, make, cell)
            _require(
                np.array_equal(votes, again),
                make,
                f"gives {cell} the votes {votes}, then {again}; use its sums and masses only",
            )
        if isinstance(objective, RealObjective):
            _require_values_of_stacks(objective, make, n_labels)
        edges = np.asarray(objective.edges(np.linspace(0.0, 1.0, 101)))
        for edge in edges.tolist():
            _require_edge(edge, make, "edges()")
        _require(bool(np.all(np.diff(edges) >= 0.0)), make, "edges() falls as the worth grows")


def _require_values_of_stacks(objective: RealObjective, make: MakeObjective, n_labels: int) -> None:
    """Raise unless the values of several cells at once are those of each cell."""
    cells = list(_cells(n_labels))
    sums, masses = (np.stack(numbers)[None] for numbers in zip(*cells, strict=True))
    try:
        values = np.asarray(objective.values(sums, masses))
    except (ValueError, TypeError) as error:
        raise _failure(make, f"values() of several cells (n, J, K) fails: {error}") from error
    of_each_cell = np.stack([objective.values(*cell) for cell in cells])[None]
    text = f"values() of cells {sums.shape} has shape {values.shape}, or differs from each cell's"
    same = values.shape == of_each_cell.shape
    same = same and np.allclose(values, of_each_cell, rtol=1e-9, atol=1e-12)
    _require(same, make, f"{text}; compute cell by cell along the last axis, which is K labels")


def check_objective_rounds(make: MakeObjective) -> None:
    """Edges, losses, values and spending match their definitions, with several strategies.

    Edges are in [0, 1]. With weights in proportion to exp(-y f), the edge is sqrt(1 - Z^2), where a
    full step multiplies the loss by Z, and the loss is the mean of exp(-y f).
    """
    for problem in _problems():
        for learner in _LEARNERS:
            for strategy in _STRATEGIES:
                _verify_run(make, strategy, replace(problem, learner=learner))


def check_objective_labels(make: MakeObjective) -> None:
    """Works with two classes and stumps; refuses other labels and learners in `check`, if at all.

    Problems have one, three and 17 labels, and rows with several labels or none.
    """
    try:
        booster_of(*_start(make, "full", noisy_strategy_problem(n_labels=1)))
    except (SettingError, DataError) as error:
        _require(False, make, f"refuses stumps for two classes: {error}")
    rng = np.random.default_rng(3)
    problem = noisy_strategy_problem(n_labels=4)
    Y = np.where(rng.random(problem.Y.shape) < 0.4, 1, -1).astype(np.int8)
    Y[0], Y[1] = -1, 1
    several = replace(problem, Y=Y)
    for problem in (several, replace(several, weights="uniform"), *map(_noisy, (1, 3, 17))):
        for learner in _LEARNERS:
            _verify_run(make, "uniform-naive", replace(problem, learner=learner))


def check_objective_step_sizes(make: MakeObjective) -> None:
    """Losses match their definitions with smaller steps and smoothing, unless they are refused."""
    for n_labels in (1, 3):
        for learner in _LEARNERS:
            problem = noisy_strategy_problem(n_labels=n_labels, learner=learner)
            for smoothing in (0.0, 1.0):
                settings = {"learning_rate": 0.5, "smoothing": smoothing}
                _verify_run(make, "uniform-naive", replace(problem, settings=settings))


def check_objective_same_seed(make: MakeObjective) -> None:
    """The same seed gives the same model, to the bit."""
    for (_, first), (_, second) in zip(_small_runs(make), _small_runs(make), strict=True):
        same = first.stumps() == second.stumps()
        _require(same, make, "one seed made two different models; use no random numbers")


def check_objective_threads(make: MakeObjective) -> None:
    """The number of threads does not change the model."""
    for n_labels in (1, 3):
        problem = noisy_strategy_problem(6000, n_labels=n_labels)
        runs = [
            _run(make, "uniform-naive", replace(problem, learner=learner, settings={"n_jobs": n}))
            for learner in _LEARNERS
            for n in (1, 3)
        ]
        for alone, shared in zip(runs[::2], runs[1::2], strict=True):
            if alone is not None and shared is not None:
                same = alone.stumps() == shared.stumps()
                _require(same, make, "3 threads made another model than one")


def check_objective_state(make: MakeObjective) -> None:
    """Attributes do not change in a run, and have values that a checkpoint can compare."""
    for problem in _small_problems():
        booster = _booster(make, problem)
        if booster is None:
            continue
        try:
            before = _attributes(booster.objective)
        except SettingError as error:
            raise _failure(make, str(error)) from None
        while not booster.finished:
            booster.next_round()
        same = _attributes(booster.objective) == before
        _require(same, make, f"has other attributes after a run: {vars(booster.objective)}")


def check_objective_resume(make: MakeObjective) -> None:
    """A run continues to identical bits from a state, and from a small state and its terms."""
    for problem, straight in _small_runs(make):
        for after in range(len(straight.rounds)):
            for small in (False, True):
                how = "replayed" if small else "restored"
                stumps = _continued(make, make(), problem, after, small=small)
                same = stumps == straight.stumps()
                _require(same, make, f"{how} after round {after}, the run made other rounds")


def check_objective_pickling(make: MakeObjective) -> None:
    """Pickled and copied objectives are the same."""
    made = make()
    try:
        loaded = pickle.loads(pickle.dumps(made))
    except Exception as error:  # pickle raises many types
        _require(False, make, f"cannot be pickled: {error}; define the class in a module")
        raise
    for problem, straight in _small_runs(make):
        for how, other in (("pickled", loaded), ("copied", copy.deepcopy(made))):
            stumps = _continued(make, other, problem, STRATEGY_ROUNDS // 2, small=False)
            _require(stumps == straight.stumps(), make, f"{how}, it made other rounds")


def check_objective_model(make: MakeObjective) -> None:
    """Models have the same scores after they are saved and loaded."""
    for problem, run in _small_runs(make):
        families = bank_of(problem).families
        terms = [term for each in run.rounds for term in each.terms]
        model = Model(families, terms, problem.Y.shape[1])
        scores = model.decision_function(problem.X)
        loaded = model_of_arrays(model_arrays(model), families, problem.Y.shape[1])
        same = np.array_equal(loaded.decision_function(problem.X), scores)
        _require(same, make, "a model that was saved has other scores")


OBJECTIVE_CHECKS: tuple[Callable[[MakeObjective], None], ...] = tuple(
    check for name, check in [*globals().items()] if name.startswith("check_objective_")
)
"""All checks, in order of definition, which is the order of `check_objective`."""


# ------------------------------------------------------------------------------------------- runs


class _Definition(NamedTuple):
    """What the rounds of a run should be: labels and initial weights of its examples."""

    Y: NDArray[np.int8]
    start: NDArray[np.float64]

    def factor(self, scores: NDArray[np.float64], added: NDArray[np.float64]) -> float:
        """Z: what `added` multiplies the loss by."""
        now = self.start * np.exp(-self.Y * scores)
        return float((now * np.exp(-self.Y * added)).sum() / now.sum())

    def loss(self, scores: NDArray[np.float64], ranks: bool) -> float:
        """Mean of exp(-y f), or of exp(f(negative) - f(positive)) over pairs, by weight."""
        losses = self.start * np.exp(-self.Y * scores)
        if not ranks:
            return float(losses.sum())
        positive = self.Y > 0
        sides = [(losses[side].sum(), self.start[side].sum()) for side in (positive, ~positive)]
        return float(np.prod([after / before for after, before in sides]))


def _noisy(n_labels: int) -> StrategyProblem:
    return noisy_strategy_problem(n_labels=n_labels)


def _problems() -> Iterator[StrategyProblem]:
    """Two and three classes, one feature, weights, missing values, and few examples."""
    rng = np.random.default_rng(7)
    for n_labels in (1, 3):
        problem = noisy_strategy_problem(n_labels=n_labels)
        yield problem
        yield noisy_strategy_problem(n_labels=n_labels, sizes=(1,))
        weight = rng.integers(0, 4, len(problem.X)).astype(np.float64)
        yield replace(problem, example_weight=weight)
        missing = np.where(rng.random(problem.X.shape) < 0.2, np.nan, problem.X)
        yield replace(problem, X=missing.astype(np.float32))
    yield noisy_strategy_problem(n=5, n_labels=1)


def _small_problems() -> list[StrategyProblem]:
    """Two and three classes, with each learner."""
    return [replace(_noisy(k), learner=learner) for k in (1, 3) for learner in _LEARNERS]


def _small_runs(make: MakeObjective) -> Iterator[tuple[StrategyProblem, WatchedRun]]:
    """The small problems that the objective does not refuse, each with a run."""
    for problem in _small_problems():
        run = _run(make, "uniform-naive", problem)
        if run is not None:
            yield problem, run


def _cells(n_labels: int) -> Iterator[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Sums and masses of cells: random ones, pure ones, one without examples, all examples."""
    rng = np.random.default_rng(5)
    for size in (1.0, 1e-3, 1e-9, 0.0):
        masses = size * rng.dirichlet(np.ones(n_labels))
        for share in (rng.uniform(-1.0, 1.0, n_labels), 0.0, 1.0, -1.0):
            yield masses * share, masses


def _attributes(objective: Objective) -> str:
    """The attributes as a checkpoint compares them."""
    kind = type(objective).__name__
    attributes = vars(objective).items()
    return json.dumps(
        {name: plain_setting(value, f"{name} of {kind}") for name, value in attributes}
    )


def _start(make: MakeObjective, strategy: str, problem: StrategyProblem) -> Any:
    """The arguments of `booster_of`."""
    settings = {**problem.settings, "objective": make()}
    return lambda: make_strategy(strategy), replace(problem, settings=settings), bank_of(problem)


def _booster(
    make: MakeObjective, problem: StrategyProblem, strategy: str = "uniform-naive"
) -> Booster | None:
    """A booster, or None if the objective refuses labels, learner or step size."""
    try:
        return booster_of(*_start(make, strategy, problem))
    except (SettingError, DataError):
        return None


def _run(make: MakeObjective, strategy: str, problem: StrategyProblem) -> WatchedRun | None:
    """Boost until the booster is finished; None if the objective refuses the problem."""
    booster = _booster(make, problem, strategy)
    if booster is None:
        return None
    rounds: list[Round] = []
    while not booster.finished:
        try:
            rounds.append(booster.next_round())
        except (SettingError, DataError) as error:
            what = f"{problem.learner or 'stump'} in round {len(rounds) + 1}"
            _require(False, make, f"refuses the learner {what} instead of in check(): {error}")
    return WatchedRun(booster, rounds)


def _continued(
    make: MakeObjective, other: Objective, problem: StrategyProblem, after: int, *, small: bool
) -> list[tuple[Any, ...]]:
    """The rounds of a run that another booster continues, with the objective `other`."""
    first, second = (_booster(source, problem) for source in (make, lambda: other))
    assert first is not None
    assert second is not None
    rounds = [first.next_round() for _ in range(after) if not first.finished]
    if small:
        terms, edges = [each.terms for each in rounds], [each.edge for each in rounds]
        try:
            second.replay(terms, edges, first.small_state())
        except DataError as error:
            _require(False, make, f"replayed after round {after}: {error}")
    else:
        second.restore(copy.deepcopy(first.state()))
    while not second.finished:
        rounds.append(second.next_round())
    return WatchedRun(second, rounds).stumps()


def _verify_run(make: MakeObjective, strategy: str, problem: StrategyProblem) -> None:
    """Run, and compare spending, values, edge and loss of each round with their definitions."""
    run = _run(make, strategy, problem)
    if run is None:
        return
    objective, budget = run.booster.objective, run.booster.budget
    rows, Y, weight = examples_of(problem)
    X = problem.X[rows]
    start = objective.label_weights(Y, initial_weights(Y, problem.weights) * weight[:, None])
    definition = _Definition(Y, start / start.sum())
    full_step = run.booster.step_size.learning_rate == 1.0
    scores, log_loss = np.zeros(Y.shape), 0.0
    for number, each in enumerate(run.rounds, 1):
        where = f"{strategy}, {problem.learner or 'stump'}, K = {Y.shape[1]}, round {number}"
        for row in each.rows:
            spent = row["looks_search"] + row["looks_modelling"]
            most = max(budget * row["looks_finish"] // len(Y), min(budget, LEAST_BUDGET))
            _require(0 < spent <= most, make, f"{where}: spent {spent} of a budget of {most}")
            _require_edge(row["edge_estimated"], make, f"{where}: H")
            _require_edge(row["edge"], make, f"{where}: G")
        _require_edge(each.edge, make, where)
        for term in each.terms:
            for votes in (term.votes, term.votes if term.below is None else term.below):
                _require_votes(votes, objective, make, where)
        sides = np.array([X[:, term.feature] >= term.value for term in each.terms])
        added = each.terms[0].alpha * TermArrays(each.terms, Y.shape[1]).outputs(sides)
        if full_step and objective.exponential:
            z = min(definition.factor(scores, added), 1.0)
            text = f"{where}: edge is {each.edge!r}, should be {math.sqrt(1.0 - z * z)!r}"
            _require(abs(each.edge**2 - (1.0 - z * z)) <= _CLOSE, make, text)
        scores += added
        known = full_step and each.edge <= 1.0 - EDGE_GAP
        if objective.colors:
            margins = scores - scores[Y > 0][:, None]
            known, log_loss = True, math.log((definition.start * np.exp(margins)).sum())
        elif objective.exponential or objective.ranks:
            known, log_loss = True, math.log(definition.loss(scores, objective.ranks))
        elif known and not objective.resamples:
            log_loss += 0.5 * (math.log1p(each.edge) + math.log1p(-each.edge))
        if known:
            noted = math.log(10.0) * each.rows[-1]["log10_loss"]
            text = f"{where}: log of the loss is {noted!r}, should be {log_loss!r}"
            _require(abs(noted - log_loss) <= _CLOSE * number, make, text)


def _require_votes(
    votes: NDArray[np.generic], objective: Objective, make: MakeObjective, where: str
) -> None:
    """Raise unless votes are -1 and +1; values of cells are checked when they are made."""
    if not isinstance(objective, RealObjective):
        signs = bool(np.isin(votes, (-1, 1)).all())
        _require(signs, make, f"{where}: votes must be -1 or +1, got {votes}")


def _require_edge(edge: float, make: MakeObjective, where: str) -> None:
    in_range = 0.0 <= edge <= 1.0
    _require(in_range, make, f"{where}: edges must be between 0 and 1, got {edge!r}")


def _require(condition: bool, make: MakeObjective, message: str) -> None:
    if not condition:
        raise _failure(make, message)


def _failure(make: MakeObjective, message: str) -> AssertionError:
    return AssertionError(f"objective {type(make()).__name__}: {message}")
