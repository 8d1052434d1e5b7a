"""The signed weights w_il * y_il of examples: sums and draws, initial values, edges and updates.

They are one float32 matrix in the layout of `kernels.array_layout`.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from boostsample.checks import check_known, check_number
from boostsample.errors import DataError, SettingError
from boostsample.jit.vectors import LANES
from boostsample.kernels import draw as draw_kernels
from boostsample.kernels.array_layout import (
    CellFactors,
    Doubles,
    Floats,
    Rows,
    aligned,
    lay_out_rows,
    matrix_of_rows,
    row_layout,
)
from boostsample.kernels.cell_kernels import cell_kernels
from boostsample.kernels.row_kernels import UpdateFactors, row_kernels
from boostsample.kernels.tiles import RaceRows
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
            row_kernels(*row_layout(self.n_labels)).side_sums,
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


#: Edges above 1 - EDGE_GAP are treated as 1: alpha is capped there, and full steps end. The gap is
#: far above the rounding of sums in float64, and alpha at most 14.2.
EDGE_GAP = 1e-12
#: Least size of a normalised label weight: far from denormal numbers, too small to matter.
WEIGHT_FLOOR = 1e-30
#: The same for rows with one class, in the columns of the others: a product of it and the rest of
#: a float32 factor is no denormal number either, with which processors take 100 times as long.
CLASS_FLOOR = 1e-24
#: Weights at the floor are less than 1 / this of the logistic weights that are drawn by.
_FLOORS = 1e3
#: exp of more overflows.
_LARGEST_EXPONENT = 700.0
WEIGHT_INITS = ("uniform", "balanced")


class Factors(NamedTuple):
    """Factors of an update, for weights that the base classifier gets right and for the others."""

    right: float
    wrong: float


#: For each cell, and for labels -1 and then +1, the factors of the weights: float64 (J, 2, K).
CellTable: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class StepSize:
    """The coefficient alpha of a base classifier of edge G, and what it does to the weights.

    alpha = nu / 2 log((1 + G + d) / (1 - G + d)) with d = 2 s / N, and G at most 1 - EDGE_GAP. The
    classifier gets the weight (1 + G) / 2 right and (1 - G) / 2 wrong; smoothing adds s / N to
    both, the weight of s mean examples. MultiBoost has s = 0.01: its delta is 0.01 / N. [SS99] 4.2
    has s = 1 / K: it adds 1 / (N K) to either side.
    """

    learning_rate: float = 1.0
    smoothing: float = 0.0
    n_examples: int = 1

    def __post_init__(self) -> None:
        rate = check_number("learning_rate", self.learning_rate, 0.0, 1.0, above=True)
        smoothing = check_number("smoothing", self.smoothing, 0.0)
        object.__setattr__(self, "learning_rate", rate)
        object.__setattr__(self, "smoothing", smoothing)

    @property
    def is_full(self) -> bool:
        """Whether alpha minimises the loss."""
        return self.learning_rate == 1.0 and self.smoothing == 0.0

    def ends(self, edge: float) -> bool:
        """Whether training ends after this edge: 1, by a full step."""
        return self.is_full and edge > 1.0 - EDGE_GAP

    @property
    def _shrinkage(self) -> float:
        """1 + d: alpha is nu times that of a full step for the edge G / (1 + d)."""
        return 1.0 + 2.0 * self.smoothing / self.n_examples

    def alpha(self, edge: float) -> float:
        """The coefficient for an edge."""
        shrunk = min(edge, 1.0 - EDGE_GAP) / self._shrinkage
        return self.learning_rate * 0.5 * (math.log1p(shrunk) - math.log1p(-shrunk))

    def edge(self, alpha: float) -> float:
        """The edge for a coefficient, at most 1."""
        return min(self._shrinkage * math.tanh(alpha / self.learning_rate), 1.0)

    def log_loss_change(self, edge: float) -> float:
        """Log of the factor of the loss, (1 + G) / 2 exp(-alpha) + (1 - G) / 2 exp(alpha).

        A full step makes it 1/2 log(1 - G^2).
        """
        if self.is_full and edge <= 1.0 - EDGE_GAP:
            return 0.5 * (math.log1p(edge) + math.log1p(-edge))
        alpha = self.alpha(edge)
        # exp(-alpha) (1 + (1 - G) / 2 (exp(2 alpha) - 1)) keeps its digits where alpha is small.
        return math.log1p(0.5 * (1.0 - edge) * math.expm1(2.0 * alpha)) - alpha

    def fall(self, alpha: float) -> float:
        """Decrease of the log of the loss in a round with this coefficient."""
        return max(-self.log_loss_change(self.edge(alpha)), 0.0)  # an edge near 0 may round to less

    def factors(self, edge: float, mass: float) -> Factors:
        """Factors of the weights that the classifier gets right, and of the others.

        exp(-alpha) and exp(alpha), divided by the factor of the loss and by the sum of the weights
        before. A full step makes them 1 / (1 + G) and 1 / (1 - G), since exp(2 alpha) =
        (1 + G) / (1 - G).
        """
        if self.is_full:
            return Factors(1.0 / (mass * (1.0 + edge)), 1.0 / (mass * (1.0 - edge)))
        # exp(alpha) / exp(-alpha) - 1; the total is mass * (1 + (1 - G) / 2 * more), as in
        # `log_loss_change`.
        more = math.expm1(2.0 * self.alpha(edge))
        total = mass * (1.0 + 0.5 * (1.0 - edge) * more)
        return Factors(1.0 / total, (1.0 + more) / total)


#: The step of [SS99] and [BK10]: nu = 1, s = 0.
FULL_STEP = StepSize()


def initial_weights(Y: NDArray[np.int8], kind: str) -> NDArray[np.float64]:
    """Label weights u_il of each example: float64 (n, K), rows sum to 1.

    `uniform` is 1/K; `balanced` ([BK10] eq. 2) gives half of the row to its positive labels and
    half to its negative ones, all of it to one side where the other is empty. With K = 1 both are
    1. Labels of 0 have no weight and do not count.
    """
    check_known("weight_init", kind, WEIGHT_INITS)
    known = Y != 0
    n_known = known.sum(axis=1, keepdims=True)
    if kind == "uniform" or Y.shape[1] == 1:
        return np.asarray(known / n_known)
    positive = Y > 0
    n_positive = positive.sum(axis=1, keepdims=True)
    n_negative = n_known - n_positive
    one_sided = (n_positive == 0) | (n_negative == 0)
    half = np.where(one_sided, 1.0, 0.5)
    return np.asarray(known * half / np.where(positive, n_positive, np.maximum(n_negative, 1)))


class InitialWeights(NamedTuple):
    """The label weights u_il of a run before its first round: of a kind, times user weights s_i."""

    kind: str
    example_weight: NDArray[np.float64] | None = None
    unit: float = 1.0
    total: float | None = None

    def of(self, Y: NDArray[np.int8]) -> NDArray[np.float64]:
        """The weights: float64 (n, K)."""
        weights = initial_weights(Y, self.kind)
        if self.example_weight is None:
            return weights
        return weights * (self.example_weight / self.unit)[:, None]


def continued_weights(
    label_weights: NDArray[np.float64], Y: NDArray[np.int8], scores: NDArray[np.float64]
) -> tuple[NDArray[np.float64], float]:
    """Label weights of a run that continues from a model, and the log of the model's loss.

    The weights are in proportion to u_il exp(-y_il f_l(x_i)), float64 (n, K); the loss is the mean
    of exp(-y_il f_l(x_i)) by the weights u_il, which are `label_weights`. Weights below
    `WEIGHT_FLOOR` times the largest are raised to that.
    """
    exponents = -(Y * scores)
    most = float(exponents.max())
    # Exponents of at most 0 do not overflow.
    weights = label_weights * np.exp(exponents - most)
    log_loss = most + math.log(math.fsum(weights.ravel()) / math.fsum(label_weights.ravel()))
    return np.maximum(weights, WEIGHT_FLOOR * weights.max()), log_loss


class SignedWeights(WeightedRows):
    """The weights of one run, N examples in the order of `Y`.

    They are normalised up to rounding; the exact sum is kept beside them and divided out, so that
    rounding does not accumulate. `label_weights` are positive, the largest at most 1e30 times the
    least, but those of labels of 0, which have no weight. `initial` is for logistic draws alone;
    shards share one `unit`. The loop sets `log_loss`, the log of the mean of exp(-y_il f_l) by
    `label_weights`.
    """

    _unknown: NDArray[np.int64] | None = None

    def __init__(
        self,
        Y: NDArray[np.int8],
        label_weights: NDArray[np.float64],
        columns: NDArray[np.int64],
        threads: Threads | None = None,
        initial: InitialWeights | None = None,
        unit: float | None = None,
    ) -> None:
        n_examples, n_labels = (int(n) for n in Y.shape)
        super().__init__(n_examples, n_labels, Threads(1) if threads is None else threads)
        contiguous = bool(np.all(np.diff(columns) == 1))
        self.start = int(columns[0]) if contiguous else 0
        self.columns = np.empty(0, np.int32) if contiguous else columns.astype(np.int32)
        # In units of the least one: `balanced` weights are then whole numbers and exact.
        known = Y != 0
        units = label_weights / (label_weights[known].min() if unit is None else unit)
        signed = (units * Y).astype(np.float32)
        if not known.all():
            self._unknown = np.flatnonzero(lay_out_rows(~known, self.width))
        self.set_values(signed)
        self.floor = np.zeros(self.width, np.float32)
        self._sides = np.ones(2 * self.width, np.float32)
        self.floor[: self.n_labels] = WEIGHT_FLOOR
        self.log_loss = 0.0
        self._initial = initial
        self._inverse: Floats | None = None

    def changed(self) -> None:
        """The weights have changed; labels of 0 have none, whatever an update has raised."""
        if self._unknown is not None:
            self.values[self._unknown] = 0.0
        super().changed()

    def _update(
        self, column: NDArray[np.uint8], threshold: int, rows: Rows, factors: Factors
    ) -> None:
        of_update = UpdateFactors(self._sides, *factors, self.floor)
        self._share_update(self._kernels.update, (column, np.int16(threshold), rows, of_update))

    def _share_update(self, kernel: Any, reads: tuple[Any, ...]) -> None:
        # A strategy that has drawn by weight since the last update will do so again.
        drawn, self._totals_were_used = self._totals_were_used, False
        writes = self.part_sums, self.part_masses, self._weight if drawn else self._weight[:0]
        self.share(kernel, reads, writes)
        self.set_sums(self.part_sums, self.part_masses)
        self._totals_are_current = drawn  # `set_sums` has marked them as old

    def update_sides(self, column: NDArray[np.uint8], threshold: int, table: CellTable) -> None:
        """Multiply w_il by the factor of its side, label and the sign of y_il; O(N)."""
        factors = self.cell_factors(table)
        reads = column, np.int16(threshold), self.exact(), factors
        self._share_update(self._kernels.update_sides, reads)

    def cell_factors(self, table: CellTable) -> CellFactors:
        """The factors of cells as kernels read them."""
        wide = np.ones((len(table), 2, self.width))
        wide[:, :, : self.n_labels] = table
        flat = wide.reshape(-1)
        high = flat.astype(np.float32)
        return CellFactors(high, (flat - high).astype(np.float32), self.floor)

    def set_values(self, signed: NDArray[np.floating[Any]]) -> None:
        """Set all signed weights, float (N, K)."""
        self.values[:] = lay_out_rows(signed, self.width)
        self.sums[: self.n_labels] = np.add.reduce(signed, dtype=np.float64)
        self.mass = float(np.add.reduce(np.abs(signed), axis=None, dtype=np.float64))
        self.changed()

    def update(
        self, column: NDArray[np.uint8], threshold: int, votes: NDArray[np.int8], factors: Factors
    ) -> None:
        """Multiply w_il by a factor where v_l phi y_il = 1, and by another one elsewhere; O(N).

        Factors of `StepSize.factors` multiply by exp(-alpha v_l phi y_il) and normalise.
        """
        self._sides[: self.n_labels] = -votes
        self._sides[self.width : self.width + self.n_labels] = votes
        self._update(column, threshold, self.exact(), factors)

    def odds_factors(self) -> tuple[Floats, float]:
        """1 / u_il and loss / mass; the signs of the weights are those of Y."""
        if self._inverse is None:
            if self._initial is None:
                raise SettingError(
                    "draws by logistic weights need weights in proportion to exp(-y f), which the "
                    "objective of this run does not have; use another strategy, or an objective "
                    "of exponential loss, such as 'mh' or 'real-mh'"
                )
            u, total = self._initial.of(self.labels()), self._initial.total
            u = np.maximum(u / (math.fsum(u.ravel()) if total is None else total), WEIGHT_FLOOR)
            inverse = np.where(self.labels() != 0, 1.0 / u, 0.0)
            self._inverse = lay_out_rows(inverse, self.width)
        return self._inverse, self._odds()

    def _odds(self) -> float:
        """Loss / mass; losses beyond float64 are refused by `_logistic`."""
        return math.exp(min(self.log_loss, _LARGEST_EXPONENT)) / self.mass

    def _logistic(self) -> Floats:
        if self.log_loss <= 0.0:
            return super()._logistic()
        with np.errstate(over="ignore", invalid="ignore"):
            signed = super()._logistic()
        # Weights at the floor do not tell the scores: all of them must not count.
        least = _FLOORS * WEIGHT_FLOOR * self.values.size * self.mass
        if not np.add.reduce(np.abs(signed), dtype=np.float64) >= least:
            raise SettingError(
                "draws by logistic weights need a model to continue whose scores the weights tell, "
                f"got one of log10 loss {self.log_loss / math.log(10.0):.3g} on these examples, "
                "which leaves most weights at their least; use another strategy, or begin without "
                "the model"
            )
        return signed

    def labels(self) -> NDArray[np.int8]:
        """The labels Y: int8 (N, K), +1, -1 or 0, the signs of the weights."""
        return np.sign(self.label_values()).astype(np.int8)

    def label_values(self) -> Floats:
        """The signed weights: float32 (N, K)."""
        return matrix_of_rows(self.values, self.n_examples, self.n_labels)

    def example_weights(self) -> NDArray[np.float64]:
        """The weight of each example, the sum over labels: float64 (N,) of total 1; O(N K)."""
        values = self.label_values()
        weights = np.add.reduce(np.abs(values), axis=1, dtype=np.float64)
        return np.asarray(weights / math.fsum(weights))

    def bank_columns(self) -> NDArray[np.int64]:
        """Bank column of each example: int64 (N,)."""
        if self.columns.size:
            return self.columns.astype(np.int64)
        return np.arange(self.start, self.start + self.n_examples)

    def state(self) -> dict[str, Any]:
        """A copy of everything that changes from round to round, as arrays and scalars."""
        return {"values": self.values.copy(), "sums": self.sums.copy(), "mass": self.mass}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore a state of a run on the same examples, bit for bit."""
        if state["values"].shape != self.values.shape:
            raise DataError(
                f"the saved weights must be for {self.values.shape[0]} padded label weights, got "
                f"{state['values'].shape[0]}; restore into a booster on the same examples"
            )
        self.values[:] = state["values"]
        self.sums[:] = state["sums"]
        self.mass = float(state["mass"])
        self.changed()
