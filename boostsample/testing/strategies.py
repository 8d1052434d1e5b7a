"""Checks for any strategy, one for each rule, and the small runs that they inspect."""

from __future__ import annotations

import copy
import gc
import inspect
import math
import pickle
import random
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from boostsample.banks.bank import FeatureBank
from boostsample.errors import SettingError, StrategyError
from boostsample.families.columns import Columns
from boostsample.files.json_text import pack_state
from boostsample.learner import EDGE_GAP, Learner, Targets
from boostsample.loop.booster import Booster
from boostsample.loop.shard_booster import ShardBooster
from boostsample.loop.target_search import LEAST_BUDGET
from boostsample.models.model import TermArrays
from boostsample.records import Round
from boostsample.rows.sampling_schemes import SCHEMES, UNPROMISED
from boostsample.rows.weights import initial_weights
from boostsample.shards.exchange import LocalShards
from boostsample.shards.server import array_sources
from boostsample.step import Step
from boostsample.strategy import Sample, Strategy, is_learned
from boostsample.testing.isolation import (
    FreshError,
    changed_by,
    global_random_state,
    in_fresh_interpreters,
    watched_sources,
)

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
    "check_strategy_fresh_interpreters",
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
    "check_strategy_roots",
    "check_strategy_rows",
    "check_strategy_same_seed",
    "check_strategy_schemes",
    "check_strategy_settings",
    "check_strategy_shared_state",
    "check_strategy_spending",
    "check_strategy_state",
    "check_strategy_two_classes",
    "over_shards",
]

Make: TypeAlias = Callable[[], Strategy]
"""A function that makes the strategy to check, with the same settings in each call."""

AnyLearner: TypeAlias = str | Learner | None
"""The learner of a run by name or as an object, a stump by default."""

STRATEGY_ROUNDS = 6


#: Parts of the names of notes that are beliefs about edges or probabilities.
_BELIEFS = "edge", "mean", "probabilit", "proportion", "target"
#: Packages that a fresh interpreter can import.
_IMPORTABLE = "boostsample", "sklearn", "builtins", "abc", "functools", "__main__"
#: Columns that searches of nodes may change.
_OF_NODES = "seconds", "values_computed", "term", "bytes", "messages"


