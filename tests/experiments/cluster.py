"""A Dask cluster of real processes on this machine, whose processes tests kill and stop."""

from __future__ import annotations

import importlib
import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.paths import ROOT
from tests.waiting import wait_until

# Imports once, and forks a worker for each line that it reads: the address of a scheduler, and code
# that the worker runs first.
_WORKERS = """
import asyncio, os, signal, sys
import distributed
import boostsample.dask.cluster_table
import boostsample.experiments.run.dask_backend
import boostsample.shards.server

async def work(address):
    settings = dict(name=os.getpid(), nthreads=1, host="127.0.0.1", dashboard=False)
    async with distributed.Worker(address, **settings) as worker:
        await worker.finished()

signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # no zombies
for line in sys.stdin:
    child = os.fork()
    if not child:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        address, _, code = line.strip().partition(" ")
        exec(code)
        asyncio.run(work(address))
        os._exit(0)
    print(child, flush=True)
"""


async def _expire(pid: int, dask_scheduler: Any) -> None:
    """Runs on the scheduler: it checks the workers, one of which has never sent a heartbeat."""
    dask_scheduler.workers[dask_scheduler.aliases[pid]].last_seen = 0.0
    await dask_scheduler.check_worker_ttl()


class Cluster:
    """A Dask scheduler and worker processes on this machine; a context manager that ends them.

    `complete` starts them. No worker is lost because a busy machine delays its heartbeats, unless
    `worker_ttl` is short: `stop` needs no time for that.
    """

    def __init__(self, folder: Path, n_workers: int = 3, worker_ttl: str = "1h") -> None:
        self._folder = folder
        self._n_workers = n_workers
        self._worker_ttl = worker_ttl
        self._file = folder / "scheduler.json"
        self._parent: subprocess.Popen[bytes] | None = None  # of the workers
        self.workers: list[Any] = []
        self.scheduler: Any = None
        self.address = ""

    def start(self) -> None:
        """Start a scheduler and all workers, after the end of others."""
        self.end()
        self._file.unlink(missing_ok=True)
        command = "-m dask scheduler --host 127.0.0.1 --port 0 --no-dashboard --scheduler-file"
        self.scheduler = self._run(*command.split(), str(self._file))
        wait_until(self._has_address, "the scheduler starts")
        self.complete()

    def _has_address(self) -> bool:
        with suppress(FileNotFoundError, json.JSONDecodeError):  # it is empty at first
            self.address = str(json.loads(self._file.read_text())["address"])
        return bool(self.address)

    def add(self, code: str = "") -> None:
        """Start a worker, which runs a line of code first, and do not wait for it to join."""
        psutil: Any = importlib.import_module("psutil")  # comes with distributed
        if self._parent is None:
            self._parent = self._run("-c", _WORKERS)
        assert self._parent.stdin is not None
        assert self._parent.stdout is not None
        self._parent.stdin.write(f"{self.address} {code}\n".encode())
        self._parent.stdin.flush()
        self.workers.append(psutil.Process(int(self._parent.stdout.readline())))

    def complete(self) -> None:
        """Replace workers that are lost or stopped, and wait until all can work."""
        if self.scheduler is None or self.scheduler.poll() is not None:
            self.start()
        for worker in self.workers:
            if worker.is_running() and worker.status() == "stopped":
                self.lose(worker)
        self.workers = [worker for worker in self.workers if worker.is_running()]
        while len(self.workers) < self._n_workers:
            self.add()
        self.wait()

    def wait(self) -> None:
        distributed: Any = importlib.import_module("distributed")
        with distributed.Client(self.address, set_as_default=False) as client:
            wait_until(lambda: len(client.nthreads()) == len(self.workers), "all workers join")

    def stop(self, worker: Any) -> None:
        """Stop a worker, and let the scheduler find that its `worker-ttl` is over."""
        distributed: Any = importlib.import_module("distributed")
        worker.send_signal(signal.SIGSTOP)
        with distributed.Client(self.address, set_as_default=False) as client:
            client.run_on_scheduler(_expire, worker.pid)

    def lose(self, process: Any) -> None:
        process.kill()
        process.wait()

    def end(self) -> None:
        for worker in self.workers:
            if worker.is_running():
                self.lose(worker)
        for process in (self.scheduler, self._parent):
            if process is not None:
                process.kill()
                process.communicate()
        self.workers, self.scheduler, self._parent, self.address = [], None, None, ""

    def _run(self, *args: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, *args],
            cwd=self._folder,
            env={
                **os.environ,
                "PYTHONPATH": str(ROOT),
                "DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": self._worker_ttl,
            },
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()
