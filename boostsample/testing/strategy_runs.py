"""Small problems and runs for the checks of strategies."""

from __future__ import annotations

import copy
import math
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from boostsample.banks.bank import FeatureBank
from boostsample.errors import SettingError
from boostsample.families.columns import Columns
from boostsample.learner import EDGE_GAP
from boostsample.loop.booster import Booster
from boostsample.records import Round
from boostsample.shard.weights import initial_weights
from boostsample.strategy import Strategy

Make: TypeAlias = Callable[[], Strategy]
"""A function that makes the strategy to check, with the same settings in each call."""

STRATEGY_ROUNDS = 6


@dataclass(frozen=True)
class _Problem:
    """Data to boost on; `sizes` of the families, K = 1 for two classes."""

    X: NDArray[np.float32]
    Y: NDArray[np.int8]
    sizes: tuple[int, ...]
    rows: NDArray[np.int64] | None = None
    example_weight: NDArray[np.float64] | None = None
    weights: str = "balanced"


@dataclass(frozen=True)
class _Run:
    """A finished run."""

    booster: Booster
    bank: FeatureBank
    rounds: list[Round]

    def stumps(self) -> list[tuple[Any, ...]]:
        """All parts of the stumps that a seed determines."""
        return [
            (t.feature, t.threshold, t.value, tuple(t.votes.tolist()), t.alpha, row["edge"])
            for one in self.rounds
            for t, row in zip(one.terms, one.rows, strict=True)
        ]


def noisy_strategy_problem(
    n: int = 90, sizes: tuple[int, ...] = (4, 3, 5), n_labels: int = 3, seed: int = 0
) -> _Problem:
    """Integer columns and noisy classes, so that no stump is perfect."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, max(n_labels, 2), n)
    X = rng.integers(0, 9, (n, sum(sizes))) + codes[:, None] * (rng.random((n, sum(sizes))) < 0.4)
    if n_labels == 1:
        Y = np.where(codes == 1, 1, -1)[:, None]
    else:
        Y = np.where(np.arange(n_labels) == codes[:, None], 1, -1)
    return _Problem(X.astype(np.float32), Y.astype(np.int8), sizes)


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
    make: Make, problem: _Problem, bank: FeatureBank, budget: int | None, seed: int
) -> Booster:
    """A booster of STRATEGY_ROUNDS rounds."""
    return Booster(
        bank,
        problem.rows,
        problem.Y,
        make(),
        n_rounds=STRATEGY_ROUNDS,
        budget=budget,
        weight_init=problem.weights,
        rng=seed,
        example_weight=problem.example_weight,
    )


def run_strategy(make: Make, problem: _Problem, budget: int | None = None, seed: int = 0) -> _Run:
    """Boost until the booster is finished."""
    bank = _bank_of(problem)
    booster = _booster_of(make, problem, bank, budget, seed)
    rounds = []
    while not booster.finished:
        rounds.append(booster.next_round())
    return _Run(booster, bank, rounds)


def verify_run(make: Make, problem: _Problem, budget: int | None = None) -> _Run:
    """Run, and compare spending, edge, alpha and loss of each row with their definitions."""
    run = run_strategy(make, problem, budget)
    kept = np.arange(len(problem.X)) if problem.rows is None else problem.rows
    weight = np.ones(kept.size) if problem.example_weight is None else problem.example_weight
    kept, Y, weight = kept[weight > 0], problem.Y[weight > 0], weight[weight > 0]
    start = initial_weights(Y, problem.weights) * weight[:, None]
    start /= start.sum()
    scores = np.zeros(Y.shape)
    for one in run.rounds:
        for term, row in zip(one.terms, one.rows, strict=True):
            where = f"round {row['round']}"
            spent = row["looks_search"] + row["looks_modelling"]
            most = run.booster.budget
            require_of_strategy(
                0 < spent <= most, make, f"{where}: spent {spent} of a budget of {most}"
            )
            now = start * np.exp(-Y * scores)
            now /= now.sum()
            phi = np.where(problem.X[kept, term.feature] >= term.value, 1.0, -1.0)
            sums = ((now * Y) * phi[:, None]).sum(axis=0)
            edge = float(np.abs(sums).sum())
            _require_close(row["edge"], edge, 1e-5, make, f"{where}: edge")
            wrong = (np.abs(sums) > 1e-6) & (np.where(sums >= 0, 1, -1) != term.votes)
            require_of_strategy(
                not wrong.any(), make, f"{where}: votes {term.votes} of label sums {sums}"
            )
            capped = min(row["edge"], 1.0 - EDGE_GAP)
            alpha = 0.5 * math.log((1.0 + capped) / (1.0 - capped))
            _require_close(term.alpha, alpha, 1e-9 * max(1.0, alpha), make, f"{where}: alpha")
            scores += term.alpha * phi[:, None] * term.votes
            loss = math.log10(float((start * np.exp(-Y * scores)).sum()))
            if row["edge"] <= 1.0 - EDGE_GAP:
                _require_close(row["log10_loss"], loss, 1e-5, make, f"{where}: log10 of the loss")
            require_of_strategy(
                0 <= row["edge_estimated"] <= 1, make, f"{where}: H {row['edge_estimated']}"
            )
    return run


def _require_close(value: float, want: float, within: float, make: Make, what: str) -> None:
    """Raise unless a value is near the wanted one."""
    require_of_strategy(
        abs(value - want) <= within, make, f"{what} is {value!r}, should be {want!r}"
    )


def refused_at_the_start(make: Make, problem: _Problem, budget: int) -> None:
    """Raise unless making the booster raises SettingError for the budget."""
    try:
        _booster_of(make, problem, _bank_of(problem), budget, seed=0)
    except SettingError:
        return
    require_of_strategy(
        False, make, f"refuses a budget of {budget} in choose() instead of in start()"
    )


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
    return _Run(second, bank, rounds).stumps()


def require_of_strategy(condition: bool, make: Callable[[], object], message: str) -> None:
    """Raise an AssertionError that names the strategy made unless the condition holds."""
    if not condition:
        raise AssertionError(f"strategy {type(make()).__name__}: {message}")
