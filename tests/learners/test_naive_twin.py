"""The engine with the strategy `full` is the naive twin."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from boostsample.experiments.data.datasets import load_dataset
from boostsample.loop.booster import Booster
from boostsample.loop.shard_booster import ShardBooster
from boostsample.rows.weights import initial_weights
from boostsample.shards.exchange import LocalShards
from boostsample.shards.shard_source import array_sources
from tests.compiled import slow_without_jit
from tests.learners.naive_compare import Comparison, comparison_on, named
from tests.problems import bank_of, noisy_labels, table

pytestmark = slow_without_jit


def compare(
    name: str, learner: str, n_rounds: int, data_dir: Path | None = None, **step_size: float
) -> None:
    data = load_dataset(name, data_dir=data_dir, download=False)
    compared = comparison_on(data, learner, **step_size)
    for _ in range(n_rounds):
        compared.next_round()
    assert compared.differences == []
    assert compared.errors[-1][0] < compared.errors[0][0]


@pytest.mark.parametrize("learner", ["stump", "tree:2", "tree:9", "product:1", "product:3"])
def test_digits(learner: str) -> None:
    compare("digits", learner, 15)


@pytest.mark.parametrize("learner", ["tree:19", "product:2"])
def test_thousands_of_rows(learner: str, data_dir: Path) -> None:
    compare("pendigits", learner, 2, data_dir)


@pytest.mark.parametrize("n_shards", [0, 3])
@pytest.mark.parametrize("n_labels", [1, 2, 3, 5, 10, 17])
@pytest.mark.parametrize("weighted", [False, True])
def test_trees_on_random_rows(n_labels: int, weighted: bool, n_shards: int) -> None:
    """Whole numbers, of which a fifth are missing: there are ties, and weights of 0."""
    n, rng = 70, np.random.default_rng(n_labels)
    X, Y = table(n, 5, 4, n_labels), noisy_labels(n, n_labels)
    X[:, :2] += 3 * Y[:, :1] * (rng.random((n, 2)) < 0.3)
    X[rng.random(X.shape) < 0.2] = np.nan
    weight = rng.integers(0, 4, n).astype(np.float64) if weighted else np.ones(n)
    for learner in ("tree:2", "tree:7"):
        compare_weighted(X, Y, weight, learner, n_shards, 4)


def compare_weighted(
    X: Any, Y: Any, weight: Any, learner: str, n_shards: int, n_rounds: int, **limits: Any
) -> None:
    """Some rounds on weighted rows, in shards or in one process (0)."""
    bank, rows = bank_of(X), np.flatnonzero(weight)
    label_weights = initial_weights(Y[rows], "balanced") * weight[rows, None]
    name, how = named(learner, **limits), dict[str, Any](n_rounds=99, rng=0)
    if n_shards:
        shards = LocalShards(array_sources(bank, Y, n_shards, weight))
        engine: Any = ShardBooster(shards, "full", name, **how)
    else:
        engine = Booster(bank, None, Y, "full", name, example_weight=weight, **how)
    compared = Comparison(engine, learner, bank, rows, rows, Y, label_weights, **limits)
    for _ in range(n_rounds):
        compared.next_round()
    assert compared.differences == []


@pytest.mark.parametrize("n_shards", [0, 3])
@pytest.mark.parametrize("n_labels", [1, 3, 10])
@pytest.mark.parametrize(
    "limits",
    [
        {"min_leaf": 9},
        {"min_weight": 0.3},
        {"max_depth": 3},
        {"min_leaf": 4, "min_weight": 0.1, "max_depth": 2},
    ],
    ids=str,
)
def test_trees_within_limits(limits: dict[str, Any], n_labels: int, n_shards: int) -> None:
    """The best cut of all within the limits; rows of weight 0 are no examples."""
    n, rng = 90, np.random.default_rng(n_labels)
    X, Y = table(n, 6, 4, n_labels), noisy_labels(n, n_labels)
    X[:, 0] = np.arange(n) == 7  # divides one row from the others
    X[rng.random(X.shape) < 0.2] = np.nan
    weight = rng.random(n) * (rng.random(n) < 0.8)
    compare_weighted(X, Y, weight, "tree:7", n_shards, 6, **limits)


def test_a_difference_is_found() -> None:
    compared = comparison_on(load_dataset("digits"), "tree:4")
    compared.twin.w[0] *= 1.1
    compared.next_round()
    assert any("edge" in line for line in compared.differences)
