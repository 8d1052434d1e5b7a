"""Numbers in tables as text: means with standard deviations, levels, digits."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence


def _fixed_digits(digits: int) -> Callable[[float], str]:
    """A function that writes numbers with a fixed number of decimals, and zero without a sign."""

    def text(value: float) -> str:
        shown = f"{value:,.{digits}f}"
        return shown if shown.strip("-0.") else shown.removeprefix("-")

    return text


_two_decimals = _fixed_digits(2)


def mean_and_std(values: Sequence[float]) -> tuple[float, float]:
    """Mean and standard deviation (n - 1); NaN where undefined or where a value is NaN."""
    mean = statistics.fmean(values) if values else math.nan
    defined = len(values) > 1 and all(map(math.isfinite, values))
    return mean, statistics.stdev(values) if defined else math.nan


def mean_std(values: Sequence[float], number: Callable[[float], str] = _two_decimals) -> str:
    """A table entry: the mean and, of two values or more, the standard deviation (n - 1).

    "n/a" without values; "-" if all values are NaN, as where a strategy still pays for its tuning.

    >>> mean_std([-0.33, -0.35]), mean_std([1.5]), mean_std([]), mean_std([math.nan])
    ('-0.34 (0.01)', '1.50', 'n/a', '-')
    """
    if not values:
        return "n/a"
    if all(map(math.isnan, values)):
        return "-"
    mean, std = map(number, mean_and_std(values))
    return mean if len(values) == 1 else f"{mean} ({std})"


def _three_digits(value: float) -> str:
    """Three significant digits without an exponent: 0.0421, 4.21, 421, 4,210.

    >>> [_three_digits(value) for value in (0.04217, 4.2, 421.7, 4217.0, 0.0)]
    ['0.0422', '4.20', '422', '4,217', '0.00']
    """
    if not value or not math.isfinite(value):
        return f"{value:.2f}"
    places = 2 - math.floor(math.log10(abs(value)))
    return f"{value:,.{max(0, places)}f}"


def _large_number(value: float) -> str:
    """Whole numbers: in full below a million, else with three digits.

    >>> _large_number(599_990.0), _large_number(6e6)
    ('599,990', '6.00e+06')
    """
    return f"{value:,.0f}" if not abs(value) >= 1e6 else f"{value:.2e}"


DECIMALS: Mapping[str, int] = {
    "loss": 2,
    "error": 2,
    "auc": 4,
    "smoothed-error": 2,
    "balanced-accuracy": 4,
    "f1": 4,
    "log-loss": 4,
    "looks": 2,
    "seconds": 2,
    "features": 0,
    "examples": 0,
}
"""Decimals of each measure where all numbers have the same unit."""
NUMBER_FORMATS: Mapping[str, Callable[[float], str]] = {
    **{name: _fixed_digits(digits) for name, digits in DECIMALS.items()},
    "looks": _large_number,
    "seconds": _three_digits,
}
"""How tables write the values of each measure."""


def level_text(level: float) -> str:
    """A level in full, or with an exponent if that is shorter and exact.

    >>> level_text(10_000), level_text(6e9), level_text(5_123_456_789.0), level_text(0.0421)
    ('10,000', '6.00e+09', '5,123,456,789', '0.0421')
    """
    short = f"{level:.2e}"
    full = f"{level:,.0f}" if level % 1 == 0 else f"{level:,}"
    return short if level >= 1e6 and float(short) == level else full
