"""Checks of the history rows of strategies."""

from __future__ import annotations

import inspect
from dataclasses import replace

import numpy as np

from boostsample.learner import Learner, Targets
from boostsample.learners.search import LEAST_BUDGET
from boostsample.testing.strategy_runs import (
    Make,
    noisy_strategy_problem,
    require_of_strategy,
    rows_of_roots,
    run_strategy,
)

__all__ = ["check_strategy_beliefs", "check_strategy_budget_spent", "require_budget_spent"]

#: Parts of the names of notes that are beliefs about edges or probabilities.
_BELIEFS = "edge", "mean", "probabilit", "proportion", "target"
#: Columns that searches of nodes may change.
_ELSEWHERE = "seconds", "values_computed", "term", "bytes", "messages"


class _Halves(Learner):
    """A root and its two halves, which are searched a few times or not; the model is the same."""

    name = "halves"

    def __init__(self, n_searches: int) -> None:
        self.n_searches = n_searches

    def learn(self, targets: Targets) -> list[Targets]:
        """Both halves of the root."""
        halves = list(targets.split(targets.search()))
        for half in halves:
            if half.n_examples < targets.n_examples:
                for _ in range(self.n_searches if half.n_examples else 0):
                    half.search()
        return halves


def check_strategy_beliefs(make: Make, learner: str | Learner | None = None) -> None:
    """Beliefs about edges and probabilities are in [0, 1], and those of roots are not of nodes.

    Beliefs are the notes that are named so: "edge", "mean", "probability", "proportion", "target".
    In a tree, the searches of nodes do not change what a strategy notes and searches at the roots,
    unless it gives the reason in `Strategy.learns_from_nodes`.
    """
    for n in (12, 40, 200):
        problem = noisy_strategy_problem(n, learner=learner or "tree:n_leaves=6")
        for row in (row for one in run_strategy(make, problem).rounds for row in one.rows):
            for name, value in row.items():
                if value is None or not any(part in name for part in _BELIEFS):
                    continue
                require_of_strategy(
                    not (value < 0.0 or value > 1.0),
                    make,
                    f"round {row['round']}, search {row['search']}: noted {name} = {value}, which "
                    "must be in [0, 1]",
                )
    if learner is not None or make().learns_from_nodes:  # what follows has another learner
        return
    problem = noisy_strategy_problem(3000, n_labels=1)
    total = problem.X.sum(axis=1)  # all features help: root edges stay large
    Y = np.where(total > np.median(total), 1, -1).astype(np.int8)[:, None]
    problem = replace(problem, Y=Y)
    alone, beside = (rows_of_roots(make, problem, _Halves(n), n_rounds=60) for n in (0, 3))
    for row, other in zip(alone, beside, strict=True):
        for name, value in row.items():
            require_of_strategy(
                name in _ELSEWHERE or repr(value) == repr(other[name]),
                make,
                f"round {row['round']}: {name} is {value} without searches of nodes, "
                f"{other[name]} with them; learn nothing from them, or apart (Step.whole)",
            )


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
