"""Conversion between class labels and the label matrix of AdaBoost.MH."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.multiclass import type_of_target

from boostsample.errors import DataError

__all__ = [
    "check_class_counts",
    "check_labels",
    "classes_and_labels",
    "classify",
    "encode",
    "error_percent",
]


def encode(y: ArrayLike, n_classes: int | None = None) -> NDArray[np.int8]:
    """Labels of the examples as int8 (n, K), +1 or -1.

    Parameters
    ----------
    y : array of int
        Class codes (n,) from 0: one +1 per row; with two classes K = 1 and class 1 is +1. Or an
        indicator matrix (n, K) of 0 and 1 (multi-label): 1 is +1.
    n_classes : int, optional
        Number of classes; default: the largest code plus one.

    Raises DataError if y has another form, is empty, has fewer than two classes, or a code is out
    of range.

    Examples
    --------
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
    y: NDArray[Any], kept: NDArray[np.int64]
) -> tuple[NDArray[Any], NDArray[np.int8]]:
    """Classes, and labels of the kept rows, of any y (n,) or multi-label y (n, K)."""
    if y.ndim == 2:
        if type_of_target(y) != "multilabel-indicator":
            raise DataError(
                "labels y with several columns must be a multi-label indicator of 0 and 1, got "
                f"{type_of_target(y)}; fit one classifier per column instead"
            )
        return np.arange(y.shape[1]), encode(y[kept])
    classes, codes = np.unique(y[kept], return_inverse=True)
    if classes.size < 2:
        left = "" if kept.size == y.size else " in the rows of weight above 0"
        raise DataError(
            f"y must have at least 2 classes, got 1 class ({classes.tolist()[0]!r}){left}"
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
    """A label matrix of n examples as int8 (n, K); DataError if it is invalid."""
    labels = np.asarray(Y)
    if labels.ndim != 2 or labels.shape[0] != n or labels.shape[1] < 1:
        raise DataError(
            f"the label matrix Y must have shape ({n}, K), a row for each example, got "
            f"{labels.shape}; boostsample.labels.encode makes it from class codes"
        )
    if labels.dtype.kind not in "biuf" or not np.all(np.abs(labels) == 1):
        raise DataError("Y must hold +1 and -1 only; boostsample.labels.encode makes it")
    return labels.astype(np.int8)


def error_percent(scores: NDArray[np.float64], y: ArrayLike) -> float:
    """Percentage of wrong predictions: of examples, or of labels if y is (n, K)."""
    truth = np.asarray(y)
    return 100.0 * float(np.mean(classify(scores, truth.ndim == 2) != truth))


def check_class_counts(counts: NDArray[Any], where: str = "y") -> None:
    """DataError if a target numbers the rows: over 100 classes, most rows the only one of theirs.

    Scores and weights of each row and class would fill the memory. `counts` are the rows of each
    class.
    """
    alone, n = int(np.sum(counts == 1)), int(np.sum(counts))
    if counts.size > 100 and 2 * alone > n:
        raise DataError(
            f"{where} must have classes with several rows each, got {counts.size:,} classes in "
            f"{n:,} rows, {alone:,} of them the only row of their class; choose another target "
            "than an identifier, or cut a measured quantity into classes"
        )
