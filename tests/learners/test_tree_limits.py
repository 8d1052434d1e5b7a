"""Trees within limits: examples and weight of leaves, and cuts on the way to them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from boostsample import BoostSampleClassifier, SettingError
from boostsample.learners import Tree
from boostsample.loop.booster import Booster
from boostsample.models.importances import model_importances
from boostsample.records import Term
from boostsample.rows.weights import initial_weights
from boostsample.shards.exchange import LocalShards
from boostsample.shards.shard_source import array_sources
from boostsample.testing import check_learner
from tests.problems import bank_of, noisy_labels, table
from tests.shards.shard_runs import shard_booster

SOME = ("full", "uniform-naive", "mas-naive", "laminating", "adaptive-halving")
N = 120


def problem(n_labels: int) -> tuple[NDArray[np.float32], NDArray[np.int8], NDArray[np.float64]]:
    """A table with missing values and a rare value, labels, and weights, a tenth of them 0."""
    rng = np.random.default_rng(n_labels)
    X, Y = table(N, 6, 9, n_labels), noisy_labels(N, n_labels)
    X[:, 1] += 4 * Y[:, 0]
    X[:, 0] = np.arange(N) % 40 == 7
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, Y, rng.random(N) * (rng.random(N) < 0.9)


def ways(terms: list[Term], X: NDArray[np.float32]) -> list[list[tuple[int, bool]]]:
    """The terms, with the side of each, on the way of each row to its leaf."""
    paths = []
    for row in X:
        way, at = [], 0
        while at >= 0:
            above = bool(row[terms[at].feature] >= terms[at].value)
            way.append((at, above))
            side = 1 if above else -1
            at = next((k for k, t in enumerate(terms) if (t.parent, t.side) == (at, side)), -1)
        paths.append(way)
    return paths


def is_constant(terms: list[Term]) -> bool:
    return len(terms) == 1 and terms[0].votes.tolist() == np.asarray(terms[0].below).tolist()


def require_within(booster: Any, n_rounds: int, n_labels: int, tree: Tree) -> int:
    """Train rounds, and count rows and weight of each leaf by definition; counts the leaves."""
    X, Y, weight = problem(n_labels)
    X, Y, weight = X[weight > 0], Y[weight > 0], weight[weight > 0]
    w, n_leaves = initial_weights(Y, "balanced") * weight[:, None], 0
    for _ in range(n_rounds):
        w /= w.sum()
        terms = booster.next_round().terms
        paths = ways(terms, X)
        outputs = np.empty(Y.shape)
        for i, path in enumerate(paths):
            at, above = path[-1]
            outputs[i] = terms[at].votes if above else terms[at].below
        if not is_constant(terms):
            leaves = {tuple(path) for path in paths}
            assert len(leaves) == len(terms) + 1 <= tree.n_leaves
            n_leaves += len(leaves)
            for leaf in leaves:
                rows = [i for i, path in enumerate(paths) if tuple(path) == leaf]
                assert len(rows) >= tree.min_leaf
                assert w[rows].sum() >= tree.min_weight - 1e-6
                assert len(leaf) <= (tree.max_depth or np.inf)
        w *= np.exp(-terms[0].alpha * Y * outputs)
    return n_leaves


def train(strategy: str, tree: Any, n_labels: int = 3, **settings: Any) -> Booster:
    """A booster whose searches are on samples, unless the strategy allows none."""
    X, Y, weight = problem(n_labels)
    budget = None if strategy in ("full", "quickboost") else "2N"
    defaults = {"learner": tree, "rng": 0, "example_weight": weight, "budget": budget, **settings}
    return Booster(bank_of(X, groups=2), None, Y, strategy, **defaults)


@pytest.mark.parametrize("strategy", SOME)
@pytest.mark.parametrize("n_labels", [1, 3, 10])
@pytest.mark.parametrize(
    "tree",
    [
        Tree(8, min_leaf=10),
        Tree(8, min_weight=0.2),
        Tree(8, max_depth=2),
        Tree(30, 3, 0.05, 4),
    ],
    ids=lambda tree: str(vars(tree)),
)
def test_leaves_hold_the_limits(strategy: str, n_labels: int, tree: Tree) -> None:
    booster = train(strategy, tree, n_labels)
    n_leaves = require_within(booster, 5, n_labels, tree)
    assert n_leaves > 5  # some trees are no constants


@pytest.mark.parametrize("strategy", ["laminating", "uniform-naive:n_features=2"])
@pytest.mark.parametrize("max_model_features", [None, 3])
def test_over_shards_and_with_few_features(strategy: str, max_model_features: int | None) -> None:
    X, Y, weight = problem(2)
    shards = LocalShards(array_sources(bank_of(X), Y, 3, weight))
    tree, few = Tree(6, 8, 0.1, 3), {"max_model_features": max_model_features}
    assert require_within(shard_booster(strategy, tree, shards, **few), 6, 2, tree) > 6
    assert require_within(train(strategy, tree, 2, **few), 6, 2, tree) > 6


@pytest.mark.parametrize("strategy", ["full", "uniform-naive:n_features=1", "laminating"])
@pytest.mark.parametrize("limits", [{"min_leaf": 2}, {"min_weight": 0.2}], ids=str)
def test_a_root_without_a_cut_is_a_constant(strategy: str, limits: dict[str, Any]) -> None:
    """Both columns divide one row from nine; the labels of both classes are 8 and 2, 7 and 3."""
    X = np.eye(10, 2, dtype=np.float32)
    Y = np.where(np.arange(10)[:, None] < (8, 7), -1, 1)
    booster = Booster(bank_of(X), None, Y, strategy, Tree(4, **limits), rng=0, n_rounds=99)
    rounds = [booster.next_round() for _ in range(3)]
    for done in rounds:
        assert is_constant(done.terms)
        assert (len(done.rows), done.rows[0]["edge"]) == (1, pytest.approx(done.edge))
    assert rounds[0].edge == pytest.approx((0.6 + 0.4) / 2)
    assert rounds[0].terms[0].votes.tolist() == [-1, -1]
    while not booster.finished:
        assert is_constant(booster.next_round().terms)
    model = BoostSampleClassifier(strategy, Tree(4, **limits), n_rounds=1, random_state=0)
    assert set(model.fit(X, Y[:, 0]).predict(X)) == {-1}
    assert model.feature_importances_.tolist() == [0.0, 0.0]
    assert model_importances(model.model_).tolist() == [0.0]


def test_a_root_without_a_cut_ends_a_complete_search() -> None:
    X, y = np.eye(10, 2, dtype=np.float32), np.arange(10) > 7
    settings: dict[str, Any] = {"learning_rate": 1.0, "random_state": 0}
    model = BoostSampleClassifier("full", "tree:min_leaf=2", **settings)
    with pytest.warns(ConvergenceWarning, match="ended in round 2: edge 0: all features were"):
        model.fit(X, y)


@pytest.mark.parametrize("limits", [(2, 0.1, 2), (1, 0.5, None)])
def test_the_rules_of_learners(limits: Any) -> None:
    """Among them, that a run continues to the same bits from any round."""
    check_learner(lambda: Tree(5, *limits))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ("min_leaf=0", "min_leaf must be an integer at least 1, got 0; 1 is no limit"),
        ("min_leaf=61", "min_leaf must be at most half of the 120 training examples, got 61; use"),
        ("min_weight=0.6", "min_weight must be at least 0 and at most 0.5, got 0.6; 0 is no lim"),
        ("min_weight=many", "min_weight must be a number, got 'many'"),
        ("max_depth=0", "max_depth must be an integer at least 1, got 0; None is no limit"),
    ],
)
def test_wrong_limits_are_one_clear_line(settings: str, message: str) -> None:
    X, Y, _ = problem(1)
    model = BoostSampleClassifier(learner=f"tree:{settings}", n_rounds=1, random_state=0)
    with pytest.raises(SettingError) as error:
        model.fit(X, Y[:, 0])
    assert message in str(error.value)
    assert "\n" not in str(error.value)
