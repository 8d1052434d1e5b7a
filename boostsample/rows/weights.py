"""The signed weights w_il * y_il of a boosting run: initial values, edges, updates."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from boostsample.checks import check_known, check_number
from boostsample.errors import DataError, SettingError
from boostsample.kernels.array_layout import (
    CellFactors,
    Floats,
    Rows,
    lay_out_rows,
    matrix_of_rows,
)
from boostsample.kernels.row_kernels import UpdateFactors
from boostsample.rows.weighted_rows import WeightedRows
from boostsample.threads import Threads

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
