"""Class labels: any container of them as an array of class values, and as a label matrix.

A class value is text, a whole number or a truth value. Equal values are one class, whatever their
type, as in Python: 0, 0.0 and False are equal, "0" is not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from boostsample.errors import DataError

_LABEL_SETS = (
    "y must be class labels (n,) or an indicator matrix of 0 and 1 (n, K), got a list of labels in "
    "each row; convert it by scikit-learn's MultiLabelBinarizer().fit_transform(y)"
)
_KINDS = {"b": "truth values", "i": "numbers", "u": "numbers", "f": "numbers"}
"""Kinds of labels by the kind of their dtype; all others are text."""
_TYPES = (
    (np.timedelta64, ""),
    (str, "text"),
    (bool | np.bool_, "truth values"),
    (int | np.integer | float | np.floating, "numbers"),
)
"""Kinds of labels by the type of an object; timedelta64 and bool come before what they are derived
from, whole numbers."""
_MISSING = ("NaN", "None", "<NA>", "NaT")
_Place = Callable[[int], str]


def class_values(y: Any, name: str = "y", *, in_file: bool = False) -> NDArray[Any]:
    """Labels in any container as an array of class values; no value is changed.

    `y` is of NumPy, SciPy, pandas, polars or Arrow, or a list: n labels, or (n, K) of 0 and 1
    (multi-label); `name` stands for it in errors, which count rows from 1 if `in_file`. Returns
    labels (n,): numbers, truth values, or text as strings or objects; or int8 (n, K), K > 1.
    DataError if a label is missing, is neither text nor a whole number or truth value, is a float
    so large that neighbours merge, or if labels are of different kinds.
    """

    def place(row: int) -> str:
        return f"data row {row + 1}" if in_file else f"row {row}"

    array = _as_array(y)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim == 1:
        labels = _checked(array, name, place)
        if isinstance(y, Sequence) and labels.dtype.kind == "O":
            text: NDArray[Any] = np.array(labels.tolist())
            labels = text if text.tolist() == labels.tolist() else labels  # it drops a final NUL
        return labels
    if array.ndim != 2 or not array.shape[1]:
        raise DataError(
            f"{name} must be class labels (n,) or an indicator matrix of 0 and 1 (n, K), got "
            f"{type(y).__name__} of shape {array.shape}"
        )
    table = np.empty(array.shape, np.int8)
    for at, column in enumerate(array.T):
        values = _checked(column, name, place)
        other = np.ones(values.size, bool)
        if values.dtype.kind in _KINDS:
            other = (values != 0) & (values != 1)
        if other.any():
            row = int(other.argmax())
            raise DataError(
                f"{name} with several columns must be a multi-label indicator of 0 and 1, got "
                f"{values.tolist()[row]!r:.60} in {place(row)}; fit a classifier per column instead"
            )
        table[:, at] = values
    return table


def _as_array(y: Any) -> NDArray[Any]:
    """The labels as an array, of objects where NumPy would change a value."""
    if hasattr(y, "toarray"):
        y = y.toarray()
    elif isinstance(y, np.ma.MaskedArray) and y.mask.any():
        return np.array(y.tolist(), object)
    if isinstance(y, Sequence) and not isinstance(y, str | bytes):
        return np.array(y, object)
    array = np.asarray(y)
    if array.ndim != len(getattr(y, "shape", array.shape)):  # a series of structs
        raise DataError(_LABEL_SETS)
    return array


def _checked(array: NDArray[Any], name: str, place: _Place) -> NDArray[Any]:
    """Labels (n,) as an array of text, numbers or truth values."""
    kind = array.dtype.kind
    if kind in "OT" or (kind == "f" and array.itemsize > 8):
        array = _of_objects(array.astype(object).tolist(), name, place)
    elif kind not in "biufU" and array.size:
        _refuse(array[0], name, place(0))
    if array.dtype.kind == "f":
        exact = 2.0 ** (np.finfo(array.dtype).nmant + 1)
        good = (np.abs(array) < exact) & (array == np.floor(array))
        if not good.all():
            row = int(np.isnan(array).argmax() or good.argmin())
            _refuse(array[row], name, place(row))
    return array


def _of_objects(values: list[Any], name: str, place: _Place) -> NDArray[Any]:
    kind_of = {kind: _kind_of(kind) for kind in {*map(type, values)}}
    kinds = {*kind_of.values()}
    floats = any(issubclass(kind, float | np.floating) for kind in kind_of)
    if floats or "" in kinds:
        bad = [
            row
            for row, value in enumerate(values)
            if not (kind := kind_of[type(value)])
            or (floats and kind == "numbers" and not abs(value) < 2**53)
        ]
        if bad:
            row = next((row for row in bad if _shown(values[row]) in _MISSING), bad[0])
            _refuse(values[row], name, place(row))
    if len(kinds) > 1:
        first = kind_of[type(values[0])]
        row = next(at for at, value in enumerate(values) if kind_of[type(value)] != first)
        raise DataError(
            f"{name} must hold labels of one kind, got {values[0]!r:.60} in {place(0)} and "
            f"{values[row]!r:.60} in {place(row)}; make all of them text or numbers"
        )
    if kinds == {"truth values"}:
        return np.array(values, bool)
    if kinds == {"numbers"}:
        return np.array(values, np.float64) if floats else _whole_numbers(values, name)
    text = np.empty(len(values), object)
    text[:] = [str.__str__(value) for value in values]
    return text


def _kind_of(kind: type[Any]) -> str:
    """The kind of labels of this type, empty if such objects are no labels."""
    return next((name for types, name in _TYPES if issubclass(kind, types)), "")


def _whole_numbers(values: list[Any], name: str) -> NDArray[Any]:
    numbers = [int(value) for value in values]
    least, most = min(numbers), max(numbers)
    for dtype in (np.int64, np.uint64):
        if np.iinfo(dtype).min <= least and most <= np.iinfo(dtype).max:
            return np.array(numbers, dtype)
    raise DataError(
        f"{name} must hold whole numbers that int64 or uint64 holds, got {least} and {most}; make "
        "them text by .astype(str)"
    )


def _shown(value: Any) -> str:
    return "NaN" if isinstance(value, float | np.floating) and np.isnan(value) else str(value)


def _refuse(value: Any, name: str, where: str) -> NoReturn:
    """Raise the DataError of a value that is no label; scikit-learn looks for some of its words."""
    if hasattr(value, "__len__") and not isinstance(value, bytes | np.generic):
        raise DataError(_LABEL_SETS)
    shown = _shown(value)
    if shown in _MISSING:
        raise DataError(
            f"{name} must have a label in every row, but contains {shown} in {where}; drop the "
            "rows without a label"
        )
    is_float = isinstance(value, float | np.floating)
    if is_float and np.isfinite(value) and value != np.floor(value):
        why, way = "Unknown label type: continuous", "cut a measured quantity into classes first"
    elif _kind_of(type(value)) == "numbers":
        is_infinite = value in (np.inf, -np.inf)
        why = "contains infinity" if is_infinite else "float numbers of this size merge"
        way = "give whole numbers as integers or as text"
    else:
        shown, why = f"{value!r:.60}", type(value).__name__
        if isinstance(value, complex | np.complexfloating):
            why += ": Complex data not supported"
        way = "make them text, in Python by .astype(str), in boostsample fit by --category"
    raise DataError(
        f"{name} must hold whole numbers or text, got {shown} in {where} ({why}); {way}"
    )


def class_codes(labels: NDArray[Any], classes: NDArray[Any], name: str = "y") -> NDArray[np.int64]:
    """Position of each label (n,) among the classes, -1 if it equals none of them: int64 (n,)."""
    is_text = [array.dtype.kind not in _KINDS for array in (labels, classes)]
    if labels.size and is_text[0] != is_text[1]:
        raise foreign_labels(labels, classes, name)
    code_of = {value: code for code, value in enumerate(classes.tolist())}
    values, at = np.unique(labels, return_inverse=True)
    codes = np.array([code_of.get(value, -1) for value in values.tolist()], np.int64)
    return codes[at.reshape(-1)]


def foreign_labels(labels: NDArray[Any], classes: NDArray[Any], name: str) -> DataError:
    """The error of labels none of which is a class of the model; it shows the first.

    A column of a file with one word among its numbers is text: the word is shown, not a number.
    """
    shown = ", ".join(map(repr, classes[:8].tolist())) + (", ..." if classes.size > 8 else "")
    kinds = [_KINDS.get(array.dtype.kind, "text") for array in (classes, labels)]
    written, values = set(map(str, classes.tolist())), labels.tolist()
    first = next((value for value in values if str(value) not in written), values[0])
    got = f"{first!r:.60} and no class of it"
    if "text" in kinds and kinds[0] != kinds[1]:
        got = f"{kinds[1]} instead of {kinds[0]}, such as {first!r:.60}"
    return DataError(
        f"{name} must hold classes of the model ({shown}), got {got}; write the classes as there"
    )


def classes_of_parts(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Different classes of some arrays of class values, in ascending order."""
    kinds = sorted({_KINDS.get(part.dtype.kind, "text") for part in parts})
    if len(kinds) > 1:
        raise DataError(f"y must hold labels of one kind in all parts, got {' and '.join(kinds)}")
    if len({part.dtype.kind for part in parts}) == 1:
        return np.unique(np.concatenate(parts))
    values = [value for part in parts for value in part.tolist()]
    return np.unique(class_values(values, "y of all parts"))