def check_strategy(make: Make, learner: AnyLearner = None) -> None:
    """Run all checks.

    Parameters
    ----------
    make : callable
        Makes the strategy, with the same settings at each call: a class or a function.
    learner : str, Learner or None
        The learner of all runs, a stump by default.

    Raises
    ------
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


def check_strategy_spending(make: Make, learner: AnyLearner = None) -> None:
    """Each search spends between 1 look and the budget; rows match their definitions."""
    for weights in ("uniform", "balanced"):
        verify_run(make, replace(noisy_strategy_problem(learner=learner), weights=weights))


def check_strategy_budgets(make: Make, learner: AnyLearner = None) -> None:
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
            _require(
                budget < n_features * n,
                make,
                f"refuses a budget of {budget}, enough for all looks: {text}",
            )
            _require(
                "budget" in text and (str(budget) in text or f"{budget:,}" in text),
                make,
                f"refuses a budget of {budget} by a message that does not name it: {text}",
            )
            refused_at_the_start(make, problem, budget, f"a budget of {budget}")


def check_strategy_same_seed(make: Make, learner: AnyLearner = None) -> None:
    """The same seed gives the same stumps, to the bit."""
    problem = noisy_strategy_problem(learner=learner)
    for seed in (0, 1):
        first, second = (run_strategy(make, problem, seed=seed).stumps() for _ in range(2))
        _require(first == second, make, f"seed {seed} made two different models")


def check_strategy_fresh_interpreters(make: Make, learner: AnyLearner = None) -> None:
    """The same seed gives the same stumps in fresh interpreters with two values of PYTHONHASHSEED.

    Takes a few seconds. Warns, and checks nothing, if the strategy cannot be sent there.
    """
    require_same_when_fresh([make], learner)


def check_strategy_shared_state(make: Make, learner: AnyLearner = None) -> None:
    """A run changes no class attribute of the strategy, and no global that its module reads."""
    problem = noisy_strategy_problem(learner=learner)
    changed = changed_by(lambda: run_strategy(make, problem), type(make()), Strategy)
    _require(
        not changed,
        make,
        f"changed {', '.join(changed)}, which all runs of a process share; keep what is learned in "
        "attributes of self that end in '_', and reset them in start()",
    )


def check_strategy_global_random_state(make: Make, learner: AnyLearner = None) -> None:
    """Neither reads nor changes the global random states of numpy and `random`."""
    old = random.getstate(), np.random.get_state()  # noqa: NPY002  # the state under test
    try:
        models = []
        for seed in (1, 2):
            random.seed(seed)
            np.random.seed(seed)  # noqa: NPY002  # the state under test
            before = global_random_state()
            models.append(run_strategy(make, noisy_strategy_problem(learner=learner)).stumps())
            _require(global_random_state() == before, make, "drew from a global random state")
        _require(models[0] == models[1], make, "depends on a global random state")
    finally:
        random.setstate(old[0])
        np.random.set_state(old[1])  # noqa: NPY002  # the state under test


def check_strategy_own_seed(make: Make, learner: AnyLearner = None) -> None:
    """Random choices come from `step.rng` or the `rng` of `start`, not from a fixed seed."""
    with watched_sources(type(make())) as sources:
        run_strategy(make, noisy_strategy_problem(learner=learner))
    _require(
        sources.read or not sources.made,
        make,
        f"seeds itself ({', '.join(sorted(sources.made))}) and ignores step.rng, so that every "
        "seed makes the same choices; draw from step.rng",
    )


def check_strategy_state(make: Make, learner: AnyLearner = None) -> None:
    """Learned state is in attributes that end in `_`: arrays, scalars, strings, lists, dicts.

    Settings and other attributes do not change in a run.
    """
    before = vars(make())
    strategy = run_strategy(make, noisy_strategy_problem(learner=learner)).booster.strategy
    for attribute, value in vars(strategy).items():
        if is_learned(attribute):
            _require_plain(value, make, attribute)
        else:
            _require(attribute in before, make, f"learned {attribute!r}, which must end in '_'")
            same = _pickled(value, make, attribute) == _pickled(before[attribute], make, attribute)
            _require(same, make, f"changed its setting {attribute!r} to {value!r}")


def check_strategy_resume(make: Make, learner: AnyLearner = None) -> None:
    """state() and restore() between any two rounds continue to identical bits."""
    _require_continued(make, learner, range(STRATEGY_ROUNDS), pickled=False)


def check_strategy_pickling(make: Make, learner: AnyLearner = None) -> None:
    """Continues to identical bits after pickling at any time of a run."""
    at = 0, STRATEGY_ROUNDS // 2, STRATEGY_ROUNDS - 1
    _require_continued(make, learner, at, pickled=True)


def check_strategy_instance_untouched(make: Make, learner: AnyLearner = None) -> None:
    """One object can serve several runs: boosters do not change it, and start() resets it."""
    strategy = make()
    before = _pickled(strategy, make, "the strategy")
    first = run_strategy(lambda: strategy, noisy_strategy_problem(learner=learner))
    _require(pickle.dumps(strategy) == before, make, "changed the given instance")
    again = run_strategy(lambda: first.booster.strategy, noisy_strategy_problem(learner=learner))
    _require(again.stumps() == first.stumps(), make, "start() must discard an earlier run")


def check_strategy_keeps_nothing(make: Make, learner: AnyLearner = None) -> None:
    """Keeps no step and no sample beyond `choose`."""
    was_frozen = gc.get_freeze_count()
    gc.collect()  # frozen garbage would stay
    gc.freeze()  # so that only objects of this run are collected and listed: heaps may be large
    try:
        run = run_strategy(make, noisy_strategy_problem(learner=learner))
        gc.collect()
        left = [type(thing).__name__ for thing in gc.get_objects() if type(thing) in (Step, Sample)]
    finally:
        if not was_frozen:
            gc.unfreeze()
    after = f"after {len(run.rounds)} rounds"
    _require(not left, make, f"keeps a {', a '.join(sorted(set(left)))} {after}")


def check_strategy_settings(make: Make, learner: AnyLearner = None) -> None:
    """Follows scikit-learn: `__init__` stores its arguments unchanged; clone and repr work."""
    strategy = make()
    kind, name = type(strategy), type(strategy).__name__
    parameters = list(inspect.signature(kind).parameters)
    marks = {parameter: object() for parameter in parameters}
    stored = vars(kind(**marks))
    _require(
        set(stored) == set(parameters) and all(stored[p] is marks[p] for p in parameters),
        make,
        f"__init__ must only store its arguments under their names; it made {sorted(stored)}",
    )
    twin = clone(strategy)
    _require(twin.get_params() == strategy.get_params(), make, "clone has other settings")
    _require(repr(strategy).startswith(f"{name}("), make, f"repr is {strategy!r}")


def check_strategy_schemes(make: Make, learner: AnyLearner = None) -> None:
    """A setting `scheme` takes every scheme, or `start` refuses it by its name.

    It takes all schemes that promise unbiased edges with the variance of [DF11] eq. 7.
    """
    if "scheme" not in make().get_params(deep=False):
        return
    problem = noisy_strategy_problem(learner=learner, n=60)
    for scheme in SCHEMES:

        def other(scheme: str = scheme) -> Any:
            return make().set_params(scheme=scheme)

        try:
            verify_run(other, problem)
        except SettingError as error:
            _require(
                scheme in UNPROMISED and repr(scheme) in str(error),
                make,
                f"refuses the scheme {scheme!r}: {error}",
            )
            refused_at_the_start(other, problem, None, f"the scheme {scheme!r}")


def check_strategy_one_family(make: Make, learner: AnyLearner = None) -> None:
    """Works with all features in one family, and with one family for each feature."""
    verify_run(make, replace(noisy_strategy_problem(learner=learner), sizes=(12,)))
    verify_run(make, replace(noisy_strategy_problem(learner=learner), sizes=(1,) * 12))


def check_strategy_one_feature(make: Make, learner: AnyLearner = None) -> None:
    """Works with a single feature."""
    verify_run(make, noisy_strategy_problem(learner=learner, sizes=(1,)))


def check_strategy_two_classes(make: Make, learner: AnyLearner = None) -> None:
    """Works with two classes, K = 1."""
    verify_run(make, noisy_strategy_problem(learner=learner, n_labels=1))


def check_strategy_multi_label(make: Make, learner: AnyLearner = None) -> None:
    """Works with multi-label targets, including rows without labels and with every label."""
    rng = np.random.default_rng(3)
    problem = noisy_strategy_problem(learner=learner, n_labels=4)
    Y = np.where(rng.random(problem.Y.shape) < 0.4, 1, -1).astype(np.int8)
    Y[0], Y[1] = -1, 1
    for weights in ("uniform", "balanced"):
        verify_run(make, replace(problem, Y=Y, weights=weights))


def check_strategy_many_labels(make: Make, learner: AnyLearner = None) -> None:
    """Works with more labels than a vector of the kernels holds."""
    for n_labels in (17, 26):
        verify_run(make, noisy_strategy_problem(learner=learner, n=120, n_labels=n_labels))


def check_strategy_constant_features(make: Make, learner: AnyLearner = None) -> None:
    """Continues, or ends with the reason, if all features are constant and every edge is 0."""
    problem = noisy_strategy_problem(learner=learner, n=60, n_labels=1)
    Y = np.where(np.arange(60) % 2, 1, -1).astype(np.int8)[:, None]
    run = verify_run(make, replace(problem, X=np.ones_like(problem.X), Y=Y, weights="uniform"))
    n, reason = len(run.rounds), run.rounds[-1].rows[-1]["stopped"]
    good = n == STRATEGY_ROUNDS or "edge 0" in reason
    _require(good, make, f"ended after {n} rounds, for the reason {reason!r}")
    mixed = problem.X.copy()
    mixed[:, ::2] = 7
    verify_run(make, replace(problem, X=mixed))


def check_strategy_missing_values(make: Make, learner: AnyLearner = None) -> None:
    """Works with missing values, including a feature without values."""
    rng = np.random.default_rng(4)
    problem = noisy_strategy_problem(learner=learner)
    X = problem.X.copy()
    X[rng.random(X.shape) < 0.3] = np.nan
    X[:, 2] = np.nan
    verify_run(make, replace(problem, X=X))


def check_strategy_rows(make: Make, learner: AnyLearner = None) -> None:
    """Works on some rows of a bank, in any order."""
    problem = noisy_strategy_problem(learner=learner, n=150)
    rows = np.random.default_rng(5).permutation(150)[:90]
    verify_run(make, replace(problem, rows=rows, Y=problem.Y[rows]))


def check_strategy_example_weights(make: Make, learner: AnyLearner = None) -> None:
    """Works with the user's weights: zeros, and one example heavier than all others."""
    problem = noisy_strategy_problem(learner=learner)
    weight = np.random.default_rng(6).integers(0, 4, len(problem.X)).astype(np.float64)
    verify_run(make, replace(problem, example_weight=weight))
    weight[7] = 1e4
    verify_run(make, replace(problem, example_weight=weight))


