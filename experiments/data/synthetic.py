"""Synthetic tasks with known useful features: DIAGONAL and CHESS of [BK10] sec. 4.1, and WIDE.

Of the first two, n >= 4 points x are uniform in the d-dimensional unit cube; the class depends on
the first J features alone, 1 <= J <= d. Labels follow from x as stored, in float32. Settings out of
range raise SettingError.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from boostsample.checks import check_integer
from boostsample.errors import SettingError
from boostsample.experiments.data.dataset import DataContent


def make_diagonal(
    rng: np.random.Generator, d: int = 10, J: int = 4, q: float = 0.1, n: int = 1000
) -> DataContent:
    """A diagonal cut through J of d features with a share q of flipped labels, [BK10] DIAGONAL.

    P(Y = 1 | x) = q + (1 - 2q) I{x_1 + ... + x_J > J/2} with q between 0 and 0.5.
    """
    if not 0 <= q <= 0.5:
        raise SettingError(f"q, the share of flipped labels, must be between 0 and 0.5, got {q}")
    X = _cube(rng, d, J, n)
    above = X[:, :J].sum(axis=1, dtype=np.float64) > J / 2
    return _binary(X, above ^ (rng.random(n) < q))


def make_chess(
    rng: np.random.Generator, d: int = 10, J: int = 3, L: int = 3, n: int = 1000
) -> DataContent:
    """A chess board with L squares along each of J of d features, [BK10] CHESS.

    y = 1 if floor(L x_1) + ... + floor(L x_J) is even, else -1; L >= 2.
    """
    check_integer("L", L, 2)
    X = _cube(rng, d, J, n)
    squares = np.floor(X[:, :J].astype(np.float64) * L)  # in float32, L x could round up to L
    return _binary(X, squares.sum(axis=1) % 2 == 0)


def make_wide(
    rng: np.random.Generator, d: int = 10_000, J: int = 50, shift: float = 0.5, n: int = 2000
) -> DataContent:
    """Two classes and d normal columns; the means of the first J differ by `shift` deviations."""
    if not 0 <= shift < np.inf:
        raise SettingError(f"shift, the difference of means, must be at least 0, got {shift}")
    _check_sizes(d, J, n)
    y = rng.integers(0, 2, n)
    X = rng.standard_normal((n, d), dtype=np.float32)
    X[:, :J] += np.float32(shift) * y[:, None].astype(np.float32)
    return _binary(X, y == 1)


def _check_sizes(d: int, J: int, n: int) -> None:
    check_integer("d", d, 1)
    check_integer("n", n, 4)
    if check_integer("J", J, 1) > d:
        raise SettingError(f"J, the number of useful features, must be at most d = {d}, got {J}")


def _cube(rng: np.random.Generator, d: int, J: int, n: int) -> NDArray[np.float32]:
    """Draw n points in the cube."""
    _check_sizes(d, J, n)
    return rng.random((n, d), dtype=np.float32)


def _binary(X: NDArray[np.float32], positive: NDArray[np.bool_]) -> DataContent:
    columns = tuple(f"x{j}" for j in range(1, X.shape[1] + 1))
    return DataContent(X, positive.astype(np.int64), ("-1", "1"), columns, None)


SYNTHETIC: dict[str, Callable[..., DataContent]] = {
    "diagonal": make_diagonal,
    "chess": make_chess,
    "wide": make_wide,
}
