"""The signed weights w_il * y_il of a boosting run, and everything that reads or changes them.

One float32 matrix, rows padded to whole vectors, 16 labels at a time, aligned to cache lines. It
stays normalised up to rounding; the exact sum is kept beside it and divided out, so that rounding
never accumulates.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from boostsample.errors import DataError, unknown
from boostsample.jit.vectors import LANES
from boostsample.kernels import draw as draw_kernels
from boostsample.kernels.edges import edge_kernels
from boostsample.kernels.layout import room_sizes
from boostsample.kernels.search import search_kernel
from boostsample.kernels.weights import weight_kernels
from boostsample.loop.sampling import Scheme
from boostsample.threads.threads import Threads

__all__ = ["WEIGHT_INITS", "Rows", "SignedWeights", "initial_weights"]

#: Least size of a normalised label weight: far from denormal numbers, too small to matter.
FLOOR = 1e-30
WEIGHT_INITS = ("uniform", "balanced")
_CACHE_LINE = 64
#: Examples whose sums are formed at a time, so that bits do not depend on the threads.
_PART = 4096


class Rows(NamedTuple):
    """Weighted rows that a search runs on: all examples, or a sample of them.

    `examples` int32 (n,) holds the bank column of each row, or is empty where they are `start`,
    `start` + 1, ...; `values` float32, flat (n * width), the signed weights; `base` float32
    (width,), their sum; edges are sums of values times `scale`.
    """

    start: int
    examples: NDArray[np.int32]
    values: NDArray[np.float32]
    base: NDArray[np.float64]
    scale: float


def initial_weights(Y: NDArray[np.int8], kind: str) -> NDArray[np.float64]:
    """Label weights u_il of each example: float64 (n, K), rows sum to 1.

    `uniform` is 1/K; `balanced` ([BK10] eq. 2) gives half of the row to its positive labels and
    half to its negative ones, all of it to one side where the other is empty. With K = 1 both are
    1.
    """
    if kind not in WEIGHT_INITS:
        raise unknown("weight_init", kind, WEIGHT_INITS)
    n, n_labels = Y.shape
    if kind == "uniform" or n_labels == 1:
        return np.full((n, n_labels), 1.0 / n_labels)
    positive = Y > 0
    n_positive = positive.sum(axis=1, keepdims=True)
    n_negative = n_labels - n_positive
    one_sided = (n_positive == 0) | (n_negative == 0)
    half = np.where(one_sided, 1.0, 0.5)
    return np.asarray(half / np.where(positive, n_positive, n_negative))


def vectors_of(n_labels: int) -> tuple[int, int]:
    """Full vectors of a row of K labels, and the labels of its tail: 1, 2, 4 or 0."""
    blocks, rest = divmod(n_labels, LANES)
    tail = 1 << (rest - 1).bit_length() if rest else 0
    return (blocks + 1, 0) if tail == LANES else (blocks, tail)


def in_planes(matrix: NDArray[Any], width: int) -> NDArray[np.float32]:
    """The rows of a matrix (n, K) as kernels take them: flat (n * width), 16 labels at a time."""
    n, n_labels = matrix.shape
    rows = np.zeros((n, width), np.float32)
    rows[:, :n_labels] = matrix
    planes = [rows[:, at : at + 2 * LANES].ravel() for at in range(0, width, 2 * LANES)]
    return np.concatenate(planes)


def aligned(shape: int, dtype: Any) -> NDArray[Any]:
    """A zeroed flat array that starts on a cache line; NumPy's own start 16 bytes off."""
    size = np.dtype(dtype).itemsize * shape
    raw = np.zeros(size + _CACHE_LINE, np.uint8)
    offset = -raw.ctypes.data % _CACHE_LINE
    return raw[offset : offset + size].view(dtype)


