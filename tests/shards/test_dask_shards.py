"""Shards on the workers of a Dask cluster: the bits of shards in this process, whatever happens."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from boostsample.dask import (
    DaskBoostSampleClassifier,
    DaskShards,
    LocalShards,
    ShardBooster,
    ShardData,
)
from boostsample.errors import DataError, SettingError, ShardError
from tests.dask.kills import Fits
from tests.experiments.cluster import Cluster
from tests.loop.checkpoint_runs import bits
from tests.shards.shard_runs import file_sources, shard_booster, small_sources

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


@pytest.mark.parametrize("learner", ["tree:n_leaves=4", "product:n_terms=2"])
@pytest.mark.parametrize(("n_shards", "on_one"), [(3, False), (7, False), (7, True)])
def test_results_are_those_of_one_process(
    n_shards: int, on_one: bool, learner: str, client: Any
) -> None:
    """History and all, bytes and messages included; shards may share workers."""
    sources = small_sources(n_shards)
    straight = trained(shard_booster(learner=learner, shards=LocalShards(sources)))
    places = [min(client.nthreads())] * n_shards if on_one else None
    with DaskShards(client, sources, workers=places) as shards:
        assert trained(shard_booster(learner=learner, shards=shards)) == straight


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
    other.replay([done.terms for done in rounds], [done.edge for done in rounds], state)
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
        (ZeroDivisionError("a fault"), ZeroDivisionError, "a fault"),
    ],
)
def test_errors_of_sources(client: Any, error: Exception, kind: Any, message: str) -> None:
    with (
        DaskShards(client, [_Failing(error), *small_sources()]) as shards,
        pytest.raises(kind, match=message),
    ):
        ShardBooster(shards, "laminating")


_NUMERICS = "boostsample.loop.numerics"
OTHER_VERSIONS = {
    "release": ("import boostsample; boostsample.__version__ = '0.0.9'", "boostsample 0.0.9"),
    "numerics": (f"import {_NUMERICS} as module; module.NUMERICS = 1", "NUMERICS 1"),
}
"""Code that a worker runs first, and how its versions differ."""


@pytest.fixture
def stranger(cluster: Cluster, client: Any) -> Iterator[Any]:
    """Adds a worker of other versions; returns its address."""

    def add(code: str) -> str:
        before = set(client.nthreads())
        cluster.add(code)
        cluster.wait()
        (address,) = set(client.nthreads()) - before
        return str(address)

    n_workers = len(cluster.workers)
    yield add
    for worker in cluster.workers[n_workers:]:
        cluster.lose(worker)
    cluster.workers = [worker for worker in cluster.workers if worker.is_running()]
    cluster.wait()


@pytest.mark.parametrize("versions", OTHER_VERSIONS)
def test_a_worker_of_other_versions_is_named_before_anything_is_read(
    versions: str, stranger: Any, client: Any
) -> None:
    code, there = OTHER_VERSIONS[versions]
    address = stranger(code)
    message = f"^the worker {address} has {there}, but the client has .*; .* restart the worker$"
    model = DaskBoostSampleClassifier(client=client, random_state=0)
    with pytest.raises(ShardError, match=message):
        model.fit("there is no such folder", "y")
    with pytest.raises(ShardError, match=message):
        DaskShards(client, small_sources())


def test_a_worker_of_other_versions_does_not_replace_a_lost_one(
    cluster: Cluster, stranger: Any, client: Any
) -> None:
    straight = trained(shard_booster("uniform-naive"))
    with DaskShards(client, small_sources()) as shards:
        booster = shard_booster("uniform-naive", shards=shards)
        rounds = [booster.next_round() for _ in range(3)]
        address = stranger(OTHER_VERSIONS["numerics"][0])
        rounds.append(booster.next_round())
        os.kill(cluster.workers[1].pid, signal.SIGKILL)
        with pytest.raises(ShardError, match=f"the worker {address} has NUMERICS 1"):
            rounds.extend(iter(booster.next_round, None))
        state = booster.small_state()
    other = shard_booster("uniform-naive")
    other.replay([done.terms for done in rounds], [done.edge for done in rounds], state)
    assert bits(rounds) + trained(other) == straight


def test_fits_with_kills_end_well_and_others_are_found(cluster: Cluster, tmp_path: Path) -> None:
    """The shortest version of kills.py."""
    cluster.complete()
    fits = Fits(tmp_path, cluster, n=100, n_rounds=20)
    assert [fits.run(), fits.run("a value")] == ["", ""]
    other = ["another model"]
    assert fits.ending("", False, other, None) == "wrong: 'another model'"
    assert fits.ending("a value", False, other, None) == "wrong: 'another model'"
    assert "ZeroDivisionError" in fits.ending("a value", False, [], ZeroDivisionError("fault"))
    assert "no file" in fits.ending("", False, [], DataError("no file changed"))


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
    with distributed.Client(cluster.address, set_as_default=False) as client:
        shards = DaskShards(client, small_sources())
        booster = shard_booster(shards=shards)
        booster.next_round()
    with pytest.raises(ShardError, match="is closed"):
        booster.next_round()
    shards.close()
