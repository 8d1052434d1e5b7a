"""Stumps of equal edges, edges of 0, and what they are a part of."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from boostsample import BoostSampleClassifier
from boostsample.learners.tree import Tree
from boostsample.loop.booster import Booster
from boostsample.records import Stumps
from boostsample.registry import STRATEGIES
from boostsample.shards.exchange import LocalShards
from boostsample.shards.shard_source import array_sources
from boostsample.strategies import Full
from tests.problems import bank_of
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
