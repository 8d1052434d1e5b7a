"""Export of fitted classifiers to ONNX; needs the package onnx (extra `onnx`).

The graph consists of plain operators of ONNX's opset 18. Thresholds are compared in float32, as the
model does. All sums are exact, see `boostsample.models.model.exact_coefficients`, so that a runtime
may add in any order: scores and labels are those of the classifier for float32 inputs, to the bit.
"""

from __future__ import annotations

import os
from collections import defaultdict
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from boostsample.classifier.inputs.fit_inputs import check_prediction_inputs, inputs_are_numbers
from boostsample.classifier.inputs.frames import SeenColumns
from boostsample.errors import DataError, SettingError
from boostsample.files.atomic import check_writable_file, write_file
from boostsample.models.importances import products_of_round
from boostsample.models.model import Model
from boostsample.registry import registered_class

_OPSET, _IR_VERSION = 18, 8
_WHAT = "the ONNX model"


def to_onnx(
    classifier: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    computed: bool = False,
    overwrite: bool = False,
) -> Any:
    """A fitted classifier as an ONNX model.

    Parameters
    ----------
    classifier : BoostSampleClassifier
        A fitted one.
    path : str or path, optional
        File to write, a name that ends in ``.onnx``.
    computed : bool, default False
        Whether the input are the computed features that the model uses, see `onnx_inputs`. Needed
        for images, documents and columns of categories or dates, whose features ONNX does not
        compute.
    overwrite : bool, default False
        Whether a file of this name is replaced.

    Returns
    -------
    onnx.ModelProto
        Its input is `X`, float32 (n, columns). Its outputs:

        - `label`: the classes (n,), or int64 (n, K) of 0 and 1 for multi-label
        - `scores`: double, as from `decision_function`
        - `probabilities`: double, as from `predict_proba` up to rounding

    Raises
    ------
    SettingError
        If the package onnx is missing, the model reads something else than columns of numbers or
        has an output code, or ONNX has no type for the classes.
    DataError
        If the file cannot be written.
    """
    check_is_fitted(classifier)
    if classifier.code_ is not None:
        raise SettingError(
            "to_onnx exports scores of classes, but this model has those of an output code of "
            f"{classifier.code_.n_bits} bits; fit with code='one-vs-rest' and decoding='loss'"
        )
    target = None
    if path is not None:
        target = check_writable_file(path, ".onnx", _WHAT, overwrite=overwrite)
    try:
        from onnx import TensorProto, helper
    except ImportError as error:
        raise SettingError(
            "to_onnx needs the package onnx; install it by: pip install 'boostsample[onnx]'"
        ) from error
    model: Model = classifier.model_
    several = bool(classifier._multi_label)
    columns, width = _columns(classifier, computed)
    graph = Graph()
    binary = model.n_labels == 1 and not several
    raw = add_scores_graph(graph, model, "X", columns, to="raw" if binary else "scores")
    kind = TensorProto.INT64
    n_scores: list[Any] = ["n"] if binary else ["n", model.n_labels]
    n_label: list[Any] = n_scores if several else ["n"]
    if several:
        graph.cast(graph.add("Greater", raw, graph.constant(0.0)), kind, to="label")
    else:
        if binary:
            graph.add("Squeeze", raw, graph.constant(np.array([1])), to="scores")
            code = graph.cast(graph.add("Greater", "scores", graph.constant(0.0)), kind)
        else:
            code = graph.add("ArgMax", raw, axis=1, keepdims=0)
        classes = graph.constant(_class_constants(classifier.classes_))
        kind = graph.constants[-1].data_type
        graph.add("Gather", classes, code, to="label", axis=0)
    add_probabilities(graph, raw, classifier.offset_, float(classifier.temperature_), several)
    n_classes: list[Any] = ["n", len(classifier.classes_)]
    outputs = [
        helper.make_tensor_value_info("label", kind, n_label),
        helper.make_tensor_value_info("scores", TensorProto.DOUBLE, n_scores),
        helper.make_tensor_value_info("probabilities", TensorProto.DOUBLE, n_classes),
    ]
    inputs = [helper.make_tensor_value_info("X", TensorProto.FLOAT, ["n", width])]
    made = helper.make_model(
        helper.make_graph(graph.nodes, "boostsample", inputs, outputs, graph.constants),
        opset_imports=[helper.make_opsetid("", _OPSET)],
        ir_version=_IR_VERSION,
        producer_name="boostsample",
    )
    if target is not None:
        write_file(target, made.SerializeToString(), _WHAT)
    return made


def onnx_inputs(classifier: Any, X: Any, *, computed: bool = False) -> NDArray[np.float32]:
    """The input of the ONNX model for the examples X: float32 (n, columns).

    The values of the columns of a table, or, if `computed`, of the features that the model uses, in
    the order of their numbers.
    """
    numbers = inputs_are_numbers(classifier.model_.families)
    seen = SeenColumns.of_fitted(classifier)
    examples = check_prediction_inputs(classifier, X, seen, numbers=numbers)
    if computed:
        used = np.unique(classifier.model_.feature)
        return np.ascontiguousarray(classifier.model_.features(examples, used))
    _columns(classifier, computed)
    if hasattr(examples, "toarray"):
        examples = examples.toarray()
    with np.errstate(over="ignore"):
        table = np.ascontiguousarray(examples, np.float32)
    if np.isinf(table).any():
        raise DataError("X must be finite as float32, got values that are not; rescale them")
    return table


def _columns(classifier: Any, computed: bool) -> tuple[NDArray[np.int64], int]:
    model: Model = classifier.model_
    if computed:
        used, columns = np.unique(model.feature, return_inverse=True)
        return columns.astype(np.int64), used.size
    kind = registered_class("family", "columns")
    wrong = [family.name for family in model.families if type(family) is not kind]
    if wrong or classifier.columns_ is not None:
        reason = f"the family {wrong[0]!r} computes" if wrong else "categories and dates become"
        raise SettingError(
            f"to_onnx reads columns of numbers, but {reason} features that ONNX does not compute; "
            "pass computed=True, and give the ONNX model the features from onnx_inputs(classifier, "
            "X, computed=True)"
        )
    of_feature = np.concatenate([np.asarray(vars(f)["columns"]) for f in model.families])
    return of_feature[model.feature].astype(np.int64), int(classifier.n_features_in_)


def _class_constants(classes: NDArray[Any]) -> NDArray[Any]:
    """The classes in a type that ONNX and its runtimes have."""
    if classes.dtype.kind in "OUT":
        return np.array([str(label) for label in classes.tolist()], object)
    if classes.dtype.kind in "iu":
        return classes.astype(np.int64 if classes.max() < 2**63 else np.uint64)
    if classes.dtype.kind in "bf":
        return classes.astype(bool if classes.dtype.kind == "b" else np.float64)
    raise SettingError(
        f"to_onnx knows classes of text, numbers and truth values, got {classes.dtype}; fit with "
        "other labels"
    )


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
