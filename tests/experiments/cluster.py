"""A Dask cluster of real processes on this machine, whose processes tests kill and stop."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.paths import ROOT

__all__ = ["PATIENCE", "Cluster"]

PATIENCE = 300.0
"""Seconds to wait for processes that start; far above what they take, for a busy machine."""


class Cluster:
    """A Dask scheduler and worker processes on this machine; a context manager that ends them.

    `complete` starts them.
    """

    def __init__(self, folder: Path, n_workers: int = 3) -> None:
        self._folder = folder
        self._n_workers = n_workers
        self._file = folder / "scheduler.json"
        self._started: list[subprocess.Popen[bytes]] = []
        self.workers: list[subprocess.Popen[bytes]] = []
        self.scheduler: subprocess.Popen[bytes]
        self.address = ""

    def start(self) -> None:
        """Start a scheduler and all workers, after the end of others."""
        self.end()
        self._file.unlink(missing_ok=True)
        self.scheduler = self._run("scheduler", "--port", "0")
        until = time.monotonic() + PATIENCE
        while not self.address:
            assert time.monotonic() < until, "the scheduler did not start"
            with suppress(FileNotFoundError, json.JSONDecodeError):  # it is empty at first
                self.address = str(json.loads(self._file.read_text())["address"])
            time.sleep(0.05)
        self.complete()

    def add(self) -> None:
        """Start a worker, and do not wait for it."""
        self.workers.append(self._run("worker", "--no-nanny", "--nthreads", "1"))

    def complete(self, n_ready: int | None = None) -> None:
        """Replace workers that are lost or stopped, and wait until all can work, or `n_ready`."""
        distributed: Any = importlib.import_module("distributed")
        psutil: Any = importlib.import_module("psutil")  # comes with distributed
        if not self._started or self.scheduler.poll() is not None:
            self.start()
        for worker in self.workers:
            if worker.poll() is None and psutil.Process(worker.pid).status() == "stopped":
                self.lose(worker)
        self.workers = [worker for worker in self.workers if worker.poll() is None]
        while len(self.workers) < self._n_workers:
            self.add()
        with distributed.Client(self.address, set_as_default=False) as client:
            until = time.monotonic() + PATIENCE
            while len(client.nthreads()) < (n_ready or self._n_workers):
                assert time.monotonic() < until, "the workers did not start"
                time.sleep(0.05)
            if n_ready is None:
                client.run(_import_all)

    def lose(self, worker: subprocess.Popen[bytes]) -> None:
        """Kill a worker."""
        worker.kill()
        worker.wait()

    def end(self) -> None:
        """End all processes."""
        for process in self._started:
            process.kill()
            process.wait()
        self._started, self.workers, self.address = [], [], ""

    def _run(self, *args: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "dask", *args, "--host", "127.0.0.1", "--no-dashboard"]
        process = subprocess.Popen(
            [*command, "--scheduler-file", str(self._file)],
            cwd=self._folder,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self._started.append(process)
        return process

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()


def _import_all() -> None:
    """Import in a worker what it needs for cells."""
    importlib.import_module("boostsample.experiments.run.dask_backend")
