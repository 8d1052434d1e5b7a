"""Kernels that are compiled from an empty cache, for an old processor of the x86-64 family.

The seconds of a round are those of its work, and the bits those of the processor of this machine.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cold_rounds import N_ROUNDS, PLACES, variants
from tests.loop.test_repeatable import digests
from tests.paths import ROOT

#: Seconds on the processor by which a round of milliseconds may exceed the median of its run.
_LATE = 5.0
_OLD = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": "+sse2"}
_ROUNDS = """
import sys, hashlib
sys.path.insert(0, {root!r})
from tests.problems import *
from boostsample.registry import make_strategy
digest = hashlib.sha256()
for name in ("uniform-naive", "laminating"):
    booster = Booster(bank_of(table(90, 12)), None, noisy_labels(90, 10), make_strategy(name),
                      n_rounds=40, rng=0)
    digest.update(repr(rows_of(booster, 40)).encode())
    digest.update(booster.state()["weights"]["values"].tobytes())
print(digest.hexdigest())
"""


@pytest.mark.skipif(
    os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"), reason="nothing is compiled"
)
def test_no_round_compiles_anything_and_old_processors_give_the_same_bits(tmp_path: Path) -> None:
    empty = {"NUMBA_CACHE_DIR": str(tmp_path), "BOOSTSAMPLE_CACHE_DIR": str(tmp_path / "banks")}
    if platform.machine() in ("x86_64", "AMD64"):
        empty |= _OLD
    done = subprocess.run(
        [sys.executable, "-m", "tests.cold_rounds"],
        env={**os.environ, **empty},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    runs = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(runs) == len(PLACES) * len(variants())
    for name, compiled, seconds in runs:
        assert compiled == [], name
        assert len(seconds) == N_ROUNDS, name
        assert max(seconds) - statistics.median(seconds) < _LATE, f"{name}: {seconds}"
    assert len(digests(_ROUNDS, {}, empty)) == 1
