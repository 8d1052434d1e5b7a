"""Checks for any strategy, one for each rule."""

from __future__ import annotations

import gc
import inspect
import pickle
import random
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone

from boostsample.errors import SettingError
from boostsample.learner import Learner
from boostsample.rows.sampling_schemes import SCHEMES, UNPROMISED
from boostsample.step import Step
from boostsample.strategy import Sample, Strategy
from boostsample.testing.random_sources import global_state, watch_random_sources
from boostsample.testing.strategy_rows import check_strategy_beliefs, check_strategy_budget_spent
from boostsample.testing.strategy_runs import (
    STRATEGY_ROUNDS,
    Make,
    noisy_strategy_problem,
    refused_at_the_start,
    require_of_strategy,
    resumed_run,
    run_strategy,
    verify_run,
)
from boostsample.testing.strategy_state import pickled_value, require_plain_state

__all__ = [
    "STRATEGY_CHECKS",
    "Make",
    "check_strategy",
    "check_strategy_beliefs",
    "check_strategy_beyond_the_plan",
    "check_strategy_budget_spent",
    "check_strategy_budgets",
    "check_strategy_constant_features",
    "check_strategy_edge_of_one",
    "check_strategy_example_weights",
    "check_strategy_few_examples",
    "check_strategy_global_random_state",
    "check_strategy_instance_untouched",
    "check_strategy_keeps_nothing",
    "check_strategy_many_labels",
    "check_strategy_missing_values",
    "check_strategy_multi_label",
    "check_strategy_one_family",
    "check_strategy_one_feature",
    "check_strategy_own_seed",
    "check_strategy_pickling",
    "check_strategy_resume",
    "check_strategy_rows",
    "check_strategy_same_seed",
    "check_strategy_schemes",
    "check_strategy_settings",
    "check_strategy_spending",
    "check_strategy_state",
    "check_strategy_two_classes",
]


def check_strategy(make: Make, learner: str | Learner | None = None) -> None:
    """Run all checks.

    Parameters
    ----------
    make : callable
        Makes the strategy, with the same settings at each call: a class or a function.
    learner : str, Learner or None
        The learner of all runs, a stump by default.

    Raises
    ------
    SettingError
        If `make` cannot be called.
    AssertionError
        If the strategy breaks a rule; names the first one.
    """
    if not callable(make):
        raise SettingError(
            "check_strategy needs a class of strategies, or a function that makes one, got an "
            f"object of {type(make).__name__}; pass the class, as in check_strategy(MyStrategy), "
            f"or lambda: {type(make).__name__}(...)"
        )
    for check in STRATEGY_CHECKS:
        check(make, learner)


def check_strategy_spending(make: Make, learner: str | Learner | None = None) -> None:
    """Each search spends between 1 look and the budget; rows match their definitions."""
    for weights in ("uniform", "balanced"):
        verify_run(make, replace(noisy_strategy_problem(learner=learner), weights=weights))


def check_strategy_budgets(make: Make, learner: str | Learner | None = None) -> None:
    """Any budget works, or `start` raises a SettingError that names it.

    Budgets of F * N looks and more always work.
    """
    problem = noisy_strategy_problem(learner=learner, n=40)
    n, n_features = problem.X.shape
    for budget in (1, 2, 3, 7, 12, 60, n, 10 * n, n_features * n, 7 * n_features * n):
        try:
            verify_run(make, problem, budget)
        except SettingError as error:
            text = str(error)
            require_of_strategy(
                budget < n_features * n,
                make,
                f"refuses a budget of {budget}, enough for all looks: {text}",
            )
            require_of_strategy(
                "budget" in text and (str(budget) in text or f"{budget:,}" in text),
                make,
                f"refuses a budget of {budget} by a message that does not name it: {text}",
            )
            refused_at_the_start(make, problem, budget, f"a budget of {budget}")


def check_strategy_same_seed(make: Make, learner: str | Learner | None = None) -> None:
    """The same seed gives the same stumps, to the bit."""
    for seed in (0, 1):
        first, second = (
            run_strategy(make, noisy_strategy_problem(learner=learner), seed=seed).stumps()
            for _ in range(2)
        )
        require_of_strategy(first == second, make, f"seed {seed} made two different models")


