"""Small problems and runs for the checks of strategies."""

from __future__ import annotations

import copy
import math
import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from boostsample.banks.bank import FeatureBank
from boostsample.errors import SettingError
from boostsample.families.columns import Columns
from boostsample.learner import EDGE_GAP, Learner
from boostsample.loop.booster import Booster
from boostsample.loop.shard_booster import ShardBooster
from boostsample.loop.target_search import LEAST_BUDGET
from boostsample.models.scoring import TermArrays
from boostsample.records import Round, Term
from boostsample.rows.weights import initial_weights
from boostsample.shards.exchange import LocalShards
from boostsample.shards.shard_source import array_sources
from boostsample.strategy import Strategy

Make: TypeAlias = Callable[[], Strategy]
"""A function that makes the strategy to check, with the same settings in each call."""

STRATEGY_ROUNDS = 6

_n_shards: ContextVar[int] = ContextVar("n_shards", default=0)


@contextmanager
def over_shards(n: int) -> Iterator[None]:
    """Let the checks in this context run over n shards of this process; fewer of few examples."""
    token = _n_shards.set(n)
    try:
        yield
    finally:
        _n_shards.reset(token)


@dataclass(frozen=True)
class _Problem:
    """Data to boost on; `sizes` of the families, K = 1 for two classes."""

    X: NDArray[np.float32]
    Y: NDArray[np.int8]
    sizes: tuple[int, ...]
    rows: NDArray[np.int64] | None = None
    example_weight: NDArray[np.float64] | None = None
    weights: str = "balanced"
    learner: str | Learner | None = None


@dataclass(frozen=True)
class _WatchedRun:
    """A finished run."""

    booster: Booster
    bank: FeatureBank
    rounds: list[Round]

    def rows(self) -> list[dict[str, Any]]:
        """Rows of all searches."""
        return [row for each in self.rounds for row in each.rows]

    def stumps(self) -> list[tuple[Any, ...]]:
        """All parts of the terms and searches that a seed determines."""
        terms = [(each.edge, *_parts(term)) for each in self.rounds for term in each.terms]
        return [*terms, *((row["feature"], row["threshold"], row["edge"]) for row in self.rows())]


def _parts(term: Term) -> tuple[Any, ...]:
    below = () if term.below is None else tuple(term.below.tolist())
    place = term.search, term.parent, term.side
    return term.feature, term.threshold, term.value, *term.votes.tolist(), term.alpha, below, place


