"""What rounds compile, and their seconds, in a new process.

`python -m tests.cold_rounds` prints a line of JSON for each run: its name, how many kernels its
start asked the cache of kernels for or compiled, the names of those of its rounds, and the seconds
of each round on the processor: other programs do not change them. With an empty cache, rounds would
compile these kernels.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import numpy as np
from numba.core import event

from boostsample.banks.bank_forms import make_bank
from boostsample.experiments.plan.variants import Variant, parse_names
from boostsample.jit.compile_kernels import _KernelCache
from boostsample.loop.booster import Booster
from boostsample.registry import STRATEGIES, default_families

N_ROUNDS = 6
_N_EXAMPLES, _SIDE, _N_LABELS = 150, 8, 10
#: Forms of the bank, threads, and learners.
PLACES = (
    ("lazy", 1, "tree:n_leaves=4"),
    ("memory", 1, "product:n_terms=2"),
    ("memory", 2, "tree:n_leaves=4"),
    ("lazy", 1, "stump"),
    ("memory", 1, "stump"),
    ("memory", 2, "stump"),
)
#: Those first that share a kernel with one further down, which would compile it for them.
_FIRST = (
    "mas-q1:noise=averaged,mas-1q,mas-q1,mas-1q:noise=deconvolved:scheme=distinct,mas-naive,"
    "mas-naive:noise=deconvolved:scheme=stratified,laminating:scheme=distinct"
)


class _Compiled(event.Listener):  # type: ignore[misc]  # numba ships no annotations
    """The names of the kernels compiled so far, or loaded because an earlier process compiled them.

    Each process asks the cache once for each kernel and its types, before it compiles.
    """

    def __init__(self) -> None:
        self.names: list[str] = []
        event.register("numba:compile", self)
        load = _KernelCache.load_overload

        def load_overload(cache: Any, *args: Any) -> Any:
            self.names.append(cache._py_func.__qualname__)
            return load(cache, *args)

        patch.object(_KernelCache, "load_overload", load_overload).start()

    def on_start(self, event: Any) -> None:
        self.names.append(event.data["dispatcher"].py_func.__qualname__)

    def on_end(self, event: Any) -> None:
        pass


def variants() -> tuple[Variant, ...]:
    """All strategies of this distribution, some of them with settings that need other kernels."""
    first = parse_names(_FIRST)
    labels = [variant.label for variant in first]
    return (*first, *(Variant(name) for name in STRATEGIES if name not in labels))


def cold_runs() -> Iterator[tuple[str, int, list[str], list[float]]]:
    """Train all strategies on a bank in memory and a lazy one, with one thread and with two."""
    compiled = _Compiled()
    rng = np.random.default_rng(0)
    X = rng.integers(0, 17, (_N_EXAMPLES, _SIDE, _SIDE)).astype(np.uint8)
    codes = (X.reshape(_N_EXAMPLES, -1)[:, :_N_LABELS]).argmax(axis=1)
    labels = np.where(codes[:, None] == np.arange(_N_LABELS), 1, -1).astype(np.int8)
    families = default_families(X.shape[1:])
    for form, n_jobs, learner in PLACES:
        bank = make_bank(form, families, X)
        for variant in variants():
            data, known = (bank, None, labels), len(compiled.names)
            booster = Booster(
                *data, variant.strategy(), learner, n_rounds=N_ROUNDS, rng=0, n_jobs=n_jobs
            )
            before, seconds = len(compiled.names), list[float]()
            for _ in range(N_ROUNDS):
                started = time.process_time()
                booster.next_round()
                seconds.append(time.process_time() - started)
            name = f"{variant.label} {learner} {form} {n_jobs}"
            yield name, before - known, compiled.names[before:], seconds


if __name__ == "__main__":
    for run in cold_runs():
        sys.stdout.write(json.dumps(run) + "\n")
        sys.stdout.flush()
