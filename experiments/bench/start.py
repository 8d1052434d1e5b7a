"""Seconds until something happens: imports, help, and a first fit that has to compile.

Everything runs in fresh processes. Kernels are compiled into a temporary folder, so that neither
the user's cache nor a full one of an earlier run counts.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import boostsample
from boostsample.errors import DataError
from boostsample.experiments.bench.looks import seconds_of
from boostsample.experiments.bench.problem import Progress
from boostsample.experiments.bench.ratios import Section
from boostsample.experiments.tables.tables import Table

__all__ = ["start_section", "time_first_fit", "time_process"]

_FIT = """
import sys, time
import numpy as np
from boostsample import BoostSampleClassifier
rng = np.random.default_rng(0)
X, y = rng.normal(size=(2000, 50)), rng.integers(0, 10, 2000)
X[:, 0] += y
model = BoostSampleClassifier(sys.argv[1], n_rounds=10, random_state=0)
before = time.perf_counter()
model.fit(X, y)
print(time.perf_counter() - before)
"""


def _run(arguments: Sequence[str], cache: str) -> str:
    """Run a Python process that finds this package; its output."""
    package = str(Path(boostsample.__file__).parent.parent)
    paths = [package, *filter(None, [os.environ.get("PYTHONPATH")])]
    done = subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), "NUMBA_CACHE_DIR": cache},
        cwd=cache,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise DataError(f"a process that was to be timed failed: {last}; see --only for the others")
    return done.stdout


def time_process(arguments: Sequence[str], repeats: int) -> list[float]:
    """Seconds of each of several processes of this Python; the first one, untimed, warms up."""
    with tempfile.TemporaryDirectory(prefix="boostsample-bench-") as cache:
        _run(arguments, cache)
        return [seconds_of(lambda: _run(arguments, cache)) for _ in range(repeats)]


def time_first_fit(strategy: str, repeats: int) -> tuple[float, list[float]]:
    """Seconds of `fit` with an empty cache of kernels, and with the one that it has filled.

    Ten rounds on 2,000 examples, ten classes and fifty columns; importing is not in it.
    """
    with tempfile.TemporaryDirectory(prefix="boostsample-bench-") as cache:
        first, *later = (float(_run(["-c", _FIT, strategy], cache)) for _ in range(repeats + 1))
    return first, later


def start_section(
    strategies: Sequence[str], repeats: int, progress: Progress | None = None
) -> Section:
    """Imports, help, and the first fit of some strategies."""
    processes = {
        "python -c pass": ["-c", "pass"],
        "import boostsample": ["-c", "import boostsample"],
        "boostsample --help": ["-m", "boostsample", "--help"],
        "import BoostSampleClassifier": ["-c", "from boostsample import BoostSampleClassifier"],
    }
    total = len(processes) + len(strategies)
    rows, numbers = [], {}
    for number, (name, arguments) in enumerate(processes.items()):
        if progress is not None:
            progress("start", number, total)
        least = min(time_process(arguments, repeats))
        rows.append((name, "", f"{least:.2f}"))
        numbers[name] = {"process": least}
    for number, strategy in enumerate(strategies, len(processes)):
        if progress is not None:
            progress("start", number, total)
        empty, full = time_first_fit(strategy, repeats)
        rows.append((f"first fit, {strategy}", f"{empty:.2f}", f"{min(full):.2f}"))
        numbers[f"first fit, {strategy}"] = {"empty_cache": empty, "full_cache": min(full)}
    table = Table(
        "seconds: whole processes, least of several; the first fit in a process, imports done, "
        "with an empty cache of kernels and with a full one",
        ("", "empty", "full"),
        tuple(rows),
    )
    return Section((table,), {"start": numbers})
