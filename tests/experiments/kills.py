"""Runs `boostsample compare` and kills it at random moments until it is done.

    python -m tests.experiments.kills --kills 10 -- --data digits --repeats 2 --rounds 10,300

runs the command undisturbed and then with so many kills, by SIGKILL, into two temporary folders,
and compares what they hold cell by cell, to the bit, seconds apart. Exit code 1 tells of a
difference. Each run is a fork of one process that has compiled already.
"""

from __future__ import annotations

import argparse
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from boostsample.experiments.cells.cell_file import Cell
from boostsample.experiments.results.read_folder import read_results
from tests.paths import ROOT
from tests.waiting import PATIENCE

# Imports once, compiles once, and forks a process for each line of arguments that it reads.
_PARENT = """
import json, os, sys
from boostsample.experiments.commands.cli import main
from boostsample.experiments.run import dask_backend
assert main(json.loads(sys.stdin.readline())) == 0
for line in sys.stdin:
    args, log = json.loads(line)
    child = os.fork()
    if not child:
        output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(output, 1)
        os.dup2(output, 2)
        sys.exit(main(args))
    print("child", child, flush=True)
    print("child", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


class Ending(NamedTuple):
    code: int | None  # None: it hung
    text: str  # what it printed
    seconds: float

    def is_error(self, code: int, message: str) -> bool:
        """Whether the run ended with an exit code and one line of error, which has a message."""
        lines = [line for line in self.text.splitlines() if " error" in line or "Trace" in line]
        return self.code == code and len(lines) == 1 and message in lines[0]


class Commands:
    """A process that runs commands in forks of itself; a context manager.

    `folder` gets the output of the runs. A run that takes longer than `hangs` seconds is ended.
    """

    def __init__(self, folder: Path, warm_up: list[str], hangs: float = 3600.0) -> None:
        self._log = folder / "log"
        self._hangs = hangs
        self._process = subprocess.Popen(
            [sys.executable, "-c", _PARENT],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            bufsize=0,
        )
        self._unread = b""
        self._say([*warm_up, "--quiet"])

    def _say(self, message: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\n")

    def _hear(self, until: float) -> int | None:
        """The next number of the parent; None if there is none in time."""
        assert self._process.stdout is not None
        while True:
            line, end, rest = self._unread.partition(b"\n")
            if end:
                self._unread = rest
                if line.startswith(b"child "):
                    return int(line.split()[1])
                continue
            left = max(until - time.monotonic(), 0.0)
            if not select.select([self._process.stdout], [], [], left)[0]:
                return None
            part = self._process.stdout.read(65536)
            assert part, "the parent of the runs has ended"
            self._unread += part

    def run(self, args: list[str], disturb: Callable[[int], None] | None = None) -> Ending:
        """Run a command, and call `disturb` with the number of its process."""
        self._say([args, str(self._log)])
        child = self._hear(time.monotonic() + PATIENCE)
        assert child is not None, "no run has started"
        began = time.monotonic()
        if disturb is not None:
            disturb(child)
        code = self._hear(began + self._hangs)
        if code is None:
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGABRT)
            self._hear(time.monotonic() + PATIENCE)
        seconds = time.monotonic() - began
        return Ending(code, self._log.read_text("utf-8", "replace"), seconds)

    def exit_code(
        self,
        args: list[str],
        kill_after: float | None = None,
        begun: Callable[[], bool] = lambda: True,
    ) -> int | None:
        """Run a command, killing it so many seconds after it has `begun`; its exit code."""

        def disturb(child: int) -> None:
            with suppress(ProcessLookupError):  # it was done before
                while not begun():
                    os.kill(child, 0)
                    time.sleep(0.01)
                time.sleep(kill_after or 0.0)
                os.kill(child, signal.SIGKILL)

        quiet = [*args, "--quiet"]
        return self.run(quiet, None if kill_after is None else disturb).code

    def __enter__(self) -> Commands:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()


def content(folder: Path) -> dict[str, Any]:
    """All that a results folder holds, by name, without what is measured in seconds."""
    contents: dict[str, Any] = {}
    for path in sorted((folder / "cells").glob("*.npz")):
        cell = Cell.from_bytes(path.read_bytes())
        contents[path.name] = {
            "facts": cell.facts,
            "stopped": (cell.n_rounds, cell.about["stopped"], cell.about["numerics"]),
            **{
                name: (array.dtype.str, array.shape, np.ascontiguousarray(array).tobytes())
                for name, array in cell.arrays.items()
                if name != "microseconds"
            },
        }
    contents["rows"] = repr(
        [
            {key: value for key, value in row.items() if key != "seconds"}
            for row in read_results(folder).rows
        ]
    )
    return contents


def killed(commands: Commands, args: list[str], kills: int, longest: float, seed: int) -> int:
    """Run a command, kill it again and again, then let it end; how often it was truly killed."""
    rng = np.random.default_rng(seed)
    n_killed = 0
    for _ in range(kills):
        code = commands.exit_code(args, float(rng.uniform(0, longest)))
        assert code in (0, -signal.SIGKILL), f"exit code {code}"
        n_killed += code != 0
    assert commands.exit_code(args) == 0
    return n_killed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--longest", type=float, default=10.0, help="seconds until a kill")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("args", nargs="+", help="options of boostsample compare, after --")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        whole, parts = Path(folder) / "whole", Path(folder) / "parts"
        command = ["compare", *options.args]
        undisturbed = [*command, "--results", str(whole)]
        pieces = [*command, "--results", str(parts)]
        with Commands(Path(folder), undisturbed) as commands:
            n_killed = killed(commands, pieces, options.kills, options.longest, options.seed)
        n_cells = len(list((whole / "cells").glob("*.npz")))
        same = content(whole) == content(parts)
    told = "the same" if same else "DIFFERENT"
    sys.stdout.write(f"killed {n_killed} times; {n_cells} cells, {told} results\n")
    return int(not same)


if __name__ == "__main__":
    sys.exit(main())
