"""The rows do not depend on where cells are trained, and lost workers cost no cell."""

from __future__ import annotations

import importlib.util
import os
import signal
import tempfile
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from boostsample.errors import DataError, SettingError, StrategyError
from boostsample.experiments.cells import tasks
from boostsample.experiments.cells.cell_file import Cell
from boostsample.experiments.cells.store import FolderStore, Store
from boostsample.experiments.cells.tasks import CellTask
from boostsample.experiments.cells.training import TrainingWatch, train_cell
from boostsample.experiments.plan.variants import Variant
from boostsample.experiments.results.read_folder import read_results
from boostsample.experiments.run import backends as backends_module
from boostsample.experiments.run.backends import Backend, WorkerLost, check_backend
from boostsample.experiments.run.comparison import compare_all, open_backend
from tests.experiments.conftest import CommandLine
from tests.experiments.small_runs import prepared_thirds, rows_of_threads, timeless
from tests.paths import run_python


@pytest.fixture(autouse=True)
def _a_cache_of_its_own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BOOSTSAMPLE_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.mark.parametrize(
    ("name", "n_jobs", "message"),
    [
        ("threads", None, "backend must be one of threading, serial, loky, dask, .* got 'threads'"),
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


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ("--backend mpi", "backend must be one of"),
        ("--shard 0/3", "shard must be I/N with 1 <= I <= N < 1,000,000 as in 2/8, got '0/3'"),
        ("--shard 4/3", "got '4/3'"),
        ("--shard 1/3", "--shard needs the folder that all shares fill; add --results DIR"),
    ],
)
def test_the_command_refuses_before_anything_is_made(
    cli: CommandLine, args: str, message: str
) -> None:
    assert message in cli.refused(f"compare --data chess(d=3,n=60) {args}")
    assert list(Path().iterdir()) == []


def test_shards_of_the_command_fill_one_folder(cli: CommandLine) -> None:
    command = "compare --data chess(d=3,n=60) --rounds 2,4 --repeats 2"
    table = cli(f"{command} --results whole --quiet")
    out = cli(f"{command} --results shared --shard 1/2")
    assert out == "share 1/2 is done; 5 of 10 runs are saved\nresults: shared\n"
    assert read_results("shared").missing == 5
    out = cli(f"{command} --results shared --shard 2/2 --quiet")
    assert out.splitlines()[:12] == table.splitlines()[:12]
    assert len(read_results("shared").rows) == 5 * 2 * 2


@pytest.mark.parametrize("more", ["--rounds 3,4", "--rounds 4 --history"])
def test_a_share_of_a_grown_grid_leaves_the_folder_readable(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch, more: str
) -> None:
    """Cells without the scores or searches of the grown grid count as missing."""
    command = "compare --data chess(d=3,n=60) --repeats 1 --results new --quiet"
    monkeypatch.setattr(tasks, "_CURVE_POINTS", 2)
    cli(f"{command} --rounds 4")
    assert "share 1/5 is done; 5 of 5 runs are saved" in cli(f"{command} {more} --shard 1/5")
    assert read_results("new").missing == 4
    cli("table new")
    cli(f"{command} {more}")
    assert read_results("new").missing == 0


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGSTOP])
def test_a_process_that_is_killed_or_stopped_costs_no_cell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sent: signal.Signals
) -> None:
    monkeypatch.setattr(backends_module, "_STOPPED", 0.5)
    prepared = prepared_thirds(200, 2)
    killed: list[int] = []
    with open_backend("loky", 2) as backend:

        def progress(stage: str, done: int, total: int) -> None:
            workers: Any = getattr(backend, "_workers", None)
            if not killed and done > 0 and stage == "boosting" and workers:
                killed.append(workers[0].pid)
                os.kill(killed[0], sent)

        found = compare_all([prepared], FolderStore(tmp_path), backend, progress)
    assert killed
    assert timeless(found) == rows_of_threads(prepared)
    with pytest.raises(ProcessLookupError):
        os.kill(killed[0], 0)


def test_a_process_ends_if_its_parent_has_died_before_the_work(tmp_path: Path) -> None:
    """Its own number is never that of its parent."""
    folder = tmp_path / "exchange"
    folder.mkdir()
    ended = run_python(
        "-c",
        "import os, pathlib, boostsample.experiments.run.backends as backends\n"
        f"folder = pathlib.Path({str(folder)!r})\n"
        "backends._write(folder / 'plan', None)\n"
        "backends._begin_work(folder / 'plan', os.getpid())\n"
        "backends._Orphan(folder).check()\n",
    )
    assert (ended.returncode, ended.stderr) == (1, "")
    assert not folder.exists()


