"""The second copy of a bank, in tiles: the same bins, and runs of the same bits."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import boostsample.banks.tile_layout as module
from boostsample.banks.bank import Bank, FeatureBank
from boostsample.banks.bank_forms import cached_bank
from boostsample.banks.lazy import LazyBank
from boostsample.families import column_groups
from boostsample.loop.booster import Booster
from boostsample.registry import strategy_names
from tests.compiled import COMPILED
from tests.problems import noisy_labels, rows_of, stumps_of, table

pytestmark = pytest.mark.usefixtures("small_tiles")
compiled = pytest.mark.skipif(not COMPILED, reason="whole runs take minutes without compilation")
#: Neither is a multiple of 8; the last of five tiles has fewer features than the others.
N, F = 1501, 307
PARTS = {"few": range(60), "more": range(60, 160), "most": range(160, F)}


@pytest.fixture
def gathered(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Features and rows of all searches that read tiles: all that fit, whatever is faster."""
    sizes, gather = list[tuple[int, int]](), module.TileCopy.gather

    def watched(copy: Any, features: NDArray[np.int64], rows: NDArray[np.int32]) -> Any:
        bins = gather(copy, features, rows)
        if bins is not None:
            sizes.append((features.size, rows.size))
        return bins

    monkeypatch.setattr(module, "TILE_LINE", 0)
    monkeypatch.setattr(module.TileCopy, "gather", watched)
    return sizes


def data(n: int = N, n_features: int = F) -> NDArray[np.float32]:
    X = table(n, n_features, top=40)
    X[:, ::3] = np.minimum(X[:, ::3], 3)  # bins few enough for float64 sums, too
    X[np.random.default_rng(9).random(X.shape) < 0.02] = np.nan
    return X


def bank_with(X: NDArray[np.float32], tile_bytes: int | None, **how: Any) -> FeatureBank:
    return FeatureBank.build(column_groups(PARTS, n_columns=F), X, tile_bytes=tile_bytes, **how)


@pytest.mark.parametrize("n", [1, 7, 8, 9, 63, 64, 65, 200])
@pytest.mark.parametrize("n_features", [65, 128, 150])
def test_bins_of_tiles_are_those_of_the_bank(
    n: int, n_features: int, gathered: list[tuple[int, int]]
) -> None:
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, n_features)).astype(np.float32)
    parts = {"a": range(40), "b": range(40, n_features)}
    bank = FeatureBank.build(column_groups(parts, n_columns=n_features), X, n_jobs=2)
    users = [bank, bank.reader(), bank.reader()]
    sizes = [(1, 1), (n_features, n), (5, 2 * n + 3), (3 * n_features, 1)]
    for q, n_rows in sizes if COMPILED else sizes[:1]:
        features = rng.integers(0, n_features, q)
        rows = rng.integers(0, n, n_rows).astype(np.int32)
        for user in users:
            view = user.view(features, rows)
            assert view.compact
            np.testing.assert_array_equal(
                view.bins[view.at, :n_rows], bank.bins[np.ix_(features, rows)]
            )
    assert len(gathered) == 3 * (len(sizes) if COMPILED else 1)


def test_reads_that_tiles_do_not_make_faster_are_of_the_bank() -> None:
    bank = bank_with(data(), None)
    few = np.arange(10, dtype=np.int32)
    assert bank.view(np.arange(F), few).compact
    assert not bank.view(np.arange(2), few).compact
    assert not bank.view(np.arange(F), np.arange(N, dtype=np.int32)).compact
    assert not bank.view(np.arange(F), few[:0]).compact  # successive rows are not named
    assert not bank.view(np.arange(F)).compact


def run(bank: Bank, strategy: str, learner: str, n_jobs: int = 1, **how: Any) -> list[Any]:
    booster = Booster(
        bank, None, noisy_labels(N), strategy, learner, rng=0, n_rounds=4, n_jobs=n_jobs, **how
    )
    return stumps_of(booster, 4) + [row["edge_estimated"] for row in rows_of(booster, 1)]


def unnumbered(found: list[Any]) -> list[Any]:
    """Without the bins of the thresholds, which a lazy bank does not have."""
    return [(each[0], *each[2:]) if isinstance(each, tuple) else each for each in found]


@compiled
@pytest.mark.parametrize("strategy", ["laminating", "mas-1q", "mas-q1", "mas-naive"])
def test_banks_and_threads_have_the_same_bits(
    strategy: str,
    gathered: list[tuple[int, int]],
) -> None:
    X = data()
    families = column_groups(PARTS, n_columns=F)
    plain = bank_with(X, 0)
    want = run(plain, strategy, "stump")
    assert run(plain, strategy, "stump", 2) == want
    assert not gathered
    tiled = bank_with(X, None, n_jobs=2)
    for threads in (1, 2):
        gathered.clear()
        assert run(tiled, strategy, "stump", threads) == want
        assert gathered
        assert run(cached_bank(families, X), strategy, "stump", threads) == want
        lazy = LazyBank(families, X, reference=N, cache_bytes=10**6)
        of_lazy = run(lazy, strategy, "stump", threads)
        assert unnumbered(of_lazy) == unnumbered(want)


@compiled
@pytest.mark.parametrize("learner", ["product:n_terms=2", "tree:n_leaves=4"])
@pytest.mark.parametrize("strategy", [name for name in strategy_names() if name != "full"])
def test_products_and_trees_have_the_same_bits(
    strategy: str, learner: str, gathered: list[tuple[int, int]]
) -> None:
    X = data()
    plain, tiled = bank_with(X, 0), bank_with(X, None)
    assert run(tiled, strategy, learner) == run(plain, strategy, learner)
    if learner.startswith("tree"):  # products of some strategies search all examples
        assert gathered


@compiled
@pytest.mark.parametrize("strategy", ["laminating", "laminating:scheme=distinct", "mas-1q"])
def test_some_features_and_some_rows_have_the_same_bits(
    strategy: str, gathered: list[tuple[int, int]]
) -> None:
    X = data()
    kept = np.random.default_rng(5).permutation(N)[:1101]
    found = []
    for tile_bytes in (0, None):
        booster = Booster(
            bank_with(X, tile_bytes), kept, noisy_labels(kept.size), strategy, rng=0, n_rounds=12,
            max_model_features=3,
        )  # fmt: skip
        found.append(stumps_of(booster, 12))
    assert found[0] == found[1]
    assert gathered


@compiled
@pytest.mark.parametrize("strategy", ["laminating:scheme=stratified", "mas-1q", "mas-naive"])
def test_a_run_continues_to_the_same_bits(strategy: str, gathered: list[tuple[int, int]]) -> None:
    bank = bank_with(data(), None)

    def booster(rng: int) -> Booster:
        return Booster(bank, None, noisy_labels(N), strategy, rng=rng, n_rounds=6)

    straight, other = booster(0), booster(7)
    stumps_of(straight, 3)
    state = pickle.loads(pickle.dumps(straight.state()))
    straight.strategy = pickle.loads(pickle.dumps(straight.strategy))
    other.restore(state)
    assert stumps_of(straight, 3) == stumps_of(other, 3)
    assert gathered
