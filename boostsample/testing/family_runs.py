"""Examples of any kind and assertions for the checks of families."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostsample.family import PIXEL_LIMIT, Family

_MOST_FEATURES = 2000
"""Larger families are checked on this many features, evenly spaced, first and last included."""


def fail_family(family: Family, message: str) -> None:
    """Raise an AssertionError that names the family."""
    raise AssertionError(f"family {family.name!r} ({type(family).__name__}): {message}")


def require_of_family(condition: bool, family: Family, message: str) -> None:
    """Raise an AssertionError that names the family unless the condition holds."""
    if not condition:
        fail_family(family, message)


def is_family_name(name: object) -> bool:
    """Whether a name is a non-empty string."""
    return isinstance(name, str) and bool(name.strip())


def examples_of(X: Any) -> NDArray[Any]:
    """X as an array of numbers, or a one-dimensional array of objects."""
    examples = X if isinstance(X, np.ndarray) else np.asarray(X)
    if examples.dtype.kind in "UT":
        examples = np.asarray(X, dtype=object)
    if len(examples.shape) < (2 if is_numeric(examples) else 1) or len(examples) < 3:
        raise ValueError(f"the checks need at least 3 examples, got X of shape {examples.shape}")
    return examples


def is_numeric(examples: NDArray[Any]) -> bool:
    """Whether examples are numbers."""
    return examples.dtype.kind in "biufc"


def _is_text(examples: NDArray[Any]) -> bool:
    """Whether examples are documents."""
    return examples.ndim == 1 and all(isinstance(example, str) for example in examples.tolist())


def others_like(examples: NDArray[Any]) -> NDArray[Any]:
    """Other examples of the same kind and number; reversed ones for unknown kinds."""
    if is_numeric(examples):
        return (np.nan_to_num(examples.astype(np.float64)) / 3 + 1).astype(np.float32)
    if _is_text(examples):
        pairs = zip(examples[::-1], examples, strict=True)
        return np.array([f"{first} {second}" for first, second in pairs], dtype=object)
    return examples[::-1]


def same_in_other_types(examples: NDArray[Any]) -> tuple[NDArray[Any], dict[str, Any]]:
    """Examples, and equal ones in arrays of other types; none for unknown kinds."""
    if _is_text(examples):
        return examples, {"X of fixed-width texts": examples.astype(str), "a list": [*examples]}
    if not is_numeric(examples):
        return examples, {}
    numbers = np.nan_to_num(examples.astype(np.float64))
    low, high = numbers.min(), numbers.max()
    if low < 0 or high > 255 or high - low < 2:
        numbers = (numbers - low) / max(high - low, 1e-9) * 255
    numbers = np.rint(numbers)
    types = (np.uint8, np.int64, np.float64)
    return numbers.astype(np.float32), {
        f"X of dtype {np.dtype(dtype)} instead of float32": numbers.astype(dtype) for dtype in types
    }


def extreme_examples(examples: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """Examples that may cause division by zero or overflow; X itself for unknown kinds."""
    if _is_text(examples):
        longest = " ".join(examples)
        return {
            "X": examples,
            "X of empty texts": np.array(["", " ", "\n"], dtype=object),
            "X of one long text": np.array([longest * 50], dtype=object),
        }
    if not is_numeric(examples):
        return {"X": examples}
    numbers = np.nan_to_num(examples.astype(np.float64))
    largest = max(float(np.abs(numbers).max()), 1e-9)
    cases = {
        "X": numbers,
        "X of zeros": np.zeros_like(numbers),
        "X of 255 everywhere": np.full_like(numbers, 255),
        "X scaled to 1e15": numbers * (0.999 * PIXEL_LIMIT / largest),
        "X scaled to 1e-30": numbers * (1e-30 / largest),
    }
    return {what: array.astype(np.float32) for what, array in cases.items()}


def unfit_examples(examples: NDArray[Any]) -> dict[str, Any]:
    """Data that no family for such examples accepts."""
    one = {"X of a single number": np.float32(1)}
    if _is_text(examples):
        return {
            **one,
            "a single text": examples[0],
            "X of numbers": np.ones((len(examples), 2)),
            "X of shape (n, 1)": examples[:, None],
            "X with a missing text": np.array([*examples[1:], None], dtype=object),
        }
    if not is_numeric(examples):
        return one
    return {
        **one,
        "X that is flat": examples.ravel(),
        "X of text": examples.astype(str),
        "X of complex numbers": examples.astype(complex),
    }


def spread_examples(family: Family) -> NDArray[np.intp]:
    """At most _MOST_FEATURES features of a family, evenly spaced, in increasing order."""
    last = family.n_features - 1
    return np.unique(np.linspace(0, last, min(last + 1, _MOST_FEATURES)).astype(np.intp))


def twin_family(family: Family) -> Family:
    """A family made from the settings of another, converted to JSON and back."""
    try:
        return type(family)(**json.loads(json.dumps(family.settings())))
    except (TypeError, ValueError) as error:
        raise AssertionError(
            f"family {family.name!r} cannot be recreated from its settings(): {error}"
        ) from error


def compute_family(family: Family, X: Any, features: Any) -> NDArray[np.float32]:
    """Values from the family; raises unless their type, dtype and shape are as specified."""
    values: Any = None
    try:
        values = family.compute(X, features)
    except Exception as error:
        case = f"X of shape {np.shape(X)}, {len(features)} features"
        raise AssertionError(
            f"family {family.name!r}: compute raised {type(error).__name__} ({case}): {error}"
        ) from error
    want = (len(X), len(features))
    require_of_family(
        isinstance(values, np.ndarray) and values.dtype == np.float32 and values.shape == want,
        family,
        f"compute must return a float32 array of shape {want}, got {type(values).__name__} "
        f"{getattr(values, 'dtype', '')} {getattr(values, 'shape', '')}",
    )
    result: NDArray[np.float32] = values
    return result


def same_results(
    family: Family,
    values: NDArray[np.float32],
    want: NDArray[np.float32],
    features: Any,
    what: str,
    rows: NDArray[np.intp] | None = None,
) -> None:
    """Raise unless all values are equal (NaN equals NaN); names the first difference."""
    different = np.argwhere((values != want) & ~(np.isnan(values) & np.isnan(want)))
    if len(different):
        row, column = different[0]
        example = row if rows is None else rows[row]
        fail_family(
            family,
            f"{what}: feature {features[column]} of example {example} is {values[row, column]!r}, "
            f"should be {want[row, column]!r}",
        )


def refuses_family_input(
    family: Family, error: type[Exception], what: str, function: Callable[..., object], *args: Any
) -> None:
    """Raise unless function(*args) raises the error, and its message names the family."""
    try:
        function(*args)
    except error as raised:
        require_of_family(
            family.name in str(raised), family, f"{what}: no family named in: {raised}"
        )
    except Exception as raised:
        fail_family(
            family, f"{what} must be a {error.__name__}, is {type(raised).__name__}: {raised}"
        )
    else:
        fail_family(family, f"{what} must be a {error.__name__}, but nothing was raised")
