"""Training under a limit of memory: a bank on disk larger than it, a lazy bank of many features.

The tests run the first in a separate process at a small scale. At full size, a bank three times the
memory that the process may allocate, and a million features of 60,000 images within 4 GiB:

    python -m tests.benchmarks.memory_limits disk --limit 1024 --bank 3072
    python -m tests.benchmarks.memory_limits lazy --limit 4096 --examples 60000

The system enforces the limit (RLIMIT_DATA): it counts every private writable page, used or not,
including those of Python, NumPy and compiled code (some 300 MiB), but no file mapped for reading.
Prints one line of JSON. The same bank in memory is tried as well and must fail.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

from boostsample.banks.bank import Bank, FeatureBank
from boostsample.banks.bank_forms import make_bank
from boostsample.banks.lazy import LazyBank
from boostsample.families import HaarLike, PatchSums
from boostsample.family import Family
from boostsample.loop.booster import Booster
from boostsample.registry import make_strategy

MIB = 2**20
N_LABELS = 10


class Tilted(Family):
    """Any number of cheap features: one column plus a multiple of another."""

    def __init__(self, n_features: int, n_columns: int = 8) -> None:
        self.name = "tilted"
        self.n_features = n_features
        self.n_columns = n_columns

    def compute(self, X: Any, features: ArrayLike) -> NDArray[np.float32]:
        wanted = self.check_features(features)
        slope, pair = np.divmod(wanted, self.n_columns**2)
        first, second = np.divmod(pair, self.n_columns)
        columns = np.ascontiguousarray(np.asarray(X).T[second])
        columns *= slope[:, None].astype(np.float32)
        columns += X.T[first]
        return columns.T

    def feature_name(self, feature: SupportsIndex) -> str:
        slope, pair = divmod(self.check_feature(feature), self.n_columns**2)
        first, second = divmod(pair, self.n_columns)
        return f"column {first} plus {slope} times column {second}"


def status(name: str) -> int:
    """Bytes that the system reports for this process."""
    lines = Path("/proc/self/status").read_text("ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{name}:"))


def labels(n: int) -> NDArray[np.int8]:
    codes = np.random.default_rng(1).integers(0, N_LABELS, n)
    return np.where(np.arange(N_LABELS) == codes[:, None], 1, -1).astype(np.int8)


def train(bank: Bank, n_rounds: int) -> dict[str, Any]:
    """The losses of two strategies, and milliseconds a round."""
    Y = labels(bank.n_examples)
    done: dict[str, Any] = {}
    for name in ("uniform-naive", "laminating"):
        booster = Booster(bank, None, Y, make_strategy(name), n_rounds=n_rounds + 2, rng=0)
        rows = [row for _ in range(2) for row in booster.next_round().rows]
        start = time.perf_counter()
        rows += [row for _ in range(n_rounds) for row in booster.next_round().rows]
        done[name] = {
            "log10_loss": rows[-1]["log10_loss"],
            "features": [row["feature"] for row in rows],
            "ms_a_round": round(1000 * (time.perf_counter() - start) / n_rounds, 2),
            "values_computed": rows[-1]["values_computed"],
        }
    return done


def limited(limit: int | None, left: int | None, problem: Callable[[int], Any]) -> int:
    """Compile everything on a tiny problem, then set the limit in MiB; returns it in bytes."""
    Xs = np.random.default_rng(0).random((200, 8), np.float32)
    for form in ("lazy", "disk"):
        train(make_bank(form, [Tilted(300)], Xs), 2)
    problem(64)
    whole = status("VmData") + (left or 0) * MIB if limit is None else limit * MIB
    resource.setrlimit(resource.RLIMIT_DATA, (whole, whole))
    return whole


def in_memory_fails(families: list[Family], X: Any) -> bool:
    try:
        FeatureBank.build(families, X, reference=2048)
    except MemoryError:
        return True
    return False


def run_disk(args: argparse.Namespace) -> dict[str, Any]:
    """A bank of `--bank` MiB from files."""
    X = np.random.default_rng(0).normal(size=(args.examples, 8)).astype(np.float32)
    families: list[Family] = [Tilted(args.bank * MIB // args.examples)]
    limit = limited(args.limit, args.left, lambda n: None)
    start = time.perf_counter()
    bank = make_bank("disk", families, X, reference=2048)
    built = time.perf_counter() - start
    start = time.perf_counter()
    bank = make_bank("disk", families, X, reference=2048)
    opened = time.perf_counter() - start
    return {
        "limit_mib": limit // MIB,
        "bank_mib": bank.n_features * bank.n_examples // MIB,
        "seconds_to_build": round(built, 2),
        "seconds_to_open": round(opened, 3),
        "in_memory_fails": in_memory_fails(families, X),
        **train(bank, args.rounds),
    }


def run_lazy(args: argparse.Namespace) -> dict[str, Any]:
    """Many features, computed when they are first read."""
    shape = (28, 28)
    rng = np.random.default_rng(0)
    families: list[Family]
    if args.cheap:
        X: NDArray[Any] = rng.normal(size=(args.examples, 8)).astype(np.float32)
        families = [Tilted(1_000_000)]
    else:
        X = rng.integers(0, 256, (args.examples, *shape), np.uint8)
        families = [HaarLike(shape, None, name=f"haar-like {i}") for i in range(3)]
        families.append(PatchSums(shape, None))

    def compile_families(n: int) -> None:
        bank = LazyBank(families, X[:n])
        bank.take(np.cumsum([0, *(family.n_features for family in families)])[:-1], np.arange(n))

    limit = limited(args.limit, args.left, compile_families)
    bank = LazyBank(families, X, cache_bytes=args.cache * MIB)
    done = train(bank, args.rounds)
    return {
        "limit_mib": limit // MIB,
        "bank_mib": bank.n_features * bank.n_examples // MIB,
        "n_features": bank.n_features,
        "in_memory_fails": in_memory_fails(families, X),
        **done,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Train under a limit of memory.")
    parser.add_argument("form", choices=("disk", "lazy"))
    parser.add_argument("--limit", type=int, help="MiB that the process may allocate")
    parser.add_argument("--left", type=int, help="or MiB beyond its memory at the start")
    parser.add_argument("--bank", type=int, default=3072, help="MiB of the bank on disk")
    parser.add_argument("--cache", type=int, default=256, help="MiB that the lazy bank keeps")
    parser.add_argument("--cheap", action="store_true", help="a million features of eight columns")
    parser.add_argument("--examples", type=int, default=60_000)
    parser.add_argument("--rounds", type=int, default=20)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ.setdefault("BOOSTSAMPLE_CACHE_DIR", folder)
        done = {"disk": run_disk, "lazy": run_lazy}[args.form](args)
    done["peak_mib"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 // MIB
    done["anonymous_mib"] = status("RssAnon") // MIB
    sys.stdout.write(f"{json.dumps(done)}\n")


if __name__ == "__main__":
    main()
