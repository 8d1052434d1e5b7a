"""Plans a comparison: strategies with settings, data sets, tuning grids and grid files.

Names are imported on first access: tables need `variants`, but not the engine that `plan` imports.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from boostsample.experiments.plan.plan import (
        DEFAULT_STRATEGIES,
        Plan,
        Prepared,
        Variant,
        parse_marks,
        parse_names,
        prepare,
    )

__all__ = [
    "DEFAULT_STRATEGIES",
    "Plan",
    "Prepared",
    "Variant",
    "parse_marks",
    "parse_names",
    "prepare",
]

if not TYPE_CHECKING:  # a type checker reads the imports above

    def __getattr__(name: str) -> object:
        """Import a public name on first access (PEP 562)."""
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(importlib.import_module(f"{__name__}.plan"), name)
