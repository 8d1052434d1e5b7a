"""The backend Dask: rows, lost and silent workers, and each of its messages."""

from __future__ import annotations

import importlib
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import create_autospec

import pytest

from boostsample.errors import DataError, ShardError
from boostsample.experiments.cells.store import FolderStore, Store
from boostsample.experiments.run.backends import Backend
from boostsample.experiments.run.comparison import Schedule, compare_all, open_backend
from tests.experiments.cluster import Cluster
from tests.experiments.small_runs import prepared_thirds, rows_of_threads, timeless
from tests.waiting import PATIENCE, wait_until

pytest.importorskip("distributed", reason="the extra 'dask' is not installed")
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="it has no SIGKILL")

dask_backend: Any = importlib.import_module("boostsample.experiments.run.dask_backend")


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("cluster")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BOOSTSAMPLE_CACHE_DIR", str(folder / "cache"))
        with Cluster(folder, 2) as cluster:
            yield cluster


@pytest.fixture
def cluster(started: Cluster, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    """A scheduler with two workers, and a client that asks it four times a second.

    Tests of silence shorten `_SILENT` when it begins: a busy machine delays heartbeats.
    """
    monkeypatch.setattr(dask_backend, "_LOOK", 0.25)
    monkeypatch.setattr(dask_backend, "_SILENT", PATIENCE)
    started.complete()
    return started


def address_of(cluster: Cluster) -> str:
    return cluster.address.replace("tcp://", "dask://")


def wait_for_workers(backend: Backend, n_workers: int) -> None:
    wait_until(lambda: backend.n_workers == n_workers, f"the backend knows {n_workers} workers")


class Once:
    """Progress that calls something when a quarter of the rounds are done."""

    def __init__(self, what: Callable[[], object]) -> None:
        self._what = what
        self.called = False

    def __call__(self, stage: str, done: int, total: int) -> None:
        if stage == "boosting" and done >= total / 4 and not self.called:
            self.called = True
            self._what()


def test_a_killed_worker_costs_no_cell(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepared = prepared_thirds(300, 4)
    splits = create_autospec(Schedule._split, side_effect=Schedule._split)
    monkeypatch.setattr(Schedule, "_split", splits)
    with open_backend(address_of(cluster), None) as backend:
        wait_for_workers(backend, 2)
        kill = Once(lambda: cluster.lose(cluster.workers[0]))
        found = compare_all([prepared], FolderStore(tmp_path), backend, kill)
        assert kill.called
        assert backend.n_workers == 1
    assert splits.call_count == 4
    assert timeless(found) == rows_of_threads(prepared)


def test_a_stopped_worker_costs_no_cell(cluster: Cluster) -> None:
    prepared = prepared_thirds(300, 2)
    stop = Once(lambda: cluster.stop(cluster.workers[0]))
    with open_backend(address_of(cluster), None) as backend:
        found = compare_all([prepared], Store(), backend, stop)
        assert stop.called
        wait_for_workers(backend, 1)  # its cells may have been done before
        assert cluster.workers[0].status() == "stopped"
    assert timeless(found) == rows_of_threads(prepared)


def test_without_workers_the_run_waits_and_then_ends(
    cluster: Cluster,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def lose_all() -> None:
        monkeypatch.setattr(dask_backend, "_SILENT", 5.0)
        for worker in cluster.workers:
            cluster.lose(worker)

    prepared, kill = prepared_thirds(300, 2), Once(lose_all)
    message = (
        f"the Dask cluster at {address_of(cluster)[7:]} is lost: no worker has sent a heartbeat "
        "for 5 s; finished cells are kept: start the cluster again, and run the same command"
    )
    with (
        open_backend(address_of(cluster), None) as backend,
        pytest.raises(DataError, match=message),
    ):
        compare_all([prepared], FolderStore(tmp_path), backend, kill)
    assert "has no workers left; waiting 5 s for one" in caplog.text
    kept = len(list(tmp_path.glob("cells/*.npz")))
    assert kept
    assert not list(tmp_path.glob("cells/*.claim"))
    monkeypatch.setattr(dask_backend, "_SILENT", PATIENCE)
    cluster.complete()
    with open_backend(address_of(cluster), None) as backend:
        found = compare_all([prepared], FolderStore(tmp_path), backend)
    assert timeless(found) == rows_of_threads(prepared)


@pytest.mark.parametrize(
    ("sent", "why"),
    [
        (signal.SIGSTOP, "no worker has sent a heartbeat for 5 s"),
        (signal.SIGKILL, "the scheduler does not answer"),
    ],
)
def test_without_a_scheduler_the_run_ends(
    cluster: Cluster,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    sent: signal.Signals,
    why: str,
) -> None:
    def stop_it() -> None:
        if sent == signal.SIGSTOP:
            monkeypatch.setattr(dask_backend, "_SILENT", 5.0)
        cluster.scheduler.send_signal(sent)

    monkeypatch.setattr(dask_backend, "_CONNECT", 3.0)
    stop = Once(stop_it)
    where = address_of(cluster)[7:]
    message = f"the Dask cluster at {where} is lost: {why}; finished "
    with (
        open_backend(address_of(cluster), None) as backend,
        pytest.raises(DataError, match=message),
    ):
        compare_all([prepared_thirds(300, 2)], FolderStore(tmp_path), backend, stop)
    cluster.end()


def test_a_cluster_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dask_backend, "_CONNECT", 0.5)
    with pytest.raises(DataError, match=r"no Dask cluster with workers was found at 127.0.0.1:9"):
        open_backend("dask://127.0.0.1:9", None)


def test_an_interrupt_frees_the_workers(cluster: Cluster) -> None:
    def progress(stage: str, done: int, total: int) -> None:
        if stage == "boosting" and backend._client.futures:
            time.sleep(3.0)
            raise KeyboardInterrupt

    forever, short = prepared_thirds(10_000_000, 1), prepared_thirds(5, 1)
    backend: Any
    with open_backend(address_of(cluster), None) as backend, pytest.raises(KeyboardInterrupt):
        compare_all([forever], Store(), backend, progress)
    until = time.monotonic() + PATIENCE

    def in_time(stage: str, done: int, total: int) -> None:
        if time.monotonic() > until:
            raise TimeoutError("the workers still train the interrupted cells")

    with open_backend(address_of(cluster), None) as backend:
        found = compare_all([short], Store(), backend, in_time)
    assert timeless(found) == rows_of_threads(short)


OTHER_NUMERICS = (
    "import boostsample.loop.numerics as a, boostsample.experiments.cells.training as b; "
    "a.NUMERICS = b.NUMERICS = 1"
)


def test_a_worker_of_other_versions_ends_the_run(cluster: Cluster, tmp_path: Path) -> None:
    prepared = prepared_thirds(300, 2)  # none of three workers comes too late for a cell
    cluster.add(OTHER_NUMERICS)
    cluster.wait()
    with open_backend(address_of(cluster), None) as backend:
        wait_for_workers(backend, 3)
        with pytest.raises(ShardError, match=r"the worker tcp.* has NUMERICS 1, but the client"):
            compare_all([prepared], FolderStore(tmp_path), backend)
    cluster.lose(cluster.workers.pop())
    cluster.wait()
    with open_backend(address_of(cluster), None) as backend:
        found = compare_all([prepared], FolderStore(tmp_path), backend)
    assert timeless(found) == rows_of_threads(prepared)
    assert not (tmp_path / "cells" / "aside").exists()
