"""Benchmarks of whole rounds: `pytest -n 0 tests/benchmarks --benchmark-enable`.

N = 60,000 examples, K = 10 labels, one thread, 600,000 looks per round, bins filled at random.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray

from boostsample.banks.bank import FeatureBank
from boostsample.family import Family
from boostsample.loop.booster import Booster
from boostsample.registry import make_strategy

N_EXAMPLES = 60_000
N_FEATURES = 1_000
N_LABELS = 10


class Uniform(Family):
    """Stands for features that are never computed: the bank below is filled by hand."""

    name = "uniform"
    n_features = N_FEATURES

    def compute(self, X: Any, features: ArrayLike) -> NDArray[np.float32]:
        raise AssertionError("the bank is given")

    def feature_name(self, feature: Any) -> str:
        return f"feature {feature}"


@pytest.fixture(scope="module")
def bank() -> FeatureBank:
    rng = np.random.default_rng(0)
    bins = rng.integers(1, 256, (N_FEATURES, N_EXAMPLES), dtype=np.uint8)
    cuts = np.tile(np.arange(254, dtype=np.float32), (N_FEATURES, 1))
    return FeatureBank([Uniform()], bins, cuts, np.full(N_FEATURES, 256, np.int16))


@pytest.mark.parametrize("name", ["uniform-naive", "laminating"])
def test_round(benchmark: Any, bank: FeatureBank, name: str) -> None:
    labels = np.full((N_EXAMPLES, N_LABELS), -1, np.int8)
    labels[np.arange(N_EXAMPLES), np.random.default_rng(1).integers(0, N_LABELS, N_EXAMPLES)] = 1
    booster = Booster(bank, None, labels, make_strategy(name), n_rounds=10**6, rng=0)
    booster.next_round()
    done = benchmark(booster.next_round)
    looks = done.rows[0]["looks_search"]
    benchmark.extra_info["looks"] = looks
    assert 0.98 * 10 * N_EXAMPLES <= looks <= 10 * N_EXAMPLES
