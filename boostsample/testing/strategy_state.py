"""What the checks of strategies ask of learned state."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np

from boostsample.testing.strategy_runs import Make, require_of_strategy

__all__ = ["pickled_value", "require_plain_state"]


def pickled_value(value: Any, make: Make, what: str) -> bytes:
    """A value as bytes; an AssertionError if it cannot be pickled."""
    try:
        return pickle.dumps(value)
    except Exception as error:  # pickle raises many types
        message = f"{what} cannot be pickled: {error}; keep arrays, scalars, strings, lists, dicts"
        require_of_strategy(False, make, message)
        raise


def require_plain_state(value: Any, make: Make, where: str) -> None:
    """Raise unless a value is an array, a scalar, a string, or a list or dict of these."""
    if isinstance(value, list):
        for i, item in enumerate(value):
            require_plain_state(item, make, f"{where}[{i}]")
    elif isinstance(value, dict):
        for key, item in value.items():
            require_of_strategy(
                isinstance(key, str), make, f"{where} has the key {key!r}, not a string"
            )
            require_plain_state(item, make, f"{where}[{key!r}]")
    else:
        kinds = (bool, int, float, str, np.generic)
        array = isinstance(value, np.ndarray) and not value.dtype.hasobject
        require_of_strategy(
            array or isinstance(value, kinds),
            make,
            f"{where} holds a {type(value).__name__}; state holds arrays, scalars, strings, "
            "lists and dicts of these only",
        )
