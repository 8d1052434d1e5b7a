"""Examples of any kind for the checks of families."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostsample.family import PIXEL_LIMIT


def examples_of(X: Any) -> NDArray[Any]:
    """X as an array of numbers, or a one-dimensional array of objects."""
    examples = X if isinstance(X, np.ndarray) else np.asarray(X)
    if examples.dtype.kind in "UT":
        examples = np.asarray(X, dtype=object)
    if len(examples.shape) < (2 if examples_are_numbers(examples) else 1) or len(examples) < 3:
        raise ValueError(f"the checks need at least 3 examples, got X of shape {examples.shape}")
    return examples


def examples_are_numbers(examples: NDArray[Any]) -> bool:
    """Whether examples are numbers."""
    return examples.dtype.kind in "biufc"


def _is_text(examples: NDArray[Any]) -> bool:
    """Whether examples are documents."""
    return examples.ndim == 1 and all(isinstance(example, str) for example in examples.tolist())


def other_examples(examples: NDArray[Any]) -> NDArray[Any]:
    """Other examples of the same kind and number; reversed ones for unknown kinds."""
    if examples_are_numbers(examples):
        return (np.nan_to_num(examples.astype(np.float64)) / 3 + 1).astype(np.float32)
    if _is_text(examples):
        pairs = zip(examples[::-1], examples, strict=True)
        return np.array([f"{first} {second}" for first, second in pairs], dtype=object)
    return examples[::-1]


def examples_in_other_types(examples: NDArray[Any]) -> tuple[NDArray[Any], dict[str, Any]]:
    """Examples, and equal ones in arrays of other types; none for unknown kinds."""
    if _is_text(examples):
        return examples, {"X of fixed-width texts": examples.astype(str), "a list": [*examples]}
    if not examples_are_numbers(examples):
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
    if not examples_are_numbers(examples):
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
    if not examples_are_numbers(examples):
        return one
    return {
        **one,
        "X that is flat": examples.ravel(),
        "X of text": examples.astype(str),
        "X of complex numbers": examples.astype(complex),
    }
