"""The signed weights w_il * y_il of a boosting run: initial values, samples, edges, updates.

They are one float32 matrix in the layout of `kernels.array_layout`. It is normalised up to
rounding; the exact sum is kept beside it and divided out, so that rounding does not accumulate.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostsample.errors import DataError, unknown
from boostsample.jit.vectors import LANES
from boostsample.kernels import draw as draw_kernels
from boostsample.kernels.array_layout import Rows, aligned, lay_out_rows, row_layout
from boostsample.kernels.edges import edge_kernels
from boostsample.kernels.weight_update import WeightFactors, weight_kernels
from boostsample.shard.sampling_schemes import Scheme
from boostsample.threads.threads import Threads

__all__ = ["Rows", "SignedWeights", "WEIGHT_INITS", "initial_weights"]

#: Least size of a normalised label weight: far from denormal numbers, too small to matter.
WEIGHT_FLOOR = 1e-30
WEIGHT_INITS = ("uniform", "balanced")
#: Examples summed at a time; a constant, so that bits do not depend on the number of threads.
_PART = 4096


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
        Threads that share the passes over all examples; results do not depend on them.
    """

    def __init__(
        self,
        Y: NDArray[np.int8],
        label_weights: NDArray[np.float64],
        columns: NDArray[np.int64],
        threads: Threads | None = None,
    ) -> None:
        self.threads = Threads(1) if threads is None else threads
        self.n_examples, self.n_labels = (int(n) for n in Y.shape)
        blocks, tail = row_layout(self.n_labels)
        self.width = LANES * blocks + tail
        self._kernels = weight_kernels(blocks, tail)
        self._label_sums = edge_kernels(blocks, tail).label_sums
        contiguous = bool(np.all(np.diff(columns) == 1))
        self._start = int(columns[0]) if contiguous else 0
        self._columns = np.empty(0, np.int32) if contiguous else columns.astype(np.int32)
        self._values = aligned(self.n_examples * self.width, np.float32)
        # In units of the least one: `balanced` weights are then whole numbers and exact.
        units = label_weights / label_weights.min()
        if not units.max() < 1e30:
            units = np.maximum(label_weights / math.fsum(label_weights.ravel()), WEIGHT_FLOOR)
        self._values[:] = lay_out_rows(units * Y, self.width)
        self._weight = np.zeros(self.n_examples, np.float32)
        self._n_parts = -(-self.n_examples // _PART)
        self._part_sums = np.zeros((self._n_parts, self.width))
        self._part_masses = np.zeros(self._n_parts)
        self._sums = np.zeros(self.width)
        self._floor = np.zeros(self.width, np.float32)
        self._sides = np.ones(2 * self.width, np.float32)
        self._ends = np.empty(-(-self.n_examples // draw_kernels.DRAW_BLOCK))
        self._ends_are_current = False
        self._buffers: list[NDArray[np.float32]] = []
        self._buffers_in_use = 0
        # Sums from scratch, by an update that changes nothing.
        every = Rows(0, np.zeros(self.n_examples, np.int32), self._values, self._sums, 1.0)
        self._update(np.zeros(1, np.uint8), 0, every, 1.0, 1.0)
        self._floor[: self.n_labels] = WEIGHT_FLOOR

    def _update(
        self, column: NDArray[np.uint8], threshold: int, rows: Rows, right: float, wrong: float
    ) -> None:
        factors = WeightFactors(self._sides, right, wrong, self._floor)

        def arguments(first: int, end: int) -> tuple[Any, ...]:
            sums = self._part_sums, self._part_masses
            return column, np.int16(threshold), rows, factors, _PART, first, end, *sums

        self.threads.share(self._kernels.update, arguments, range(self._n_parts + 1))
        np.add.reduce(self._part_sums, axis=0, out=self._sums)
        self._mass = math.fsum(self._part_masses.tolist())
        self._ends_are_current = False

    def exact(self) -> Rows:
        """All examples with their exact weights, not copied: an update changes them."""
        return Rows(self._start, self._columns, self._values, self._sums, 1.0 / self._mass)

    def draw(self, size: int, scheme: Scheme, rng: np.random.Generator) -> Rows:
        """Draw `size` examples, fewer than N, by a scheme of `shard.sampling_schemes`."""
        if not self._ends_are_current:
            self._kernels.totals(self._values, self._weight)
            draw_kernels.cumulate_for_draw(self._weight, self._ends)
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
        """Work space until `release`; reused, so that later rounds allocate nothing of size N."""
        if self._buffers_in_use == len(self._buffers):
            self._buffers.append(aligned(size, np.float32))
        mine = self._buffers[self._buffers_in_use]
        if mine.size < size:
            mine = self._buffers[self._buffers_in_use] = aligned(size, np.float32)
        self._buffers_in_use += 1
        return mine[:size]

    def release(self) -> None:
        """Invalidate all samples drawn so far; later ones reuse their buffers."""
        self._buffers_in_use = 0

    def label_sums(self, column: NDArray[np.uint8], threshold: int) -> NDArray[np.float64]:
        """sum_i w_il y_il phi(x_i) for each label: float64 (K,), normalised; O(N)."""
        sums, rows = np.empty((self._n_parts, self.width)), self.exact()

        def arguments(first: int, end: int) -> tuple[Any, ...]:
            return column, np.int16(threshold), rows, _PART, first, end, sums

        self.threads.share(self._label_sums, arguments, range(self._n_parts + 1))
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
        right, wrong = 1.0 / (self._mass * (1.0 + edge)), 1.0 / (self._mass * (1.0 - edge))
        self._update(column, threshold, self.exact(), right, wrong)

    def state(self) -> dict[str, Any]:
        """A copy of everything that changes from round to round, as arrays and scalars."""
        return {"values": self._values.copy(), "sums": self._sums.copy(), "mass": self._mass}

    def restore(self, state: dict[str, Any]) -> None:
        """Restore a state of a run on the same examples, bit for bit."""
        if state["values"].shape != self._values.shape:
            raise DataError(
                f"the saved weights must be for {self._values.shape[0]} padded label weights, got "
                f"{state['values'].shape[0]}; restore into a booster on the same examples"
            )
        self._values[:] = state["values"]
        self._sums[:] = state["sums"]
        self._mass = float(state["mass"])
        self._ends_are_current = False
