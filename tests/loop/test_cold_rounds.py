"""The seconds of a round are those of its work, whatever is in the cache of kernels."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cold_rounds import N_ROUNDS, PLACES, variants
from tests.paths import ROOT

#: Seconds on the processor by which a round of milliseconds may exceed the median of its run.
_LATE = 5.0


@pytest.mark.skipif(
    os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"), reason="nothing is compiled"
)
def test_no_round_compiles_anything(tmp_path: Path) -> None:
    folders = {"NUMBA_CACHE_DIR": str(tmp_path), "BOOSTSAMPLE_CACHE_DIR": str(tmp_path / "banks")}
    done = subprocess.run(
        [sys.executable, "-m", "tests.cold_rounds"],
        env={**os.environ, **folders},
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
