"""Which names of a module the reference describes: each once, in the first module that has it."""

from __future__ import annotations

import importlib
from typing import Any

MODULES = (
    "boostsample",
    "boostsample.strategies",
    "boostsample.families",
    "boostsample.learners",
    "boostsample.bandits",
    "boostsample.testing",
)
"""In the order of docs/api.md; a test compares them."""


def listed_here(module: str, names: list[str]) -> list[str]:
    """Those of `names` that no earlier module has: the same object under the same name."""
    return [name for name in names if _home(module, name) == module]


def listed_elsewhere(module: str, names: list[str]) -> list[str]:
    """Full names of the others, where they are described."""
    homes = {name: _home(module, name) for name in names}
    return [f"{home}.{name}" for name, home in homes.items() if home != module]


def _home(module: str, name: str) -> str:
    found = getattr(importlib.import_module(module), name)
    for earlier in MODULES:
        if earlier == module:
            break
        others = importlib.import_module(earlier)
        if name in others.__all__ and getattr(others, name) is found:
            return earlier
    return module


def setup(app: Any) -> dict[str, bool]:
    """Nothing to register: `conf.py` gives the functions to the templates of autosummary."""
    return {"parallel_read_safe": True, "parallel_write_safe": True}
