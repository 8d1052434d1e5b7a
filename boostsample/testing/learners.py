"""Checks for any learner."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from boostsample.learner import Learner
from boostsample.registry import make_strategy
from boostsample.strategy import Strategy
from boostsample.testing.strategies import (
    check_strategy_pickling,
    check_strategy_resume,
    noisy_strategy_problem,
    run_strategy,
    verify_run,
)

__all__ = ["check_learner"]

_STRATEGIES = ("full", "uniform-naive", "ucb:exploration=0.1", "laminating:scheme=distinct")


def check_learner(make: Callable[[], Learner]) -> None:
    """Check the base classifiers of a learner, with several strategies.

    `make` makes the learner, with the same settings at each call. Each round's edge, alpha and loss
    are those of its terms, each search stays in its budget, the same seed gives the same bits, and
    a run continues to identical bits from any round. Problems have one, three and 17 labels, some
    rows of a bank, weights, missing values, and few examples. AssertionError that names the broken
    rule; StrategyError if `learn` returns no leaves, or not each example once.
    """
    rng = np.random.default_rng(7)
    for name in _STRATEGIES:

        def strategy(name: str = name) -> Strategy:
            made: Strategy = make_strategy(name)
            return made

        problem = noisy_strategy_problem(learner=make())
        missing = np.where(rng.random(problem.X.shape) < 0.2, np.nan, problem.X)
        rows = rng.permutation(len(problem.X))[:60]
        weight = rng.integers(0, 4, len(problem.X)).astype(np.float64)
        for variant in (
            problem,
            replace(problem, X=missing.astype(np.float32)),
            replace(problem, rows=rows, Y=problem.Y[rows]),
            replace(problem, example_weight=weight),
            noisy_strategy_problem(n_labels=1, learner=make()),
            noisy_strategy_problem(n_labels=17, learner=make()),
            noisy_strategy_problem(n=5, n_labels=1, learner=make()),
        ):
            verify_run(strategy, variant)
        first, second = (run_strategy(strategy, problem).stumps() for _ in range(2))
        if first != second:
            raise AssertionError(
                f"learner {type(make()).__name__}: one seed made two different models with {name}"
            )
        check_strategy_resume(strategy, make())
        check_strategy_pickling(strategy, make())