def check_strategy_few_examples(make: Make, learner: AnyLearner = None) -> None:
    """Works with 2, 3, 5 and 17 examples."""
    for n in (2, 3, 5, 17):
        problem = noisy_strategy_problem(learner=learner, n=n, n_labels=1)
        Y = np.where(np.arange(n) % 2, 1, -1).astype(np.int8)[:, None]
        verify_run(make, replace(problem, Y=Y))


def check_strategy_edge_of_one(make: Make, learner: AnyLearner = None) -> None:
    """A perfect stump ends the training, and the row gives the reason."""
    problem = noisy_strategy_problem(learner=learner, n_labels=1)
    X = np.repeat(problem.Y.astype(np.float32), 12, axis=1)
    run = verify_run(make, replace(problem, X=X))
    last = run.rounds[-1].rows[-1]
    _require(len(run.rounds) == 1 and bool(last["stopped"]), make, f"continued: {last}")


def check_strategy_beyond_the_plan(make: Make, learner: AnyLearner = None) -> None:
    """Continues beyond the planned number of rounds."""
    booster = run_strategy(make, noisy_strategy_problem(learner=learner)).booster
    later = [booster.next_round().rows[-1]["round"] for _ in range(3)]
    want = [STRATEGY_ROUNDS + 1, STRATEGY_ROUNDS + 2, STRATEGY_ROUNDS + 3]
    _require(later == want, make, f"ran rounds {later} after {STRATEGY_ROUNDS} planned rounds")


