"""Memory layout of weighted rows and histograms, and the arguments that kernels share.

The signed weights w_il * y_il of n rows and K labels are padded with zeros from K to the P = 8
blocks + tail labels of whole vectors. They lie in planes of 16 labels: the plane of labels at, ...,
at + 15 begins at number n * at; the last plane can be narrower.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from boostsample.jit.vectors import LANES

Bytes: TypeAlias = NDArray[np.uint8]
Ints: TypeAlias = NDArray[np.integer[Any]]
Floats: TypeAlias = NDArray[np.float32]
Doubles: TypeAlias = NDArray[np.float64]

N_BINS = 256
#: Labels of a plane: two vectors.
PLANE = 2 * LANES
_CACHE_LINE = 64


class Rows(NamedTuple):
    """Weighted rows of a search: all examples, or a sample of them.

    Attributes
    ----------
    start : int
        Bank column of the first row if `examples` is empty; later rows follow it.
    examples : ndarray of int32, shape (n,) or (0,)
        Bank column of each row.
    values : ndarray of float32, shape (n * P,)
        Signed weights.
    base : ndarray of float64, shape (P,)
        Sum of the rows.
    scale : float
        Edges are sums of `values` times `scale`.
    """

    start: int
    examples: NDArray[np.int32]
    values: Floats
    base: Doubles
    scale: float


class CellFactors(NamedTuple):
    """Factors of an update by the cells of a base classifier: sides of a stump, leaves of a tree.

    Attributes
    ----------
    high, low : ndarray of float32, shape (J * 2 * P,)
        For each cell, and for labels -1 and then +1, the factors of a row: as float32, and what
        that leaves of float64, so that a product is rounded once.
    floor : ndarray of float32, shape (P,)
        Least size of a weight; 0 in the padding.
    """

    high: Floats
    low: Floats
    floor: Floats


class SearchOutput(NamedTuple):
    """Best stump of each feature: thresholds int64 (Q,), votes int8 (Q, K), edges float64 (Q,).

    divides bool (Q,): whether rows lie on both sides of the threshold. below int8 (Q, K): the votes
    below the threshold; of no rows if they are the opposite ones. Without columns, votes are not
    wanted.
    """

    thresholds: NDArray[np.int64]
    votes: NDArray[np.int8]
    edges: Doubles
    divides: NDArray[np.bool_]
    below: NDArray[np.int8]


def found_room(n_features: int, n_labels: int, two_sided: bool = False) -> SearchOutput:
    """Room for the best stumps of Q features, with opposite votes or `two_sided` ones."""
    votes = np.empty((n_features, n_labels), np.int8)
    below = np.empty((n_features * two_sided, n_labels), np.int8)
    of_one = np.empty(n_features, np.int64), votes, np.empty(n_features)
    return SearchOutput(*of_one, np.empty(n_features, np.bool_), below)


def part_of(stumps: SearchOutput, part: slice) -> SearchOutput:
    """The stumps of some of the features."""
    arrays: list[Any] = [array[part] for array in stumps]
    return SearchOutput(*arrays)


def row_layout(n_labels: int) -> tuple[int, int]:
    """Full vectors of a row of K labels, and the labels of its tail: 1, 2, 4 or 0."""
    blocks, rest = divmod(n_labels, LANES)
    tail = 1 << (rest - 1).bit_length() if rest else 0
    return (blocks + 1, 0) if tail == LANES else (blocks, tail)


def plane_layout(blocks: int, tail: int) -> tuple[Any, int, int]:
    """The first label of the last plane, and the labels of a plane before it and of the last one.

    If there is one plane only, both are the same, so that numba can resolve the unused kernel.
    """
    width = LANES * blocks + tail
    last_at = (width - 1) // PLANE * PLANE
    # A Python int would be another type for numba.
    return np.int64(last_at), PLANE if last_at else width, width - last_at


def rows_at_once(size: int) -> int:
    """Rows of `size` labels that fill whole vectors, about four."""
    rows = LANES // math.gcd(size, LANES)
    return rows * max(4 * LANES // (rows * size), 1)


def lay_out_rows(matrix: NDArray[Any], width: int) -> Floats:
    """The rows of a matrix (n, K) in the layout of the kernels: float32 (n * width,)."""
    n, n_labels = matrix.shape
    rows = np.zeros((n, width), np.float32)
    rows[:, :n_labels] = matrix
    planes = [rows[:, at : at + PLANE].ravel() for at in range(0, width, PLANE)]
    return np.concatenate(planes)


def matrix_of_rows(rows: Floats, n_examples: int, n_labels: int) -> Floats:
    """The matrix (n, K) that `lay_out_rows` laid out, without the padding: float32."""
    width = rows.size // n_examples
    planes = [_plane(rows, n_examples, at, width) for at in range(0, width, PLANE)]
    return np.hstack(planes)[:, :n_labels]


def rows_of_labels(rows: Floats, n_examples: int, labels: Ints, width: int) -> Floats:
    """Some columns of the matrix that `lay_out_rows` laid out, laid out anew."""
    of_all = rows.size // n_examples
    some = aligned(n_examples * width, np.float32)
    for to, label in enumerate(labels.tolist()):
        column, at = (
            _plane(array, n_examples, number // PLANE * PLANE, lanes)[:, number % PLANE]
            for array, number, lanes in ((some, to, width), (rows, label, of_all))
        )
        column[:] = at
    return some


def _plane(rows: Floats, n_examples: int, at: int, width: int) -> Floats:
    """The plane of labels at, at + 1, ...: a view (n, lanes)."""
    lanes = min(PLANE, width - at)
    return rows[n_examples * at :][: n_examples * lanes].reshape(n_examples, lanes)


def aligned(size: int, dtype: Any) -> NDArray[Any]:
    """A flat array of zeros that starts on a cache line; NumPy's arrays start 16 bytes off."""
    n_bytes = np.dtype(dtype).itemsize * size
    raw = np.zeros(n_bytes + _CACHE_LINE, np.uint8)
    offset = -raw.ctypes.data % _CACHE_LINE
    return raw[offset : offset + n_bytes].view(dtype)
