"""Limits of the system: no memory, a full disk, Ctrl-C, and fits at the same time."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from boostsample import BoostSampleClassifier
from tests.paths import ROOT

_LIMITED = """
import resource, sys
import numpy as np
from boostsample import BoostSampleClassifier
from boostsample.errors import BoostSampleError
X, y = np.zeros((2000, 3), np.float32), np.arange(2000) % 2
X[:, 0] = y
model = BoostSampleClassifier(n_rounds=3, random_state=0).fit(X, y)
{}
"""


def _run(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", _LIMITED.format(code), *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=300, cwd=ROOT, check=False
    )


def test_without_memory_a_fit_raises_and_the_process_goes_on() -> None:
    code = """
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 2**26, used + 2**26))
try:
    wide = np.broadcast_to(np.float32(1), (2000, 400_000))
    BoostSampleClassifier(n_rounds=3, random_state=0).fit(wide, y)
except MemoryError as error:
    print("no memory:", error)
print(model.predict(X[:2]))
"""
    found = _run(code)
    assert found.returncode == 0, found.stderr
    assert found.stdout.startswith("no memory:")
    assert found.stdout.endswith("[0 1]\n")


def test_a_full_disk_leaves_no_half_a_model(tmp_path: Path) -> None:
    code = """
import signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
model.save(sys.argv[1] + "/first.bsm")
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
for name in ("first.bsm", "second.bsm"):
    try:
        model.save(f"{sys.argv[1]}/{name}", overwrite=True)
    except BoostSampleError as error:
        print(error)
"""
    found = _run(code, str(tmp_path))
    assert found.returncode == 0, found.stderr
    lines = found.stdout.splitlines()
    assert len(lines) == 2
    assert all("File too large" in line for line in lines)
    assert [one.name for one in tmp_path.iterdir()] == ["first.bsm"]
    assert BoostSampleClassifier.load(tmp_path / "first.bsm").predict(np.ones((1, 3))) == [1]


def test_fits_in_threads_are_as_alone() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 8)), rng.integers(0, 3, 200)

    def fitted(seed: int) -> bytes:
        model = BoostSampleClassifier("mas-naive", "tree", 8, random_state=seed, n_jobs=2)
        return model.fit(X, y).decision_function(X).tobytes()

    alone = [fitted(seed) for seed in range(4)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(fitted, range(4))) == alone