def check_strategy_beliefs(make: Make, learner: AnyLearner = None) -> None:
    """Beliefs about edges and probabilities are in [0, 1].

    Beliefs are the notes that are named so: "edge", "mean", "probability", "proportion", "target".
    """
    for n in (12, 40, 200):
        problem = noisy_strategy_problem(n, learner=learner or "tree:n_leaves=6")
        for row in run_strategy(make, problem).rows():
            for name, value in row.items():
                if value is None or not any(part in name for part in _BELIEFS):
                    continue
                _require(
                    not (value < 0.0 or value > 1.0),
                    make,
                    f"round {row['round']}, search {row['search']}: noted {name} = {value}, which "
                    "must be in [0, 1]",
                )


def check_strategy_roots(make: Make, learner: AnyLearner = None) -> None:
    """Searches of nodes do not change what a strategy notes and searches at the roots of trees.

    Unless it gives the reason in `Strategy.learns_from_nodes`.
    """
    if learner is not None or make().learns_from_nodes:  # what follows has another learner
        return
    problem = noisy_strategy_problem(3000, n_labels=1)
    total = problem.X.sum(axis=1)  # all features help: root edges stay large
    Y = np.where(total > np.median(total), 1, -1).astype(np.int8)[:, None]
    problem = replace(problem, Y=Y)
    alone, beside = (rows_of_roots(make, problem, _Halves(n)) for n in (0, 3))
    for row, other in zip(alone, beside, strict=True):
        for name, value in row.items():
            _require(
                name in _OF_NODES or repr(value) == repr(other[name]),
                make,
                f"round {row['round']}: {name} is {value} without searches of nodes, "
                f"{other[name]} with them; learn nothing from them, or apart (Step.whole)",
            )


def check_strategy_budget_spent(make: Make, learner: AnyLearner = None) -> None:
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


