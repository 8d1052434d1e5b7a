"""Labels of strategies, titles of metrics and of repetitions, for tables and pictures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from boostsample.experiments.plan.variants import CHARGED_VARIANT, is_tuned_variant

__all__ = [
    "HIGHER_IS_BETTER",
    "MAIN_METRICS",
    "METRICS",
    "is_charged",
    "label_of",
    "repetitions",
]

METRICS = {
    "loss": ("log10_loss", "log10 loss"),
    "error": ("test_error", "test error in percent"),
    "balanced-accuracy": ("balanced_accuracy", "balanced accuracy of the test examples"),
    "f1": ("f1", "macro F1 of the test examples"),
    "log-loss": ("log_loss", "log loss of the test examples"),
}
"""Metrics by name: the column of the result rows, and a title."""
MAIN_METRICS = ("loss", "error")
"""The metrics that are shown unless others are chosen; the results of every version have them."""
HIGHER_IS_BETTER = ("balanced-accuracy", "f1", "auc")
"""Metrics of which higher values are better."""


def label_of(row: Mapping[str, Any]) -> str:
    """The label of a row's strategy: its name with its settings."""
    name = str(row["strategy"])
    return f"{name}:{row['settings']}" if row["settings"] and not is_tuned_variant(name) else name


def is_charged(label: str) -> bool:
    """Whether a label is that of a tuned strategy with its tuning charged to it."""
    return label.endswith(CHARGED_VARIANT)


def repetitions(n: int, what: str = "mean and std", least: int | None = None) -> str:
    """A phrase for titles about `n` repetitions, or `least` to `n` of them.

    >>> repetitions(3), repetitions(1)
    ('mean and std of 3 repetitions', 'one repetition')
    >>> repetitions(10, "mean", least=7)
    'mean of 7 to 10 repetitions'
    """
    if n <= 1:
        return "one repetition"
    return f"{what} of {n if least in (None, n) else f'{least} to {n}'} repetitions"
