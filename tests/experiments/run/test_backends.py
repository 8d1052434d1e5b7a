"""The rows do not depend on where cells are trained, and lost workers cost no cell."""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor, Future
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from boostsample.errors import DataError, SettingError, StrategyError
from boostsample.experiments.cells.cell_file import Cell
from boostsample.experiments.cells.store import FolderStore, Store
from boostsample.experiments.cells.training import (
    TrainingOrder,
    TrainingSplit,
    TrainingWatch,
    train_cell,
)
from boostsample.experiments.commands.cli import main
from boostsample.experiments.data.dataset import Dataset
from boostsample.experiments.plan.plan import Plan
from boostsample.experiments.plan.prepared import Prepared, prepare
from boostsample.experiments.plan.variants import Variant, parse_names
from boostsample.experiments.results.read_folder import read_results
from boostsample.experiments.run import backends as backends_module
from boostsample.experiments.run.backends import Backend, check_backend, open_backend
from boostsample.experiments.run.compare import Comparison, compare_all
from boostsample.experiments.run.schedule import Schedule
from tests.paths import ROOT

#: Seconds to wait for processes; far above what they take, for a busy machine.
PATIENCE = 300

LIST = "laminating,uniform-naive:n_features=2,mas-naive"


def prepared_for(n_rounds: int = 12, repeats: int = 2, strategies: str = LIST) -> Prepared:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(160, 6)).astype(np.float32)
    y = np.digitize(X[:, 0] + X[:, 1], [-0.7, 0.7]).astype(np.int64)
    plan = Plan(strategies=parse_names(strategies), marks=(3, n_rounds), repeats=repeats)
    return prepare(Dataset("thirds", X, y, ("a", "b", "c")), plan)


@pytest.fixture(autouse=True)
def _a_cache_of_its_own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BOOSTSAMPLE_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield


def timeless(comparisons: list[Comparison]) -> list[dict[str, Any]]:
    rows = [row for one in comparisons for row in one.rows]
    return [{key: value for key, value in row.items() if key != "seconds"} for row in rows]


def rows_by(name: str, n_jobs: int | None, prepared: Prepared) -> list[dict[str, Any]]:
    with open_backend(name, n_jobs) as backend:
        return timeless(compare_all([prepared], Store(), backend))