def noisy_strategy_problem(
    n: int = 90,
    sizes: tuple[int, ...] = (4, 3, 5),
    n_labels: int = 3,
    seed: int = 0,
    learner: str | Learner | None = None,
) -> _Problem:
    """Integer columns and noisy classes, so that no stump is perfect."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, max(n_labels, 2), n)
    X = rng.integers(0, 9, (n, sum(sizes))) + codes[:, None] * (rng.random((n, sum(sizes))) < 0.4)
    if n_labels == 1:
        Y = np.where(codes == 1, 1, -1)[:, None]
    else:
        Y = np.where(np.arange(n_labels) == codes[:, None], 1, -1)
    return _Problem(X.astype(np.float32), Y.astype(np.int8), sizes, learner=learner)


def _bank_of(problem: _Problem) -> FeatureBank:
    """The bank of a problem."""
    firsts = np.cumsum([0, *problem.sizes[:-1]]).tolist()
    families = [
        Columns(range(first, first + size), f"columns from {first}")
        for first, size in zip(firsts, problem.sizes, strict=True)
    ]
    rows = np.arange(len(problem.X)) if problem.rows is None else problem.rows
    if problem.example_weight is not None:
        rows = rows[problem.example_weight > 0]
    return FeatureBank.build(families, problem.X, rows)


def _booster_of(
    make: Make,
    problem: _Problem,
    bank: FeatureBank,
    budget: int | None,
    seed: int | np.random.Generator,
) -> Booster:
    """A booster of STRATEGY_ROUNDS rounds."""
    n_shards = _n_shards.get()
    if n_shards:
        n = min(n_shards, len(problem.Y))
        sources = array_sources(bank, problem.Y, n, problem.example_weight, problem.rows)
        return ShardBooster(
            LocalShards(sources),
            make(),
            problem.learner,
            n_rounds=STRATEGY_ROUNDS,
            budget=budget,
            weight_init=problem.weights,
            rng=seed,
        )
    return Booster(
        bank,
        problem.rows,
        problem.Y,
        make(),
        problem.learner,
        n_rounds=STRATEGY_ROUNDS,
        budget=budget,
        weight_init=problem.weights,
        rng=seed,
        example_weight=problem.example_weight,
    )


def run_strategy(
    make: Make, problem: _Problem, budget: int | None = None, seed: int = 0
) -> _WatchedRun:
    """Boost until the booster is finished."""
    bank = _bank_of(problem)
    booster = _booster_of(make, problem, bank, budget, seed)
    rounds = []
    while not booster.finished:
        rounds.append(booster.next_round())
    return _WatchedRun(booster, bank, rounds)


def verify_run(make: Make, problem: _Problem, budget: int | None = None) -> _WatchedRun:
    """Run, and compare spending, edge, alpha and loss of each row with their definitions."""
    run = run_strategy(make, problem, budget)
    rows = np.arange(len(problem.X)) if problem.rows is None else problem.rows
    weight = np.ones(rows.size) if problem.example_weight is None else problem.example_weight
    rows, Y, weight = rows[weight > 0], problem.Y[weight > 0], weight[weight > 0]
    start = initial_weights(Y, problem.weights) * weight[:, None]
    start /= start.sum()
    scores = np.zeros(Y.shape)
    for each in run.rounds:
        where = f"round {each.rows[0]['round']}"
        for row in each.rows:
            spent = row["looks_search"] + row["looks_modelling"]
            most = run.booster.budget * row["looks_finish"] // len(Y)
            most = max(most, min(run.booster.budget, LEAST_BUDGET))
            require_of_strategy(
                0 < spent <= most, make, f"{where}: spent {spent} of a budget of {most}"
            )
            require_of_strategy(
                0 <= row["edge_estimated"] <= 1, make, f"{where}: H {row['edge_estimated']}"
            )
        now = start * np.exp(-Y * scores)
        now /= now.sum()
        sides = np.array([problem.X[rows, term.feature] >= term.value for term in each.terms])
        outputs = TermArrays(each.terms, Y.shape[1]).outputs(sides)
        edge = float((now * Y * outputs).sum())
        _require_close(each.edge, edge, 1e-5, make, f"{where}: edge")
        if len(each.terms) == 1 and each.terms[0].below is None:
            phi = np.where(sides[0], 1.0, -1.0)
            sums = ((now * Y) * phi[:, None]).sum(axis=0)
            wrong = (np.abs(sums) > 1e-6) & (np.where(sums >= 0, 1, -1) != each.terms[0].votes)
            require_of_strategy(
                not wrong.any(), make, f"{where}: votes {each.terms[0].votes} of label sums {sums}"
            )
        capped = min(each.edge, 1.0 - EDGE_GAP)
        alpha = 0.5 * math.log((1.0 + capped) / (1.0 - capped))
        _require_close(each.terms[0].alpha, alpha, 1e-9 * max(1.0, alpha), make, f"{where}: alpha")
        scores += each.terms[0].alpha * outputs
        loss = math.log10(float((start * np.exp(-Y * scores)).sum()))
        noted = each.rows[-1]["log10_loss"]
        _require_close(noted, loss, 1e-5, make, f"{where}: log10 of the loss")
    return run


def _require_close(value: float, want: float, within: float, make: Make, what: str) -> None:
    """Raise unless a value is near the wanted one."""
    require_of_strategy(
        abs(value - want) <= within, make, f"{what} is {value!r}, should be {want!r}"
    )


def refused_at_the_start(make: Make, problem: _Problem, budget: int | None, what: str) -> None:
    """Raise unless making the booster raises SettingError, for `what`."""
    try:
        _booster_of(make, problem, _bank_of(problem), budget, seed=0)
    except SettingError:
        return
    require_of_strategy(False, make, f"refuses {what} in choose() instead of in start()")


def rows_of_roots(
    make: Make, problem: _Problem, learner: Learner, n_rounds: int
) -> list[dict[str, Any]]:
    """Rows of the first searches of rounds; the random stream of each depends on its number."""
    rng = np.random.default_rng(0)
    problem = replace(problem, learner=learner)
    booster = _booster_of(make, problem, _bank_of(problem), None, rng)
    rows: list[dict[str, Any]] = []
    while len(rows) < n_rounds and not (rows and rows[-1]["stopped"]):
        rng.bit_generator.state = np.random.default_rng(len(rows)).bit_generator.state
        rows.append(booster.next_round().rows[0])
    return rows


def resumed_run(make: Make, problem: _Problem, at: int, pickled: bool) -> list[tuple[Any, ...]]:
    """The stumps of a run that continues in another booster after `at` rounds."""
    bank = _bank_of(problem)
    first = _booster_of(make, problem, bank, None, seed=0)
    rounds = [first.next_round() for _ in range(at)]
    state, strategy = first.state(), first.strategy
    if pickled:
        state, strategy = pickle.loads(pickle.dumps((state, strategy)))
    else:
        state = copy.deepcopy(state)
    first.next_round()  # must not change the state taken before
    second = _booster_of(make, problem, bank, None, seed=99)
    second.restore(state)
    if pickled:
        second.strategy = strategy
    while not second.finished:
        rounds.append(second.next_round())
    return _WatchedRun(second, bank, rounds).stumps()


def require_of_strategy(condition: bool, make: Callable[[], object], message: str) -> None:
    """Raise an AssertionError that names the strategy made unless the condition holds."""
    if not condition:
        raise AssertionError(f"strategy {type(make()).__name__}: {message}")
