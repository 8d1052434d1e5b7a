"""Scores of a model as a graph of plain ONNX operators, in double precision.

Thresholds are compared in float32, as the model does. All sums are exact, see
`boostsample.models.exact_sums`, so that a runtime may add in any order: the scores are the model's,
to the bit.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostsample.models.export_units import Unit, units_of_round
from boostsample.models.model import Model

_CHUNK = 256
"""Terms at a time: the examples of a batch times this many doubles are in memory."""


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
        units = [(number, u) for number in range(start, end) for u in units_of_round(model, number)]
        part = slice(firsts[start], firsts[end])
        sums, offset = _chunk(graph, model, inputs, columns, part, units)
        base += offset
        for one in sums:
            total = graph.add("Add", total, one) if total else one
        start = end
    if not total:  # a model without rounds: zeros of the right shape
        first = graph.add("Shape", inputs, start=0, end=1)
        shape = graph.add("Concat", first, graph.constant(np.array([model.n_labels])), axis=0)
        total = graph.add("Expand", graph.constant(np.zeros((1, 1))), shape)
    return graph.add("Add", total, graph.constant(base), to=to)


def _chunk(
    graph: Graph,
    model: Model,
    inputs: str,
    columns: NDArray[np.int64],
    part: slice,
    units: list[tuple[int, Unit]],
) -> tuple[list[str], NDArray[np.float64]]:
    """Add the units of some rounds: arrays to be summed, double (n, K), and a constant (K,)."""
    values = graph.add("Gather", inputs, graph.constant(columns[part]), axis=1)
    threshold = model.threshold[part].astype(np.float32)
    sides = graph.add("GreaterOrEqual", values, graph.constant(threshold))
    kinds: dict[tuple[int, int], list[tuple[int, Unit]]] = defaultdict(list)
    for number, unit in units:
        kinds[len(unit.path), len(unit.factors)].append((number, unit))
    sums, base = [], np.zeros(model.n_labels)
    for (n_path, n_factors), mine in sorted(kinds.items()):
        alpha = model.coefficient[model.first[[number for number, _ in mine]]]
        votes = alpha[:, None] * np.array([unit.votes for _, unit in mine])
        holds, sign = "", ""
        for at in range(n_path):
            terms = np.array([unit.path[at][0] for _, unit in mine]) - part.start
            wanted = np.array([unit.path[at][1] > 0 for _, unit in mine])
            taken = graph.add("Gather", sides, graph.constant(terms), axis=1)
            met = graph.add("Equal", taken, graph.constant(wanted))
            holds = graph.add("And", holds, met) if holds else met
        for at in range(n_factors):
            terms = np.array([unit.factors[at] for _, unit in mine]) - part.start
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
