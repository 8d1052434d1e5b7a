"""Boosting with sampled features and examples: one AdaBoost.MH loop, any sampling strategy.

The names below are imported when they are first asked for: ``import boostsample`` itself brings in
neither NumPy nor numba nor scikit-learn.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from boostsample.bank import FeatureBank
    from boostsample.bank_cache import cached_bank
    from boostsample.bank_lazy import LazyBank
    from boostsample.booster import Booster, Round, boost
    from boostsample.errors import (
        BoostSampleError,
        BudgetExceeded,
        DataError,
        SettingError,
        StrategyError,
    )
    from boostsample.estimator import BoostSampleClassifier
    from boostsample.family import Family
    from boostsample.model import Model
    from boostsample.step import Step
    from boostsample.strategy import FamilyInfo, Outcome, Pool, Sample, Strategy, Stump, Stumps

__version__ = "0.1.0"

__all__ = [
    "BoostSampleClassifier",
    "BoostSampleError",
    "Booster",
    "BudgetExceeded",
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
]

_MODULE_OF = {
    "BoostSampleClassifier": "estimator",
    "BoostSampleError": "errors",
    "Booster": "booster",
    "BudgetExceeded": "errors",
    "DataError": "errors",
    "Family": "family",
    "FamilyInfo": "strategy",
    "FeatureBank": "bank",
    "LazyBank": "bank_lazy",
    "Model": "model",
    "Outcome": "strategy",
    "Pool": "strategy",
    "Round": "booster",
    "Sample": "strategy",
    "SettingError": "errors",
    "Step": "step",
    "Strategy": "strategy",
    "StrategyError": "errors",
    "Stump": "strategy",
    "Stumps": "strategy",
    "boost": "booster",
    "cached_bank": "bank_cache",
}


if not TYPE_CHECKING:  # a type checker should know the names above and no others

    def __getattr__(name: str) -> object:
        """Import a public name when it is first asked for (PEP 562)."""
        if name not in _MODULE_OF:
            message = f"module {__name__!r} has no attribute {name!r}"
            raise AttributeError(message, name=name, obj=sys.modules[__name__])
        value = getattr(importlib.import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    """The names of this module, those not imported yet included."""
    return sorted({*globals(), *__all__})
