"""Probabilities of `boostsample.classifier.prediction.probabilities` as nodes of an ONNX graph."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from boostsample.models.onnx.scores import Graph

_STEPS = 24
"""Steps of Newton's method, with bisection; 2 to 5 are usual."""


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
        found = graph.add("Sigmoid", graph.add("Mul", both, scale))
    else:
        axis = graph.constant(np.array([1]))
        top = graph.add("ReduceMax", scores, axis, keepdims=1)
        below = graph.add("Mul", graph.add("Sub", scores, top), scale)
        shift = _shift(graph, below, axis, offsets.size)
        found = graph.add("Sigmoid", graph.add("Add", below, shift))
    axes = graph.constant(np.array([1]))
    total = graph.add("ReduceSum", found, axes, keepdims=1)
    return graph.add("Div", found, total, to="probabilities")


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
    one, zero = graph.constant(np.array(1.0)), graph.constant(np.array(0.0))
    for _ in range(_STEPS):
        at = graph.add("Add", others, shift)
        logs = _log_sigmoid(graph, at)
        total = graph.add("ReduceLogSumExp", logs, axis, keepdims=1)
        excess = graph.add("Sub", total, _log_sigmoid(graph, graph.add("Neg", shift)))
        low = graph.add("Where", graph.add("LessOrEqual", excess, zero), shift, low)
        high = graph.add("Where", graph.add("GreaterOrEqual", excess, zero), shift, high)
        parts = graph.add("Exp", graph.add("Sub", logs, total))
        rest = graph.add("Sub", one, graph.add("Sigmoid", at))
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
