"""Scores and probabilities of a model as a graph of plain ONNX operators, in double precision.

Thresholds are compared in float32, as the model does. All sums are exact, see
`boostsample.models.model.exact_coefficients`, so that a runtime may add in any order: the scores
are the model's, to the bit. Probabilities are those of
`boostsample.classifier.prediction.probabilities`.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from boostsample.models.contributions import products_of_round
from boostsample.models.model import Model

_CHUNK = 256
"""Terms at a time: the examples of a batch times this many doubles are in memory."""
_STEPS = 24
"""Steps of Newton's method, with bisection; 2 to 5 are usual."""


class Graph:
    """Nodes and constants of an ONNX graph; names are numbers."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self._n = 0

    def add(self, operator: str, *inputs: str, to: str = "", **attributes: Any) -> str:
        """Add a node and return the name of its output, `to` or a new one."""
        from onnx import helper

        name = to or self._name()
        self.nodes.append(helper.make_node(operator, list(inputs), [name], **attributes))
        return name

    def cast(self, value: str, kind: int, to: str = "") -> str:
        """Add a conversion to a type of ONNX."""
        from onnx import helper

        name = to or self._name()
        self.nodes.append(helper.make_node("Cast", [value], [name], to=kind))
        return name

    def constant(self, value: Any) -> str:
        """Add an array; return its name."""
        from onnx import numpy_helper

        name = self._name()
        self.constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def _name(self) -> str:
        self._n += 1
        return f"v{self._n}"


def add_scores_graph(
    graph: Graph, model: Model, inputs: str, columns: NDArray[np.int64], to: str
) -> str:
    """Add the scores: double (n, K), under the name `to`.

    `inputs` is float32 (n, any); `columns` (M,) is the column of each term's feature in it.
    """
    total, firsts = "", [*model.first.tolist(), model.feature.size]
    start = 0
    base = np.zeros(model.n_labels)
    while start < len(model):
        end = start + 1
        while end < len(model) and firsts[end + 1] - firsts[start] <= _CHUNK:
            end += 1
        sums, offset = _chunk(graph, model, inputs, columns, start, end)
        base += offset
        for part_sum in sums:
            total = graph.add("Add", total, part_sum) if total else part_sum
        start = end
    if not total:  # a model without rounds: zeros of the right shape
        first = graph.add("Shape", inputs, start=0, end=1)
        shape = graph.add("Concat", first, graph.constant(np.array([model.n_labels])), axis=0)
        total = graph.add("Expand", graph.constant(np.zeros((1, 1))), shape)
    return graph.add("Add", total, graph.constant(base), to=to)


class _Unit(NamedTuple):
    path: list[tuple[int, bool]]  # terms, and whether phi = +1 is required
    factors: list[int]  # terms whose phi are multiplied
    votes: NDArray[np.float64]


def _chunk(
    graph: Graph,
    model: Model,
    inputs: str,
    columns: NDArray[np.int64],
    start: int,
    end: int,
) -> tuple[list[str], NDArray[np.float64]]:
    """Add rounds start, ..., end - 1: arrays to be summed, double (n, K), and a constant (K,)."""
    part = model.terms(start, end)
    values = graph.add("Gather", inputs, graph.constant(columns[part]), axis=1)
    threshold = model.threshold[part].astype(np.float32)
    sides = graph.add("GreaterOrEqual", values, graph.constant(threshold))
    # Products with as many conditions and factors are one matrix product.
    kinds: dict[tuple[int, int], list[_Unit]] = defaultdict(list)
    for number in range(start, end):
        for conditions, signs in products_of_round(model, number):
            path = [(term, side > 0) for term, side in conditions if side]
            factors = [term for term, side in conditions if not side]
            unit = _Unit(path, factors, model.coefficient[model.first[number]] * signs)
            kinds[len(path), len(factors)].append(unit)
    sums, base = [], np.zeros(model.n_labels)
    for (n_path, n_factors), alike in sorted(kinds.items()):
        votes = np.array([unit.votes for unit in alike])
        holds, sign = "", ""
        for at in range(n_path):
            terms = np.array([unit.path[at][0] for unit in alike]) - part.start
            wanted = np.array([unit.path[at][1] for unit in alike])
            taken = graph.add("Gather", sides, graph.constant(terms), axis=1)
            met = graph.add("Equal", taken, graph.constant(wanted))
            holds = graph.add("And", holds, met) if holds else met
        for at in range(n_factors):
            terms = np.array([unit.factors[at] for unit in alike]) - part.start
            taken = sides
            if not np.array_equal(terms, np.arange(part.stop - part.start)):
                taken = graph.add("Gather", sides, graph.constant(terms), axis=1)
            sign = graph.add("Equal", sign, taken) if sign else taken
        if not sign:
            sums.append(_product(graph, holds, votes))
        elif not holds:  # phi = 2 [phi > 0] - 1
            sums.append(_product(graph, sign, 2.0 * votes))
            base -= votes.sum(axis=0)
        else:
            sums.append(_product(graph, graph.add("And", holds, sign), 2.0 * votes))
            sums.append(_product(graph, holds, -votes))
    return sums, base


def _product(graph: Graph, truth: str, weights: NDArray[np.float64]) -> str:
    """Matrix product of truth values (n, U) and weights (U, K)."""
    from onnx import TensorProto

    doubles = graph.cast(truth, TensorProto.DOUBLE)
    return graph.add("MatMul", doubles, graph.constant(weights))


def add_probabilities(
    graph: Graph, scores: str, offsets: NDArray[np.float64], temperature: float, several: bool
) -> str:
    """Add `probabilities`, double (n, number of classes), from scores (n, K)."""
    scale = graph.constant(np.array(2.0 / temperature))
    if several:
        logits = graph.add("Mul", scores, scale)
        logits = graph.add("Sub", logits, graph.constant(offsets / temperature))
        return graph.add("Sigmoid", logits, to="probabilities")
    if offsets.size == 1:
        both = graph.add("Concat", graph.add("Neg", scores), scores, axis=1)
        truths = graph.add("Sigmoid", graph.add("Mul", both, scale))
    else:
        axis = graph.constant(np.array([1]))
        top = graph.add("ReduceMax", scores, axis, keepdims=1)
        below = graph.add("Mul", graph.add("Sub", scores, top), scale)
        shift = _shift(graph, below, axis, offsets.size)
        truths = graph.add("Sigmoid", graph.add("Add", below, shift))
    axes = graph.constant(np.array([1]))
    total = graph.add("ReduceSum", truths, axes, keepdims=1)
    return graph.add("Div", truths, total, to="probabilities")


def _shift(graph: Graph, below: str, axis: str, n_labels: int) -> str:
    """The c of each row for which the sum of sigma(below + c) is 1: double (n, 1).

    As `boostsample.classifier.prediction.probabilities` finds it, with a fixed number of steps.
    """
    first = graph.add("ArgMax", below, axis=1, keepdims=1)
    is_first = graph.add("Equal", graph.constant(np.arange(n_labels)), first)
    others = graph.add("Where", is_first, graph.constant(np.array(-np.inf)), below)
    half = graph.constant(np.array(0.5))
    high = graph.add("Mul", graph.add("ReduceMax", others, axis, keepdims=1), half)
    shift = high = graph.add("Neg", high)
    low = graph.add(
        "Sub",
        graph.add("Mul", high, graph.constant(np.array(0.0))),
        graph.constant(np.array(np.log(n_labels - 1.0))),
    )
    unity, zero = graph.constant(np.array(1.0)), graph.constant(np.array(0.0))
    for _ in range(_STEPS):
        at = graph.add("Add", others, shift)
        logs = _log_sigmoid(graph, at)
        total = graph.add("ReduceLogSumExp", logs, axis, keepdims=1)
        excess = graph.add("Sub", total, _log_sigmoid(graph, graph.add("Neg", shift)))
        low = graph.add("Where", graph.add("LessOrEqual", excess, zero), shift, low)
        high = graph.add("Where", graph.add("GreaterOrEqual", excess, zero), shift, high)
        parts = graph.add("Exp", graph.add("Sub", logs, total))
        rest = graph.add("Sub", unity, graph.add("Sigmoid", at))
        slope = graph.add("ReduceSum", graph.add("Mul", parts, rest), axis, keepdims=1)
        slope = graph.add("Add", slope, graph.add("Sigmoid", shift))
        newton = graph.add("Sub", shift, graph.add("Div", excess, slope))
        middle = graph.add("Mul", graph.add("Add", low, high), half)
        inside = graph.add(
            "And",
            graph.add("LessOrEqual", low, newton),
            graph.add("LessOrEqual", newton, high),
        )
        shift = graph.add("Where", inside, newton, middle)
    return shift


def _log_sigmoid(graph: Graph, value: str) -> str:
    """log(1 / (1 + exp(-x))) = min(x, 0) - log(1 + exp(-|x|))."""
    zero = graph.constant(np.array(0.0))
    small = graph.add("Exp", graph.add("Neg", graph.add("Abs", value)))
    rest = graph.add("Log", graph.add("Add", small, graph.constant(np.array(1.0))))
    return graph.add("Sub", graph.add("Min", value, zero), rest)
