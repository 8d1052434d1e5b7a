"""Boosting with sampled features and examples: one AdaBoost.MH loop, any sampling strategy.

The names below are imported when they are first asked for: ``import boostsample`` itself brings in
neither NumPy nor numba nor scikit-learn.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING

from boostsample import _moved

if TYPE_CHECKING:
    from boostsample.banks.bank import FeatureBank
    from boostsample.banks.cache import cached_bank
    from boostsample.banks.lazy import LazyBank
    from boostsample.errors import (
        BoostSampleError,
        BudgetExceeded,
        DataError,
        SettingError,
        StrategyError,
    )
    from boostsample.estimator import BoostSampleClassifier
    from boostsample.family import Family
    from boostsample.loop.booster import Booster, Round, boost
    from boostsample.models.model import Model
    from boostsample.records import FamilyInfo, Outcome, Pool, Sample, Stump, Stumps
    from boostsample.step import Step
    from boostsample.strategy import Strategy

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
    "Booster": "loop.booster",
    "BudgetExceeded": "errors",
    "DataError": "errors",
    "Family": "family",
    "FamilyInfo": "records",
    "FeatureBank": "banks.bank",
    "LazyBank": "banks.lazy",
    "Model": "models.model",
    "Outcome": "records",
    "Pool": "records",
    "Round": "loop.booster",
    "Sample": "records",
    "SettingError": "errors",
    "Step": "step",
    "Strategy": "strategy",
    "StrategyError": "errors",
    "Stump": "records",
    "Stumps": "records",
    "boost": "loop.booster",
    "cached_bank": "banks.cache",
}

_moved.install()


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
