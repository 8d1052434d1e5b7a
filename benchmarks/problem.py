"""What benchmarks time, synthetic bins or the training rows of a data set, and how they time it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from boostsample.banks.bank import Bank, FeatureBank
from boostsample.experiments.data.datasets import load_dataset
from boostsample.families.columns import Columns
from boostsample.kernels.array_layout import aligned
from boostsample.labels import encode
from boostsample.registry import default_families
from boostsample.rows.weights import SignedWeights, initial_weights


class BenchProblem(NamedTuple):
    """A bank, the rows to train on, and labels +1 or -1, int8 (N, K); two classes are K = 1."""

    name: str
    bank: Bank
    rows: NDArray[np.int64]
    Y: NDArray[np.int8]

    @property
    def n_classes(self) -> int:
        """Number of classes: two for one label."""
        return max(2, int(self.Y.shape[1]))

    def sizes(self) -> dict[str, str | int]:
        """Name and sizes of the data: ratios are compared only where these are equal."""
        return {
            "data": self.name,
            "examples": len(self.rows),
            "features": self.bank.n_features,
            "classes": self.n_classes,
        }

    def weights(self) -> SignedWeights:
        """Balanced weights of the first round."""
        return SignedWeights(self.Y, initial_weights(self.Y, "balanced"), self.rows)

    def relabelled(self, n_classes: int) -> BenchProblem:
        """The same bank with random labels of another number of classes."""
        if n_classes == self.n_classes:
            return self
        codes = np.random.default_rng(n_classes).integers(0, n_classes, len(self.rows))
        return self._replace(Y=encode(codes, n_classes))


def synthetic_problem(n_examples: int, n_features: int, n_classes: int) -> BenchProblem:
    """Random bins in four families, which a class shifts by 0, 7, 14 or 28 bins at most."""
    rng = np.random.default_rng(0)
    classes = rng.integers(0, n_classes, n_examples)
    bins = aligned(n_features * n_examples, np.uint8).reshape(n_features, n_examples)
    families = []
    for part, most in zip(np.array_split(np.arange(n_features), 4), (0, 7, 14, 28), strict=True):
        for feature in part:
            shift = rng.integers(0, most + 1, n_classes)
            noise = rng.integers(0, 200, n_examples, dtype=np.uint8)
            bins[feature] = 1 + noise + shift.astype(np.uint8)[classes]
        if part.size:
            families.append(Columns(part.tolist(), f"made-{most}", n_columns=n_features))
    cuts = np.tile(np.arange(254, dtype=np.float32), (n_features, 1))
    bank = FeatureBank(families, bins, cuts, np.full(n_features, 256, np.int16))
    bank.add_tiles()
    return BenchProblem("made data", bank, np.arange(n_examples), encode(classes, n_classes))


def loaded_problem(data: str, data_dir: str | None = None) -> BenchProblem:
    """The training rows of a data set with the features of its default families."""
    loaded = load_dataset(data, data_dir=data_dir)
    train, _ = loaded.split(0, 0)
    families = default_families(loaded.X.shape[1:], column_names=loaded.columns)
    bank = FeatureBank.build(families, loaded.X[train], n_jobs=-1)
    Y = encode(loaded.y[train], loaded.n_classes)
    return BenchProblem(loaded.name, bank, np.arange(len(train)), Y)


def seconds_of(work: Callable[..., Any], *args: Any) -> float:
    """Seconds that a call takes."""
    before = time.perf_counter()
    work(*args)
    return time.perf_counter() - before


def time_in_turns(
    benchmark: Any,
    work: Callable[..., Any],
    unit: Callable[[], float],
    rounds: int,
    *,
    setup: Callable[[], tuple[Any, ...]] = tuple,
    block: int = 1,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Time `work` as a benchmark and, before each `block` of its calls, as many calls of `unit`.

    `setup` makes the arguments of `work`; `unit` returns its own seconds. Returns the seconds of
    both, float64 (rounds,) each, or (1,) if benchmarks are disabled.
    """
    seconds: list[float] = []
    units: list[float] = []

    def timed(*args: Any) -> None:
        seconds.append(seconds_of(work, *args))

    def before_each() -> tuple[tuple[Any, ...], dict[str, Any]]:
        if len(seconds) % block == 0:
            units.extend(unit() for _ in range(block))
        return setup(), {}

    benchmark.pedantic(timed, setup=before_each, rounds=rounds)
    return np.array(seconds), np.array(units[: len(seconds)])