def search_room(n_labels: int) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Where a thread searches: histograms float32, all 0, their sums and other ones float64."""
    sizes = room_sizes(*vectors_of(n_labels))
    hist, sums = aligned(sizes.hist, np.float32), aligned(sizes.hist, np.float64)
    return hist, sums, aligned(sizes.work, np.float64)


class SignedWeights:
    """The weights of one run.

    Parameters
    ----------
    Y : ndarray of int8, shape (N, K)
        Labels, +1 or -1.
    label_weights : ndarray of float64, shape (N, K)
        u_il >= 0; normalised here.
    columns : ndarray of int, shape (N,)
        Bank column of each example.
    threads : Threads or None
        What the passes over all examples are shared among; the bits do not depend on it.
    """

    def __init__(
        self,
        Y: NDArray[np.int8],
        label_weights: NDArray[np.float64],
        columns: NDArray[np.int64],
        threads: Threads | None = None,
    ) -> None:
        self.threads = Threads(1) if threads is None else threads
        self.n_examples = int(Y.shape[0])
        self.n_labels = int(Y.shape[1])
        blocks, tail = vectors_of(self.n_labels)
        self.width = LANES * blocks + tail
        self.edge_kernels = edge_kernels(blocks, tail)
        self.search_kernel = search_kernel(blocks, tail)
        self._kernels = weight_kernels(blocks, tail)
        contiguous = bool(np.all(np.diff(columns) == 1))
        self._start = int(columns[0]) if contiguous else 0
        self._columns = np.empty(0, np.int32) if contiguous else columns.astype(np.int32)
        self._values = aligned(self.n_examples * self.width, np.float32)
        # In units of the least one: `balanced` weights are then whole numbers and exact.
        units = label_weights / label_weights.min()
        if not units.max() < 1e30:
            units = np.maximum(label_weights / math.fsum(label_weights.ravel()), FLOOR)
        self._values[:] = in_planes(units * Y, self.width)
        self._weight = np.zeros(self.n_examples, np.float32)
        self._n_parts = -(-self.n_examples // _PART)
        self._part_sums = np.zeros((self._n_parts, self.width))
        self._part_masses = np.zeros(self._n_parts)
        self._sums = np.zeros(self.width)
        self._floor = np.zeros(self.width, np.float32)
        self._sides = np.ones(2 * self.width, np.float32)  # -v, v; 1 in the padding
        self._recount()
        self._ends = np.empty(-(-self.n_examples // draw_kernels.BLOCK))
        self._ends_are_current = False
        self._buffers: list[NDArray[np.float32]] = []
        self._buffers_in_use = 0

    def _recount(self) -> None:
        """Sums from scratch, with an update that changes nothing."""
        column = np.zeros(1, np.uint8)
        every = np.zeros(self.n_examples, np.int32)
        self._pass(column, 0, 0, every, 1.0, 1.0)
        self._floor[: self.n_labels] = FLOOR

    def _pass(
        self,
        column: NDArray[np.uint8],
        threshold: int,
        start: int,
        examples: NDArray[np.int32],
        right: float,
        wrong: float,
    ) -> None:
        def arguments(first: int, end: int) -> tuple[Any, ...]:
            return (
                column,
                np.int16(threshold),
                start,
                examples,
                self._sides,
                right,
                wrong,
                self._floor,
                self._values,
                _PART,
                first,
                end,
                self._part_sums,
                self._part_masses,
            )

        self.threads.share(self._kernels.update, arguments, range(self._n_parts + 1))
        np.add.reduce(self._part_sums, axis=0, out=self._sums)
        self._mass = math.fsum(self._part_masses.tolist())
        self._ends_are_current = False

    def exact(self) -> Rows:
        """All examples with their exact weights; nothing is copied."""
        return Rows(self._start, self._columns, self._values, self._sums, 1.0 / self._mass)

    def draw(self, size: int, scheme: Scheme, rng: np.random.Generator) -> Rows:
        """Draw `size` examples, fewer than N, by a scheme of `boostsample.loop.sampling`."""
        if not self._ends_are_current:
            self._kernels.totals(self._values, self._weight)
            draw_kernels.cumulate(self._weight, self._ends)
            self._ends_are_current = True
        drawn = scheme(self._weight, self._ends, size, rng)
        values = self._buffer(drawn.examples.size * self.width)
        base = np.empty(self.width)
        self._kernels.weigh(self._values, drawn.examples, drawn.factors, values, base)
        examples = drawn.examples
        if self._columns.size:
            examples = self._columns[examples]
        elif self._start:
            examples = examples + np.int32(self._start)
        return Rows(0, examples, values, base, 1.0)

    def _buffer(self, size: int) -> NDArray[np.float32]:
        """Work space that lives until `release`: nothing of size N is allocated in later rounds."""
        if self._buffers_in_use == len(self._buffers):
            self._buffers.append(aligned(size, np.float32))
        mine = self._buffers[self._buffers_in_use]
        if mine.size < size:
            mine = self._buffers[self._buffers_in_use] = aligned(size, np.float32)
        self._buffers_in_use += 1
        return mine[:size]

    def release(self) -> None:
        """Take back the buffers of all samples drawn so far."""
        self._buffers_in_use = 0

    def label_sums(self, column: NDArray[np.uint8], threshold: int) -> NDArray[np.float64]:
        """sum_i w_il y_il phi(x_i) for each label: float64 (K,), normalised; O(N)."""
        sums = np.empty((self._n_parts, self.width))

        def arguments(first: int, end: int) -> tuple[Any, ...]:
            return (
                column,
                np.int16(threshold),
                self._start,
                self._columns,
                self._values,
                _PART,
                first,
                end,
                sums,
            )

        self.threads.share(self.edge_kernels.label_sums, arguments, range(self._n_parts + 1))
        return np.asarray(np.add.reduce(sums)[: self.n_labels] / self._mass)

    def update(
        self, column: NDArray[np.uint8], threshold: int, votes: NDArray[np.int8], edge: float
    ) -> None:
        """Multiply w_il by exp(-alpha v_l phi y_il) / sqrt(1 - edge^2) and normalise; O(N).

        The two factors are 1 / (1 + edge) and 1 / (1 - edge), since exp(2 alpha) = (1 + edge) /
        (1 - edge).
        """
        self._sides[: self.n_labels] = -votes
        self._sides[self.width : self.width + self.n_labels] = votes
        self._pass(
            column,
            threshold,
            self._start,
            self._columns,
            1.0 / (self._mass * (1.0 + edge)),
            1.0 / (self._mass * (1.0 - edge)),
        )

    def state(self) -> dict[str, Any]:
        """Everything that changes from round to round, as arrays and scalars."""
        return {
            "values": self._values.copy(),
            "sums": self._sums.copy(),
            "mass": self._mass,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go back to a state of a run on the same examples, to identical bits."""
        if state["values"].shape != self._values.shape:
            raise DataError(
                f"the saved weights must be for {self._values.shape[0]} padded label weights, got "
                f"{state['values'].shape[0]}; restore into a booster on the same examples"
            )
        self._values[:] = state["values"]
        self._sums[:] = state["sums"]
        self._mass = float(state["mass"])
        self._ends_are_current = False
