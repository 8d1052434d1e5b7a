"""Export of fitted classifiers to ONNX; needs the package onnx (extra `onnx`).

The graph consists of plain operators of ONNX's opset 18. Scores and labels are those of the
classifier for float32 inputs, to the bit.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from boostsample.classifier.inputs.fit_inputs import check_prediction_inputs, inputs_are_numbers
from boostsample.classifier.inputs.seen_columns import SeenColumns
from boostsample.errors import DataError, SettingError
from boostsample.files.atomic import check_writable_file, write_file
from boostsample.models.model import Model
from boostsample.models.onnx import Graph, add_probabilities, add_scores_graph
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
