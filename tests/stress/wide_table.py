"""A wide table: seconds, memory and the columns found, of ours and of LightGBM.

    python -m tests.stress.wide_table
    python -m tests.stress.wide_table --methods ours lightgbm --columns 20000

The table has 2,000 rows, two classes and 200,000 columns of normal float32 values, of which 50 are
useful: their mean is higher in the second class. Each method runs in a fresh process, which makes
the table first. A method names the useful columns if they are among its 100 most important ones.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostsample import BoostSampleClassifier

SHIFT = 0.5  # between the means of a useful column in the two classes, in standard deviations
SHOWN = 100
N_USEFUL = 50
_BLOCK = 2000

METHODS: dict[str, Callable[[], Any]] = {
    "defaults": lambda: BoostSampleClassifier(random_state=0),
    "ours": lambda: BoostSampleClassifier("laminating:scheme=distinct", "stump", random_state=0),
    "5,000 rounds": lambda: BoostSampleClassifier(
        "laminating:scheme=distinct", "stump", 5000, random_state=0
    ),
    "lazy": lambda: BoostSampleClassifier(
        "laminating:scheme=distinct", "stump", 5000, bank="lazy", random_state=0
    ),
    "100N": lambda: BoostSampleClassifier(
        "laminating:scheme=distinct", "stump", 1000, budget="100N", random_state=0
    ),
    "100 rounds of 10,000N": lambda: BoostSampleClassifier(
        "laminating:scheme=distinct", "stump", 100, budget="10000N", random_state=0
    ),
    "uniform-naive": lambda: BoostSampleClassifier("uniform-naive", "stump", 5000, random_state=0),
    "lightgbm": lambda: _lightgbm(),
    "lightgbm, 10 trees": lambda: _lightgbm(n_estimators=10, histogram_pool_size=4096),
}


def _lightgbm(**settings: Any) -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_jobs=1, random_state=0, verbosity=-1, **settings)


def wide_table(
    n_rows: int, n_columns: int, seed: int = 0, dtype: str = "f4"
) -> tuple[NDArray[Any], NDArray[np.int64], NDArray[np.int64]]:
    """X (n_rows, n_columns), y, and the useful columns; no array of another size is made."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n_rows) % 2)
    useful = np.sort(rng.choice(n_columns, N_USEFUL, replace=False))
    X = np.empty((n_rows, n_columns), dtype)
    for first in range(0, n_columns, _BLOCK):
        part = X[:, first : first + _BLOCK]
        part[:] = rng.standard_normal(part.shape, np.float32)
    X[:, useful] += (SHIFT * y[:, None]).astype(dtype)
    return X, y, useful


def importances(model: Any, n_columns: int) -> NDArray[np.float64]:
    """Importance of each column: float64 (d,)."""
    if not isinstance(model, BoostSampleClassifier):
        return np.asarray(model.booster_.feature_importance("gain"), np.float64)
    if hasattr(model, "feature_importances_"):
        return np.asarray(model.feature_importances_, np.float64)
    found = model.model_
    return np.bincount(found.feature, found.alpha, minlength=n_columns).astype(np.float64)


def _measure(method: str, n_rows: int, n_columns: int, dtype: str) -> dict[str, Any]:
    """Fit in this process: seconds, GiB, and how many useful columns are among the first 100."""
    X, y, useful = wide_table(n_rows, n_columns, dtype=dtype)
    small = np.ascontiguousarray(X[:64, :64])
    model = METHODS[method]()
    if isinstance(model, BoostSampleClassifier):  # compile the kernels
        BoostSampleClassifier(**{**model.get_params(deep=False), "n_rounds": 2}).fit(small, y[:64])
    before = _peak()
    started, cpu = time.perf_counter(), time.process_time()
    model.fit(X, y)
    seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
    peak = _peak()
    X, y, _ = X[:200], y[:200], None
    first = np.argsort(-importances(model, n_columns), kind="stable")[:SHOWN]
    return {
        "method": method,
        "seconds": round(seconds, 2),
        "processor seconds": round(cpu, 2),
        "GiB before": round(before, 2),
        "peak GiB": round(peak, 2),
        "useful among the first 100": int(np.isin(useful, first).sum()),
    }


def _peak() -> float:
    """Most memory of this process so far, in GiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure each method in a fresh process."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--columns", type=int, default=200_000)
    parser.add_argument("--dtype", default="f4")
    parser.add_argument("--here", action="store_true", help="one method in this process, as JSON")
    given = parser.parse_args(arguments)
    size = [f"--rows={given.rows}", f"--columns={given.columns}", f"--dtype={given.dtype}"]
    for method in given.methods:
        if given.here:
            found = _measure(method, given.rows, given.columns, given.dtype)
            sys.stdout.write(f"{json.dumps(found)}\n")
            continue
        command = [sys.executable, "-m", "tests.stress.wide_table", "--here", *size]
        done = subprocess.run([*command, "--methods", method], check=False)
        if done.returncode:
            sys.stdout.write(f"{method}: ended with code {done.returncode}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
