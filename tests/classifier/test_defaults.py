"""The classifier's settings "auto", also on 100,000 columns."""

from __future__ import annotations

import tracemalloc
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from boostsample import BoostSampleClassifier
from boostsample.banks.bank import FeatureBank
from boostsample.checks import budget_looks
from boostsample.classifier.defaults import choose_objective, choose_settings, choose_smoothing
from boostsample.errors import SettingError
from boostsample.families import Columns
from boostsample.loop.target_search import LEAST_BUDGET
from boostsample.names import parse_name
from boostsample.objective import AdaBoostMH
from boostsample.objectives.classes import SAMME, AdaBoostM1
from boostsample.objectives.coding import AdaBoostOC
from boostsample.objectives.ensembles import Bagging, RankBoost
from boostsample.objectives.real import RealMH
from boostsample.records import Pool
from boostsample.registry import make_strategy
from boostsample.rows.tree_growth import Searches, growth_possible
from tests.classifier.conftest import Data


@pytest.mark.parametrize(
    ("n", "n_features", "n_labels", "leaves"),
    [
        *((1, 5, 1, 8), (224, 5, 1, 8), (225, 100, 1, 9), (399, 5, 1, 15), (10**6, 5, 1, 16)),
        *((1, 5, 3, 8), (225, 100, 3, 9), (799, 5, 2, 31), (800, 5, 2, 32), (10**6, 5, 9, 32)),
        *((249, 101, 1, 4), (250, 101, 3, 5), (799, 10**6, 3, 15), (10**6, 101, 3, 16)),
    ],
)
def test_leaves_by_the_number_of_examples(
    n: int, n_features: int, n_labels: int, leaves: int
) -> None:
    chosen = choose_settings("ucb", "auto", None, n, n_features, n_labels)
    assert chosen.learner == f"tree:n_leaves={leaves}"


@pytest.mark.parametrize(
    ("n_features", "budget", "strategy", "looks"),
    [
        (1, None, "uniform-naive:n_features=1:scheme=distinct", "0.5N"),
        (7, None, "uniform-naive:n_features=6:scheme=distinct", "3N"),
        (100, None, "uniform-naive:n_features=50:scheme=distinct", "25N"),
        (7, "7N", "uniform-naive:n_features=7:scheme=distinct", "7N"),
        (7, 6, "uniform-naive:n_features=6:scheme=distinct", 6),
        (101, None, "adaptive-halving:node_sample=0.85", "100N"),
        (3000, None, "adaptive-halving:node_sample=0.85", "100N"),
        (3000, "7N", "adaptive-halving", "7N"),
        (3001, None, "screening", None),
        (10**6, 6999, "screening", 6999),
    ],
)
def test_the_strategy_by_the_number_of_columns(
    n_features: int, budget: Any, strategy: str, looks: Any
) -> None:
    chosen = choose_settings("auto", "stump", budget, 1000, n_features)
    assert chosen == (strategy, "stump", looks)
    if n_features > 100:
        more = choose_settings("auto", "stump", budget, 1001, n_features)
        assert more == (strategy.replace(":node_sample=0.85", ""), "stump", looks)


@pytest.mark.parametrize(
    ("budget", "strategy"), [(None, "full"), ("5N", "full"), ("4N", "uniform-naive")]
)
@pytest.mark.parametrize("n_labels", [1, 3])
def test_a_limit_on_the_features(budget: Any, strategy: str, n_labels: int) -> None:
    chosen = choose_settings("auto", "stump", budget, 1000, 5, n_labels, limited=True)
    assert chosen == (strategy, "stump", "5N" if budget is None else budget)


@pytest.mark.parametrize(
    ("n", "n_labels", "strategy", "budget"),
    [
        (499, 3, "uniform-naive:n_features=10:scheme=distinct", "5N"),
        (500, 3, "uniform-naive:n_features=10:scheme=distinct", "7N"),
        (10**6, 1, "uniform-naive:n_features=6:scheme=distinct", "3N"),
    ],
)
def test_more_classes_are_searched_on_more_rows(
    n: int, n_labels: int, strategy: str, budget: str
) -> None:
    assert choose_settings("auto", "stump", None, n, 10, n_labels) == (strategy, "stump", budget)


@pytest.mark.parametrize("n_labels", [1, 3])
@pytest.mark.parametrize("n_features", [*range(6, 28), 63, 64, 99, 100, 101, 118, 3000, 3001])
def test_trees_of_the_default_are_grown_in_one_call(n_features: int, n_labels: int) -> None:
    bank = FeatureBank.build([Columns([0])], np.zeros((2, 1)))
    for n in (16, 27, 100, 101, 499, 500, 501, 999, 1347):
        chosen = choose_settings("auto", "auto", None, n, n_features, n_labels)
        pool = Pool([], n_features, n)
        name, settings = parse_name(str(chosen.strategy))
        strategy = make_strategy(name, **settings)
        budget = strategy.default_budget(pool)
        if chosen.budget is not None:
            budget = budget_looks(chosen.budget, n)
        if name == "adaptive-halving" and n > 1000:  # searches nodes in stages
            assert strategy.one_sample(pool, budget) is None
            continue
        n_searched, scheme, part, _ = strategy.one_sample(pool, budget)
        weights: Any = SimpleNamespace(n_examples=n, n_labels=n_labels)
        searches = Searches(8, budget, LEAST_BUDGET, n_searched, False, part)
        assert growth_possible(searches, scheme, bank, weights), (n, chosen)


