"""Plans a comparison: strategies with settings, data sets, tuning grids and grid files.

Names are imported on first access: tables need `variants`, but not the engine that `plan` imports.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from boostsample.experiments.plan.plan import DEFAULT_STRATEGIES, Plan, parse_marks
    from boostsample.experiments.plan.prepared import Prepared, prepare
    from boostsample.experiments.plan.variants import Variant, parse_names

__all__ = [
    "DEFAULT_STRATEGIES",
    "Plan",
    "Prepared",
    "Variant",
    "parse_names",
    "parse_marks",
    "prepare",
]

if not TYPE_CHECKING:  # a type checker reads the imports above
    _MODULES = {
        "plan": ("DEFAULT_STRATEGIES", "Plan", "parse_marks"),
        "prepared": ("Prepared", "prepare"),
        "variants": ("Variant", "parse_names"),
    }

    def __getattr__(name: str) -> object:
        """Import a public name on first access (PEP 562)."""
        for module, names in _MODULES.items():
            if name in names:
                return getattr(importlib.import_module(f"{__name__}.{module}"), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
