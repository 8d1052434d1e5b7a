"""Runs `boostsample compare` and kills it at random moments until it is done.

    python -m tests.experiments.kills --kills 10 -- --data digits --repeats 2 --rounds 10,300

runs the command undisturbed and then with so many kills, by SIGKILL, into two temporary folders,
and compares what they hold cell by cell, to the bit, seconds apart. Exit code 1 tells of a
difference. Each run is a fork of one process that has compiled already; with --fresh it is a
process of its own, as a user starts it, with the workers of any backend.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from boostsample.experiments.cells.cell_file import Cell
from boostsample.experiments.results.read_folder import read_results
from tests.paths import ROOT

# Imports once, compiles once, and forks a process for each line of arguments that it reads.
_PARENT = """
import json, os, sys
from boostsample.experiments.commands.cli import main
warm_up = json.loads(sys.stdin.readline())
assert main(warm_up) == 0
for line in sys.stdin:
    child = os.fork()
    if not child:
        os._exit(main(json.loads(line)))
    print(child, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


class Runs:
    """A process that runs commands in forks of itself; a context manager."""

    def __init__(self, warm_up: list[str]) -> None:
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        self._process = subprocess.Popen(
            [sys.executable, "-c", _PARENT],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            text=True,
        )
        self._say(warm_up)

    def _say(self, args: list[str]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps([*args, "--quiet"]) + "\n")
        self._process.stdin.flush()

    def _hear(self) -> int:
        """The next whole number; the tables that commands print are passed over."""
        assert self._process.stdout is not None
        while True:
            line = self._process.stdout.readline()
            assert line, "the parent of the runs has ended"
            if line.strip().lstrip("-").isdecimal():
                return int(line)

    def run(
        self,
        args: list[str],
        kill_after: float | None = None,
        begun: Callable[[], bool] = lambda: True,
    ) -> int:
        """Run a command, killing it so many seconds after it has `begun`; its exit code."""
        self._say(args)
        child = self._hear()
        if kill_after is not None:
            with suppress(ProcessLookupError):  # it was done before
                while not begun():
                    os.kill(child, 0)
                    time.sleep(0.01)
                time.sleep(kill_after)
                os.kill(child, signal.SIGKILL)
        return self._hear()

    def __enter__(self) -> Runs:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()


class FreshRuns:
    """Runs commands in processes of their own; a context manager."""

    def __init__(self, warm_up: list[str]) -> None:
        assert self.run(warm_up) == 0

    def run(self, args: list[str], kill_after: float | None = None) -> int:
        """Run a command, killing it after so many seconds; its exit code."""
        process = subprocess.Popen(
            [sys.executable, "-m", "boostsample", *args],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        try:
            return process.wait(kill_after)
        except subprocess.TimeoutExpired:
            process.kill()
            return process.wait()

    def __enter__(self) -> FreshRuns:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is left running."""


def content(folder: Path) -> dict[str, Any]:
    """All that a results folder holds, by name, without what is measured in seconds."""
    found: dict[str, Any] = {}
    for path in sorted((folder / "cells").glob("*.npz")):
        cell = Cell.from_bytes(path.read_bytes())
        found[path.name] = {
            "facts": cell.facts,
            "stopped": (cell.n_rounds, cell.about["stopped"], cell.about["numerics"]),
            **{
                name: (array.dtype.str, array.shape, np.ascontiguousarray(array).tobytes())
                for name, array in cell.arrays.items()
                if name != "microseconds"
            },
        }
    found["rows"] = repr(
        [
            {key: value for key, value in row.items() if key != "seconds"}
            for row in read_results(folder).rows
        ]
    )
    return found


def killed(runs: Runs | FreshRuns, args: list[str], kills: int, longest: float, seed: int) -> int:
    """Run a command, kill it again and again, then let it end; how often it was truly killed."""
    rng = np.random.default_rng(seed)
    n_killed = 0
    for _ in range(kills):
        code = runs.run(args, float(rng.uniform(0, longest)))
        assert code in (0, -signal.SIGKILL), f"exit code {code}"
        n_killed += code != 0
    assert runs.run(args) == 0
    return n_killed


def main() -> int:
    """Run the comparison of both folders."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--longest", type=float, default=10.0, help="seconds until a kill")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--fresh", action="store_true", help="a process of its own for each run")
    parser.add_argument("args", nargs="+", help="options of boostsample compare, after --")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        whole, parts = Path(folder) / "whole", Path(folder) / "parts"
        command = ["compare", *given.args]
        kind = FreshRuns if given.fresh else Runs
        with kind([*command, "--results", str(whole)]) as runs:
            pieces = [*command, "--results", str(parts)]
            n_killed = killed(runs, pieces, given.kills, given.longest, given.seed)
        n_cells = len(list((whole / "cells").glob("*.npz")))
        same = content(whole) == content(parts)
    told = "the same" if same else "DIFFERENT"
    sys.stdout.write(f"killed {n_killed} times; {n_cells} cells, {told} results\n")
    return int(not same)


if __name__ == "__main__":
    sys.exit(main())
