"""Stumps of equal edges, edges of 0, and trees within limits."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from boostsample import BoostSampleClassifier, SettingError
from boostsample.labels import encode
from boostsample.learners import Tree
from boostsample.loop.booster import Booster
from boostsample.models.importances import model_importances
from boostsample.records import Stumps, Term
from boostsample.registry import STRATEGIES
from boostsample.rows.weights import initial_weights
from boostsample.shards.exchange import LocalShards
from boostsample.shards.server import array_sources
from boostsample.strategies import Full
from boostsample.testing import check_learner
from tests.problems import bank_of, noisy_labels, table
from tests.shards.shard_runs import shard_booster

RANDOM = "uniform-naive:n_features=1"


def parity(n_columns: int, times: int = 25) -> tuple[NDArray[np.float32], NDArray[np.int8]]:
    """Each corner of a cube `times` times, and the parity of its coordinates."""
    corners = np.array(list(itertools.product([0, 1], repeat=n_columns)), np.float32)
    X = corners.repeat(times, axis=0)
    return X, np.where(X.sum(axis=1) % 2 == 1, 1, -1).astype(np.int8)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_trees_of_every_strategy_learn_an_xor(strategy: str) -> None:
    X, y = parity(2)
    model = BoostSampleClassifier(strategy=strategy, learner="tree", n_rounds=20, random_state=0)
    assert model.fit(X, y).score(X, y) == 1.0


@pytest.mark.parametrize("n_columns", [2, 3, 4])
@pytest.mark.parametrize("weighted", [False, True])
def test_nodes_whose_halves_gain_are_split(n_columns: int, weighted: bool) -> None:
    """A parity in a node, where no split of the first ones gains; with weights that round."""
    X, y = parity(n_columns, 3)
    easy = np.zeros((len(X), n_columns), np.float32)
    X = np.concatenate([X, easy], axis=0)
    X = np.concatenate([np.arange(len(X))[:, None] < len(y), X], axis=1).astype(np.float32)
    Y = np.concatenate([y, np.ones(len(y), np.int8)])[:, None]
    of_corner = 1 + np.arange(len(X)) // 3 * (0.1 if weighted else 0.0)
    tree = Tree(2 ** (n_columns + 1))
    settings: dict[str, Any] = {
        "learner": tree,
        "n_rounds": 1,
        "rng": 0,
        "example_weight": of_corner,
    }
    if weighted:
        of_corner[: len(y)] = 0.1
    booster = Booster(bank_of(X), None, Y, Full(), **settings)
    assert "edge 1" in booster.next_round().rows[-1]["stopped"]


@pytest.mark.parametrize("strategy", ["full", "uniform-naive", RANDOM])
def test_over_shards(strategy: str) -> None:
    X, y = parity(2)
    X = np.concatenate([np.ones_like(X), X], axis=1)[:, 1:]
    for learner, reason in ("tree", "edge 1"), ("stump", "edge 0"):
        shards = LocalShards(array_sources(bank_of(X), y[:, None], 3))
        booster = shard_booster(strategy, learner, shards, n_rounds=20)
        last = ""
        while not booster.finished:
            last = booster.next_round().rows[-1]["stopped"]
        assert reason in last or (strategy, learner, last) == (RANDOM, "stump", "")


def test_the_best_of_equal_edges_divides() -> None:
    rng = np.random.default_rng(0)
    for _ in range(500):
        q = int(rng.integers(1, 6))
        edge, divides = rng.choice([0.0, 0.25, 0.5], q), rng.random(q) < 0.5
        stumps = Stumps(np.arange(q), np.ones(q, np.int64), np.ones((q, 1), np.int8), edge, divides)
        want = min(range(q), key=lambda row: (-edge[row], not divides[row], row))
        assert stumps.best().feature == want
        assert stumps[np.arange(q)].best().feature == want
        plain = Stumps(stumps.feature, stumps.threshold, stumps.votes, edge)
        assert plain.best().feature == plain[:].best().feature == int(edge.argmax())


@pytest.mark.parametrize("strategy", ["full", "uniform-naive"])
def test_stumps_on_an_xor_end_with_a_warning(strategy: str) -> None:
    """Complete searches on all examples: nothing else can be found."""
    X, y = parity(2)
    how: dict[str, Any] = {"learner": "stump", "n_rounds": 200, "random_state": 0}
    model = BoostSampleClassifier(strategy=strategy, **how)
    with pytest.warns(ConvergenceWarning, match="ended in round 1: edge 0: all features were"):
        model.fit(X, y)
    (row,) = model.history_
    assert (row["edge"], row["log10_loss"], row["stopped"][:7]) == (0, 0, "edge 0:")


def test_random_searches_of_edge_zero_go_on_and_warn_at_the_end() -> None:
    X, y = parity(3)
    model = BoostSampleClassifier(strategy=RANDOM, learner="stump", n_rounds=5, random_state=0)
    with pytest.warns(ConvergenceWarning, match="no edge in 5 rounds: the model has learned noth"):
        model.fit(X, y)
    assert [row["stopped"] for row in model.history_] == [""] * 5
    X[:, 0] += y  # some rounds find an edge
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(X, y)


@pytest.mark.parametrize("learner", ["product", "tree:n_leaves=3"])
def test_random_ties_that_may_lead_elsewhere_do_not_end_the_training(learner: str) -> None:
    """An XOR of the last two of three columns; `mp-boost` searches them in random order."""
    X = np.repeat(np.array([*itertools.product((0.0, 1.0), repeat=3)], np.float32), 10, axis=0)
    y = (X[:, 1] != X[:, 2]).astype(int)
    for seed in range(3):
        model = BoostSampleClassifier("mp-boost", learner, n_rounds=40, random_state=seed)
        assert model.set_params(budget="100N").fit(X, y).score(X, y) == 1.0


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
    budget = None if strategy in ("full", "quickboost", "adaptive-pruning") else "2N"
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


@pytest.mark.parametrize("objective", ["m1", "samme"])
def test_a_constant_of_one_class_has_the_edge_of_this_class(objective: str) -> None:
    """Both columns divide a row of a rare class from nine; seven of ten rows are of class 0."""
    X, y = np.eye(10, 2, dtype=np.float32), np.array([1, 2, 1, *[0] * 7])
    made = Booster(bank_of(X), None, encode(y), "full", Tree(4, 2), objective=objective, rng=0)
    done = made.next_round()
    assert is_constant(done.terms)
    assert done.terms[0].votes.tolist() == [1, -1, -1]
    assert done.edge == pytest.approx(made.objective.edge(0.7))
    assert done.rows[0]["edge"] == pytest.approx(done.edge)
    odds = 0.7 / 0.3 * (2 if objective == "samme" else 1)
    weights = np.where(y == 0, 1 / odds, 1.0)
    np.testing.assert_allclose(made.example_weights(), weights / weights.sum(), rtol=1e-6)


def test_bagging_goes_on_after_a_bootstrap_sample_without_edge() -> None:
    """The first sample has four rows of each class; the limits leave the constants only."""
    X, Y = np.eye(8, 2, dtype=np.float32), np.where(np.arange(8) % 2, 1, -1)[:, None]
    booster = Booster(bank_of(X), None, Y, "full", Tree(4, 2), objective="bagging", rng=0)
    edges = [booster.next_round().edge for _ in range(9)]
    assert edges[0] == 0.0
    assert min(edges) == 0.0
    assert max(edges) >= 0.25


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