STRATEGY_CHECKS: tuple[Callable[..., None], ...] = tuple(
    check for name, check in [*globals().items()] if name.startswith("check_strategy_")
)
"""All checks, in order of definition, which is the order of `check_strategy`."""


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


def require_budget_spent(
    make: Make,
    n_examples: int,
    sizes: tuple[int, ...],
    learner: AnyLearner = None,
    budget: int | None = None,
) -> None:
    """Raise if a search leaves a tenth of what it can spend, and another look on each sample."""
    problem = noisy_strategy_problem(n_examples, sizes, n_labels=1, learner=learner)
    run = run_strategy(make, problem, budget)
    whole, n_features = run.booster.budget, sum(sizes)
    for row in run.rows():
        n, spent = row["looks_finish"], row["looks_search"] + row["looks_modelling"]
        share = max(whole * n // n_examples, min(whole, LEAST_BUDGET))
        most = min(share, n_features * n)
        _require(
            10 * spent >= 9 * most or most - spent < min(row["n_features"], row["n_examples"]),
            make,
            f"round {row['round']}, search {row['search']}: spent {spent} of a budget of {share}, "
            f"of {n_features} features on {n} examples; search more of them, or give the reason in "
            "leaves_budget",
        )


def require_same_when_fresh(makes: Sequence[Make], learner: AnyLearner = None) -> None:
    """Raise unless strategies make the same stumps in this interpreter and in two fresh ones."""
    arguments = makes, learner, _n_shards.get()
    classes = [cls for make in makes for cls in type(make()).__mro__]
    modules = [thing.__module__ for thing in (*classes, *makes) if hasattr(thing, "__module__")]
    own = [name for name in modules if name.partition(".")[0] not in _IMPORTABLE]
    try:
        fresh = in_fresh_interpreters(stumps_of_seed, arguments, own)
    except FreshError as error:
        warnings.warn(
            f"strategy {type(makes[0]()).__name__}: not checked in fresh interpreters, which "
            f"cannot run it: {error}; put it into a module that can be imported",
            stacklevel=3,
        )
        return
    here = stumps_of_seed(*arguments)
    for make, stumps, *others in zip(makes, here, *fresh, strict=True):
        _require(
            others[0] == others[1],
            make,
            "one seed made other stumps under another PYTHONHASHSEED; do not iterate over a set of "
            "texts, nor use hash(): sort the set, or use a list or dict",
        )
        _require(
            others[0] == stumps,
            make,
            "one seed made other stumps in a fresh interpreter than in this one; keep what is "
            "learned in attributes of self that end in '_', and reset them in start()",
        )


def stumps_of_seed(makes: Sequence[Make], learner: AnyLearner, n_shards: int) -> list[str]:
    """The stumps of a run of each strategy, as text, on ten families."""
    problem = noisy_strategy_problem(sizes=(2,) * 10, learner=learner)
    with over_shards(n_shards):
        return [repr(run_strategy(make, problem).stumps()) for make in makes]


def _pickled(value: Any, make: Make, what: str) -> bytes:
    try:
        return pickle.dumps(value)
    except Exception as error:  # pickle raises many types
        message = f"{what} cannot be pickled: {error}; keep arrays, scalars, strings, lists, dicts"
        _require(False, make, message)
        raise


def _require_plain(value: Any, make: Make, where: str) -> None:
    """Raise unless a value is an array, a scalar, a string, or a list or dict of these."""
    if type(value) is list:
        for i, item in enumerate(value):
            _require_plain(item, make, f"{where}[{i}]")
    elif type(value) is dict:
        for key, item in value.items():
            _require(isinstance(key, str), make, f"{where} has the key {key!r}, not a string")
            _require_plain(item, make, f"{where}[{key!r}]")
    else:
        message = f"{where} holds a {type(value).__name__}; state holds arrays, scalars, strings, "
        _require(type(value) is not tuple, make, f"{message}lists and dicts of these only")
        try:
            pack_state({where: value})
        except TypeError as error:
            _require(False, make, f"{message}lists and dicts of these only: {error}")


# ------------------------------------------------------------------------------------------- runs


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
class StrategyProblem:
    """Data to boost on; `sizes` of the families, K = 1 for two classes."""

    X: NDArray[np.float32]
    Y: NDArray[np.int8]
    sizes: tuple[int, ...]
    rows: NDArray[np.int64] | None = None
    example_weight: NDArray[np.float64] | None = None
    weights: str = "balanced"
    learner: str | Learner | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Other settings of `Booster`."""


@dataclass(frozen=True)
class WatchedRun:
    """A finished run."""

    booster: Booster
    rounds: list[Round]

    def rows(self) -> list[dict[str, Any]]:
        """Rows of all searches."""
        return [row for each in self.rounds for row in each.rows]

    def stumps(self) -> list[tuple[Any, ...]]:
        """All parts of the terms and searches that a seed determines."""
        parts: list[tuple[Any, ...]] = []
        for each in self.rounds:
            for term in each.terms:
                below = () if term.below is None else tuple(term.below.tolist())
                cut = term.feature, term.threshold, term.value, *term.votes.tolist(), term.alpha
                parts.append((each.edge, *cut, below, term.search, term.parent, term.side))
        return parts + [(row["feature"], row["threshold"], row["edge"]) for row in self.rows()]


def noisy_strategy_problem(
    n: int = 90,
    sizes: tuple[int, ...] = (4, 3, 5),
    n_labels: int = 3,
    learner: AnyLearner = None,
) -> StrategyProblem:
    """Integer columns and noisy classes, so that no stump is perfect."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, max(n_labels, 2), n)
    X = rng.integers(0, 9, (n, sum(sizes))) + codes[:, None] * (rng.random((n, sum(sizes))) < 0.4)
    if n_labels == 1:
        Y = np.where(codes == 1, 1, -1)[:, None]
    else:
        Y = np.where(np.arange(n_labels) == codes[:, None], 1, -1)
    return StrategyProblem(X.astype(np.float32), Y.astype(np.int8), sizes, learner=learner)


def examples_of(problem: StrategyProblem) -> tuple[NDArray[Any], NDArray[np.int8], NDArray[Any]]:
    """Rows of X with weight, their labels and weights."""
    rows = np.arange(len(problem.X)) if problem.rows is None else problem.rows
    weight = np.ones(rows.size) if problem.example_weight is None else problem.example_weight
    return rows[weight > 0], problem.Y[weight > 0], weight[weight > 0]


def bank_of(problem: StrategyProblem) -> FeatureBank:
    """The bank of a problem."""
    firsts = np.cumsum([0, *problem.sizes[:-1]]).tolist()
    families = [
        Columns(range(first, first + size), f"columns from {first}")
        for first, size in zip(firsts, problem.sizes, strict=True)
    ]
    return FeatureBank.build(families, problem.X, examples_of(problem)[0])


def booster_of(
    make: Make,
    problem: StrategyProblem,
    bank: FeatureBank,
    budget: int | None = None,
    seed: int | np.random.Generator = 0,
) -> Booster:
    """A booster before its first round."""
    weight, rows, n_shards = problem.example_weight, problem.rows, _n_shards.get()
    settings: dict[str, Any] = {
        "n_rounds": STRATEGY_ROUNDS,
        "budget": budget,
        "weight_init": problem.weights,
        "rng": seed,
    }
    if n_shards:
        sources = array_sources(bank, problem.Y, min(n_shards, len(problem.Y)), weight, rows)
        return ShardBooster(LocalShards(sources), make(), problem.learner, **settings)
    chosen = make(), problem.learner
    settings |= problem.settings
    return Booster(bank, rows, problem.Y, *chosen, example_weight=weight, **settings)


def run_strategy(
    make: Make, problem: StrategyProblem, budget: int | None = None, seed: int = 0
) -> WatchedRun:
    """Boost until the booster is finished."""
    booster = booster_of(make, problem, bank_of(problem), budget, seed)
    rounds = []
    while not booster.finished:
        rounds.append(booster.next_round())
    return WatchedRun(booster, rounds)


def verify_run(make: Make, problem: StrategyProblem, budget: int | None = None) -> WatchedRun:
    """Run, and compare spending, edge, alpha and loss of each row with their definitions."""
    run = run_strategy(make, problem, budget)
    rows, Y, weight = examples_of(problem)
    start = initial_weights(Y, problem.weights) * weight[:, None]
    start /= start.sum()
    scores, loss = np.zeros(Y.shape), 0.0
    for each in run.rounds:
        where = f"round {each.rows[0]['round']}"
        for row in each.rows:
            spent = row["looks_search"] + row["looks_modelling"]
            most = run.booster.budget * row["looks_finish"] // len(Y)
            most = max(most, min(run.booster.budget, LEAST_BUDGET))
            _require(0 < spent <= most, make, f"{where}: spent {spent} of a budget of {most}")
            _require(0 <= row["edge_estimated"] <= 1, make, f"{where}: H {row['edge_estimated']}")
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
            _require(
                not wrong.any(), make, f"{where}: votes {each.terms[0].votes} of label sums {sums}"
            )
        capped = min(each.edge, 1.0 - EDGE_GAP)
        alpha = 0.5 * math.log((1.0 + capped) / (1.0 - capped))
        _require_close(each.terms[0].alpha, alpha, 1e-9 * max(1.0, alpha), make, f"{where}: alpha")
        scores += each.terms[0].alpha * outputs
        before, loss = loss, math.log10(float((start * np.exp(-Y * scores)).sum()))
        if each.edge > 1.0 - EDGE_GAP:  # exp(2 alpha) multiplies its last digit by 10^12
            wrong_share = 0.5 * (1.0 - each.edge)
            factor = (1.0 - wrong_share) * math.exp(-alpha) + wrong_share * math.exp(alpha)
            loss = before + math.log10(factor)
        noted = each.rows[-1]["log10_loss"]
        _require_close(noted, loss, 1e-5, make, f"{where}: log10 of the loss")
    return run


def _require_close(value: float, want: float, within: float, make: Make, what: str) -> None:
    _require(abs(value - want) <= within, make, f"{what} is {value!r}, should be {want!r}")


def refused_at_the_start(
    make: Make, problem: StrategyProblem, budget: int | None, what: str
) -> None:
    """Raise unless making the booster raises SettingError, for `what`."""
    try:
        booster_of(make, problem, bank_of(problem), budget)
    except SettingError:
        return
    _require(False, make, f"refuses {what} in choose() instead of in start()")


def rows_of_roots(make: Make, problem: StrategyProblem, learner: Learner) -> list[dict[str, Any]]:
    """Rows of the first searches of 60 rounds; the random stream of each depends on its number."""
    rng = np.random.default_rng(0)
    problem = replace(problem, learner=learner)
    booster = booster_of(make, problem, bank_of(problem), seed=rng)
    rows: list[dict[str, Any]] = []
    while len(rows) < 60 and not (rows and rows[-1]["stopped"]):
        rng.bit_generator.state = np.random.default_rng(len(rows)).bit_generator.state
        rows.append(booster.next_round().rows[0])
    return rows


def _require_continued(
    make: Make, learner: AnyLearner, after: Sequence[int], *, pickled: bool
) -> None:
    """Raise unless a run that continues in another booster after these rounds is the same run."""
    problem = noisy_strategy_problem(learner=learner)
    bank, straight = bank_of(problem), run_strategy(make, problem).stumps()
    first, rounds = booster_of(make, problem, bank), list[Round]()
    for at in after:
        while len(rounds) < at:
            rounds.append(first.next_round())
        try:
            saved = first.state(), first.strategy if pickled else None
        except StrategyError as error:
            raise AssertionError(f"strategy {type(make()).__name__}: {error}") from error
        state, strategy = pickle.loads(pickle.dumps(saved)) if pickled else copy.deepcopy(saved)
        continued = [*rounds]
        rounds.append(first.next_round())  # must not change the state taken before
        second = booster_of(make, problem, bank, seed=99)
        second.restore(state)
        second.strategy = strategy or second.strategy
        while not second.finished:
            continued.append(second.next_round())
        stumps = WatchedRun(second, continued).stumps()
        how = "pickled" if pickled else "resumed"
        message = f"{how} after round {at} it chose other stumps than straight through"
        _require(stumps == straight, make, message)


def _require(condition: bool, make: Callable[[], object], message: str) -> None:
    if not condition:
        raise AssertionError(f"strategy {type(make()).__name__}: {message}")
