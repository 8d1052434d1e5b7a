"""Checks of the history rows of strategies."""

from __future__ import annotations

import inspect

from boostsample.learner import Learner
from boostsample.learners.search import LEAST_BUDGET
from boostsample.testing.strategy_runs import (
    Make,
    noisy_strategy_problem,
    require_of_strategy,
    run_strategy,
)

__all__ = ["check_strategy_budget_spent", "require_budget_spent"]


def check_strategy_budget_spent(make: Make, learner: str | Learner | None = None) -> None:
    """With default settings, a search of one family spends nine tenths of what it can.

    That is its budget, or the looks of all features on all examples; what pays for neither another
    feature nor another example may be left. Strategies that stop early give the reason in
    `Strategy.leaves_budget`.
    """
    strategy = make()
    settings = inspect.signature(type(strategy)).parameters
    defaults = {name: setting.default for name, setting in settings.items()}
    if strategy.leaves_budget or strategy.get_params(deep=False) != defaults:
        return
    for n, n_features in ((5, 7), (8, 30), (12, 3), (29, 7), (29, 200), (60, 12), (110, 25)):
        require_budget_spent(make, n, (n_features,), learner)


def require_budget_spent(
    make: Make,
    n_examples: int,
    sizes: tuple[int, ...],
    learner: str | Learner | None = None,
    budget: int | None = None,
) -> None:
    """Raise if a search leaves a tenth of what it can spend, and another look on each sample."""
    problem = noisy_strategy_problem(n_examples, sizes, n_labels=1, learner=learner)
    run = run_strategy(make, problem, budget)
    whole, n_features = run.booster.budget, sum(sizes)
    for row in (row for one in run.rounds for row in one.rows):
        n, spent = row["looks_finish"], row["looks_search"] + row["looks_modelling"]
        share = max(whole * n // n_examples, min(whole, LEAST_BUDGET))
        most = min(share, n_features * n)
        require_of_strategy(
            10 * spent >= 9 * most or most - spent < min(row["n_features"], row["n_examples"]),
            make,
            f"round {row['round']}, search {row['search']}: spent {spent} of a budget of {share}, "
            f"of {n_features} features on {n} examples; search more of them, or give the reason in "
            "leaves_budget",
        )