def check_strategy_global_random_state(make: Make, learner: str | Learner | None = None) -> None:
    """Neither reads nor changes the global random states of numpy and `random`."""
    old = random.getstate(), np.random.get_state()  # noqa: NPY002  # the state under test
    try:
        found = []
        for seed in (1, 2):
            random.seed(seed)
            np.random.seed(seed)  # noqa: NPY002  # the state under test
            before = global_state()
            found.append(run_strategy(make, noisy_strategy_problem(learner=learner)).stumps())
            require_of_strategy(global_state() == before, make, "drew from a global random state")
        require_of_strategy(found[0] == found[1], make, "depends on a global random state")
    finally:
        random.setstate(old[0])
        np.random.set_state(old[1])  # noqa: NPY002  # the state under test


def check_strategy_own_seed(make: Make, learner: str | Learner | None = None) -> None:
    """Random choices come from `step.rng` or the `rng` of `start`, not from a fixed seed."""
    with watch_random_sources(type(make())) as found:
        run_strategy(make, noisy_strategy_problem(learner=learner))
    require_of_strategy(
        found.read or not found.made,
        make,
        f"seeds itself ({', '.join(sorted(found.made))}) and ignores step.rng, so that every seed "
        "makes the same choices; draw from step.rng",
    )


def check_strategy_state(make: Make, learner: str | Learner | None = None) -> None:
    """Learned state is in attributes that end in `_`: arrays, scalars, strings, lists, dicts.

    Settings and other attributes do not change in a run.
    """
    before = vars(make())
    strategy = run_strategy(make, noisy_strategy_problem(learner=learner)).booster.strategy
    for attribute, value in vars(strategy).items():
        if attribute.endswith("_"):
            require_plain_state(value, make, attribute)
        else:
            require_of_strategy(
                attribute in before, make, f"learned {attribute!r}, which must end in '_'"
            )
            same = pickled_value(value, make, attribute) == pickled_value(
                before[attribute], make, attribute
            )
            require_of_strategy(same, make, f"changed its setting {attribute!r} to {value!r}")


def check_strategy_resume(make: Make, learner: str | Learner | None = None) -> None:
    """state() and restore() between any two rounds continue to identical bits."""
    problem = noisy_strategy_problem(learner=learner)
    straight = run_strategy(make, problem).stumps()
    for at in range(STRATEGY_ROUNDS):
        require_of_strategy(
            resumed_run(make, problem, at, pickled=False) == straight,
            make,
            f"resumed after round {at} it chose other stumps than straight through",
        )


