"""Shards on the workers of a Dask cluster: the bits of shards in this process, whatever happens."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from boostsample.dask import DaskShards, LocalShards, ShardBooster, ShardData
from boostsample.errors import DataError, SettingError, ShardError
from tests.experiments.cluster import Cluster
from tests.shards.cluster_runs import file_sources
from tests.shards.shard_runs import bits, shard_booster, small_sources

distributed: Any = pytest.importorskip("distributed", reason="the extra dask is not installed")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with Cluster(tmp_path_factory.mktemp("cluster"), n_workers=3) as made:
        yield made


@pytest.fixture
def client(cluster: Cluster) -> Iterator[Any]:
    cluster.complete()
    with distributed.Client(cluster.address, set_as_default=False) as made:
        yield made


def trained(booster: Any, disturb: Any = None, after: int = 3) -> list[str]:
    rounds = []
    while not booster.finished:
        if disturb is not None and booster.round == after:
            disturb()
            disturb = None
        rounds.append(booster.next_round())
    return bits(rounds)


@pytest.mark.parametrize("learner", ["stump", "tree:n_leaves=4", "product:n_terms=2"])
def test_results_are_those_of_one_process(client: Any, learner: str) -> None:
    """History and all, bytes and messages included."""
    straight = trained(shard_booster(learner=learner))
    with DaskShards(client, small_sources()) as shards:
        assert trained(shard_booster(learner=learner, shards=shards)) == straight


def test_shards_can_share_workers(client: Any) -> None:
    sources = small_sources(n_shards=7)
    straight = trained(shard_booster(shards=LocalShards(sources)))
    workers = list(client.scheduler_info(n_workers=-1)["workers"])
    for places in (None, [workers[0]] * 7):
        with DaskShards(client, sources, workers=places) as shards:
            assert trained(shard_booster(shards=shards)) == straight


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "stopped"])
def test_a_lost_worker_changes_no_bit(
    cluster: Cluster, client: Any, how: signal.Signals, tmp_path: Path
) -> None:
    sources = file_sources(tmp_path, n=900, n_shards=3)
    straight = trained(shard_booster(shards=LocalShards(sources), n_rounds=12))

    def disturb() -> None:
        os.kill(cluster.workers[1].pid, how)

    with DaskShards(client, sources, patience=2.0) as shards:
        booster = shard_booster(shards=shards, n_rounds=12)
        assert trained(booster, disturb) == straight
        assert booster.exchange.n_lost == 1


def test_a_lost_cluster_is_an_error_with_a_state(
    cluster: Cluster, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("boostsample.dask.cluster._SCHEDULER", 2.0)
    monkeypatch.setattr("boostsample.dask.cluster._NO_WORKER", 2.0)
    straight = trained(shard_booster("uniform-naive"))
    with DaskShards(client, small_sources(), patience=2.0) as shards:
        booster = shard_booster("uniform-naive", shards=shards)
        rounds = [booster.next_round() for _ in range(3)]
        for process in (cluster.scheduler, *cluster.workers):
            process.kill()
        with pytest.raises(ShardError, match="small_state"):
            booster.next_round()
        state = booster.small_state()
    other = shard_booster("uniform-naive")
    other.replay([one.terms for one in rounds], [one.edge for one in rounds], state)
    rounds += [other.next_round() for _ in range(4)]
    assert bits(rounds) == straight


class _Failing:
    """A source whose rows cannot be loaded."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def load(self) -> ShardData:
        raise self._error


@pytest.mark.parametrize(
    ("error", "kind", "message"),
    [
        (FileNotFoundError("no file"), DataError, "shard 0 on the worker .* cannot read its rows"),
        (MemoryError(), ShardError, "run out of memory"),
        (DataError("its own words"), DataError, "its own words"),
        (ZeroDivisionError("a fault"), ZeroDivisionError, "a fault"),
    ],
)
def test_errors_of_sources(client: Any, error: Exception, kind: Any, message: str) -> None:
    with (
        DaskShards(client, [_Failing(error), *small_sources()]) as shards,
        pytest.raises(kind, match=message),
    ):
        ShardBooster(shards, "laminating")


def test_settings(client: Any) -> None:
    with pytest.raises(SettingError, match="at least one source"):
        DaskShards(client, [])
    with pytest.raises(SettingError, match="one for each of the 3 sources"):
        DaskShards(client, small_sources(), workers=["tcp://a"])
    with pytest.raises(SettingError, match="patience"):
        DaskShards(client, small_sources(), patience=0)


def test_a_worker_drops_the_shards_of_a_closed_transport(client: Any) -> None:
    def n_shards() -> int:
        from boostsample.dask import worker

        return len(worker._shards)

    with DaskShards(client, small_sources()) as shards:
        shard_booster(shards=shards)
        held = sum(client.run(n_shards).values())
    assert held >= 3
    assert sum(client.run(n_shards).values()) == held - 3


def test_closed_clients_are_named(cluster: Cluster) -> None:
    cluster.complete()
    with distributed.Client(cluster.address, set_as_default=False) as one:
        shards = DaskShards(one, small_sources())
        booster = shard_booster(shards=shards)
        booster.next_round()
    with pytest.raises(ShardError, match="is closed"):
        booster.next_round()
    shards.close()
