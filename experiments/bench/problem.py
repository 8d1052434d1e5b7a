"""Made data for timings: bins that lean on the class a little, of any size."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from boostsample.banks.bank import Bank, FeatureBank
from boostsample.family import Family
from boostsample.kernels.layout import aligned, vectors_of
from boostsample.labels import encode
from boostsample.loop.weights import SignedWeights, initial_weights

__all__ = ["Problem", "Progress", "layout_of", "made_problem", "relabelled", "weights_of"]

Progress = Callable[[str, int, int], None]

_NEIGHBOURHOOD = 7
"""Bins by which the classes of the made data shift a feature: edges of about 0.1."""


class Problem(NamedTuple):
    """A bank, the rows to train on, and labels +1 or -1, int8 (N, K); two classes are K = 1."""

    name: str
    bank: Bank
    rows: NDArray[np.int64]
    Y: NDArray[np.int8]

    @property
    def n_classes(self) -> int:
        """Two for one label."""
        return max(2, int(self.Y.shape[1]))

    def sizes(self) -> dict[str, Any]:
        """What timings on it depend on, beside the machine."""
        return {
            "data": self.name,
            "examples": len(self.rows),
            "features": self.bank.n_features,
            "classes": self.n_classes,
        }


class _Filled(Family):
    """Stands for features that are never computed: the bank is filled by hand."""

    def __init__(self, name: str, n_features: int) -> None:
        self.name = name
        self.n_features = n_features

    def compute(self, X: Any, features: ArrayLike) -> NDArray[np.float32]:
        raise NotImplementedError("made features have bins only")

    def feature_name(self, feature: Any) -> str:
        return f"{self.name} {feature}"


def made_problem(n_examples: int, n_features: int, n_classes: int, seed: int = 0) -> Problem:
    """Random bins that lean on the class a little, in four families of different strength."""
    rng = np.random.default_rng(seed)
    classes = rng.integers(0, n_classes, n_examples)
    bins = aligned(n_features * n_examples, np.uint8).reshape(n_features, n_examples)
    sizes = np.full(4, n_features // 4)
    sizes[: n_features % 4] += 1
    strength = np.repeat([0, 1, 2, 4], sizes)
    for feature in range(n_features):
        shift = rng.integers(0, _NEIGHBOURHOOD * strength[feature] + 1, n_classes)
        noise = rng.integers(0, 200, n_examples, dtype=np.uint8)
        bins[feature] = 1 + noise + shift.astype(np.uint8)[classes]
    cuts = np.tile(np.arange(254, dtype=np.float32), (n_features, 1))
    families = [_Filled(f"made-{k}", int(size)) for k, size in enumerate(sizes) if size]
    bank = FeatureBank(families, bins, cuts, np.full(n_features, 256, np.int16))
    return Problem("made data", bank, np.arange(n_examples), encode(classes, n_classes))


def relabelled(problem: Problem, n_classes: int) -> Problem:
    """The same bank with random labels of another number of classes."""
    if n_classes == problem.n_classes:
        return problem
    codes = np.random.default_rng(n_classes).integers(0, n_classes, len(problem.rows))
    return problem._replace(Y=encode(codes, n_classes))


def weights_of(problem: Problem) -> SignedWeights:
    """Balanced weights of the first round."""
    return SignedWeights(problem.Y, initial_weights(problem.Y, "balanced"), problem.rows)


def layout_of(n_labels: int) -> str:
    """The vectors of a row of K labels.

    >>> layout_of(10), layout_of(26), layout_of(8)
    ('8 + 2', '3 x 8 + 2', '8')
    """
    blocks, tail = vectors_of(n_labels)
    full = f"{blocks} x 8" if blocks > 1 else "8" * blocks
    return " + ".join(part for part in (full, str(tail) if tail else "") if part)
