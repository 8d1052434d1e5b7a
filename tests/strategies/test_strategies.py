"""Every registered strategy: the public checks, the lists of files, the guide, and trees."""

from __future__ import annotations

import ast
import functools
import importlib
import itertools
import re
from typing import Any

import numpy as np
import pytest

import boostsample.strategies
import boostsample.testing
from boostsample.errors import SettingError
from boostsample.experiments.plan.prepared import pool_of_families
from boostsample.loop.booster import Booster
from boostsample.registry import STRATEGIES, make_strategy, registered_class
from boostsample.step import Step
from boostsample.strategies import (
    MASQ1,
    Laminating,
    MABSplit,
    MedianElimination,
    MPBoost,
    Pool,
    Sparrow,
    Stumps,
    UniformNaive,
    UniformQ1,
)
from boostsample.strategy import Outcome, Strategy, Stump
from boostsample.testing import STRATEGY_CHECKS, Make, check_strategy_fresh_interpreters
from boostsample.testing.strategies import require_budget_spent, require_same_when_fresh
from tests.compiled import slow_without_jit
from tests.guide import interface
from tests.paths import ROOT
from tests.problems import bank_of, booster_of, noisy_labels, rows_of, table

FOLDER = ROOT / "strategies"
FILES = sorted(
    ".".join(path.relative_to(FOLDER).with_suffix("").parts) for path in FOLDER.rglob("[!_]*.py")
)

#: Settings other than the defaults that deserve the whole suite too.
OTHERS: dict[str, Make] = {
    "laminating-all": functools.partial(Laminating, "all", "uniform", new_samples=True),
    "uniform-q1-per-family": functools.partial(UniformQ1, per_family=2),
    "laminating-goss": functools.partial(Laminating, scheme="goss"),
    "mabsplit-6": functools.partial(MABSplit, n_features=6, batch=20, z=2.0),
    "median-elimination-5": functools.partial(MedianElimination, n_features=5, scheme="mvs"),
    "mp-boost-3": functools.partial(MPBoost, n_features=3, momentum=1.0, scheme="goss"),
    "sparrow-5": functools.partial(Sparrow, n_features=5, delta=1.0, scheme="distinct"),
    "mas-q1-averaged": functools.partial(MASQ1, noise="averaged", n_components=2),
    "uniform-naive-mvs": functools.partial(UniformNaive, n_features=11, scheme="mvs"),
}


#: All but the one that `test_fresh_interpreters` makes for all at once.
IN_PROCESS = [c for c in STRATEGY_CHECKS if c is not check_strategy_fresh_interpreters]


@slow_without_jit
def test_fresh_interpreters() -> None:
    makes = [functools.partial(make_strategy, name) for name in STRATEGIES]
    require_same_when_fresh([*makes, *OTHERS.values()])


