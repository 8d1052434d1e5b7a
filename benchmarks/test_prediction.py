"""Benchmarks of prediction: `pytest -n 0 tests/benchmarks --benchmark-enable`.

Models of stumps and trees at random on images of 28 x 28 bytes, 10 labels, the pixels as features.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from boostsample.families import Identity
from boostsample.models.model import Model
from boostsample.records import Term

N_LABELS = 10


def images(n: int) -> NDArray[np.uint8]:
    return np.random.default_rng(0).integers(0, 256, (n, 28, 28), dtype=np.uint8)


def random_model(n_rounds: int, n_terms: int) -> Model:
    """Rounds of one stump, or of trees in the order of a heap."""
    rng = np.random.default_rng(1)
    signs = np.array([-1, 1], np.int8)
    terms = []
    for _ in range(n_rounds):
        alpha = float(rng.exponential())
        for t in range(n_terms):
            feature, cut = int(rng.integers(784)), float(rng.integers(256)) + 0.5
            votes = rng.choice(signs, (2, N_LABELS))
            below = None if n_terms == 1 else votes[1]
            place = (0, -1, 0) if t == 0 else (0, (t - 1) // 2, 1 if t % 2 else -1)
            terms.append(Term(feature, 1, cut, votes[0], alpha, below, *place))
    return Model([Identity((28, 28))], terms, N_LABELS)


@pytest.fixture(scope="module")
def stumps() -> Model:
    return random_model(10_000, 1)


@pytest.mark.parametrize("n", [1, 10_000])
def test_stumps(benchmark: Any, stumps: Model, n: int) -> None:
    X = images(n)
    stumps.decision_function(X[:1])
    scores = benchmark(stumps.decision_function, X)
    assert scores.shape == (n, N_LABELS)
    assert np.isfinite(scores).all()


@pytest.mark.parametrize("n", [1, 2_000])
def test_trees_of_eight_leaves(benchmark: Any, n: int) -> None:
    X, model = images(n), random_model(1_000, 7)
    model.decision_function(X[:1])
    scores = benchmark(model.decision_function, X)
    assert scores.shape == (n, N_LABELS)
    assert np.isfinite(scores).all()
