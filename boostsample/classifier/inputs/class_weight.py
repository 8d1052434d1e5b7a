"""Weights of classes: the setting `class_weight`, as in scikit-learn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.class_weight import compute_sample_weight

from boostsample.errors import SettingError

__all__ = ["with_class_weight"]


def with_class_weight(
    class_weight: Any, labels: NDArray[Any], weight: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Example weights (n,) times the weights of their classes.

    Parameters
    ----------
    class_weight : None, "balanced", mapping of label to weight, or sequence of mappings
        Mappings, one for each label of a multi-label y, are those of scikit-learn's
        `compute_sample_weight`: classes that are left out have weight 1. "balanced" is W / (C W_c)
        for the total weights W of all examples and W_c of those of class c, one of C classes. The
        factors of several labels are multiplied.
    labels : array, shape (n,) or (n, K)
    weight : array of float64, shape (n,)
        Example weights; examples of weight 0 count for nothing.

    Raises SettingError if `class_weight` has another form.
    """
    if class_weight is None:
        return weight
    if isinstance(class_weight, str) and class_weight == "balanced":
        out = weight
        for column in labels.reshape(len(labels), -1).T:
            out = out * _balanced(column, weight)
        return out
    several = labels.ndim == 2
    each = class_weight if several and isinstance(class_weight, list | tuple) else [class_weight]
    if len(each) != (labels.shape[1] if several else 1) or not all(
        isinstance(one, Mapping) for one in each
    ):
        raise SettingError(
            "class_weight must be None, 'balanced' or "
            + (
                f"a list of {labels.shape[1]} mappings, one for each label, as in "
                "[{0: 1, 1: 5}, ...]"
                if several
                else "a mapping of classes to weights, as in {'no': 1, 'yes': 5}"
            )
            + f", got {class_weight!r:.60}"
        )
    given: list[Any] = [dict(one.items()) for one in each if isinstance(one, Mapping)]
    kept = weight > 0
    out = weight.copy()
    out[kept] *= compute_sample_weight(given if several else given[0], labels[kept])
    return out


def _balanced(column: NDArray[Any], weight: NDArray[np.float64]) -> NDArray[np.float64]:
    """Factor of each example for one column of labels."""
    classes, codes = np.unique(column, return_inverse=True)
    whole = np.bincount(codes, weight, classes.size)
    there = whole > 0
    factor = np.zeros(classes.size)
    factor[there] = whole.sum() / (np.count_nonzero(there) * whole[there])
    found: NDArray[np.float64] = factor[codes]
    return found