@slow_without_jit
@pytest.mark.parametrize("check", IN_PROCESS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", STRATEGIES)
def test_registered_strategy(name: str, check: Any) -> None:
    check(functools.partial(make_strategy, name))


#: Checks that a learner can break: searches on few examples, with small budgets, several a round.
WITH_LEARNERS = (
    "beliefs",
    "budget_spent",
    "budgets",
    "constant_features",
    "edge_of_one",
    "example_weights",
    "few_examples",
    "many_labels",
    "missing_values",
    "multi_label",
    "resume",
    "rows",
    "spending",
    "two_classes",
)


@slow_without_jit
@pytest.mark.parametrize(
    ("check", "learner"),
    [
        *((check, "tree:n_leaves=4") for check in WITH_LEARNERS),
        # Searches for a product are searches of all examples, as those for stumps.
        *((check, "product:n_terms=2") for check in ("edge_of_one", "resume", "spending")),
    ],
)
@pytest.mark.parametrize("name", STRATEGIES)
def test_registered_strategy_with_products_and_trees(name: str, check: str, learner: str) -> None:
    checks: Any = boostsample.testing
    getattr(checks, f"check_strategy_{check}")(functools.partial(make_strategy, name), learner)


@slow_without_jit
@pytest.mark.parametrize("name", OTHERS)
def test_other_settings(name: str) -> None:
    """Every check passes, but for problems too small for a number that the user named."""
    refused = []
    for check in IN_PROCESS:
        try:
            check(OTHERS[name])
        except SettingError as error:
            refused.append(str(error))
    assert len(refused) <= 4
    assert all("features" in message for message in refused)


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_strategy_runs(name: str) -> None:
    """The one thing that also runs without compilation."""
    booster = booster_of(make_strategy(name))
    rows = rows_of(booster, 3)
    assert [row["round"] for row in rows] == [1, 2, 3]
    assert all(0 < row["looks_search"] + row["looks_modelling"] <= booster.budget for row in rows)


def strategies_in(file: str) -> list[type[Strategy]]:
    """The concrete strategies that a file defines."""
    module = importlib.import_module(f"boostsample.strategies.{file}")
    return [
        thing
        for thing in vars(module).values()
        if isinstance(thing, type)
        and issubclass(thing, Strategy)
        and thing.__module__ == module.__name__
        and not thing.__abstractmethods__
        and not thing.__name__.startswith("_")
    ]


@pytest.mark.parametrize("file", FILES)
def test_every_file_is_registered_and_exported(file: str) -> None:
    registered = {registered_class("strategy", name) for name in STRATEGIES}
    kinds = strategies_in(file)
    assert kinds, f"strategies/{file}.py defines no strategy; a helper's name starts with '_'"
    for kind in kinds:
        assert kind in registered, (
            f"{kind.__name__} is missing from boostsample.registry.STRATEGIES"
        )
        assert kind.__name__ in boostsample.strategies.__all__, f"{kind.__name__} is not exported"
        assert getattr(boostsample.strategies, kind.__name__) is kind


@pytest.mark.parametrize("file", FILES)
def test_a_file_says_what_it_costs_and_what_its_settings_do(file: str) -> None:
    source = (FOLDER / f"{file.replace('.', '/')}.py").read_text(encoding="utf-8")
    assert "Cost" in (ast.get_docstring(ast.parse(source)) or ""), "say what an iteration costs"
    for kind in strategies_in(file):
        for setting in kind._get_param_names():
            assert setting in (kind.__doc__ or ""), f"{setting} is not described"


#: They search the features of one family, or of one arm.
ONE_FAMILY = (
    "epsilon-greedy",
    "exp3p",
    "explore-then-commit",
    "hedge",
    "mas-1q",
    "tasting-1q",
    "ucb",
    "ucbv",
    "uniform-1q",
)
STOP_EARLY = (
    "adaptive-pruning",
    "cost-aware",
    "filterboost",
    "mabsplit",
    "quickboost",
    "screening",
    "sparrow",
    "weight-trimming",
)


def test_strategies_that_leave_budget_give_the_reason() -> None:
    assert {name for name in STRATEGIES if registered_class("strategy", name).leaves_budget} == {
        *STOP_EARLY
    }


@slow_without_jit
@pytest.mark.parametrize("learner", ["stump", "tree:n_leaves=5"])
@pytest.mark.parametrize("name", [name for name in STRATEGIES if name not in STOP_EARLY])
def test_budgets_are_spent(name: str, learner: str) -> None:
    """A search spends nine tenths of the budget, or of all features on all examples of its node."""
    make = functools.partial(make_strategy, name)
    for n, n_features in (
        *itertools.product((5, 12, 29, 100), (1, 7, 16, 100)),
        (12, 1000),
        (1000, 10),
    ):
        n_families = min(n_features, 1 if name in ONE_FAMILY else 3)
        sizes = (n_features - n_families + 1, *[1] * (n_families - 1))
        require_budget_spent(make, n, sizes, learner)
        if learner == "stump" and name != "full":
            require_budget_spent(make, n, sizes, learner, 3 * n)


POOL = pool_of_families([("a", 600), ("b", 300), ("c", 100)], 5000)
BUDGET = 50_000


@pytest.mark.parametrize("name", STRATEGIES)
def test_they_are_all_settings_and_none_is_none(name: str) -> None:
    strategy = make_strategy(name)
    in_use = strategy.settings_in_use(POOL, BUDGET, 100)
    params = strategy.get_params()
    added = {key for key, value in strategy.added_settings.items() if params[key] == value}
    assert set(in_use) == params.keys() - added
    assert None not in in_use.values()
    for key in in_use:
        assert params[key] in (None, in_use[key]), key


def test_values_that_depend_on_the_data() -> None:
    naive = make_strategy("uniform-naive")
    assert naive.settings_in_use(POOL, BUDGET, 100) == {"n_features": 10, "scheme": "iid"}
    assert naive.settings_in_use(POOL, 3 * BUDGET, 100) == {"n_features": 30, "scheme": "iid"}
    assert make_strategy("ucb").settings_in_use(POOL, BUDGET, 100)["n_features"] == 10
    laminating = make_strategy("laminating")
    assert laminating.settings_in_use(POOL, BUDGET, 100) == {"n_features": 128, "scheme": "iid"}
    theory = make_strategy("exp3p", mixing="theory").settings_in_use(POOL, BUDGET, 100)
    assert 0 < theory["mixing"] < 1
    assert theory["bonus"] == 0.3


def test_the_page_has_the_interface_of_the_code() -> None:
    page = (ROOT / "docs" / "adding_a_strategy.md").read_text("utf-8")
    (text,) = re.findall(r"<!-- interface -->\n\n(.*?)\n\n<!-- end -->", page, re.DOTALL)
    assert text == interface(), "paste what python -m tests.guide prints"


def test_every_public_name_is_described() -> None:
    text = interface()
    for kind in (Step, Pool, Outcome, Stumps):
        for name in vars(kind):
            if not name.startswith("_"):
                assert f"`{kind.__name__.lower()}.{name}" in text, name
    assert "\n\n\n" not in text
    assert max(map(len, text.splitlines())) <= 100


N = 400


class Listens(Strategy):
    """Keeps what it is told of each search."""

    def choose(self, step: Step) -> Stump:
        self.whole_ = step.whole
        return step.search(np.arange(10), step.draw(step.n_examples)).best()

    def learn(self, outcome: Outcome) -> None:
        assert outcome.whole == self.whole_
        HEARD.append(outcome)


HEARD: list[Outcome] = []


def tree_of(strategy: Strategy, n_leaves: int = 6) -> Booster:
    """Trees on labels that are mostly noise: edges are small at roots, and large in small nodes."""
    X = table(N, 30, seed=4)
    Y = noisy_labels(N, 1)
    return Booster(bank_of(X, groups=3), None, Y, strategy, f"tree:n_leaves={n_leaves}", rng=0)


def test_an_outcome_says_on_what_it_was_found() -> None:
    HEARD.clear()
    booster = tree_of(Listens(), n_leaves=3)
    rows = [row for _ in range(3) for row in booster.next_round().rows]
    assert [outcome.n_examples for outcome in HEARD] == [row["looks_finish"] for row in rows]
    assert [outcome.whole for outcome in HEARD] == [row["search"] == 0 for row in rows]
    for root, *halves in (HEARD[k : k + 3] for k in (0, 3, 6)):
        assert (root.n_examples, root.weight_share) == (N, 1.0)
        assert sum(half.n_examples for half in halves) == N
        assert sum(half.weight_share for half in halves) == pytest.approx(1.0)
        assert all(0.0 < half.weight_share < 1.0 for half in halves)


@pytest.mark.parametrize("name", ["ucb", "ucbv", "exp3p", "epsilon-greedy", "hedge"])
def test_roots_and_nodes_reward_the_same_arms(name: str) -> None:
    booster = tree_of(make_strategy(name))
    rows = [row for _ in range(4) for row in booster.next_round().rows]
    strategy: Any = booster.strategy
    assert strategy.n_steps_ == len(rows)