def encode(y: ArrayLike, n_classes: int | None = None) -> NDArray[np.int8]:
    """Labels of the examples as int8 (n, K), +1 or -1.

    `y` is class codes (n,) from 0, one +1 per row: with two classes K = 1 and class 1 is +1. Or an
    indicator matrix (n, K) of 0 and 1 (multi-label): 1 is +1. `n_classes` is by default the largest
    code plus one. DataError if y has another form, is empty, has fewer than two classes, or a code
    is out of range.

    >>> encode([0, 2, 1]).tolist()
    [[1, -1, -1], [-1, -1, 1], [-1, 1, -1]]
    >>> encode([0, 1]).tolist()
    [[-1], [1]]
    """
    codes = np.asarray(y)
    if codes.ndim == 2:
        if not np.all((codes == 0) | (codes == 1)):
            raise DataError("a multi-label y must hold 0 and 1 only, in one column per label")
        return np.where(codes == 1, 1, -1).astype(np.int8)
    if codes.ndim != 1 or codes.dtype.kind not in "iu":
        raise DataError(
            f"y must be class codes (n,) or an indicator matrix (n, K), got shape {codes.shape} of "
            f"{codes.dtype}"
        )
    if codes.size == 0:
        raise DataError("y must hold at least one label, got none")
    k = int(codes.max()) + 1 if n_classes is None else n_classes
    if k < 2:
        raise DataError(f"y must have at least 2 classes, got {k}")
    if codes.min() < 0 or codes.max() >= k:
        raise DataError(
            f"class codes must be between 0 and {k - 1}, got {codes.min()} to {codes.max()}"
        )
    if k == 2:
        return np.where(codes == 1, 1, -1).astype(np.int8)[:, None]
    labels = np.full((codes.size, k), -1, np.int8)
    labels[np.arange(codes.size), codes] = 1
    return labels