def test_a_fit_without_settings(digits: Data) -> None:
    X, y = digits[0][:300], digits[1][:300]

    def history(X: Any, strategy: str = "auto", y: Any = y, **settings: Any) -> list[Any]:
        model = BoostSampleClassifier(strategy, n_rounds=3, random_state=0, **settings).fit(X, y)
        return [(row["search"], row["feature"], row["edge_estimated"]) for row in model.history_]

    tree = {"learner": "tree:n_leaves=12", "learning_rate": 0.2}
    for labels, n_features, budget in ((y, 64, "32N"), (y > 4, 32, "16N")):
        strategy = f"uniform-naive:n_features={n_features}:scheme=distinct"
        assert history(X, y=labels) == history(X, strategy, y=labels, budget=budget, **tree)
    wide = np.hstack([X, X[:, ::-1]])
    assert history(wide) == history(
        wide, "adaptive-halving:node_sample=0.85", learner="tree:n_leaves=6", budget="100N"
    )


@pytest.mark.parametrize(
    ("chosen", "objective"),
    [
        (("auto", "auto", 0.0, 3000, 5), "real-mh"),
        (("auto", "auto:n_leaves=8", 0.0, 20, 5), "real-mh"),
        (("auto", "auto", 0.0, 3001, 5), "mh"),
        (("auto", "auto", 0.0, 20, 1), "mh"),
        (("auto", "auto", 0.01, 20, 5), "mh"),
        (("auto", "tree:n_leaves=8", 0.0, 20, 5), "mh"),
        (("samme", "auto", 0.0, 20, 5), "samme"),
    ],
)
def test_the_objective_of_the_rule(chosen: tuple[Any, ...], objective: str) -> None:
    assert choose_objective(*chosen) == objective


@pytest.mark.parametrize(
    ("settings", "objective"),
    [({}, "real-mh"), ({"n_rounds": 3}, "mh"), ({"smoothing": 0.01}, "mh")],
)
def test_the_objective_of_a_fit(digits: Data, settings: dict[str, Any], objective: str) -> None:
    X, y = digits[0][:300], digits[1][:300]
    added: list[dict[str, Any]] = [{}, {"objective": objective}]
    fits = [BoostSampleClassifier(random_state=0, **settings, **more).fit(X, y) for more in added]
    edges = [[row["edge"] for row in fit.history_] for fit in fits]
    assert edges[0] == edges[1]
    assert [fit.objective for fit in fits] == ["auto", objective]


@pytest.mark.parametrize(
    ("chosen", "smoothing"),
    [
        (("auto", AdaBoostMH(), 0.2), 1.0),
        (("auto", AdaBoostMH(), 1.0), 0.0),
        ((0.0, AdaBoostMH(), 0.2), 0.0),
        ((3, AdaBoostMH(), 1.0), 3.0),
        (("auto", AdaBoostM1(), 0.2), 1.0),
        (("auto", RankBoost(), 0.2), 1.0),
        (("auto", AdaBoostOC(), 0.2), 1.0),
        (("auto", SAMME(), 0.2), 1.0),
        (("auto", RealMH(), 0.2), 0.0),
        (("auto", Bagging(), 1.0), 0.0),
    ],
)
def test_the_smoothing_of_the_rule(chosen: tuple[Any, ...], smoothing: float) -> None:
    assert choose_smoothing(*chosen) == smoothing


@pytest.mark.parametrize("value", ["1", -1, None, np.inf])
def test_smoothing_is_auto_or_a_number(value: Any) -> None:
    with pytest.raises(SettingError, match=r"smoothing must be .*; or use smoothing='auto'"):
        choose_smoothing(value, AdaBoostMH(), 0.2)


@pytest.mark.parametrize("settings", [{}, {"objective": "m1"}, {"learner": "stump"}])
def test_alpha_of_steps_below_1_is_bounded(settings: dict[str, Any]) -> None:
    """Also where all rounds have an edge of 1: `nu / 2 log(1 + N)` of N examples."""
    X = np.arange(40.0)[:, None]
    of_fit = {"n_rounds": 30, "random_state": 0, **settings}
    models = [
        BoostSampleClassifier(**{**of_fit, **more}).fit(X, X[:, 0] > 19)
        for more in ({}, {"smoothing": 1.0}, {"smoothing": 0.0}, {"learning_rate": 1.0})
    ]
    largest = [max(row["alpha"] for row in model.history_) for model in models]
    bound, full = 0.5 * np.log(41.0), 0.5 * np.log(2e12)
    expected = [0.2 * bound, 0.2 * bound, 0.2 * full, full]
    assert largest == pytest.approx(expected, rel=1e-6)
    rounds = [models[0].n_rounds_, models[-1].n_rounds_]
    assert rounds[0] == 30 > rounds[1]


def test_a_table_of_100_000_columns() -> None:
    """A pass over all columns is made in rounds 1 and 3; other searches are of 50 columns."""
    rng = np.random.default_rng(0)
    X, y = rng.random((60, 100_000), np.float32), np.arange(60) % 2
    X[:, 77_777] = y + 0.4 * X[:, 77_777]
    model = BoostSampleClassifier(n_rounds=3, random_state=0)
    model.fit(X[:, :4000], y).predict_proba(X[:, :4000])  # imports modules and loads kernels
    tracemalloc.start()
    model.fit(X, y)
    probabilities = model.predict_proba(X)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert probabilities.shape == (60, 2)
    assert model.feature_importances_.shape == (100_000,)
    looks = {row["round"]: row["looks_search"] for row in model.history_ if not row["search"]}
    assert looks[1] == looks[3] == 60 * 100_000
    assert looks[2] <= 60 // 2 * 50
    assert peak < 10 * X.nbytes  # 4 of them are room for 255 bin edges of each column