@pytest.mark.parametrize(
    ("name", "n_jobs", "message"),
    [
        ("threads", None, "backend must be one of threading, serial, loky, dask, .* got 'threads'"),
        ("dask://", None, "backend must be one of"),
        ("dask://host", None, "backend must be one of"),
        ("serial", 2, "one cell at a time, got --jobs 2; leave --jobs out"),
    ],
)
def test_backends_that_there_are_not(name: str, n_jobs: int | None, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        check_backend(name, n_jobs)


def test_without_distributed_the_way_out_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(SettingError, match=r"pip install 'boostsample\[dask\]'"):
        check_backend("dask", None)
    check_backend("loky", None)


def test_the_command_refuses_before_anything_is_made(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    for args, message in (
        (["--backend", "mpi"], "backend must be one of"),
        (["--shard", "0/3"], "shard must be I/N with 1 <= I <= N as in 2/8, got '0/3'"),
        (["--shard", "4/3"], "got '4/3'"),
    ):
        assert main(["compare", "--data", "chess(d=3,n=60)", *args]) == 2
        assert message in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_shards_of_the_command_fill_one_folder(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    args = ["compare", "--data", "chess(d=3,n=60)", "--rounds", "2,4", "--repeats", "2"]
    assert main([*args, "--results", "whole", "--quiet"]) == 0
    table = capsys.readouterr().out
    assert main([*args, "--results", "shared", "--shard", "1/2"]) == 0
    told = capsys.readouterr().out
    assert told == "share 1/2 is done; 5 of 10 runs are saved\nresults: shared\n"
    found = read_results("shared")
    assert found.missing == 5
    assert main([*args, "--results", "shared", "--shard", "2/2", "--quiet"]) == 0
    assert capsys.readouterr().out.splitlines()[:12] == table.splitlines()[:12]
    assert len(read_results("shared").rows) == 5 * 2 * 2


def test_processes_give_the_rows_of_threads() -> None:
    prepared = prepared_for()
    assert rows_by("loky", 2, prepared) == rows_by("threading", 1, prepared)


def test_a_process_that_is_killed_costs_no_cell(tmp_path: Path) -> None:
    prepared = prepared_for(200, 2)
    killed: list[int] = []
    with open_backend("loky", 2) as backend:

        def progress(stage: str, done: int, total: int) -> None:
            processes: Any = getattr(getattr(backend, "_pool", None), "_processes", None)
            if not killed and done > 0 and stage == "boosting" and processes:
                killed.append(next(iter(processes)))
                os.kill(killed[0], signal.SIGKILL)

        found = compare_all([prepared], FolderStore(tmp_path), backend, progress)
    assert killed
    assert timeless(found) == rows_by("threading", 2, prepared)


class Fragile(Backend):
    """Trains at once, but loses its workers over one strategy, and over what is beside it then."""

    lost = (BrokenExecutor,)
    in_process = True

    def __init__(self, label: str, times: int) -> None:
        self.label = label
        self.times = times
        self.held: Future[Cell] | None = None
        self.submitted: list[str] = []
        self.restarts = 0

    @property
    def n_workers(self) -> int:
        return 3

    def begin(self, prepared: Prepared) -> None:
        pass

    def submit(
        self, order: TrainingOrder, split: TrainingSplit | None, watch: TrainingWatch
    ) -> Future[Cell]:
        assert split is not None
        future: Future[Cell] = Future()
        label = order.task.variant.label
        self.submitted.append(label)
        if label == self.label and self.times:
            self.times -= 1
            for one in (future, self.held):
                if one is not None:
                    one.set_exception(BrokenExecutor("gone"))
            self.held = None
        elif len(self.submitted) == 1:
            self.held = future
        else:
            future.set_result(train_cell(split, order, watch))
        return future

    def restart(self) -> None:
        self.restarts += 1

    def end(self) -> None:
        pass


def test_cells_whose_workers_were_lost_are_tried_again_alone() -> None:
    prepared = prepared_for(5, 1)
    backend = Fragile("uniform-naive:n_features=2", 2)
    found = compare_all([prepared], Store(), backend)
    assert timeless(found) == rows_by("threading", 1, prepared)
    assert backend.restarts == 2
    first = ["laminating", "uniform-naive:n_features=2"]
    assert backend.submitted[:2] == first
    assert sorted(backend.submitted[2:]) == sorted([*first, first[1], "mas-naive"])


def test_a_cell_that_kills_its_workers_is_named(tmp_path: Path) -> None:
    backend = Fragile("uniform-naive:n_features=2", 99)
    message = "n_features=2 of thirds, repetition 0: 3 workers were lost over this cell"
    with pytest.raises(StrategyError, match=message):
        compare_all([prepared_for(5, 1)], FolderStore(tmp_path), backend)
    assert not list((tmp_path / "cells").glob("*.claim"))


def test_a_fault_in_another_process_is_told_as_it_is() -> None:
    prepared = prepared_for(5, 1)
    wrong = Prepared(
        prepared.data,
        prepared.plan,
        prepared.families,
        (Variant("laminating", {"n_features": 3}),),
        prepared.splits,
        (),
    )
    with open_backend("loky", 1) as backend, pytest.raises(SettingError, match="power of two"):
        compare_all([wrong], Store(), backend)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[tuple[str, list[Any]]]:
    """A scheduler and two worker processes of Dask: the address and the workers."""
    pytest.importorskip("distributed", reason="the extra 'dask' is not installed")
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "DASK_DISTRIBUTED__ADMIN__TICK__LIMIT": "1h",
    }
    file = tmp_path / "scheduler.json"
    started = []

    def start(*args: str) -> Any:
        process = subprocess.Popen(
            [sys.executable, "-m", "dask", *args, "--scheduler-file", str(file)],
            cwd=tmp_path,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        started.append(process)
        return process

    worker = ("worker", "--no-nanny", "--nthreads", "1", "--no-dashboard", "--host", "127.0.0.1")
    distributed: Any = importlib.import_module("distributed")
    try:
        start("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard")
        address = address_in(file)
        workers = [start(*worker) for _ in range(2)]
        with distributed.Client(address, set_as_default=False) as client:
            client.wait_for_workers(2, timeout=PATIENCE)
        yield address.replace("tcp://", "dask://"), workers
    finally:
        for process in started:
            process.kill()
            process.wait()


def address_in(file: Path) -> str:
    """The address in a scheduler's file, which is there, and empty, before it is written."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            return str(json.loads(file.read_text())["address"])
        except (FileNotFoundError, json.JSONDecodeError):
            assert time.monotonic() < until, "the scheduler did not start"
            time.sleep(0.05)


def test_a_cluster_that_loses_a_worker_gives_the_rows_of_threads(
    cluster: tuple[str, list[Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address, workers = cluster
    prepared = prepared_for(300, 4)
    splits: list[int] = []
    make = Schedule._split

    def counted(self: Schedule, *arguments: Any) -> TrainingSplit:
        splits.append(1)
        return make(self, *arguments)

    monkeypatch.setattr(Schedule, "_split", counted)

    def progress(stage: str, done: int, total: int) -> None:
        if stage == "boosting" and done >= total / 4 and workers[0].poll() is None:
            workers[0].send_signal(signal.SIGKILL)
            workers[0].wait()

    with open_backend(address, None) as backend:
        assert backend.n_workers == 2
        found = compare_all([prepared], FolderStore(tmp_path / "results"), backend, progress)
        assert backend.n_workers == 1
    assert workers[0].returncode == -signal.SIGKILL
    assert len(splits) == 4
    assert timeless(found) == rows_by("threading", 2, prepared)


def test_a_cluster_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed", reason="the extra 'dask' is not installed")
    monkeypatch.setattr(backends_module, "_CONNECT", 0.5)
    with pytest.raises(DataError, match=r"no Dask cluster with workers was found at 127.0.0.1:9"):
        open_backend("dask://127.0.0.1:9", None)