def classes_and_labels(
    y: NDArray[Any], rows: NDArray[np.int64]
) -> tuple[NDArray[Any], NDArray[np.int8]]:
    """Classes, and labels of the kept rows, of class values (n,) or indicators (n, K)."""
    if y.ndim == 2:
        return np.arange(y.shape[1]), encode(y[rows])
    classes, codes = np.unique(y[rows], return_inverse=True)
    if classes.size < 2:
        left = "" if rows.size == y.size else " in the rows of weight above 0"
        raise DataError(
            f"y must have at least 2 classes, got 1 class ({classes.tolist()[0]!r}){left}; "
            "add rows of another"
        )
    check_class_counts(np.bincount(codes))
    return classes, encode(codes, classes.size)


def classify(scores: NDArray[np.float64], multi_label: bool = False) -> NDArray[np.int64]:
    """Class codes (n,) from scores (n, K); the first class wins a tie. If multi-label, 0/1 (n, K).

    With K = 1 or multi-label, a code is 1 if the score is positive.
    """
    if multi_label:
        return (scores > 0).astype(np.int64)
    if scores.shape[1] == 1:
        return (scores[:, 0] > 0).astype(np.int64)
    return np.asarray(np.argmax(scores, axis=1))


def check_labels(Y: ArrayLike, n: int) -> NDArray[np.int8]:
    """A label matrix of n examples as int8 (n, K), 0 where an example says nothing of a label.

    DataError if it is invalid.
    """
    labels = np.asarray(Y)
    if labels.ndim != 2 or labels.shape[0] != n or labels.shape[1] < 1:
        raise DataError(
            f"the label matrix Y must have shape ({n}, K), a row for each example, got "
            f"{labels.shape}; boostsample.labels.encode makes it from class codes"
        )
    if labels.dtype.kind not in "biuf" or not np.all((np.abs(labels) == 1) | (labels == 0)):
        raise DataError(
            "Y must hold +1 and -1 only, or 0 for no label; boostsample.labels.encode makes it"
        )
    empty = np.flatnonzero(~np.any(labels, axis=1))
    if empty.size:
        raise DataError(
            f"each row of Y must have a label of +1 or -1, but row {empty[0]} has 0 only; leave "
            "such rows out"
        )
    return labels.astype(np.int8)


def error_percent(scores: NDArray[np.float64], y: ArrayLike) -> float:
    """Percentage of wrong predictions: of examples, or of labels if y is (n, K)."""
    truth = np.asarray(y)
    return 100.0 * float(np.mean(classify(scores, truth.ndim == 2) != truth))


def check_class_counts(counts: NDArray[Any], where: str = "y") -> None:
    """DataError if a target numbers the rows: scores of each row and class would fill memory."""
    alone, n = int(np.sum(counts == 1)), int(np.sum(counts))
    if counts.size > 100 and 2 * alone > n:
        raise DataError(
            f"{where} must have classes with several rows each, got {counts.size:,} classes in "
            f"{n:,} rows, {alone:,} of them the only row of their class; choose another target "
            "than an identifier, or cut a measured quantity into classes"
        )
