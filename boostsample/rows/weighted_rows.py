"""Signed label weights of examples: one float32 matrix in the layout of `kernels.array_layout`."""

from __future__ import annotations

import abc
import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from boostsample.jit.vectors import LANES
from boostsample.kernels import draw as draw_kernels
from boostsample.kernels.array_layout import (
    Doubles,
    Floats,
    Rows,
    aligned,
    row_layout,
)
from boostsample.kernels.cell_kernels import cell_kernels
from boostsample.kernels.race import RaceRows
from boostsample.kernels.row_kernels import row_kernels
from boostsample.rows.sampling_schemes import (
    PROMISED,
    UNPROMISED,
    NestedScheme,
    Scheme,
    Unpromised,
)
from boostsample.threads import Threads

#: Label sums (K,) of a stump, and the weights of the labels on its sides (2, K).
SideSums: TypeAlias = tuple[NDArray[np.float64], NDArray[np.float64]]
#: Examples summed at a time; a constant, so that bits do not depend on the number of threads.
PART = 4096


class WeightedRows(abc.ABC):
    """The rows that a search reads: of all examples of a run, or of some of them.

    `values` are signed float32 weights (n * P,), of K labels padded to P. Row i is bank column
    columns[i], or start + i without `columns`. `part_sums` and `part_masses` are of PART rows each.
    """

    def __init__(self, n_most: int, n_labels: int, threads: Threads) -> None:
        """Room for `n_most` rows, all in use."""
        self.threads = threads
        self.n_labels = n_labels
        blocks, tail = row_layout(n_labels)
        self.width = LANES * blocks + tail
        self._kernels = row_kernels(blocks, tail)
        self.start, self.columns = 0, np.empty(0, np.int32)
        self.sums, self.mass = np.zeros(self.width), 0.0
        n_parts, n_ends = -(-n_most // PART), -(-n_most // draw_kernels.DRAW_BLOCK)
        self._room = aligned(n_most * self.width, np.float32), np.zeros(n_most, np.float32)
        self._part_room = np.zeros((n_parts, self.width)), np.zeros(n_parts), np.empty(n_ends)
        self._buffers: list[NDArray[np.float32]] = []
        self._buffers_in_use = 0
        self._totals_were_used = False
        self.resize(n_most)

    def resize(self, n: int) -> None:
        """Use the first n rows of the room."""
        self.n_examples, n_parts = n, -(-n // PART)
        values, weight = self._room
        self.values, self._weight = values[: n * self.width], weight[:n]
        part_sums, part_masses, ends = self._part_room
        self.part_sums, self.part_masses = part_sums[:n_parts], part_masses[:n_parts]
        self._ends = ends[: -(-n // draw_kernels.DRAW_BLOCK)]
        self._cuts = range(n_parts + 1)
        self.changed()

    def changed(self) -> None:
        """Form the weights of the examples anew at the next draw."""
        self._totals_are_current = self._ends_are_current = False

    def share(
        self, kernel: Callable[..., None], reads: tuple[Any, ...], writes: tuple[Any, ...]
    ) -> None:
        """Call kernel(*reads, PART, first, end, *writes) on all parts, shared among the threads."""
        if self.threads.n == 1:  # saves 5 us
            kernel(*reads, PART, 0, self._cuts.stop - 1, *writes)
        else:
            stretches = self.threads.stretches(self._cuts)
            self.threads.run(kernel, [(*reads, PART, *ends, *writes) for ends in stretches])

    def set_sums(self, part_sums: NDArray[np.float64], part_masses: NDArray[np.float64]) -> None:
        """Take the sums of all rows from those of parts; the weights have changed."""
        np.add.reduce(part_sums, axis=0, out=self.sums)
        self.mass = math.fsum(part_masses.tolist())  # rounded once: an edge of 1 ends training
        self.changed()

    def exact(self) -> Rows:
        """All rows with their exact weights, not copied: an update changes them."""
        return Rows(self.start, self.columns, self.values, self.sums, 1.0 / self.mass)

    def shuffled(self, rng: np.random.Generator) -> Rows:
        """All rows with their exact weights, each at the bank column of another."""
        examples = self._columns_of(rng.permutation(np.arange(self.n_examples, dtype=np.int32)))
        return self.exact()._replace(start=0, examples=examples)

    def draw(
        self,
        size: int,
        scheme: Scheme,
        rng: np.random.Generator,
        how: Unpromised = PROMISED,
    ) -> Rows:
        """Draw `size` examples, fewer than n; by other numbers than weights O(n P) more."""
        signed, ends = self._cumulate(how)
        drawn = scheme(self._weight, ends, size, rng)
        values, base = self._buffer(drawn.examples.size * self.width), np.empty(self.width)
        self._kernels.weigh(signed, drawn.examples, drawn.factors, values, base)
        scale = _ratio_scale(values) if how.ratio else 1.0
        return Rows(0, self._columns_of(drawn.examples), values, base, scale)

    def for_race(self) -> RaceRows:
        """The rows for a race, which forms the weights of the examples; then call `raced`."""
        where = self.values, self.start, self.columns
        return RaceRows(*where, self._weight, self._totals_are_current, self.mass)

    def raced(self) -> None:
        """A race on these rows has ended: an interrupt before it leaves nothing half-made."""
        self._totals_are_current = self._totals_were_used = True

    def draw_nested(
        self,
        sizes: Sequence[int],
        scheme: NestedScheme,
        rng: np.random.Generator,
        how: Unpromised = PROMISED,
    ) -> list[Rows]:
        """Draw samples of ascending sizes below n, each of which contains the one before."""
        (signed, ends), nested = self._cumulate(how), list[Rows]()
        room, room_base = self.values, np.zeros(self.width)  # replaced at the first sample
        joins = self.width <= 2 * LANES  # with one plane, more rows can follow
        for (examples, factors), scale, known in scheme(self._weight, ends, sizes, rng):
            base, size = np.empty(self.width), examples.size * self.width
            if not (known and joins):
                most = sizes[-1] * self.width if joins and not nested else size
                room, known = self._buffer(most), 0
                room_base = np.zeros(self.width)
            values = room[known * self.width : size]
            self._kernels.weigh(signed, examples[known:], factors[known:], values, base)
            room_base = room_base + base
            if how.ratio:
                scale = _ratio_scale(room[:size])
            nested.append(Rows(0, self._columns_of(examples), room[:size], room_base, scale))
        return nested

    def _cumulate(self, how: Unpromised = PROMISED) -> tuple[Floats, Doubles]:
        """Form what to draw by; returns the signed weights of the rows, and the cumulated ones."""
        signed, norms, ends = self.values, how.by == "norms", self._ends
        if how.by == "logistic weights":
            signed = self._logistic()
        # Within a round, the weights of the examples are formed once for all draws by weight.
        by_weight = how.by == "weights"
        if not (by_weight and self._totals_are_current):
            self._kernels.totals(self._squares() if norms else signed, self._weight)
            self._ends_are_current = False
            self._totals_are_current = by_weight
        self._totals_were_used |= by_weight
        if norms:
            np.sqrt(self._weight, out=self._weight)
        if not how.cumulated:
            return signed, np.array([self.mass])
        if not self._ends_are_current:
            draw_kernels.cumulate_for_draw(self._weight, ends)
            # What other schemes draw by is not of use to the next draw.
            self._ends_are_current = by_weight
        return signed, ends

    def n_heaviest(self, mass: float) -> int:
        """The least number of examples with this share of the weight, heaviest first."""
        self._cumulate()
        so_far = np.cumsum(np.sort(self._weight)[::-1], dtype=np.float64)
        return 1 + int(np.searchsorted(so_far[:-1], mass * so_far[-1]))

    def _squares(self) -> Floats:
        """Squares of the weights in units of the mean of an example, until `release`."""
        squares = self._buffer(self.values.size)
        np.multiply(self.values, np.float32(self.n_examples / self.mass), out=squares)
        np.square(squares, out=squares)
        return squares

    def logistic_mass(self) -> float:
        """Sum of the logistic weights; O(n P)."""
        self._cumulate(UNPROMISED["filter"])
        return float(self._ends[-1])

    def _columns_of(self, examples: NDArray[np.int32]) -> NDArray[np.int32]:
        if self.columns.size:
            return self.columns[examples]
        return examples + np.int32(self.start) if self.start else examples

    @abc.abstractmethod
    def odds_factors(self) -> tuple[Floats, float]:
        """r, float32 (n * P,), and c such that exp(-y_il f_l) = c r_il abs(w_il)."""

    def _logistic(self) -> Floats:
        """Signed weights in proportion to u_il / (1 + exp(y_il f_l)), until `release`.

        They are w_il / (1 + exp(-y_il f_l)), since w_il is in proportion to u_il exp(-y_il f_l).
        """
        factors, scale = self.odds_factors()
        signed = self._buffer(self.values.size)
        np.abs(self.values, out=signed)
        signed *= factors
        signed *= np.float32(scale)
        signed += 1.0
        np.divide(self.values, signed, out=signed)
        return signed

    def _buffer(self, size: int) -> NDArray[np.float32]:
        """Work space until `release`; reused, so that later rounds allocate nothing of size N."""
        if self._buffers_in_use == len(self._buffers):
            self._buffers.append(aligned(size, np.float32))
        buffer = self._buffers[self._buffers_in_use]
        if buffer.size < size:
            buffer = self._buffers[self._buffers_in_use] = aligned(size, np.float32)
        self._buffers_in_use += 1
        return buffer[:size]

    def release(self) -> None:
        """Invalidate all samples drawn so far; later ones reuse their buffers."""
        self._buffers_in_use = 0

    def label_sums(self, column: NDArray[np.uint8], threshold: int) -> NDArray[np.float64]:
        """sum_i w_il y_il phi(x_i) for each label: float64 (K,), normalised; O(n)."""
        return np.asarray(self.label_totals(column, threshold) / self.mass)

    def label_totals(self, column: NDArray[np.uint8], threshold: int) -> NDArray[np.float64]:
        """`label_sums` in the units of the weights."""
        sums = np.empty((self._cuts.stop - 1, self.width))
        self.share(self._kernels.label_sums, (column, np.int16(threshold), self.exact()), (sums,))
        return np.asarray(np.add.reduce(sums)[: self.n_labels])

    def side_sums(self, column: NDArray[np.uint8], threshold: int) -> SideSums:
        """`label_sums`, and the weight of each label with phi = -1, then +1: float64 (2, K)."""
        return of_sides(self.side_totals(column, threshold) / self.mass)

    def side_totals(self, column: NDArray[np.uint8], threshold: int) -> NDArray[np.float64]:
        """Sums over i of w_il, phi(x_i) w_il and phi(x_i) w_il y_il: float64 (3, K); O(n)."""
        sums = np.empty((self._cuts.stop - 1, 3 * self.width))
        self.share(
            cell_kernels(*row_layout(self.n_labels)).side_sums,
            (column, np.int16(threshold), self.exact()),
            (sums,),
        )
        return np.asarray(np.add.reduce(sums).reshape(3, -1)[:, : self.n_labels])

    def label_masses(self) -> NDArray[np.float64]:
        """Weight of each label: float64 (K,), in the units of the weights; O(n)."""
        masses = np.empty(self.n_labels)
        cell_kernels(*row_layout(self.n_labels)).label_masses(self.values, masses)
        return masses


def of_sides(totals: NDArray[np.float64]) -> SideSums:
    """The label sums, and the weights of both sides, from `side_totals`."""
    whole, by_side, signed = totals
    return signed, np.maximum([0.5 * (whole - by_side), 0.5 * (whole + by_side)], 0.0)


def _ratio_scale(values: Floats) -> float:
    return 1.0 / float(np.add.reduce(np.abs(values), dtype=np.float64))
