"""Runs on a lazy bank whose searches find their cuts in the values that they read."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from boostsample.banks import lazy as bank_lazy
from boostsample.banks.bank import Bank, FeatureBank
from boostsample.banks.lazy import LazyBank
from boostsample.errors import SettingError
from boostsample.loop.booster import Booster
from boostsample.loop.checkpoint import Checkpoint
from boostsample.loop.shard_booster import ShardBooster
from boostsample.models.model import Model
from boostsample.records import Sample, Stump
from boostsample.shards.exchange import LocalShards
from boostsample.shards.server import ShardData
from boostsample.step import Step
from tests.problems import (
    Do,
    noisy_labels,
    resumed,
    rows_of,
    step_of,
    three_powers,
    uneven_columns,
)

N, K = 400, 3
TRAIN = np.arange(0, N, 2)
STRATEGIES = ("laminating", "mas-q1", "uniform-q1", "adaptive-halving", "ucb")
LEARNERS = ("stump", "product:n_terms=2", "tree:n_leaves=4", "tree:n_leaves=4:min_leaf=20")


@pytest.fixture
def X(rng: np.random.Generator) -> NDArray[np.float32]:
    return uneven_columns(N, rng)


def booster(bank: Bank, strategy: Any, learner: str, seed: int = 0, **settings: Any) -> Booster:
    Y, given = noisy_labels(TRAIN.size, K), {"budget": None, "n_rounds": 6, **settings}
    return Booster(bank, TRAIN, Y, strategy, learner, weight_init="uniform", rng=seed, **given)


def told(run: Booster) -> list[dict[str, Any]]:
    return [{**row, "values_computed": 0, "cost": 0} for row in rows_of(run, 6)]


@pytest.mark.parametrize("learner", LEARNERS[:2])
@pytest.mark.parametrize("strategy", ["full", "uniform-naive"])
def test_exact_searches_have_the_bits_of_a_bank_in_memory(
    X: NDArray[np.float32], strategy: str, learner: str
) -> None:
    lazy = booster(LazyBank(three_powers(), X, TRAIN), strategy, learner)
    memory = booster(FeatureBank.build(three_powers(), X, TRAIN), strategy, learner)
    assert told(lazy) == told(memory)


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_loss_is_that_of_the_raw_model(
    X: NDArray[np.float32], strategy: str, learner: str
) -> None:
    """The votes, edges and weights of the loop are those of stumps at the raw thresholds."""
    run = booster(LazyBank(three_powers(), X, TRAIN), strategy, learner)
    rounds = [run.next_round() for _ in range(6)]
    model = Model(three_powers(), [term for done in rounds for term in done.terms], K)
    margins = noisy_labels(TRAIN.size, K) * model.decision_function(X[TRAIN])
    loss = math.log10(np.exp(-margins).mean())
    assert loss == pytest.approx(rounds[-1].rows[0]["log10_loss"], abs=1e-6)


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("strategy", STRATEGIES[:2])
def test_results_depend_neither_on_caches_nor_on_threads(
    X: NDArray[np.float32], strategy: str, learner: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = told(booster(LazyBank(three_powers(), X, TRAIN), strategy, learner))
    assert (
        told(booster(LazyBank(three_powers(), X, TRAIN), strategy, learner, n_jobs=2)) == expected
    )
    monkeypatch.setattr(bank_lazy, "_VIEW_BYTES", 500)
    monkeypatch.setattr(bank_lazy, "_BLOCK_BYTES", 1000)
    small = LazyBank(three_powers(), X, TRAIN, cache_bytes=1)
    assert told(booster(small, strategy, learner)) == expected


@pytest.mark.parametrize("settings", [{}, {"max_model_features": 4}])
@pytest.mark.parametrize("learner", LEARNERS[1:])
def test_any_round_continues_to_identical_bits(
    X: NDArray[np.float32], learner: str, settings: dict[str, Any], tmp_path: Path
) -> None:
    bank = LazyBank(three_powers(), X, TRAIN)
    made = ("laminating:n_features=4", learner)
    for straight, run in resumed(lambda seed: booster(bank, *made, seed, **settings), 4):
        assert run.small_state()["weights"] == straight.small_state()["weights"]
    with Checkpoint(tmp_path / "run", booster(bank, *made, **settings)) as checkpoint:
        checkpoint.next_round()
    again = booster(bank, *made, **settings)
    assert again.round == 0
    Checkpoint(tmp_path / "run", again)
    assert again.round == 1


def test_thresholds_lie_between_the_values_of_the_sample(X: NDArray[np.float32]) -> None:
    """Of one example there is the constant stump only; of two, the middle of their values."""
    bank = LazyBank(three_powers(), X).reader()
    step, features = step_of(bank, noisy_labels(N, K)), np.arange(4)
    constant = step.search(features, step.draw(1))
    assert (constant.threshold == 1).all()
    assert bank.values_computed == 4
    drawn: list[Sample] = step.draw_nested([2, 3], "distinct")
    for stumps in (step.search(features, sample) for sample in drawn):
        for feature, threshold in zip(stumps.feature, stumps.threshold.tolist(), strict=True):
            if threshold > 1:
                value = np.float32(bank.threshold(int(feature), threshold))
                ordered = np.unique(X[:, feature][~np.isnan(X[:, feature])])
                middles = (ordered[:, None].astype(float) + ordered) / 2
                assert (middles.astype(np.float32) == value).any()


def test_edges_of_stumps_on_another_sample(X: NDArray[np.float32]) -> None:
    """Stumps of a sample keep their raw thresholds on another sample, and on all examples."""
    bank = LazyBank(three_powers(), X)
    labels = noisy_labels(N, K)
    step = step_of(bank, labels)
    stumps = step.search(np.arange(22), step.draw(50))
    values = np.column_stack(
        [family.compute(X, np.arange(family.n_features)) for family in three_powers()]
    )
    raw = np.array([bank.threshold(f, b) for f, b in enumerate(stumps.threshold.tolist())])
    phi = np.where(values >= raw, 1, -1)
    exact = np.einsum("nq,qk,nk->q", phi, stumps.votes, labels) / labels.size
    whole = step.edges(stumps, step.draw(N))
    np.testing.assert_allclose(whole, exact, atol=1e-6)
    many = [step.edges(stumps, step.draw(200)) for _ in range(200)]
    np.testing.assert_allclose(np.mean(many, axis=0), exact, atol=0.02)


def test_a_search_computes_its_looks_and_the_chosen_column(X: NDArray[np.float32]) -> None:
    def choose(step: Step) -> Stump:
        return step.search(np.arange(5), step.draw(30, "distinct")).best()

    run = booster(LazyBank(three_powers(), X, TRAIN), Do(choose), "stump")
    (row,) = run.next_round().rows
    assert row["values_computed"] == 5 * 30 + TRAIN.size
    (row,) = run.next_round().rows
    assert row["values_computed"] in (4 * 30, 4 * 30 + TRAIN.size)  # the chosen one is kept


def test_shards_refuse_searches_that_find_their_own_cuts(X: NDArray[np.float32]) -> None:
    class Source:
        def load(self) -> ShardData:
            return ShardData(LazyBank(three_powers(), X), noisy_labels(N, K), None)

    with pytest.raises(SettingError, match="a lazy bank finds them in each sample"):
        ShardBooster(LocalShards([Source()]), "laminating", "stump", rng=0, n_rounds=1)