def check_strategy_pickling(make: Make, learner: str | Learner | None = None) -> None:
    """Continues to identical bits after pickling at any time of a run."""
    problem = noisy_strategy_problem(learner=learner)
    straight = run_strategy(make, problem).stumps()
    for at in (0, STRATEGY_ROUNDS // 2, STRATEGY_ROUNDS - 1):
        require_of_strategy(
            resumed_run(make, problem, at, pickled=True) == straight,
            make,
            f"pickled after round {at} it chose other stumps than straight through",
        )


def check_strategy_instance_untouched(make: Make, learner: str | Learner | None = None) -> None:
    """One object can serve several runs: boosters do not change it, and start() resets it."""
    strategy = make()
    before = pickled_value(strategy, make, "the strategy")
    first = run_strategy(lambda: strategy, noisy_strategy_problem(learner=learner))
    require_of_strategy(pickle.dumps(strategy) == before, make, "changed the given instance")
    again = run_strategy(lambda: first.booster.strategy, noisy_strategy_problem(learner=learner))
    require_of_strategy(
        again.stumps() == first.stumps(), make, "start() must discard an earlier run"
    )


def check_strategy_keeps_nothing(make: Make, learner: str | Learner | None = None) -> None:
    """Keeps no step and no sample beyond `choose`."""
    before = _live_objects(Step, Sample)
    run = run_strategy(make, noisy_strategy_problem(learner=learner))
    for thing in _live_objects(Step, Sample):
        known = any(thing is other for other in before)
        require_of_strategy(
            known, make, f"keeps a {type(thing).__name__} after {len(run.rounds)} rounds"
        )


def check_strategy_settings(make: Make, learner: str | Learner | None = None) -> None:
    """Follows scikit-learn: `__init__` stores its arguments unchanged; clone, params, repr work."""
    strategy = make()
    kind, name = type(strategy), type(strategy).__name__
    parameters = list(inspect.signature(kind).parameters)
    marks = {parameter: object() for parameter in parameters}
    stored = vars(kind(**marks))
    require_of_strategy(
        set(stored) == set(parameters) and all(stored[p] is marks[p] for p in parameters),
        make,
        f"__init__ must only store its arguments under their names; it made {sorted(stored)}",
    )
    require_of_strategy(
        set(strategy.get_params(deep=False)) == set(parameters), make, "get_params differs"
    )
    twin = clone(strategy)
    require_of_strategy(
        twin.get_params() == strategy.get_params(), make, "clone has other settings"
    )
    require_of_strategy(
        run_strategy(lambda: twin, noisy_strategy_problem(learner=learner)).stumps()
        == run_strategy(make, noisy_strategy_problem(learner=learner)).stumps(),
        make,
        "clone chooses other stumps",
    )
    copied = make().set_params(**strategy.get_params())
    require_of_strategy(
        copied.get_params() == strategy.get_params(), make, "set_params lost a setting"
    )
    require_of_strategy(repr(strategy).startswith(f"{name}("), make, f"repr is {strategy!r}")


def check_strategy_schemes(make: Make, learner: str | Learner | None = None) -> None:
    """A setting `scheme` takes every scheme, or `start` refuses it by its name.

    It takes all schemes that promise unbiased edges with the variance of [DF11] eq. 7.
    """
    if "scheme" not in make().get_params(deep=False):
        return
    problem = noisy_strategy_problem(learner=learner, n=60)
    for scheme in SCHEMES:
        other: Make = partial(_with_scheme, make, scheme)
        try:
            verify_run(other, problem)
        except SettingError as error:
            require_of_strategy(
                scheme in UNPROMISED and repr(scheme) in str(error),
                make,
                f"refuses the scheme {scheme!r}: {error}",
            )
            refused_at_the_start(other, problem, None, f"the scheme {scheme!r}")


def check_strategy_one_family(make: Make, learner: str | Learner | None = None) -> None:
    """Works with all features in one family, and with one family for each feature."""
    verify_run(make, replace(noisy_strategy_problem(learner=learner), sizes=(12,)))
    verify_run(make, replace(noisy_strategy_problem(learner=learner), sizes=(1,) * 12))


def check_strategy_one_feature(make: Make, learner: str | Learner | None = None) -> None:
    """Works with a single feature."""
    verify_run(make, noisy_strategy_problem(learner=learner, sizes=(1,)))


def check_strategy_two_classes(make: Make, learner: str | Learner | None = None) -> None:
    """Works with two classes, K = 1."""
    verify_run(make, noisy_strategy_problem(learner=learner, n_labels=1))


def check_strategy_multi_label(make: Make, learner: str | Learner | None = None) -> None:
    """Works with multi-label targets, including rows without labels and with every label."""
    rng = np.random.default_rng(3)
    problem = noisy_strategy_problem(learner=learner, n_labels=4)
    Y = np.where(rng.random(problem.Y.shape) < 0.4, 1, -1).astype(np.int8)
    Y[0], Y[1] = -1, 1
    for weights in ("uniform", "balanced"):
        verify_run(make, replace(problem, Y=Y, weights=weights))


def check_strategy_many_labels(make: Make, learner: str | Learner | None = None) -> None:
    """Works with more labels than a vector of the kernels holds."""
    for n_labels in (17, 26):
        verify_run(make, noisy_strategy_problem(learner=learner, n=120, n_labels=n_labels))


def check_strategy_constant_features(make: Make, learner: str | Learner | None = None) -> None:
    """Continues, or ends with the reason, if all features are constant and every edge is 0."""
    problem = noisy_strategy_problem(learner=learner, n=60, n_labels=1)
    Y = np.where(np.arange(60) % 2, 1, -1).astype(np.int8)[:, None]
    run = verify_run(make, replace(problem, X=np.ones_like(problem.X), Y=Y, weights="uniform"))
    n, reason = len(run.rounds), run.rounds[-1].rows[-1]["stopped"]
    good = n == STRATEGY_ROUNDS or "edge 0" in reason
    require_of_strategy(good, make, f"ended after {n} rounds, for the reason {reason!r}")
    mixed = problem.X.copy()
    mixed[:, ::2] = 7
    verify_run(make, replace(problem, X=mixed))


def check_strategy_missing_values(make: Make, learner: str | Learner | None = None) -> None:
    """Works with missing values, including a feature without values."""
    rng = np.random.default_rng(4)
    problem = noisy_strategy_problem(learner=learner)
    X = problem.X.copy()
    X[rng.random(X.shape) < 0.3] = np.nan
    X[:, 2] = np.nan
    verify_run(make, replace(problem, X=X))


def check_strategy_rows(make: Make, learner: str | Learner | None = None) -> None:
    """Works on some rows of a bank, in any order."""
    problem = noisy_strategy_problem(learner=learner, n=150)
    rows = np.random.default_rng(5).permutation(150)[:90]
    verify_run(make, replace(problem, rows=rows, Y=problem.Y[rows]))


def check_strategy_example_weights(make: Make, learner: str | Learner | None = None) -> None:
    """Works with the user's weights: zeros, and one example heavier than all others."""
    problem = noisy_strategy_problem(learner=learner)
    weight = np.random.default_rng(6).integers(0, 4, len(problem.X)).astype(np.float64)
    verify_run(make, replace(problem, example_weight=weight))
    weight[7] = 1e4
    verify_run(make, replace(problem, example_weight=weight))


def check_strategy_few_examples(make: Make, learner: str | Learner | None = None) -> None:
    """Works with 2, 3, 5 and 17 examples."""
    for n in (2, 3, 5, 17):
        problem = noisy_strategy_problem(learner=learner, n=n, n_labels=1)
        Y = np.where(np.arange(n) % 2, 1, -1).astype(np.int8)[:, None]
        verify_run(make, replace(problem, Y=Y))


def check_strategy_edge_of_one(make: Make, learner: str | Learner | None = None) -> None:
    """A perfect stump ends the training, and the row gives the reason."""
    problem = noisy_strategy_problem(learner=learner, n_labels=1)
    X = np.repeat(problem.Y.astype(np.float32), 12, axis=1)
    run = verify_run(make, replace(problem, X=X))
    last = run.rounds[-1].rows[-1]
    require_of_strategy(len(run.rounds) == 1 and bool(last["stopped"]), make, f"continued: {last}")


def check_strategy_beyond_the_plan(make: Make, learner: str | Learner | None = None) -> None:
    """Continues beyond the planned number of rounds."""
    booster = run_strategy(make, noisy_strategy_problem(learner=learner)).booster
    later = [booster.next_round().rows[-1]["round"] for _ in range(3)]
    want = [STRATEGY_ROUNDS + 1, STRATEGY_ROUNDS + 2, STRATEGY_ROUNDS + 3]
    require_of_strategy(
        later == want, make, f"ran rounds {later} after {STRATEGY_ROUNDS} planned rounds"
    )


STRATEGY_CHECKS: tuple[Callable[..., None], ...] = tuple(
    check for name, check in [*globals().items()] if name.startswith("check_strategy_")
)
"""All checks, in order of definition, which is the order of `check_strategy`."""


def _with_scheme(make: Make, scheme: str) -> Strategy:
    strategy: Strategy = make().set_params(scheme=scheme)
    return strategy


def _live_objects(*kinds: type) -> list[Any]:
    """All live objects of the given types."""
    gc.collect()
    return [thing for thing in gc.get_objects() if type(thing) in kinds]
