"""The kept state of a run: what its booster needs, beside the stumps, to train more rounds.

It is `Booster.small_state()`: random stream and learned state of the strategy, without the weights,
which follow from the stumps. In a cell's file ``state`` is JSON, in which ``{"array": 2}`` stands
for the entry ``state_2``; lists, tuples and dicts are tagged, so that they come back as they were.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["pack_state", "unpack_state"]

_PLAIN = (bool, int, float, str, type(None))


def pack_state(state: Mapping[str, Any]) -> tuple[Any, list[NDArray[Any]]]:
    """A state as a JSON value and a list of arrays; TypeError if it holds anything else.

    >>> pack_state({"seen": np.array([3, 1]), "best": (2, 0.5)})
    ({'dict': [['seen', {'array': 0}], ['best', {'tuple': [2, 0.5]}]]}, [array([3, 1])])
    """
    arrays: list[NDArray[Any]] = []

    def packed(value: Any) -> Any:
        if isinstance(value, np.ndarray | np.generic):
            if value.dtype.hasobject:
                raise TypeError("arrays of objects cannot be saved")
            arrays.append(np.asarray(value))
            return {"scalar" if isinstance(value, np.generic) else "array": len(arrays) - 1}
        if type(value) in _PLAIN:
            return value
        if type(value) is dict:
            return {"dict": [[packed(key), packed(item)] for key, item in value.items()]}
        if type(value) is tuple:
            return {"tuple": [packed(item) for item in value]}
        if type(value) is list:
            return [packed(item) for item in value]
        raise TypeError(f"a {type(value).__name__} cannot be saved")

    return packed(dict(state)), arrays


def unpack_state(value: Any, arrays: list[NDArray[Any]]) -> Any:
    """The state that `pack_state` was given, to the bit and with the same types."""
    if isinstance(value, list):
        return [unpack_state(item, arrays) for item in value]
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    if kind == "array":
        return arrays[content]
    if kind == "scalar":
        return arrays[content][()]
    items = [unpack_state(item, arrays) for item in content]
    return dict(items) if kind == "dict" else tuple(items)
