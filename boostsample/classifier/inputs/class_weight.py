"""Weights of classes: the setting `class_weight`, as in scikit-learn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostsample.checks import check_number
from boostsample.errors import SettingError


def with_class_weight(
    class_weight: Any, labels: NDArray[Any], weight: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Example weights (n,) times the weights of their classes.

    Parameters
    ----------
    class_weight : None, "balanced", mapping of label to weight, or sequence of mappings
        Mappings, one for each label of a multi-label y: classes that are left out have weight 1.
        As in scikit-learn, a mapping may name classes that y lacks if it names all that y has.
        "balanced" is W / (C W_c)
        for the total weights W of all examples and W_c of those of class c, one of C classes. The
        factors of several labels are multiplied.
    labels : array, shape (n,) or (n, K)
    weight : array of float64, shape (n,)
        Example weights; examples of weight 0 count for nothing.

    Raises SettingError if `class_weight` has another form, or a mapping names a class that y lacks
    and leaves one out.
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
    mappings = [one for one in each if isinstance(one, Mapping)]
    if not len(mappings) == len(each) == (labels.shape[1] if several else 1):
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
    out = weight
    for one, column in zip(mappings, labels.reshape(len(labels), -1).T, strict=True):
        classes, codes = np.unique(column, return_inverse=True)
        out = out * mapped_factors(one, classes.tolist())[codes]
    return out


def mapped_factors(given: Mapping[Any, Any], classes: list[Any]) -> NDArray[np.float64]:
    """Factor of each of the classes, by a mapping of classes to factors."""
    factors = {one: check_number(f"class_weight of {one!r}", given[one], 0.0) for one in given}
    unknown = [one for one in factors if one not in classes]
    left_out = [one for one in classes if one not in factors]
    if unknown and left_out:
        raise SettingError(
            f"class_weight must name classes of y, got {unknown[0]!r} and no weight of "
            f"{left_out[0]!r}; write classes as in y"
        )
    return np.array([factors.get(one, 1.0) for one in classes])


def _balanced(column: NDArray[Any], weight: NDArray[np.float64]) -> NDArray[np.float64]:
    """Factor of each example for one column of labels."""
    classes, codes = np.unique(column, return_inverse=True)
    whole = np.bincount(codes, weight, classes.size)
    there = whole > 0
    factor = np.zeros(classes.size)
    factor[there] = whole.sum() / (np.count_nonzero(there) * whole[there])
    found: NDArray[np.float64] = factor[codes]
    return found
