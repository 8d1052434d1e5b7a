"""Boosting with sampled features and examples: one AdaBoost.MH loop, any sampling strategy.

The names below are imported on first use: ``import boostsample`` itself imports neither NumPy nor
numba nor scikit-learn.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from boostsample.banks.bank import FeatureBank
    from boostsample.banks.bank_forms import cached_bank
    from boostsample.banks.lazy import LazyBank
    from boostsample.classifier.prediction.onnx_export import onnx_inputs, to_onnx
    from boostsample.errors import (
        BoostSampleError,
        BudgetExceeded,
        DataError,
        SettingError,
        StrategyError,
    )
    from boostsample.estimator import BoostSampleClassifier
    from boostsample.family import Family
    from boostsample.loop.booster import Booster
    from boostsample.loop.checkpoint import Checkpoint, boost
    from boostsample.models.model import Model
    from boostsample.records import FamilyInfo, Outcome, Pool, Round, Sample, Stump, Stumps
    from boostsample.step import Step
    from boostsample.strategy import Strategy

__version__ = "0.1.0"

__all__ = [
    "BoostSampleClassifier",
    "BoostSampleError",
    "Booster",
    "BudgetExceeded",
    "Checkpoint",
    "DataError",
    "Family",
    "FamilyInfo",
    "FeatureBank",
    "LazyBank",
    "Model",
    "Outcome",
    "Pool",
    "Round",
    "Sample",
    "SettingError",
    "Step",
    "Strategy",
    "StrategyError",
    "Stump",
    "Stumps",
    "__version__",
    "boost",
    "cached_bank",
    "onnx_inputs",
    "to_onnx",
]

_NAMES_IN = {
    "banks.bank": "FeatureBank",
    "banks.bank_forms": "cached_bank",
    "banks.lazy": "LazyBank",
    "classifier.prediction.onnx_export": "onnx_inputs to_onnx",
    "errors": "BoostSampleError BudgetExceeded DataError SettingError StrategyError",
    "estimator": "BoostSampleClassifier",
    "family": "Family",
    "loop.booster": "Booster",
    "loop.checkpoint": "Checkpoint boost",
    "models.model": "Model",
    "records": "FamilyInfo Outcome Pool Round Sample Stump Stumps",
    "step": "Step",
    "strategy": "Strategy",
}
_MODULE_OF = {name: module for module, names in _NAMES_IN.items() for name in names.split()}


if not TYPE_CHECKING:  # type checkers see the imports above

    def __getattr__(name: str) -> object:
        """Import a public name on first use (PEP 562)."""
        if name not in _MODULE_OF:
            message = f"module {__name__!r} has no attribute {name!r}"
            raise AttributeError(message, name=name, obj=sys.modules[__name__])
        value = getattr(importlib.import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    """All public names, imported or not."""
    return sorted({*globals(), *__all__})
