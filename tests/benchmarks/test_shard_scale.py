"""The bytes of a round are those that docs/scale.md predicts, for few and many shards."""

from __future__ import annotations

import pytest

from boostsample.dask import LocalShards, ShardBooster, array_sources
from tests.benchmarks.shard_scale import STRATEGIES, made, predicted_bytes


@pytest.mark.parametrize("n_shards", [2, 16])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_bytes_and_exchanges_are_predicted(strategy: str, n_shards: int) -> None:
    n, n_features, n_rounds = 6000, 40, 6
    bank, Y = made(n, n_features, 4)
    with LocalShards(array_sources(bank, Y, n_shards)) as shards:
        booster = ShardBooster(shards, strategy, rng=0)
        booster.next_round()
        before = booster.exchange.n_bytes, booster.exchange.n_messages
        for _ in range(n_rounds):
            booster.next_round()
    sent = (booster.exchange.n_bytes - before[0]) / (n_rounds * n_shards)
    calls = (booster.exchange.n_messages - before[1]) / (n_rounds * n_shards)
    wanted, exchanges = predicted_bytes(
        strategy, n, n_features, n_shards, Y.shape[1], int(bank.n_bins.max())
    )
    assert calls == exchanges
    assert sent == pytest.approx(wanted, rel=0.05)
