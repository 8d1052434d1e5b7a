"""Assertions of the checks of families; their messages name the family."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostsample.family import Family


def fail_family(family: Family, message: str) -> None:
    """Raise an AssertionError that names the family."""
    raise AssertionError(f"family {family.name!r} ({type(family).__name__}): {message}")


def require_of_family(condition: bool, family: Family, message: str) -> None:
    """Raise an AssertionError that names the family unless the condition holds."""
    if not condition:
        fail_family(family, message)


def require_values(family: Family, X: Any, features: Any) -> NDArray[np.float32]:
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


def require_same_values(
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


def require_refusal(
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
