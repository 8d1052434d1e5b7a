"""Names in tables and pictures: metrics, strategies and numbers of repetitions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from boostsample.experiments.plan.variants import CHARGED, is_tuned

__all__ = ["METRICS", "is_charged", "label_of", "repetitions"]

METRICS = {"loss": ("log10_loss", "log10 loss"), "error": ("test_error", "test error in percent")}
"""Name of each metric, with its column of the result rows and its title."""


def label_of(row: Mapping[str, Any]) -> str:
    """How tables and plots call the strategy of a row: its name with its settings."""
    name = str(row["strategy"])
    return f"{name}:{row['settings']}" if row["settings"] and not is_tuned(name) else name


def is_charged(label: str) -> bool:
    """Whether a label is that of a tuned strategy with its search charged to it."""
    return label.endswith(CHARGED)


def repetitions(n: int, what: str = "mean and std", least: int | None = None) -> str:
    """What a title says of repetitions: of `n`, or of `least` to `n` of them.

    >>> repetitions(3), repetitions(1)
    ('mean and std of 3 repetitions', 'one repetition')
    >>> repetitions(10, "mean", least=7)
    'mean of 7 to 10 repetitions'
    """
    if n <= 1:
        return "one repetition"
    return f"{what} of {n if least in (None, n) else f'{least} to {n}'} repetitions"
