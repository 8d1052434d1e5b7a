"""Sets of edges as the kernels of EM read them: checked, sorted, weights and noise beside them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate, pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from boostsample.errors import DataError

__all__ = ["NOT_FINITE", "finite", "plain", "weighted"]

Array = NDArray[np.float64]
Counts = NDArray[np.int64]

NOT_FINITE = "edges must be finite, got nan or infinity"


def plain(edges: Sequence[ArrayLike], noises: Sequence[float]) -> tuple[Array, Counts]:
    """What `weighted` gives for weights of 1; its checks of every set cost as much as the fits."""
    sets = [_vector(each) for each in edges]
    sizes = [values.size for values in sets]
    first = np.array([0, *accumulate(sizes)], np.int64)
    data = np.zeros((4, first[-1]))
    values = np.concatenate(sets, out=data[0])
    if not (math.isfinite(np.add.reduce(values)) or np.isfinite(values).all()):
        raise DataError(NOT_FINITE)
    data[2] = 1.0
    if min(sizes) == max(sizes):
        values.reshape(len(sizes), -1).sort(axis=1)
    else:
        for begin, end in pairwise(first.tolist()):
            values[begin:end].sort()
    if any(noises):
        data[3] = np.repeat(noises, sizes)
    return data, first


def weighted(
    edges: Sequence[ArrayLike], weights: Sequence[ArrayLike] | None, noises: Sequence[ArrayLike]
) -> tuple[Array, Counts]:
    """What the kernel reads: (4, n) sorted edges, zeros, weights, noise; where sets begin and end.

    Edges of weight 0 are dropped.
    """
    parts = []
    for i, each in enumerate(edges):
        values = finite(each)
        part = np.zeros((4, values.size))
        part[0] = values
        try:
            part[2] = 1.0 if weights is None else weights[i]
            part[3] = noises[i]
        except ValueError:
            raise DataError(
                f"weights and noise_variance must have one number for each of {values.size} edges"
            ) from None
        if not (part[2].min() >= 0 and 0 < part[2].max() < np.inf):
            raise DataError("weights must be finite, not negative and not all 0")
        part = part[:, part[2] > 0]
        parts.append(part[:, np.argsort(part[0], kind="stable")])
    first = np.array([0, *accumulate(part.shape[1] for part in parts)], np.int64)
    data = np.empty((4, first[-1]))
    np.concatenate(parts, axis=1, out=data)
    return data, first


def _vector(edges: ArrayLike) -> Array:
    values = np.asarray(edges, dtype=np.float64)
    if values.ndim != 1:
        raise DataError(f"edges must be a vector, got shape {values.shape}")
    if values.size == 0:
        raise DataError("edges must hold at least 1 value, got 0")
    return values


def finite(edges: ArrayLike) -> Array:
    """Edges as a vector, or DataError."""
    values = _vector(edges)
    if not np.isfinite(values).all():
        raise DataError(NOT_FINITE)
    return values
