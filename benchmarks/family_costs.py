"""Costs of feature values on demand: `Family.cost` of the image families, measured again.

    python -m benchmarks.family_costs

prints, for each default family of gray images of 28 x 28 and colour images of 32 x 32, nanoseconds
per value of 16 features of 4,096 examples in a lazy bank, computed and binned; their ratio to a
look of a search on these bins; and the constant of the class.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import Any

import click
import numpy as np

from boostsample.banks.lazy import LazyBank
from boostsample.families.default_sets import families_for
from boostsample.kernels.array_layout import N_BINS, found_room
from boostsample.rows.searcher import FINE, BinSearch
from boostsample.rows.weights import InitialWeights, SignedWeights
from boostsample.threads import Threads

N_FEATURES, N_ROWS, N_LABELS = 16, 4096, 10


def measured(work: Callable[[], Any]) -> float:
    """Least CPU seconds of a call, of five."""
    seconds = []
    for _ in range(5):
        begin = time.thread_time()
        work()
        seconds.append(time.thread_time() - begin)
    return min(seconds)


def look(rng: np.random.Generator) -> float:
    """Nanoseconds of a look on a sample."""
    labels = np.ones((N_ROWS, N_LABELS), np.int8)
    weights = SignedWeights(
        labels, np.ones(labels.shape), np.arange(N_ROWS), None, InitialWeights("uniform")
    )
    search, bins = BinSearch(N_LABELS, Threads(1)), rng.integers(1, N_BINS, (N_FEATURES, N_ROWS))
    given = bins.astype(np.uint8), np.arange(N_FEATURES), np.full(N_FEATURES, N_BINS, np.int16)
    output = found_room(N_FEATURES, N_LABELS)
    rows = weights.exact()
    return 1e9 / bins.size * measured(lambda: search.write(*given, rows, FINE, output))


def images(shape: tuple[int, ...], rng: np.random.Generator) -> Any:
    """Bytes; smooth, since cuts of few different values would take less time."""
    noise = rng.random((10_000, *shape)).cumsum(axis=1).cumsum(axis=2)
    return (noise / noise.max() * 255).astype(np.uint8)


def main() -> None:
    """Print the table."""
    rng = np.random.default_rng(0)
    unit = look(rng)
    click.echo(f"a look takes {unit:.2f} ns")
    for shape in ((28, 28), (32, 32, 3)):
        X = images(shape, rng)
        bank = LazyBank(families_for(shape), X)
        rows = np.sort(rng.choice(len(X), N_ROWS, replace=False)).astype(np.int32)
        for family, first in zip(bank.families, bank.first.tolist(), strict=False):
            features = first + rng.choice(family.n_features, N_FEATURES, replace=False)
            bank.view(features, rows)  # compiles, and selects the rows
            seconds = measured(functools.partial(bank.view, features, rows))
            each = 1e9 / (N_FEATURES * N_ROWS) * seconds
            click.echo(f"{family.name:30} {each:7.1f} ns {each / unit:7.1f} looks; {family.cost:g}")


if __name__ == "__main__":
    main()
