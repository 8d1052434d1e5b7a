"""NumPy twins of those operations of `vectors` that take more than one line.

They replace them under NUMBA_DISABLE_JIT=1; tests compare the compiled operations with them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

#: Labels in one full vector.
LANES = 8


def running_twin(a: Any) -> Any:
    """Each lane plus all before it, by doubling distances."""
    distance = 1
    while distance < a.size:
        a = a + np.concatenate([np.zeros(distance, a.dtype), a[:-distance]])
        distance *= 2
    return a


def total_twin(a: Any) -> Any:
    """The sum of the lanes, halves added to halves."""
    while a.size > 1:
        a = a[: a.size // 2] + a[a.size // 2 :]
    return a[0]


def paired_twin(a: Any, b: Any, size: int) -> Any:
    """The lanes of both; if too many, with the halves of each group of `size` lanes added."""
    both = np.concatenate([a, b])
    if a.size < LANES:
        return both
    halves = both.reshape(-1, 2, size // 2)
    return (halves[:, 0] + halves[:, 1]).ravel()


def eight_edges_twin(
    hist: Any, sums: Any, fresh: bool, at: int, stride: int, whole: Any, below: Any, two_sided: bool
) -> Any:
    """Edges at the next eight thresholds, and the sum below the last of them."""
    edges = []
    for start in range(at, at + LANES * stride, stride):
        below = below + hist[start : start + below.size].astype(below.dtype)
        below = below if fresh else below + sums[start : start + below.size]
        sizes = np.abs(whole - below.dtype.type(2.0) * below)
        edges.append(total_twin(np.maximum(sizes, np.abs(whole)) if two_sided else sizes))
    return np.array(edges), below


def fused_twin(a: Any, b: Any, c: Any) -> Any:
    """The sum a * b + c, rounded once."""
    wide = a.astype(np.float64) * b.astype(np.float64) + c.astype(np.float64)
    return wide.astype(a.dtype)


def add_into_twin(array: Any, start: int, vector: Any) -> None:
    """array[start:] += vector."""
    array[start : start + vector.size] += vector


def store_twin(array: Any, start: int, vector: Any) -> None:
    """array[start:] = vector."""
    array[start : start + vector.size] = vector
