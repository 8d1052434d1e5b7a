"""JSON and TOML of files that anyone may have written: a ValueError for whatever is wrong."""

from __future__ import annotations

import json
import tomllib
from typing import Any


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
