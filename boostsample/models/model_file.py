"""The terms of a model as arrays of the narrowest types, for files, and back.

One element per round: ``alpha`` float64, and for products and trees ``n_terms``. One per term:
``feature``; ``threshold`` float32, or float64 where float32 is not exact; ``votes``, K bits, set
for +1. Products and trees have ``parent``, ``side`` and ``split`` too; ``below``, K bits, exists
for the terms that are ``split``: the votes of the others are opposite on both sides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostsample.errors import DataError
from boostsample.family import Family
from boostsample.files.archive import narrowest
from boostsample.models.model import Model


def model_arrays(model: Model) -> dict[str, NDArray[Any]]:
    """The arrays of the model's terms; the module lists them."""
    with np.errstate(over="ignore"):
        threshold = model.threshold.astype(np.float32)
    exact = np.array_equal(threshold, model.threshold)
    arrays = {
        "feature": narrowest(model.feature),
        "threshold": threshold if exact else model.threshold,
        "votes": _bits(model.votes),
        "alpha": model.alpha[model.first],
    }
    if not model.are_stumps:
        split = np.any(model.below != -model.votes, axis=1)
        arrays["n_terms"] = narrowest(np.diff(np.append(model.first, model.feature.size)))
        arrays["parent"] = narrowest(model.parent)
        arrays["side"] = narrowest(model.side)
        arrays["split"] = np.packbits(split)
        arrays["below"] = _bits(model.below[split])
    return arrays


def model_of_arrays(
    arrays: Mapping[str, NDArray[Any]], families: Sequence[Family], n_labels: Any
) -> Model:
    """The model of `model_arrays`; DataError if the arrays are not those of a model."""
    if type(n_labels) is not int or n_labels < 1:
        raise DataError(f"its number of labels must be at least 1, got {n_labels!r:.40}")
    feature = _integers(arrays, "feature", 1)
    n = feature.size
    most = sum(family.n_features for family in families) - 1
    if n and not 0 <= feature.min() <= feature.max() <= most:
        raise DataError(f"its features must be between 0 and {most}")
    threshold = _floats(arrays, "threshold")
    if threshold.shape != (n,) or np.isnan(threshold).any():
        raise DataError("its thresholds must be one number for each term")
    if (np.abs(threshold[np.isfinite(threshold)]) > np.finfo(np.float32).max).any():
        raise DataError("its thresholds must lie within +-3.4e38 (float32), or be infinite")
    votes = _votes(arrays, "votes", n, n_labels)
    alpha = _floats(arrays, "alpha")
    if not np.isfinite(alpha).all():
        raise DataError("its alphas must be finite")
    parent, side, below = np.full(n, -1), np.zeros(n, np.int64), -votes
    counts = np.ones(n, np.int64)
    if "n_terms" in arrays:
        counts = _integers(arrays, "n_terms", 1)
        if (counts.size and counts.min() < 1) or counts.sum() != n or counts.max(initial=0) > n:
            raise DataError("its rounds must have all of the terms")
        parent, side = _integers(arrays, "parent", 1), _integers(arrays, "side", 1)
        _check_places(counts, parent, side)
        split = bits_of(arrays, "split", n)
        below[split] = _votes(arrays, "below", int(split.sum()), n_labels)
    if alpha.shape != counts.shape:
        raise DataError(f"its {counts.size} rounds must have an alpha each, got {alpha.size}")
    columns = feature, votes, below, parent, side, np.repeat(alpha, counts)
    return Model.of_arrays(families, columns, threshold, are_stumps="n_terms" not in arrays)


def _bits(votes: NDArray[np.int8]) -> NDArray[np.uint8]:
    return np.packbits(votes > 0, axis=1)


def _entry(arrays: Mapping[str, NDArray[Any]], name: str, kinds: str, n_axes: int) -> NDArray[Any]:
    array = arrays.get(name)
    if array is None or array.dtype.kind not in kinds or array.ndim != n_axes:
        raise DataError(f"its array {name!r} is missing, or has another type or shape")
    return array


def _integers(arrays: Mapping[str, NDArray[Any]], name: str, n_axes: int) -> NDArray[np.int64]:
    return _entry(arrays, name, "iu", n_axes).astype(np.int64)


def _floats(arrays: Mapping[str, NDArray[Any]], name: str) -> NDArray[np.float64]:
    return _entry(arrays, name, "f", 1).astype(np.float64)


def _votes(
    arrays: Mapping[str, NDArray[Any]], name: str, n: int, n_labels: int
) -> NDArray[np.int8]:
    bits = _entry(arrays, name, "u", 2)
    if bits.dtype != np.uint8 or bits.shape != (n, -(-n_labels // 8)):
        raise DataError(f"its array {name!r} must have {n_labels} bits for each of {n} terms")
    plus = np.unpackbits(bits, axis=1, count=n_labels) == 1
    return np.where(plus, np.int8(1), np.int8(-1))


def bits_of(arrays: Mapping[str, NDArray[Any]], name: str, n: int) -> NDArray[np.bool_]:
    """An array of one bit for each of n terms; DataError if it is none."""
    bits = _entry(arrays, name, "u", 1)
    if bits.dtype != np.uint8 or bits.size != -(-n // 8):
        raise DataError(f"its array {name!r} must have a bit for each of {n} terms")
    return np.asarray(np.unpackbits(bits, count=n) == 1)


def _check_places(
    counts: NDArray[np.int64], parent: NDArray[np.int64], side: NDArray[np.int64]
) -> None:
    """DataError unless each term but the first of its round stands below an earlier one."""
    n = int(counts.sum())
    if parent.shape != (n,) or side.shape != (n,):
        raise DataError("its terms must have a parent and a side each")
    root = np.repeat(np.cumsum(counts) - counts, counts)
    place = np.arange(n) - root
    later = place > 0
    good = np.where(later, (parent >= 0) & (parent < place), parent == -1)
    good &= np.where(later, np.abs(side) <= 1, side == 0)
    half = later & (side != 0)
    slots = 3 * (root + parent) + side
    if not good.all() or np.unique(slots[half]).size < int(half.sum()):
        raise DataError("its terms must be trees, parents before children")
