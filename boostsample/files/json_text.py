"""JSON and TOML of files that anyone may have written, and the kept state of a run as JSON.

The state is `Booster.small_state()`: random stream and learned state of the strategy, without the
weights, which follow from the stumps. Arrays (as base64), scalars of NumPy, tuples and dicts are
tagged, so that they come back as they were. An array, list or dict that a state holds in several
places is one object when it comes back.
"""

from __future__ import annotations

import base64
import json
import tomllib
from collections.abc import Mapping
from typing import Any

import numpy as np

_PLAIN = (bool, int, float, str, type(None))
_CHANGEABLE = (np.ndarray, dict, list)


def read_json(content: bytes | str) -> Any:
    """The value of JSON text; ValueError if it is none, or is nested too deeply for Python.

    >>> read_json(b'{"a": [1]}')
    {'a': [1]}
    """
    try:
        return json.loads(content)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def read_toml(content: bytes) -> dict[str, Any]:
    """The entries of TOML in UTF-8; ValueError if it is none, or is nested too deeply for Python.

    >>> read_toml(b"a = [1]")
    {'a': [1]}
    """
    try:
        return tomllib.loads(content.decode("utf-8"))
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def pack_state(state: Mapping[str, Any]) -> str:
    """A state as JSON text; equal states have equal texts. TypeError if it cannot be saved.

    >>> pack_state({"best": (2, 0.5)})
    '{"dict": [["best", {"tuple": [2, 0.5]}]]}'
    """
    return json.dumps(_packed(dict(state), {}))


def _packed(value: Any, seen: dict[int, int]) -> Any:
    """A value as JSON; `seen` has the numbers, by their ids, of the objects packed before."""
    if id(value) in seen:
        return {"same": seen[id(value)]}
    content = _content(value, seen)
    if type(value) in _CHANGEABLE:
        seen[id(value)] = len(seen)
    return content


def _content(value: Any, seen: dict[int, int]) -> Any:
    if _is_plain(value):
        content = base64.b64encode(value.tobytes()).decode("ascii")
        kind = "scalar" if isinstance(value, np.generic) else "array"
        return {kind: [value.dtype.str, list(value.shape), content]}
    if type(value) in _PLAIN:
        return value
    if type(value) is dict:
        items = value.items()
        return {"dict": [[_packed(key, seen), _packed(item, seen)] for key, item in items]}
    if type(value) is tuple:
        return {"tuple": [_packed(item, seen) for item in value]}
    if type(value) is list:
        return [_packed(item, seen) for item in value]
    kind = type(value).__name__
    if type(value) is np.ndarray:
        order = "" if value.flags.c_contiguous else " in another order than C's"
        kind = f"{kind} of {value.dtype}{order}"
    raise TypeError(f"a {kind} cannot be saved")


def _is_plain(value: Any) -> bool:
    """Whether a value is an array or scalar of NumPy that its bytes, dtype and shape describe."""
    if not isinstance(value, np.generic) and type(value) is not np.ndarray:
        return False
    dtype = value.dtype
    whole = isinstance(value, np.generic) or value.flags.c_contiguous
    return bool(whole and dtype.itemsize and dtype.names is None and not dtype.hasobject)


def unpack_state(text: str) -> Any:
    """The state that `pack_state` was given, to the bit and with the same types."""
    return _unpacked(read_json(text), [])


def _unpacked(value: Any, seen: list[Any]) -> Any:
    """The value of JSON; `seen` has the objects unpacked before, in the order of `_packed`."""
    made = _value(value, seen)
    if type(made) in _CHANGEABLE and not (type(value) is dict and "same" in value):
        seen.append(made)
    return made


def _value(value: Any, seen: list[Any]) -> Any:
    if isinstance(value, list):
        return [_unpacked(item, seen) for item in value]
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    if kind == "same":
        return seen[content]
    if kind in ("array", "scalar"):
        dtype, shape, data = content
        array = np.frombuffer(base64.b64decode(data), dtype).reshape(shape).copy()
        return array[()] if kind == "scalar" else array
    if kind == "dict":
        return {_unpacked(key, seen): _unpacked(item, seen) for key, item in content}
    return tuple([_unpacked(item, seen) for item in content])