def test_a_process_that_is_stopped_before_it_reads_costs_no_cell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Data do not fit into a pipe: who writes them into one waits for the process."""
    fork_exec = pytest.importorskip(
        "joblib.externals.loky.backend.fork_exec", reason="processes begin in another way here"
    )
    monkeypatch.setattr(backends_module, "_STOPPED", 0.5)
    prepared = prepared_thirds(20, 2, n_rows=9000)
    assert prepared.data.X.nbytes > 2**16
    start, stopped = fork_exec.fork_exec, list[int]()

    def start_stopped(*args: Any, **options: Any) -> int:
        pid: int = start(*args, **options)
        if "popen_loky" in str(args) and not stopped:
            os.kill(pid, signal.SIGSTOP)
            stopped.append(pid)
        return pid

    monkeypatch.setattr(fork_exec, "fork_exec", start_stopped)
    with open_backend("loky", 2) as backend:
        found = compare_all([prepared], FolderStore(tmp_path), backend)
    assert stopped
    assert timeless(found) == rows_of_threads(prepared)


def test_without_a_place_to_exchange_cells_the_way_out_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepared = prepared_thirds(5, 1)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    message = "exchange cells in '.*gone': .*; make room, or set TMPDIR to another folder"
    with open_backend("loky", 1) as backend, pytest.raises(DataError, match=message):
        compare_all([prepared], Store(), backend)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no device that is full")
def test_a_full_disk_is_told_when_cells_are_exchanged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "plan").symlink_to("/dev/full")

    class Full(tempfile.TemporaryDirectory[str]):
        def __init__(self, **_: Any) -> None:
            self.name = str(tmp_path)

        def cleanup(self) -> None:
            pass

    monkeypatch.setattr(tempfile, "TemporaryDirectory", Full)
    message = "exchange cells in '.*': No space left on device; make room"
    with open_backend("loky", 1) as backend, pytest.raises(DataError, match=message):
        compare_all([prepared_thirds(5, 1)], Store(), backend)


class Fragile(Backend):
    """Trains at once, but loses its workers over one strategy, and over what is beside it then."""

    in_process = True

    def __init__(self, label: str, times: int) -> None:
        super().__init__(3)
        self.label = label
        self.times = times
        self.held: Future[Cell] | None = None
        self.submitted: list[str] = []

    def submit(self, task: CellTask, before: Cell | None, watch: TrainingWatch) -> Future[Cell]:
        assert self.split is not None
        future: Future[Cell] = Future()
        label = task.variant.label
        self.submitted.append(label)
        if label == self.label and self.times:
            self.times -= 1
            for one in (future, self.held):
                if one is not None:
                    one.set_exception(WorkerLost("it is gone"))
            self.held = None
        elif len(self.submitted) == 1:
            self.held = future
        else:
            future.set_result(train_cell(self.split, task, watch, before))
        return future


def test_cells_whose_workers_were_lost_are_tried_again() -> None:
    prepared = prepared_thirds(5, 1)
    backend = Fragile("uniform-naive:n_features=2", 2)
    found = compare_all([prepared], Store(), backend)
    assert timeless(found) == rows_of_threads(prepared, 1)
    first = ["laminating", "uniform-naive:n_features=2"]
    assert backend.submitted[:2] == first
    assert sorted(backend.submitted[2:]) == sorted([*first, first[1], "mas-naive"])


def test_a_cell_that_kills_its_workers_is_named(tmp_path: Path) -> None:
    backend = Fragile("uniform-naive:n_features=2", 99)
    message = (
        "n_features=2 of thirds, repetition 0: 3 workers were lost over this cell, the last time: "
        "it is gone; it may need more memory than there is: take fewer --jobs, or leave it out"
    )
    with pytest.raises(StrategyError, match=message):
        compare_all([prepared_thirds(5, 1)], FolderStore(tmp_path), backend)
    assert not list((tmp_path / "cells").glob("*.claim"))


def test_a_fault_in_another_process_is_told_as_it_is() -> None:
    prepared = prepared_thirds(5, 1)
    wrong = replace(prepared, variants=(Variant("laminating", {"n_features": 3}),))
    with open_backend("loky", 1) as backend, pytest.raises(SettingError, match="power of two"):
        compare_all([wrong], Store(), backend)


class Absent(Fragile):
    """Has no worker for a while, and then gives up waiting."""

    def __init__(self, patience: int) -> None:
        super().__init__("", 0)
        self.patience = patience
        self.looks = 0

    @property
    def n_workers(self) -> int:
        return int(self.looks > 3)

    def look(self) -> None:
        self.looks += 1
        if self.looks > self.patience:
            raise DataError("no worker has come")


def test_cells_wait_for_a_worker_but_not_forever() -> None:
    prepared = prepared_thirds(5, 1)
    backend = Absent(99)
    backend.submitted.append("")  # nothing is held
    assert compare_all([prepared], Store(), backend)
    with pytest.raises(DataError, match="no worker has come"):
        compare_all([prepared], Store(), Absent(2))
