"""Keys of cells: a hash of everything that determines their bits."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

__all__ = ["key_of"]


def key_of(facts: Mapping[str, Any]) -> str:
    """The name of what was asked: 32 hexadecimal digits."""
    text = json.dumps(facts, sort_keys=True)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
