"""Checks of settings and data: an error with name, rule and value, or the checked value itself."""

from __future__ import annotations

import math
import operator
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from boostsample.errors import DataError, SettingError, unknown

__all__ = [
    "check_choices",
    "check_example_weight",
    "check_example_rows",
    "check_examples",
    "check_image_shape",
    "check_integer",
    "check_labels",
    "check_name",
    "check_number",
    "check_rows",
]


def check_integer(name: str, value: Any, low: int, high: int | None = None, hint: str = "") -> int:
    """A whole number from `low` to `high` as int, or SettingError.

    Accepts Python and NumPy integers; bools, floats and strings are errors. `high` None is no upper
    limit. `hint`, the way out, ends the message.

    >>> check_integer("seed", -1, 0, hint="use 0 or more")
    Traceback (most recent call last):
    ...
    boostsample.errors.SettingError: seed must be an integer at least 0, got -1; use 0 or more
    """
    try:
        number = low - 1 if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = low - 1
    if number < low or (high is not None and number > high):
        rule = f"at least {low}" if high is None else f"between {low} and {high}"
        raise SettingError(f"{name} must be an integer {rule}, got {value!r}{hint and '; ' + hint}")
    return number


def check_number(
    name: str, value: Any, low: float, high: float = math.inf, *, above: bool = False
) -> float:
    """A finite number from `low` to `high` as float, or SettingError; `above` excludes `low`."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise SettingError(f"{name} must be a number, got {value!r}") from None
    if not (low < number if above else low <= number) or not number <= high or math.isinf(number):
        rule = f"{'above' if above else 'at least'} {low:g}"
        rule += f" and at most {high:g}" if high < math.inf else " and finite"
        raise SettingError(f"{name} must be {rule}, got {number:g}")
    return number


def check_choices(
    name: str, kind: str, values: Sequence[str] | str, known: Collection[str]
) -> tuple[str, ...]:
    """A setting `name` that selects distinct ones of the known values, or a SettingError.

    `kind` names one value in the message for an unknown one.
    """
    chosen = (values,) if isinstance(values, str) else tuple(values)
    for value in chosen:
        if value not in known:
            raise unknown(kind, value, known)
    if not chosen or len(set(chosen)) < len(chosen):
        raise SettingError(
            f"{name} must be one or more different ones of {', '.join(known)}, got {chosen!r}"
        )
    return chosen


def check_name(name: Any) -> str:
    """A family's name; SettingError if it is not text or blank."""
    if not isinstance(name, str) or not name.strip():
        raise SettingError(f"the name of a family must be text that is not blank, got {name!r}")
    return name


def check_image_shape(image_shape: Any) -> tuple[int, ...]:
    """(h, w) or (h, w, c) as a tuple of positive ints; SettingError if it is not."""
    try:
        shape = tuple(operator.index(side) for side in image_shape)
    except TypeError:
        shape = ()
    if len(shape) not in (2, 3) or min(shape) < 1:
        raise SettingError(
            "image_shape must be (height, width) or (height, width, channels), each at least 1, "
            f"got {image_shape!r}"
        )
    return shape


def check_examples(X: Any, shape: tuple[int, ...], name: str) -> NDArray[Any]:
    """X as an array of real numbers, shape (n, *shape); (n, product of shape) is reshaped.

    Raises DataError with the family's `name` for a wrong shape or dtype.
    """
    array = np.asarray(X)
    flat = (int(np.prod(shape)),)
    if array.ndim == 0 or array.shape[1:] not in (shape, flat):
        wanted = ", ".join(map(str, shape))
        raise DataError(
            f"family {name!r} takes arrays of shape (n, {wanted}), got shape {array.shape}; "
            "give it such examples or make the family for these"
        )
    if array.dtype.kind not in "biuf":
        raise DataError(
            f"family {name!r} takes real numbers, got dtype {array.dtype}; "
            "convert X to uint8 or float32"
        )
    return array if array.shape[1:] == shape else array.reshape(len(array), *shape)


def check_example_rows(rows: ArrayLike | None, n_examples: int) -> NDArray[np.int64]:
    """Examples of a bank as int64 (n,), all of them for None; DataError if they are invalid."""
    columns = np.arange(n_examples) if rows is None else np.asarray(rows)
    if columns.ndim != 1 or columns.dtype.kind not in "iu" or columns.size == 0:
        raise DataError(
            f"rows must be a non-empty vector of example indices, got shape {columns.shape} of "
            f"{columns.dtype}; pass None for all {n_examples} examples of the bank"
        )
    if columns.min() < 0 or columns.max() >= n_examples:
        raise DataError(
            f"rows must be between 0 and {n_examples - 1}, got {columns.min()} to {columns.max()}"
        )
    return columns.astype(np.int64)


def check_labels(Y: ArrayLike, n: int) -> NDArray[np.int8]:
    """A label matrix of n examples as int8 (n, K); DataError if it is invalid."""
    labels = np.asarray(Y)
    if labels.ndim != 2 or labels.shape[0] != n or labels.shape[1] < 1:
        raise DataError(
            f"Y must have shape ({n}, K), a row for each example, got {labels.shape}; "
            "boostsample.labels.encode makes it from class codes"
        )
    if labels.dtype.kind not in "biuf" or not np.all(np.abs(labels) == 1):
        raise DataError("Y must hold +1 and -1 only; boostsample.labels.encode makes it")
    return labels.astype(np.int8)


def check_example_weight(weight: ArrayLike | None, n: int) -> NDArray[np.float64]:
    """User weights s_i as float64 (n,), ones if there are none; DataError if they are invalid."""
    if weight is None:
        return np.ones(n)
    try:
        given = np.asarray(weight, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"example weights must be numbers: {error}") from error
    if given.shape != (n,):
        raise DataError(
            f"example weights must have shape ({n},), got {given.shape}; pass one for each example"
        )
    wrong = ~np.isfinite(given) | (given < 0)
    if wrong.any():
        at = int(np.argmax(wrong))
        raise DataError(
            f"example weights must be finite and not negative, got {given[at]} in row {at}; "
            "weight 0 drops an example"
        )
    if not (given > 0).any():
        raise DataError(
            "example weights must not all be zero, got only zeros; weight at least one example"
        )
    return given


def check_rows(rows: NDArray[np.int64], n: int, name: str = "rows") -> NDArray[np.int64]:
    """Row numbers as a new int64 array (writable: numba compiles again for read-only ones).

    Raises DataError if they are not a vector of integers, or one is negative or at least n.
    """
    given = np.asarray(rows)
    if given.ndim != 1 or (given.size and given.dtype.kind not in "iu"):
        raise DataError(
            f"{name} must be a vector of row numbers, got {given.dtype} of shape {given.shape}; "
            "turn a mask into numbers by np.flatnonzero"
        )
    if given.size and (given.min() < 0 or given.max() >= n):
        raise DataError(
            f"{name} must lie between 0 and {n - 1}, got {given.min()} to {given.max()}"
        )
    return given.astype(np.int64)
